"""Somebody else acts between any two calls of ours to the system: a consumer, a capture, an editor that saves a note."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cortex.core.model.caller import Caller, no_progress
from cortex.operations.care.init import init
from cortex.operations.records.capture import capture
from cortex.operations.records.restore import retry
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.locate import Vault

pytestmark = [pytest.mark.usefixtures("stopped"), pytest.mark.sampled(2)]
ID = "20261120t164512z-aaaaaaaaab"
COUNTED = (
    "open", "write", "read", "fsync", "link", "unlink", "mkdir", "rename", "close", "fchmod",
    "stat", "fstat", "listdir",
)  # fmt: skip


class Call(NamedTuple):
    """One call to the system."""

    name: str
    site: int  # from where: a hash of the stack


class Meanwhile:
    """The system as `cortex.vault.files` sees it; before call number `at`, `act` happens, once."""

    def __init__(self, at: int = -1, act: Callable[[], Any] = lambda: None) -> None:
        self.at, self.act = at, act
        self.calls: list[Call] = []

    def __getattr__(self, name: str) -> Any:
        if name in COUNTED:
            number = len(self.calls)
            self.calls.append(
                Call(
                    name,
                    hash(tuple((frame.f_code, line) for frame, line in traceback.walk_stack(None))),
                )
            )
            if number == self.at:
                self.act()
        return getattr(os, name)


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Do `ours`, and `theirs` before its call number `at`; answers the result and the calls."""

    def run(
        ours: Callable[[], Any], at: int = -1, theirs: Callable[[], Any] = lambda: None
    ) -> tuple[Any, list[Call]]:
        def undisturbed() -> None:
            with monkeypatch.context() as patch:
                patch.setattr(files, "os", os)
                theirs()

        system = Meanwhile(at, undisturbed)
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", system)
            return ours(), system.calls

    return run


def caller_of(start: int = 0) -> Caller:
    return Caller(
        "/", "2026-11-20T16:45:12Z", lambda size: start.to_bytes(size, "big"), "test", no_progress
    )


def vaults(ram: Path) -> Callable[[int], Vault]:
    return lambda number: Vault(init(caller_of(), str(ram / f"vault-{number}"), no_git=True).root)


def following(at: int, calls: list[Call], every: bool) -> int:
    """The next call before which somebody acts: with `every` that after `at`, otherwise the next that is the first from its
    place in the code, of every eighth place."""
    sites = [call.site for call in calls]
    at += 1
    while not every and at < len(sites) and (sites[at] in sites[:at] or len({*sites[:at]}) % 8):
        at += 1
    return at


@pytest.mark.parametrize("first", [False, True], ids=["a repeated capture", "a first capture"])
def test_a_capture_with_an_id_stays_one_when_the_inbox_is_normalized_meanwhile(
    first, ram, look, homes, during, soak
):
    fresh = vaults(ram)
    ours = lambda vault: capture(vault, caller_of(), "Gotcha: once", id=ID)
    at, calls = -1, [Call("?", 0)]
    while at < len(calls):
        vault = fresh(at)
        if not first:
            ours(vault)
        answer, calls = during(lambda: ours(vault), at, lambda: normalize(vault, caller_of()))
        normalize(vault, caller_of())
        assert answer.id == ID
        assert len(look(vault.root).places(ID)) == len(look(vault.root).below("records")) == 1, (
            f"before call {at} of {[call.name for call in calls]}"
        )
        at = following(at, calls, soak)


def test_two_captures_with_one_id_at_once_make_one_event(ram, look, homes, during, soak):
    fresh = vaults(ram)
    ours = lambda vault: capture(vault, caller_of(), "Gotcha: once", id=ID)
    at, calls = -1, [Call("?", 0)]
    while at < len(calls):
        vault = fresh(at)
        answer, calls = during(lambda: ours(vault), at, lambda: ours(vault))
        assert answer.id == ID
        assert look(vault.root).places(ID) == [f"inbox/pending/{ID}.md"]
        at = following(at, calls, soak)


def test_a_capture_beside_a_run_is_taken_by_it_or_by_the_next(ram, look, homes, during, soak):
    fresh = vaults(ram)
    at, calls = -1, [Call("?", 0)]
    while at < len(calls):
        vault = fresh(at)
        capture(vault, caller_of(1), "Gotcha: one")
        capture(vault, caller_of(2), "went on", type="stop", session="s")
        theirs = lambda: capture(vault, caller_of(3), "and on", type="stop", session="s")
        _, calls = during(lambda: normalize(vault, caller_of()), at, theirs)
        normalize(vault, caller_of())
        seen = look(vault.root)
        assert not seen.below("inbox"), f"before call {at}"
        assert len(seen.below("events")) == (3 if at >= 0 else 2), f"before call {at}"
        texts = (data.partition(b"## Events")[2] for data in seen.below("sessions").values())
        assert sum(data.count(b"[[") for data in texts) == (2 if at >= 0 else 1)
        at = following(at, calls, soak)


@pytest.mark.parametrize("how", ["in place", "by another file"])
def test_what_an_editor_saves_during_a_run_is_kept(how, ram, look, homes, during, soak):
    """Only between the last look at the note and the rename that follows it can a save be lost: no file system
    offers to compare and rename in one. That is microseconds; writing and syncing the new bytes must not lie between."""
    fresh = vaults(ram)
    at, calls = -1, [Call("?", 0)]
    lost: dict[int, str] = {}
    while at < len(calls):
        vault = fresh(at)
        capture(vault, caller_of(1), "began", type="stop", session="s")
        (session,) = normalize(vault, caller_of()).created
        note = Path(vault.root, session)
        capture(vault, caller_of(2), "went on", type="stop", session="s")

        def save() -> None:
            edited = note.read_bytes() + b"\nWhat a person wrote.\n"
            if how == "in place":
                note.write_bytes(edited)
            else:
                note.with_suffix(".swp").write_bytes(edited)
                note.with_suffix(".swp").replace(note)

        _, calls = during(lambda: normalize(vault, caller_of()), at, save)
        for name in look(vault.root).below("inbox/failed"):
            retry(vault, caller_of(), name.rpartition("/")[2])
        normalize(vault, caller_of())
        assert b"went on" in note.read_bytes(), f"before call {at}: the turn is lost"
        if at >= 0 and b"What a person wrote." not in note.read_bytes():
            lost[at] = calls[at].name
        at = following(at, calls, soak)
    print(f"\n{len(calls)} moments, a save lost at {lost}")
    assert not {"write", "fsync"} & set(lost.values()), f"a save is lost before these calls: {lost}"
    assert len(lost) <= 3
