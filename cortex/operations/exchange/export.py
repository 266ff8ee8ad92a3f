"""Let a memory leave, whole or in part, in forms that other programs read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from typing import Annotated, Literal
from urllib.parse import quote

from cortex.core import __version__
from cortex.core.model.caller import Caller
from cortex.core.model.note_status import decode_text
from cortex.core.model.parameters import OUTSIDE_PATH, Since
from cortex.core.model.problem import (
    ConflictError,
    CortexError,
    InvalidInputError,
    Problem,
    problem_of,
)
from cortex.core.model.record import canonical_type, is_record_id
from cortex.core.notes import edit, note as notes
from cortex.core.text.strings import one_line, slugify
from cortex.core.text.value import NamedTuple
from cortex.core.text.yaml_writer import YamlValue, field_lines
from cortex.importers.earlier.cortex_export import SECTIONS
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import EVENTS, KNOWLEDGE, NoteFilter
from cortex.index.refresh import IndexSession
from cortex.operations.capture.project_context import canonical_project
from cortex.operations.exchange.export_database import write_sqlite
from cortex.operations.exchange.export_note import ExportedNote, Known, Pieces, write_jsonl
from cortex.operations.exchange.export_views import is_in_view, write_html, write_ics
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.vault import files, settings
from cortex.vault.git.changes import read_if_there
from cortex.vault.locate import Vault

_FOLDERS = ("okf", "basic-memory")
_TYPES = {"html": ("decision",), "ics": ("action", "meeting")}  # by default
_MARKER = ".cortex-export"  # of a folder that an export wrote: the paths of its files
_MARK = b"cortex-export"  # stands at the beginning of whatever an export wrote
_HEAD_BYTES = 8192
_LISTS = "index.md", "log.md"  # of a bundle
_BATCH = 4000  # rows of the index at a time


class ExportResult(NamedTuple):
    """What was written."""

    to: str
    path: str  # absolute; empty where it was printed
    notes: dict[str, int]  # how many of each kind: record, session, note, event
    problems: list[Problem]


def export(
    vault: Vault, caller: Caller, *,
    to: Literal["jsonl", "okf", "basic-memory", "sqlite", "html", "ics"] = "jsonl",
    output: Annotated[str, OUTSIDE_PATH] = "", project: str = "", since: Since | None = None,
    type: tuple[str, ...] = (), force: bool = False, write: Callable[[bytes], object] | None = None,
) -> ExportResult:  # fmt: skip
    """Take the memory elsewhere: data, notes, a page, a calendar.

    jsonl, one object a line, and sqlite hold everything: records, sessions, people's own notes, and
    the events that they came from. okf (Open Knowledge Format 0.2) and basic-memory are folders of
    markdown without the events. cortex import takes each of these four back, with the same ids,
    dates, statuses and relations. html is one page of decisions, with what superseded what; ics has
    the actions that are due and the meetings. All is as it stands in the vault, what is personal
    too; but html leaves that out where a project is named.

    to: the form; jsonl by default
    output: the file, or of okf and basic-memory the folder; without it, or with -, jsonl, html and ics are printed
    project: only what is of this project
    since: only what changed from then on: 30d, 12h, 3m, or a day such as 2026-10-01
    type: only notes of these types; of html and ics by default decisions, and actions and meetings
    force: write over what no export has written

    Example: cortex export -o memory.jsonl
    Example: cortex export --to html --project shop -o decisions.html
    """
    target = ""
    if output not in ("", "-"):
        target = _checked_target(vault, caller, to, output, force=force)
    elif to in (*_FOLDERS, "sqlite") or not write:
        raise InvalidInputError(f"name where to write {to}", f"cortex export --to {to} -o PATH")
    named, below = canonical_project(vault, project), vault.layout().below
    types = tuple(map(canonical_type, type)) or _TYPES.get(to)
    projects = (named,) if named else None
    wanted = KNOWLEDGE._replace(projects=projects, types=types, changed_since=since)
    known, counts = dict[str, tuple[str, str]](), Counter[str]()

    def find(index: IndexSession) -> list[str]:
        paths, events = [], set[str]()
        for row in (row for row in _rows(index, wanted) if is_in_view(row, to, named)):
            paths.append(row.path)
            events.update(row.events)
            known[row.id] = below(row.path) or row.path, row.title
        trail = _rows(index, EVENTS) if to in ("jsonl", "sqlite") else ()
        of_trail = (row.path for row in trail if wanted == KNOWLEDGE or row.id in events)
        return [*sorted(paths), *sorted(of_trail)]

    paths, problems = query_fresh(vault, caller, find)
    if paths:
        read = _read_notes(vault, caller, paths, counts, problems)
        pieces = _WRITERS[to](read, known, named)
        if to in _FOLDERS:
            _write_folder(target, pieces)
        elif target:
            _write_file(target, pieces)
        elif write:
            for _, piece in pieces:
                write(piece)
    return ExportResult(to, target, dict(counts), problems)


def _rows(index: IndexSession, wanted: NoteFilter) -> Iterator[NoteRow]:
    numbers = sorted(index.catalogue.numbers(wanted))
    for start in range(0, len(numbers), _BATCH):
        yield from index.catalogue.rows_by_number(numbers[start : start + _BATCH]).values()


def _checked_target(vault: Vault, caller: Caller, to: str, output: str, *, force: bool) -> str:
    """The absolute path to write to. Raises `InvalidInputError` for one within the vault,
    `ConflictError` where something else would be written over."""
    full = os.path.normpath(os.path.join(caller.cwd, os.path.expanduser(output)))
    root, is_folder = os.path.realpath(vault.root), to in _FOLDERS
    if os.path.commonpath((root, os.path.realpath(full))) == root:
        raise InvalidInputError(f"{output} lies in the vault", "name a place outside of it")
    if os.path.exists(full) and os.path.isdir(full) != is_folder:
        raise InvalidInputError(
            f"{output} is no {'folder' if is_folder else 'file'}", "name another"
        )
    marked = os.path.join(full, _MARKER) if is_folder else full
    is_free = not os.path.lexists(full) or (is_folder and not os.listdir(full))
    if not (is_free or force or _MARK in files.read_bounded(marked, _HEAD_BYTES)):
        message = f"{output} is there, and no export has written it"
        raise ConflictError(message, "--force writes over it; or name another place")
    return full


def _write_file(target: str, pieces: Pieces) -> None:
    """Write a file, whole or not at all."""
    folder, name = os.path.split(target)
    new = f".{name}.{os.urandom(8).hex()}.new"
    files.create(folder, new, (piece for _, piece in pieces))
    os.replace(os.path.join(folder, new), target)


def _write_folder(target: str, pieces: Pieces) -> None:
    """Write the files of a folder, each whole; those of an earlier export that are not among them
    go."""

    def put(path: str, piece: bytes) -> str:
        if piece != (there := read_if_there(target, path)):
            files.replace(target, path, piece, there)
        return path

    os.makedirs(target, mode=0o700, exist_ok=True)
    marker = read_if_there(target, _MARKER) or _MARK
    put(_MARKER, marker)  # what is cut off may be done again
    written = [put(path, piece) for path, piece in pieces]
    for path in {*marker.decode("utf-8", "replace").split("\n")[1:]}.difference(written):
        if files.exists(target, path):
            files.remove(target, path)
    put(_MARKER, "\n".join([_MARK.decode(), *written]).encode())


def _read_notes(
    vault: Vault, caller: Caller, paths: list[str], counts: Counter[str], problems: list[Problem]
) -> Iterator[ExportedNote]:
    """The notes at these paths as they stand, and with their project; how many of each kind is
    counted. What cannot be read is added to the problems."""
    layout, form = vault.layout(), settings.load(vault.root).form
    for path in caller.each(paths, "exporting"):
        try:
            whole = decode_text(files.read(vault.root, path))
        except (CortexError, OSError) as error:
            problems.append(problem_of(path, error))
            continue
        note = notes.read(whole.encode("utf-8", "replace"), path)
        with suppress(InvalidInputError):  # of a hand that writes YAML in another way
            note = edit.with_place(note, form)
        whole = decode_text(notes.write(note))
        kind = "record" if is_record_id(note.get("id")) else "note"
        kind = "session" if note.get("type") == "session" and note.provenance()[0] else kind
        kind = "event" if layout.is_in(path, "events", "inbox") else kind
        title, text = note.title or path.rpartition("/")[2][:-3], note.text.lstrip("\n")
        named = kind, layout.below(path) or path, note.get("id") or path, title
        counts[kind] += 1
        yield ExportedNote(*named, whole[: len(whole) - len(text)], text, note)


def _write_okf(some: Iterable[ExportedNote], known: Known, _project: str) -> Pieces:
    """A bundle of the Open Knowledge Format, version 0.2, with its index and log."""
    listed = []
    for one in some:
        kind, at = one.note.get("type") or "note", one.note.updated
        day = one.note.get("created")[:10]
        listed.append((f"# {kind}", f"## {day}", _link(one.path, one.title), one.gist))
        made = {"by": f"cortex/{__version__}", "at": at} if at else None
        added = {"type": kind, "title": one.title, "description": one.gist, "generated": made}
        lines = [f"- {kind} {_link(*known[to])}\n" for kind, to in one.relations if to in known]
        yield _okf_path(one.path), _with_added(one, added, Related=lines)
    index = _grouped(sorted(listed), 0, "* {2} - {3}\n")
    yield "index.md", f'---\nokf_version: "0.2"\n---\n{index}'.encode()
    days = sorted((row for row in listed if row[1][3:]), key=lambda row: row[1], reverse=True)
    yield "log.md", ("# Log\n" + _grouped(days, 1, "* **Creation**: {2}\n")).encode()


def _write_basic_memory(some: Iterable[ExportedNote], known: Known, _project: str) -> Pieces:
    """Notes for basic-memory: what a record says first as an observation, its relations as such."""
    for one in some:
        tags = "".join(f" #{tag}" for tag in one.note.get_list("tags"))
        seen = [f"- [{one.note.get('type')}] {one.gist}{tags}\n"] if one.kind == "record" else []
        ends = ((kind, to, known[to][1]) for kind, to in one.relations if to in known)
        lines = [f"- {kind} [[{to if '[' in title else title}]]\n" for kind, to, title in ends]
        # A note without one is written anew by that program.
        added = {"title": one.title, "permalink": one.note.get("id") or slugify(one.path[:-3], 200)}
        yield one.path, _with_added(one, added, Observations=seen, Relations=lines)


def _okf_path(path: str) -> str:
    """The path of a note; two names are those of the lists, and of their notes those with `of`."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}of {name}" if name.replace("of ", "") in _LISTS else path


