"""Random histories of five clones of one vault, one of them without merge drivers: see `clones.py` for what they do and what
must hold. A soak runs 1,000 histories with 25 operations per clone; so does `python -m tests.reliability.clones 0:1000 25`."""

from __future__ import annotations

import os

import pytest

from cortex.core.merge import damage, merge_record
from cortex.operations.share import git_damage
from cortex.vault.git import drivers
from tests.reliability.clones import Lost, history

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
            history(seed, PER_CLONE * 5)
        except Exception as error:
            error.add_note(f"python -m tests.reliability.clones {seed} {PER_CLONE} --keep")
            raise


def test_without_ids_the_same_histories_lose_notes_or_merge_two(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control: where versions with different ids are merged as git pairs them, and nothing is compared afterwards, the
    model must find what goes wrong."""
    for module in (damage, git_damage):
        monkeypatch.setattr(module, "find_damage", lambda *sides: [])
    monkeypatch.setattr(
        merge_record, "_separate_notes", lambda ids, name, *, is_added, ours, theirs: (ours, None)
    )
    monkeypatch.setattr(drivers, "register", lambda root, **_: None)
    with pytest.raises(Lost):
        for seed in range(7, 28):  # the seventh mostly does
            history(seed, 20, operations=("save_alike", "commit", "merge", "pull"))
