"""Random histories of five clones of one vault, one of them without merge drivers: see `clones.py` for what they do and what
must hold. A soak runs 1,000 histories with 25 operations per clone; so does `python -m tests.reliability.clones 0:1000 25`."""

from __future__ import annotations

import os

import pytest

from cortex.core.merge import merge_record
from cortex.operations.upkeep import restore_lost
from cortex.vault.git import drivers
from tests.reliability import clones

SOAK = os.environ.get("CORTEX_SOAK") == "1"
HISTORIES = int(os.environ.get("CORTEX_HISTORIES", "1000" if SOAK else "2"))
PER_CLONE = 25 if SOAK else 6
SHARES = 2  # so that two cores work on the histories at once


@pytest.mark.parametrize("share", range(SHARES))
def test_all_clones_come_to_the_same_notes_and_none_is_lost_or_merged_with_another(
    share: int,
) -> None:
    for seed in range(share, HISTORIES, SHARES):
        try:
            clones.history(seed, PER_CLONE * 5)
        except Exception as error:
            error.add_note(f"python -m tests.reliability.clones {seed} {PER_CLONE} --keep")
            raise


def test_without_ids_the_same_histories_lose_notes_or_merge_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control: where git's attributes stop no merge, versions with different ids are merged as git
    pairs them, and nothing is brought back, the model must find what goes wrong."""
    monkeypatch.setattr(clones, "ATTRIBUTES", "records/** text eol=lf\n")
    monkeypatch.setattr(restore_lost, "find_lost", lambda *trees: [])
    monkeypatch.setattr(merge_record, "_are_two_notes", lambda *ids, is_added: False)
    monkeypatch.setattr(drivers, "register", lambda root, **_: None)
    with pytest.raises(clones.Lost):
        for seed in range(7, 28):  # the seventh mostly does
            clones.history(seed, 20, operations=("save_alike", "commit", "merge", "pull"))
