"""A forked session begins with a copy of its parent's transcript: what the copy says is captured once, with the parent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from cortex.operations.capture import transcript_chunk
from cortex.operations.capture.hook_capture import HookEvent, capture_hook_event
from cortex.operations.capture.workspace import find_workspace
from cortex.operations.exchange.import_ import import_
from cortex.vault.git import checkout
from tests.conftest import caller_at

PARENT, FORK, NESTED = (f"{digit * 8}-2222-4333-8444-555555555555" for digit in "149")
Lines = list[dict[str, Any]]


def turn(number: int, session: str, project: Path, said: str = "") -> Lines:
    base = {
        "cwd": str(project),
        "sessionId": session,
        "timestamp": f"2026-11-20T10:{number:02}:00.000Z",
    }
    parts = [
        {"type": "text", "text": said or f"Decision: part {number} is made of larch."},
        {
            "type": "tool_use",
            "id": f"t{number}",
            "name": "Write",
            "input": {"file_path": f"f{number}.py"},
        },
    ]
    return [
        {**base, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"Please make part {number}"}},
        {**base, "type": "assistant", "uuid": f"a{number}", "message": {"id": f"m{number}", "role": "assistant", "content": parts}},
    ]  # fmt: skip


def kept(lines: Lines, session: str) -> Lines:
    """Lines as a fork copies them: under its own name, and with the ids of the old ones."""
    return [{**line, "sessionId": session} for line in lines]


def renamed(lines: Lines, session: str) -> Lines:
    """The same with ids of its own, and the old ones named."""
    return [
        {**line, "sessionId": session, "uuid": f"x{line['uuid']}", "forkedFrom": {"sessionId": PARENT, "messageUuid": line["uuid"]}}
        for line in lines
    ]  # fmt: skip


@pytest.fixture
def project(tmp_path) -> Path:
    folder = tmp_path / "vault/shop"
    folder.mkdir()
    (folder / checkout.PROJECT_FILE).write_text("shop\n")
    return folder


class Host:
    """A host that writes transcripts and calls our hook."""

    def __init__(self, vault, project: Path) -> None:
        self.vault, self.project = vault, project
        self.folder = Path(os.environ["HOME"], ".claude/projects/-any")
        self.folder.mkdir(parents=True)
        self.here = caller_at("2026-11-20T16:45:12Z", str(project))._replace(random=os.urandom)

    def write(self, session: str, lines: Lines) -> None:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (self.folder / f"{session}.jsonl").write_text(text)

    def stop(self, session: str, lines: Lines) -> None:
        self.write(session, lines)
        path = str(self.folder / f"{session}.jsonl")
        told = HookEvent("stop", "claude", session, transcript=path)
        _, place = find_workspace("claude", session, path, str(self.project), {})
        capture_hook_event(self.vault, self.here, told, place, 1.0)

    def times_captured(self, *numbers: int) -> list[tuple[int, int]]:
        """How often what each turn said, and what it did, stands in events."""
        found = [
            *Path(self.vault.root, "inbox").rglob("*.md"),
            *Path(self.vault.root, "events").rglob("*.md"),
        ]
        text = "".join(path.read_text() for path in found)
        return [
            (text.count(f"part {number} is made"), text.count(f"- f{number}.py"))
            for number in numbers
        ]


@pytest.fixture
def host(vault, project) -> Host:
    return Host(vault, project)


@pytest.mark.parametrize("copied", [kept, renamed])
def test_a_fork_adds_its_own_turns_alone(host, project, copied):
    base = turn(1, PARENT, project) + turn(2, PARENT, project)
    host.stop(PARENT, base)
    own = turn(3, FORK, project)
    host.stop(FORK, copied(base, FORK) + own)
    host.stop(FORK, copied(base, FORK) + own + turn(5, FORK, project))
    host.stop(PARENT, base + turn(4, PARENT, project))  # it goes on, too
    assert host.times_captured(1, 2, 3, 4, 5) == [(1, 1)] * 5


def test_a_fork_of_a_fork_and_one_from_the_middle(host, project):
    base = turn(1, PARENT, project) + turn(2, PARENT, project)
    host.stop(PARENT, base)
    fork = kept(base, FORK) + turn(3, FORK, project)
    host.stop(FORK, fork)
    host.stop(NESTED, kept(fork, NESTED) + turn(4, NESTED, project))
    host.stop("s5", kept(base[:2], "s5") + turn(5, "s5", project))
    assert host.times_captured(1, 2, 3, 4, 5) == [(1, 1)] * 5


def test_a_copy_that_is_read_in_several_parts(host, project, monkeypatch):
    monkeypatch.setattr(transcript_chunk, "MAX_READ_BYTES", 2_000)
    base = [line for number in range(1, 9) for line in turn(number, PARENT, project)]
    for count in range(2, len(base) + 1, 2):
        host.stop(PARENT, base[:count])
    for _ in range(12):
        host.stop(FORK, kept(base, FORK) + turn(9, FORK, project))
    assert host.times_captured(1, 5, 8, 9) == [(1, 1)] * 4


def test_an_equal_id_in_a_session_that_says_something_else_is_no_copy(host, project):
    host.stop(PARENT, turn(1, PARENT, project))
    host.stop(FORK, turn(1, FORK, project, "Decision: the roof is made of oak.")[1:])
    host.stop(NESTED, [*turn(1, NESTED, project)[:1], *turn(2, NESTED, project)])
    assert host.times_captured(1, 2) == [(1, 2), (1, 1)]


@pytest.mark.parametrize("by_hook", [True, False])
def test_an_import_leaves_out_what_a_fork_copied_whoever_captured_its_parent(
    host, project, vault, by_hook
):
    base = turn(1, PARENT, project) + turn(2, PARENT, project)
    if by_hook:
        host.stop(PARENT, base)
    else:
        host.write(PARENT, base)
        import_(vault, host.here, ["claude"])
    host.write(FORK, kept(base, FORK) + turn(3, FORK, project))
    assert import_(vault, host.here, ["claude"]).events == 1
    assert import_(vault, host.here, ["claude"]).events == 0
    assert host.times_captured(1, 2, 3) == [(1, 1)] * 3


def test_a_parent_whose_file_is_gone_takes_nothing_with_it(host, project):
    base = turn(1, PARENT, project)
    host.stop(PARENT, base)
    (host.folder / f"{PARENT}.jsonl").unlink()
    host.stop(FORK, kept(base, FORK) + turn(2, FORK, project))
    assert host.times_captured(2) == [(1, 1)]
