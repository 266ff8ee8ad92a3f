"""Take over what other systems remember: transcripts of agents, and the stores of `importers`."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from typing import Annotated

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import OUTSIDE_PATH, Since
from cortex.core.model.problem import InvalidInputError, NotFoundError, Problem
from cortex.core.text.strings import close_matches, one_of, shell_quote
from cortex.core.text.value import NamedTuple
from cortex.hosts import TRANSCRIPT_HOSTS, transcript_files
from cortex.importers import SOURCES, load_importer
from cortex.importers.item import FAULTS, fault
from cortex.operations.capture.project_context import canonical_project, resolve_project
from cortex.operations.exchange.import_items import ImportedSource, ItemsImport
from cortex.operations.exchange.import_transcripts import (
    ImportedSession,
    TranscriptImport,
    UnreadTranscript,
)
from cortex.operations.upkeep.detached import start_detached
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault

_MANY_EVENTS = 20_000


class FoundPlace(NamedTuple):
    """Something on this machine that can be imported."""

    source: str
    path: str


class ImportResult(NamedTuple):
    """What an import did, or would do."""

    hosts: list[str]
    sessions: list[ImportedSession]
    events: int
    records: int
    unread: list[UnreadTranscript]
    left_alone: int  # sessions of other projects, with Cortex off, or that ended before `since`
    folders: list[str]  # where transcripts and stores were looked for
    transcripts: int  # how many there are
    dry_run: bool
    stopped: bool  # somebody interrupted it
    problems: list[Problem]
    sources: list[ImportedSource]
    places: list[FoundPlace]  # without a source: what there is
    found: bool  # whether there was anything to read, new or not


def import_(
    vault: Vault,
    caller: Caller,
    sources: Annotated[tuple[str, ...], OUTSIDE_PATH] = (),
    *,
    since: Since | None = None,
    project: str = "",
    all: bool = False,
    path: Annotated[str, OUTSIDE_PATH] = "",
    dry_run: bool = False,
) -> ImportResult:
    """Take over what other systems remember, or see what there is.

    Without a source it lists what lies on this machine, and which sources it knows. Memories become
    records with their dates, statuses, relations and where they come from, conversations sessions,
    transcripts of meetings meetings. Secrets are redacted, and nothing of
    the source changes. What was imported before, or captured by hooks, is not taken again, so an
    import may be interrupted and repeated. docs/import.md lists the sources, what is taken of each,
    and where it lies.

    Of the transcripts of claude, codex and copilot only sessions of the project of the working
    directory are taken by default, as their hooks would have captured them: with subagents, without
    prompts that were rewound, and none from folders with a .cortex-off file.

    sources: one or several sources, such as claude, chatgpt or claude-mem, and the file or folder to read if it is not where the source keeps it; a file alone is recognised
    since: only what is of a later time: 30d, 12h, 3m, or a day such as 2026-10-01
    project: only what is of this project; what names none goes to it
    all: transcripts of every project, each as its own
    path: the same as a file or folder among the sources
    dry_run: say what there is, with samples, and take over nothing

    Example: cortex import claude codex --all --dry-run
    Example: cortex import chatgpt ~/Downloads/export.zip
    """
    names, place = _read_words(caller, sources, path)
    transcripts = TranscriptImport(vault, caller, dry_run=dry_run)
    of = canonical_project(vault, project)
    done, looked, stopped = list[ImportedSource](), list[str](), False
    try:
        if hosts := [name for name in names if name in TRANSCRIPT_HOSTS]:
            _import_transcripts(transcripts, hosts, place, since, project, any_project=all)
        for name in (name for name in names if name not in TRANSCRIPT_HOSTS):
            places = _places_of(vault, caller, name, place)
            looked += places or [f"{name}: {' and '.join(SOURCES[name].places) or 'name its file'}"]
            for one in places:
                items = ItemsImport(vault, caller, name, one, project=of, since=since)
                try:
                    items.survey()
                    if not dry_run:
                        items.capture()
                finally:  # also of what was interrupted is told what is there
                    done.append(items.result())
    except KeyboardInterrupt:
        stopped = True
    caller.progress("reading", 1, 1)
    found = [] if names else [*_find_places(vault, caller, transcripts.problems)]
    result = _result_of(transcripts, done, found)._replace(
        hosts=names, folders=transcripts.folders + looked, dry_run=dry_run, stopped=stopped
    )
    return result if dry_run or stopped or not done else _with_pages(vault, caller, result)


def _result_of(
    transcripts: TranscriptImport, done: list[ImportedSource], places: list[FoundPlace]
) -> ImportResult:
    problems = [*transcripts.problems, *(problem for one in done for problem in one.problems)]
    is_there = transcripts.transcript_count or places or any(one.items for one in done)
    return ImportResult(
        [], list(transcripts.sessions.values()),
        transcripts.events + sum(one.events for one in done),
        transcripts.records + sum(one.records for one in done),
        transcripts.unread, transcripts.left_alone, [], transcripts.transcript_count,
        False, False, problems, done, places, bool(is_there),
    )  # fmt: skip


def _with_pages(vault: Vault, caller: Caller, result: ImportResult) -> ImportResult:
    """The result, once what else waits is normalized and the briefings are up to date."""
    if any(items.missed for one in result.sources for items in one.items):
        return result  # there is no room
    if result.events > _MANY_EVENTS:
        # The pages of so many take as much memory as all the rest, and nobody has to wait for them.
        start_detached(vault, "normalize")
        return result
    made = normalize(vault, caller)
    problems = [*result.problems, *made.failed, *made.problems]
    return result._replace(records=result.records + len(made.created), problems=problems)


def _read_words(caller: Caller, words: tuple[str, ...], path: str) -> tuple[list[str], str]:
    """The sources that are named, or that of the file alone, and the file or folder to read,
    absolute; "" without one."""
    known = (*TRANSCRIPT_HOSTS, *SOURCES)
    full = os.path.join(caller.cwd, os.path.expanduser(path))
    if path and os.path.exists(full) and len(words) == 1 and words[0] not in known:
        words = () if words[0] in _recognise(full) else words  # `memory` of `mcp-memory`
    names = list(dict.fromkeys(word for word in words if word in known))
    others = [word for word in (*words, path) if word not in known and (word or words == ("",))]
    paths = [os.path.join(caller.cwd, os.path.expanduser(word)) for word in others]
    for word, full in zip(others, paths, strict=True):
        if not os.path.exists(full):
            if os.sep in word or (names and not close_matches(word, known)):
                raise NotFoundError(f"there is no {word}", "name a file or folder that is there")
            message = f"{word!r} is no source, and no file or folder"
            raise NotFoundError(message, one_of(word, known))
    if len(others) > 1:
        raise InvalidInputError(f"{others[1]!r} is one path too many", "import them one by one")
    place = os.path.normpath(paths[0]) if paths else ""
    if place and len(names) > 1:
        hint = f"cortex import {names[0]} {shell_quote(place)}"
        raise InvalidInputError("a file or folder is of one source", hint)
    return names or ([_recognise(place)] if place else []), place


def _recognise(place: str) -> str:
    """The source of a file or folder. Raises `InvalidInputError` that says what is damaged."""
    faults = list[Problem]()
    for name in SOURCES:
        if _is_of(name, place, faults):
            return name
    if faults:
        raise InvalidInputError(faults[0].message, faults[0].hint)
    hint = f"name its source: cortex import NAME {shell_quote(place)}; docs/import.md lists them"
    raise InvalidInputError(f"{place} is of no source that Cortex knows by its content", hint)


def _is_of(name: str, place: str, faults: list[Problem]) -> bool:
    """Whether a file or folder is one of a source; not if it cannot be read, which is added."""
    try:
        return load_importer(name).accepts(place)
    except (*FAULTS, OSError) as error:
        faults.append(fault(place, error))
        return False


def _import_transcripts(
    transcripts: TranscriptImport, hosts: list[str], place: str, since: int | None, project: str, *,
    any_project: bool,
) -> None:  # fmt: skip
    is_file = bool(place) and not os.path.isdir(place)
    is_all = any_project or (is_file and not project)
    of = "" if is_all else resolve_project(transcripts.vault, transcripts.caller, project)
    if not of and not any_project and not place:
        hint = f"cortex import {' '.join(hosts)} --all, or --project NAME"
        raise NotFoundError("no project is known for this directory", hint)
    # Who names the vault, or one transcript, means that.
    transcripts.any_vault = transcripts.vault.is_explicit or is_file
    for host in hosts:
        for folder in [place] if place else transcript_files.transcript_folders(host, os.environ):
            transcripts.scan_folder(host, folder)
    transcripts.import_sessions(of, since)


def _places_of(vault: Vault, caller: Caller, name: str, place: str) -> list[str]:
    """Where a source is to be read: the place that was named, else those where it keeps its own.
    Raises `InvalidInputError` for one that this vault lies in, or that lies in it."""
    found = [place] if place else list(_expand(SOURCES[name].places, caller.cwd))
    root = os.path.realpath(vault.root)
    for one in found:
        real = os.path.realpath(one)
        if os.path.commonpath((root, real)) in (root, real):
            hint = "name what is to be imported: a file or folder outside"
            raise InvalidInputError(f"{one} is of this vault itself", hint)
    return found


def _expand(places: tuple[str, ...], cwd: str) -> Iterator[str]:
    """The files and folders that are there, of places with `~`, `$NAME` and `*`."""
    for place in places:
        pattern = os.path.expandvars(os.path.expanduser(place))
        if "$" not in pattern:
            yield from sorted(glob.glob(os.path.join(glob.escape(cwd), pattern)))


def _find_places(vault: Vault, caller: Caller, faults: list[Problem]) -> Iterator[FoundPlace]:
    """What there is to import on this machine. What cannot be read is added to the faults."""
    for host in TRANSCRIPT_HOSTS:
        for folder in transcript_files.transcript_folders(host, os.environ):
            if next(transcript_files.list_paths(host, folder), ""):
                yield FoundPlace(host, folder)
    root = os.path.realpath(vault.root)
    for name, source in SOURCES.items():
        for place in _expand(source.places, caller.cwd):
            inside = os.path.commonpath((root, os.path.realpath(place))) == root
            if not inside and _is_of(name, place, faults):
                yield FoundPlace(name, place)
