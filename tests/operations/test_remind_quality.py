"""How good reminders are on prompts as people write them: the measure of `make bench`, with room for a vault that changes."""

from __future__ import annotations

import os

from benchmarks import reminders
from cortex.core.model.caller import no_progress
from cortex.index.refresh import query_index


def test_silence_where_nothing_is_known_and_mostly_the_right_record_where_something_is(tmp_path):
    vaults = reminders.vaults_of_then(str(tmp_path))
    cases = [
        case
        for case in reminders.cases(
            os.path.join(os.path.dirname(reminders.__file__), "prompts.txt")
        )
        if case.set in ("held out", "later")
    ]
    known = "".join(name for _, _, names in os.walk(vaults["later"].root) for name in names)
    assert all(id_ in known for case in cases for id_ in case.must | case.may)
    for vault in vaults.values():
        query_index(vault, no_progress, lambda index: index.outcome)
    told = reminders.marks(vaults, cases)
    assert (told.prompts, told.quiet) == (104, 56)
    assert told.stayed >= 51
    assert told.right / told.lines > 0.8
    assert told.came / told.wanted > 0.5
