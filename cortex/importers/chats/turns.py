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
from cortex.importers.item import ForeignItem, ForeignSession, ForeignTurn, Row

Load: TypeAlias = Callable[[Archive, str], Iterable[Row]]  # of a file's name
_FAULTS = AttributeError, KeyError, RecursionError, TypeError, ValueError, InvalidInputError
_DONE = "completed", "success"
_SHELLS = "bash", "shell", "run_shell_command"
_EDITORS = "edit", "write", "multiedit", "patch", "apply_patch", "write_file", "replace"
_PATCHED = r"(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$"


def session(key: str, messages: Iterable[ForeignTurn], **about: Any) -> Iterator[ForeignSession]:
    """A session with what is told `about` it; none where nobody said or did anything. Each of its
    turns begins with what a person says."""
    turns = list[ForeignTurn]()
    for one in messages:
        if (one.said[:1] and one.said[0].role == USER) or not turns:
            turns += [one] if any(one[2:]) else []
        else:
            id_, at, said, files, commands, _ = turns[-1]
            both = said + one.said, files + one.files, commands + one.commands
            turns[-1] = ForeignTurn(id_, at, *both)
    told = {name: one or "" for name, one in about.items()}
    yield from [ForeignSession(key, tuple(turns), **told)] if turns else []


def message(
    key: str, at: Any, is_person: bool, words: Iterable[str], calls: Iterable[Any] = ()
) -> ForeignTurn:
    """What somebody said in one go, and what was done by tools: of each call the tool, what it was
    given, how it ended, and the exit status of a command, or a text that tells it."""
    text, files, runs = "\n\n".join(filter(str.strip, words)).strip(), list[str](), []
    for tool, given, status, code in calls:
        if tool in _SHELLS and status in (*_DONE, "error") and given.get("command"):
            found = re.search(r"(?i)(?:^|exit(?:ed with)? code:? )(\d+)", str(code))
            told = f": exit code {found[1]}" if found and found[1] != "0" else ""
            outcome = f"failed{told}" if told or status == "error" else "ok"
            runs.append(CommandRun(given["command"], outcome))
        elif tool in _EDITORS and status in _DONE:
            file = given.get("filePath") or given.get("file_path")
            files += [file] if file else re.findall(_PATCHED, str(given.get("patchText", "")))
    said = (Utterance(USER if is_person else AGENT, text),) if text else ()
    return ForeignTurn(key, at, said, tuple(files), tuple(runs))


def text_of(content: Any) -> str:
    """What is said in a text, a part of a message, or a list of these."""
    if isinstance(content, list):
        return "\n".join(filter(None, map(text_of, content)))
    return content if isinstance(content, str) else (content or {}).get("text") or ""


def branch_to(leaf: Any, parents: dict[Any, Any]) -> list[Any]:
    """The keys from the root to a leaf; each once, even if they go in a circle."""
    keys = []
    while leaf in parents:
        keys.append(leaf)
        leaf = parents.pop(leaf)
    return keys[::-1]


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


def read_rows(path: str, names: str, load: Load = load_rows) -> Iterator[Row | Problem]:
    """What `load` gives of the files whose names match, the last first, and a `Problem` for each
    that is damaged. Raises `InvalidInputError` where there is nothing."""
    is_empty = True
    with open_archive(path) as archive:
        found = (name for name in archive.names() if re.search(names, name))
        for name in sorted(found, reverse=True):
            try:
                for row in load(archive, name):
                    is_empty = False
                    yield row
            except _FAULTS as error:
                is_empty = False
                yield _problem(name, error)
    if is_empty:
        raise InvalidInputError(f"{path} holds nothing of this source", "cortex import")


def read_newest(path: str, names: str, load: Load) -> Iterator[Row | Problem]:
    """The same, but of the rows of one `id` only that with the highest `state`."""
    rows = (row for row in read_rows(path, names, load) if isinstance(row, dict))
    newest = dict(sorted((row["id"], row["state"]) for row in rows))
    for row in read_rows(path, names, load):
        if isinstance(row, Problem) or newest[row["id"]] == row["state"]:
            yield row


def make_items(
    rows: Iterable[Row | Problem], make: Callable[[Row], Iterable[ForeignItem]]
) -> Iterator[ForeignItem]:
    """What `make` makes of each row; a `Problem` where it cannot."""
    for row in rows:
        try:
            yield from [row] if isinstance(row, Problem) else list(make(row))
        except _FAULTS as error:
            named = isinstance(row, dict) and (row.get("id") or row.get("uuid"))
            yield _problem(f"{named or 'an item'}", error)


def _problem(where: str, error: Exception) -> Problem:
    hint = "it is left out; look at it in the program that wrote it"
    return Problem(where, f"cannot be read: {type(error).__name__}: {error}", hint)
