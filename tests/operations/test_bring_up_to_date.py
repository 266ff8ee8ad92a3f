"""The pipeline: which steps each way into it takes, and that none is taken twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.index import briefing_pages
from cortex.operations.care.status import status
from cortex.operations.find.search import search
from cortex.operations.records.capture import capture
from cortex.operations.records.save import save
from cortex.operations.share.sync import sync
from cortex.operations.upkeep import heal, restore_lost
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.operations.upkeep.inbox import InboxNormalizer
from cortex.operations.upkeep.normalize import normalize
from cortex.vault.locate import Vault
from cortex.vault.state.change_marker import briefings_are_stale


@pytest.fixture
def repo(vault: Vault, caller: Caller, git: Callable[..., str]) -> Vault:
    """A vault under git whose briefings are up to date."""
    git(vault.root, "init", "-q", "-b", "main")
    save(vault, caller, "Keep the index outside", body="It can be rebuilt.")
    sync(vault, caller)
    bring_up_to_date(vault, caller)
    assert not briefings_are_stale(vault)
    return vault


@pytest.fixture
def taken(repo: Vault, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each step was taken."""
    counts = Counter[str]()

    def count(place: object, name: str, step: str) -> None:
        original = getattr(place, name)

        def counted(*given: object, **options: object) -> object:
            counts[step] += 1
            return original(*given, **options)

        monkeypatch.setattr(place, name, counted)

    for module in (heal, restore_lost):
        count(module, "restore_lost", "restore")
    count(InboxNormalizer, "run", "normalize")
    count(briefing_pages, "find_differences", "heal")
    return counts


def move_git(vault: Vault, git: Callable[..., str]) -> None:
    git(vault.root, "commit", "-q", "--allow-empty", "-m", "as a pull does")


WAYS = {
    "search": lambda vault, caller: search(vault, caller, "index"),
    "normalize": normalize,
    "save": lambda vault, caller: save(vault, caller, "Use SQLite", body="One file."),
    "status": status,
    "heal": heal.heal,
}
# With an event in the inbox and git moved, and with neither: restore, normalize, heal.
EXPECTED = {
    "search": ((1, 1, 1), (0, 0, 0)), "normalize": ((1, 1, 1), (1, 1, 0)), "save": ((1, 1, 1), (0, 1, 0)),
    "status": ((1, 0, 1), (0, 0, 0)), "heal": ((1, 0, 1), (1, 0, 1)),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_each_way_takes_each_step_once_and_only_what_is_due(way, repo, caller, git, taken) -> None:
    for is_due, counts in zip((True, False), EXPECTED[way], strict=True):
        if is_due:
            capture(repo, caller, "Decision: use Whoosh")
            move_git(repo, git)
        taken.clear()
        WAYS[way](repo, caller)
        assert (taken["restore"], taken["normalize"], taken["heal"]) == counts
        bring_up_to_date(repo, caller)


@pytest.mark.parametrize("way", ["search", "normalize", "save", "heal"])
def test_what_git_does_behind_the_first_step_is_for_the_next_call(
    way, repo, caller, git, monkeypatch
) -> None:
    original = restore_lost.restore_lost

    def restore_then_pull(*given: object) -> object:
        done = original(*given)
        move_git(repo, git)
        return done

    monkeypatch.setattr(heal, "restore_lost", restore_then_pull)
    monkeypatch.setattr(restore_lost, "restore_lost", restore_then_pull)
    move_git(repo, git)
    WAYS[way](repo, caller)
    assert briefings_are_stale(repo)
    monkeypatch.undo()
    bring_up_to_date(repo, caller)
    assert not briefings_are_stale(repo)


def test_a_step_that_fails_is_a_problem_and_the_others_go_on(
    repo, caller, git, monkeypatch
) -> None:
    def fail(*_: object) -> object:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(restore_lost, "restore_lost", fail)
    event = capture(repo, caller, "Decision: use Whoosh")
    move_git(repo, git)
    problems = bring_up_to_date(repo, caller)
    assert ["not brought back" in one.message for one in problems] == [True]
    assert Path(repo.root, repo.layout().event(event.id)).exists()
