"""Why something failed and what was meant, in words."""

from __future__ import annotations

import errno

from cortex.core.model.problem import ConflictError, Problem, problem_of, reason_of
from cortex.core.text.strings import close_matches, did_you_mean


def test_the_reason_of_an_error_names_no_number_and_no_path():
    assert reason_of(OSError(errno.ENOSPC, "No space left on device", "/vault/x.md")) == (
        "No space left on device"
    )
    assert reason_of(OSError("odd")) == "odd"
    assert reason_of(ConflictError("the name is taken", "take another")) == "the name is taken"


def test_an_error_is_a_problem_with_its_own_hint_or_the_given_one():
    error = ConflictError("the name is taken", "take another")
    assert problem_of("a.md", error, prefix="stays: ") == Problem(
        "a.md", "stays: the name is taken", "take another"
    )
    assert problem_of("a.md", OSError(errno.EACCES, "Permission denied")) == Problem(
        "a.md", "Permission denied", "check its permissions"
    )


def test_what_was_meant():
    assert close_matches("serch", ["search", "save", "sync"]) == ["search"]
    assert did_you_mean("shw", ["save", "show"]) == "did you mean show?"
    assert did_you_mean("x", ["search", "save"], "cortex --help") == "cortex --help"
