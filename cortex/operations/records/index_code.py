"""Remember source code: of each file a description, and the code of its larger units."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Annotated

from cortex.core.extract.code_units import LANGUAGE_OF_ENDING, SOURCE_RE, code_notes
from cortex.core.model import event as events, topics
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.note_status import CODE_TYPES, RAW_CODE
from cortex.core.model.parameters import OUTSIDE_PATH
from cortex.core.model.problem import InvalidInputError, NotFoundError, Problem
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import one_of
from cortex.core.text.value import NamedTuple
from cortex.index.catalogue.filters import KNOWLEDGE
from cortex.operations.capture.capture import new_event_id, publish_event
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.find.show import read_note
from cortex.operations.find.verify_claims import MAX_SOURCE_BYTES, SKIPPED_FOLDERS
from cortex.operations.records.archive import set_aside
from cortex.operations.records.change_record import edit_notes_and_heal
from cortex.operations.upkeep.bring_up_to_date import query_fresh
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.git import checkout, git_cli
from cortex.vault.locate import Vault


class IndexResult(NamedTuple):
    """What is remembered of source files from now on, or would be."""

    project: str
    sources: int  # files that were read
    records: dict[str, list[str]]  # titles of what is created, updated, archived and unchanged
    left_out: dict[str, int]  # files that were not read, by why
    dry_run: bool
    problems: tuple[Problem, ...]


def index_code(
    vault: Vault, caller: Caller, path: Annotated[list[str], OUTSIDE_PATH], *,
    language: str = "", project: str = "", dry_run: bool = False,
) -> IndexResult:  # fmt: skip
    """Remember source code: what files hold, and the code itself.

    Of each file a record code-description (to save also code_description) lists classes and functions with
    the first words about them; those of four lines or more are records code, each source_of it. Search
    finds both, and nothing else tells them; code is never embedded, nor told a model. The next run updates
    and archives them; until then search and show mark what has changed with ⚠. Left out is what git
    ignores, what is vendored or binary, and files over 1 MB.

    path: files and folders
    language: only files in it, as go; a named file whose ending tells none counts as in it
    project: the project; by default what the working directory says
    dry_run: say what would be remembered and change nothing

    Example: cortex index-code lib bin/deploy --language ruby --dry-run
    """
    named, around = resolve_project(vault, caller, project), checkout.find_repository(caller.cwd)
    root = around.top if around else os.path.realpath(caller.cwd)
    places = [os.path.realpath(os.path.join(caller.cwd, os.path.expanduser(one))) for one in path]
    is_code = KNOWLEDGE._replace(types=CODE_TYPES, projects=(named,), has_topic=True)
    rows, problems = query_fresh(vault, caller, lambda index: index.catalogue.find(is_code, "path"))
    known = {row.topic: (row, note) for row in rows if (note := read_note(vault, row.path))}
    titles: dict[str, list[str]] = {"created": [], "updated": [], "archived": [], "unchanged": []}
    left_out, read, edits = Counter[str](), set[str](), []
    for file, spoken, text in _iter_sources(caller, places, language.lower(), left_out):
        read.add(name := os.path.relpath(file, root))
        records = code_notes(name, text, spoken)
        for one in records:
            row, note = known.pop(one.topic, (None, None))
            source = one.body.partition("\n")[0]
            if row and note and row.status != "archived" and source in note.text:
                titles["unchanged"].append(one.title)
                continue  # and what somebody has deleted stays so
            titles["updated" if row else "created"].append(one.title)
            last = events.latest_event_id(note.provenance()[0] if note else ())
            scope = "project" if named else "personal"
            about = topics.topic_record_id(named, scope, records[0].topic)
            event = Event(
                new_event_id(caller, last), "observation", "",
                sanitize_text(one.body), project=named, source=caller.source, title=sanitize_text(one.title),
                record=one.type, topic=one.topic, priority=one.priority, relations=(f"source_of {about}",) * (one.type == RAW_CODE),
            )  # fmt: skip
            if not dry_run:
                publish_event(vault, caller, event)
    for row, note in known.values():
        name = found[1] if (found := SOURCE_RE.search(note.text)) else ""
        file = os.path.normpath(os.path.join(root, name))
        is_below = any(f"{file}/".startswith(f"{one}/") for one in places)
        if row.status == "active" and (name in read or (is_below and not os.path.lexists(file))):
            titles["archived"].append(row.title)
            why = f"not in {name}"
            edit = partial(set_aside, row=row, status="archived", why=why, now=caller.now)
            edits.append((row.path, edit))
    if not dry_run:
        done = normalize(vault, caller)
        problems += (*done.failed, *done.problems, *edit_notes_and_heal(vault, caller, edits)[1])
    return IndexResult(named, len(read), titles, dict(left_out), dry_run, tuple(problems))


def _iter_sources(
    caller: Caller, places: list[str], asked: str, left_out: Counter[str]
) -> Iterator[tuple[str, str, str]]:
    """The source files at some places, each with its language and text; what is left out is counted."""
    wanted = LANGUAGE_OF_ENDING.get(asked, asked)
    if wanted not in ("", *LANGUAGE_OF_ENDING.values()):
        hint = one_of(wanted, sorted({*LANGUAGE_OF_ENDING.values()}))
        raise InvalidInputError(f"there is no language {asked!r}", hint)
    if missing := [place for place in places if not os.path.exists(place)]:
        raise NotFoundError(f"there is no {missing[0]}", "name files and folders of source code")
    for place in places:
        if is_named := os.path.isfile(place):
            names = [place]
        elif checkout.is_in_repository(place):
            words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
            names = sorted({*map(os.fsdecode, git_cli.run(place, words).split(b"\0"))})
            left_out.update(["ignored by git"] * len(git_cli.list_ignored(place)))
        else:
            walked = (os.path.join(one, name) for one, _, some in os.walk(place) for name in some)
            names = sorted(os.path.relpath(one, place) for one in walked)
        for name in caller.each(names, "indexing code"):
            file, ending = os.path.join(place, name), os.path.splitext(name)[1][1:].lower()
            language = LANGUAGE_OF_ENDING.get(ending, wanted * is_named)
            is_wanted = language and wanted in ("", language)
            data = files.read_bounded(file, MAX_SOURCE_BYTES + 1) if is_wanted else b""
            is_vendored = data and not (is_named or SKIPPED_FOLDERS.isdisjoint(name.split("/")))
            why = "over 1 MB" * (len(data) > MAX_SOURCE_BYTES) or "binary" * (b"\0" in data)
            if why := why or "vendored" * bool(is_vendored):
                left_out[why] += 1
            elif data:
                yield file, language, data.decode("utf-8", "replace")
