"""What importers of chats share: turns made of messages, and the files in which sessions lie."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, TypeAlias

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.turn_summary import AGENT, USER, CommandRun, Utterance
from cortex.importers.archive import Archive, iter_json_array, open_archive
from cortex.importers.item import FAULTS, ForeignItem, ForeignSession, ForeignTurn, Row, fault

Some: TypeAlias = Iterable[Any]
Load: TypeAlias = Callable[[Archive, str], Some]  # of a file's name
Make: TypeAlias = Callable[[Any], Iterable[ForeignItem]]
_DONE = "completed", "success"
_SHELLS = "bash", "shell", "run_shell_command"
_EDITORS = "edit", "write", "multiedit", "patch", "apply_patch", "write_file", "replace"
_PATCHED = r"(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$"


def session(
    key: str, messages: Iterable[ForeignTurn | Problem], **about: Any
) -> Iterator[ForeignSession | Problem]:
    """A session with what is told `about` it; none where nobody said or did anything. Each of its
    turns begins with what a person says. Problems of messages come before it."""
    turns = list[ForeignTurn]()
    for one in messages:
        if isinstance(one, Problem):
            yield one
        elif not any(one[2:]):
            continue
        elif not turns or (one.said and one.said[0].role == USER):
            turns.append(one)
        else:
            id_, at, said, files, commands, _, given = turns[-1]
            both = said + one.said, files + one.files, commands + one.commands, ""
            turns[-1] = ForeignTurn(id_, at, *both, given + one.given)
    about["title"] = str(about.get("title") or "")
    if turns:
        yield ForeignSession(key, tuple(turns), **{name: one or "" for name, one in about.items()})


def message(key: str, at: Any, is_person: bool, words: Some, calls: Some = ()) -> ForeignTurn:
    """What somebody said in one go, in texts or parts with a `text`, and what was done by tools: of
    each call the tool, what it was given, how it ended, and a command's exit status, or a text of it."""
    texts = (one if isinstance(one, str) else (one or {}).get("text") or "" for one in words)
    text, files, runs = "\n\n".join(filter(str.strip, texts)).strip(), list[str](), []
    for tool, given, status, code in ((tool, one or {}, *more) for tool, one, *more in calls):
        if tool in _SHELLS and status in (*_DONE, "error") and given.get("command"):
            found = re.search(r"(?i)(?:^|exit(?:ed with)? code:? )(\d+)", str(code))
            told = f": exit code {found[1]}" if found and found[1] != "0" else ""
            outcome = f"failed{told}" if told or status == "error" else "ok"
            runs.append(CommandRun(str(given["command"]), outcome))
        elif tool in _EDITORS and status in _DONE:
            file = given.get("filePath") or given.get("file_path")
            files += [str(file)] if file else re.findall(_PATCHED, str(given.get("patchText", "")))
    said = (Utterance(USER if is_person else AGENT, text),) if text else ()
    return ForeignTurn(key, at, said, tuple(files), tuple(runs))


def holds(path: str, names: str, beginning: str) -> bool:
    """Whether one of the first files whose names match has a pattern in its beginning."""
    with open_archive(path) as archive:
        found = islice((name for name in archive.names() if re.search(names, name)), 50)
        return any(re.search(beginning, archive.read(name, 64_000)) for name in found)


def load_rows(archive: Archive, name: str) -> Iterator[Row]:
    """The objects of a file of JSON: of an array, or one alone."""
    is_object = archive.read(name, 1_000).lstrip().startswith("{")
    with archive.open(name) as file:
        yield from [json.load(file)] if is_object else iter_json_array(file)


def read_files(path: str, names: str, load: Load, make: Make) -> Iterator[ForeignItem]:
    """What `make` makes of each row that `load` gives of the files whose names match, the last first;
    a `Problem` for what is damaged. Raises `InvalidInputError` where there is nothing."""
    is_empty = True
    with open_archive(path) as archive:
        found = (name for name in archive.names() if re.search(names, name))
        for name in sorted(found, reverse=True):
            try:
                for row in load(archive, name):
                    is_empty = False
                    try:
                        yield from list(make(row))
                    except FAULTS as error:
                        keyed = isinstance(row, dict) and (row.get("id") or row.get("uuid"))
                        yield fault(f"{name} {keyed or ''}".strip(), error)
            except FAULTS as error:
                is_empty = False
                yield fault(name, error)
        yield from archive.problems
    if is_empty:
        raise InvalidInputError(f"{path} holds nothing of this source", "cortex import")


def read_newest(path: str, names: str, load: Load) -> Iterator[ForeignItem]:
    """The sessions that `load` gives of the files, of several states of one the last."""

    def state(one: Any) -> tuple[str, str]:  # what redacts sessions may give several one id
        if not isinstance(one, ForeignSession):
            return one[0], ""
        return f"{one.key} {one.at}", f"{one.ended} {len(repr(one)):12}"

    newest = dict(sorted(state(one) for one in read_files(path, names, load, lambda one: [one])))
    for one in read_files(path, names, load, lambda one: [one]):
        yield from [one] if newest[state(one)[0]] == state(one)[1] else []