def _link(path: str, title: str) -> str:
    return f"[{one_line(title).replace('[', '(').replace(']', ')')}](/{quote(_okf_path(path))})"


def _grouped(rows: Iterable[tuple[str, ...]], by: int, line: str) -> str:
    """A line for each row, below a heading for those that have a value in common."""
    text = ""
    for value, some in groupby(rows, lambda row: row[by]):
        text += f"\n{value}\n\n" + "".join(line.format(*row) for row in some)
    return text


def _with_added(one: ExportedNote, added: Mapping[str, YamlValue], **sections: list[str]) -> bytes:
    """The note as it is, with what it lacks of these fields as the last of its frontmatter, and with
    these sections at its end."""
    note, whole = one.note, one.head + one.text
    lacking = {key: value for key, value in added.items() if value and not note.get(key)}
    fields = {"cortex_path": one.path, **lacking}.items()
    block = "".join(f"{line}\n" for pair in fields for line in field_lines(*pair))
    ends = (f"\n## {name}\n\n{''.join(some)}" for name, some in sections.items() if some)
    below = "".join(ends)
    below = SECTIONS + below if below or SECTIONS in whole else ""
    if note.opening_fence[:1] != b"-" or not note.frontmatter or note.problems:
        return f"---\n{block}---\n{whole}{below}".encode()
    above = (note.opening_fence + note.frontmatter).decode()
    return f"{above}{block}{whole[len(above) :]}{below}".encode()


_WRITERS = {
    "jsonl": write_jsonl, "okf": _write_okf, "basic-memory": _write_basic_memory,
    "sqlite": write_sqlite, "html": write_html, "ics": write_ics,
}  # fmt: skip
