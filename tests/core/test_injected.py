"""The contract: small, taken out again, and no record of whoever quotes it."""

from __future__ import annotations

import pytest

from cortex.core.briefing.injected import CONTRACT
from cortex.core.extract.memory_tags import find_tags
from cortex.core.extract.prose import mask_code
from cortex.core.model.record import RECORD_TYPES, canonical_type
from cortex.core.text.context_markers import strip_injected
from cortex.core.text.token_count import count_tokens

INSIDE = "\n".join(CONTRACT.splitlines()[1:-1])
EXAMPLE = next(line for line in CONTRACT.splitlines() if line.startswith("[MEMORY"))


def test_it_takes_at_most_eighty_tokens_and_names_kinds_that_there_are() -> None:
    assert count_tokens(CONTRACT) <= 60
    kinds = INSIDE.split("\nOr ")[1].split(". ")[0].split(", ")
    assert len(kinds) > 3
    assert {canonical_type(kind) for kind in kinds} < set(RECORD_TYPES)


@pytest.mark.parametrize("text", [
    CONTRACT,
    f"<cortex-briefing>\nknown\n</cortex-briefing>\n\n{CONTRACT}",
    CONTRACT.replace("<", "&lt;").replace(">", "&gt;"),
    "\n".join(f"> {line}".rstrip() for line in CONTRACT.splitlines()),
])  # fmt: skip
def test_it_is_taken_out_of_what_is_captured(text: str) -> None:
    left = strip_injected(f"before\n{text}\nafter")
    assert left.replace(">", "").split() == ["before", "after"]


@pytest.mark.parametrize("text", [
    INSIDE,
    EXAMPLE,
    f"I was asked to write {EXAMPLE}",
    f"I mark it so: `{EXAMPLE}`.",
    "\n".join(f"> {line}" for line in INSIDE.splitlines()),
    "\n".join(f"- {line}" for line in INSIDE.splitlines()),
    INSIDE.replace("…", "..."),
])  # fmt: skip
def test_whoever_quotes_it_makes_no_record(text: str) -> None:
    assert find_tags(mask_code(text)) == []


def test_a_tag_as_it_asks_for_one_is_read() -> None:
    (found,) = find_tags(
        mask_code(EXAMPLE.replace("…", "Carts in SQLite, since one file is enough"))
    )
    assert (found[2].type, found[2].text) == ("decision", "Carts in SQLite")
