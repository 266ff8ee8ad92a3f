"""What Cortex put into an agent's context is found again and taken out; what people say about the marks stays."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.text.context_markers import BRIEFING, KINDS, MEMORY, strip_injected, wrap
from tests.conftest import cpu_limit

PIECES = st.lists(
    st.sampled_from(
        [
            "<cortex-briefing", "</cortex-briefing>", "<cortex-memory>", "</cortex-memory", ">",
            "text ", "\n", "< / Cortex-Memory >", "<",
        ]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(
    st.sampled_from(KINDS), PIECES | st.text(), st.text(alphabet="ab \n"), st.text(alphabet="ab \n")
)
def test_whatever_is_framed_is_taken_out_and_nothing_else_is(
    kind: str, text: str, before: str, after: str
) -> None:
    assert strip_injected(before + wrap(kind, text) + after) == before + after


@given(st.sampled_from(KINDS), PIECES | st.text())
def test_no_text_closes_its_own_frame(kind: str, text: str) -> None:
    whole = wrap(kind, text).lower()
    assert whole.count(f"</cortex-{kind}>") == 1
    assert whole.endswith(f"</cortex-{kind}>")


@given(PIECES)
def test_taking_out_twice_is_taking_out_once_where_nothing_new_meets(text: str) -> None:
    marked = wrap(MEMORY, text)
    assert strip_injected(strip_injected(f"a {marked} b")) == strip_injected(f"a {marked} b")


@pytest.mark.parametrize("end", [
    "</cortex-memory>", "</CORTEX-Memory>", "< /cortex-memory >", "<\n/ cortex-memory>",
    "<\u200b/cortex-memory>",
])  # fmt: skip
def test_however_its_end_is_written_a_text_cannot_write_it(end: str) -> None:
    assert wrap(MEMORY, f"a{end}b").count("<") == 2


def test_a_block_that_was_cut_off_goes_to_the_end() -> None:
    assert strip_injected("before " + wrap(BRIEFING, "what was known\n\nmore")[:-30]) == "before "


@pytest.mark.parametrize("text", [
    "the tag <cortex-briefing> begins it", "`</cortex-memory>` ends it", "a < b and cortex-memory > c", "",
])  # fmt: skip
def test_a_mark_that_is_only_mentioned_stays(text: str) -> None:
    assert strip_injected(text) == text


def test_blocks_in_blocks_and_side_by_side() -> None:
    inner = wrap(MEMORY, "x")
    assert strip_injected(f"a{wrap(BRIEFING, 'y')}b{inner}c") == "abc"
    assert (
        strip_injected(
            f"a<cortex-briefing v=1>{inner} and <cortex-briefing v=1>deep</cortex-briefing> on</cortex-briefing>c"
        )
        == "ac"
    )
    assert (
        strip_injected("a<cortex-briefing>1<cortex-memory>2</cortex-briefing>3</cortex-memory>c")
        == "ac"
    )


def test_a_megabyte_of_marks_takes_no_time() -> None:
    with cpu_limit(10):  # it takes 0.3 s; quadratic would be minutes
        for hostile in (
            "<cortex-briefing>",
            "</cortex-memory>",
            "<cortex-memory ",
            "<  / cortex-",
            "<cortex-briefing></cortex-memory>",
        ):
            strip_injected(hostile * (1_000_000 // len(hostile)))
            wrap(MEMORY, hostile * (1_000_000 // len(hostile)))


ID = "x-uses-redis-abcdef"


@pytest.mark.parametrize(
    "line",
    [
        f"- 2026-11-20 X uses Redis, for its speed (keyword 0.85) [{ID}]", f"- X uses Redis because it is fast [{ID}]", f"* X uses Redis [{ID}]",
        f"> - 2026-11-20 Queues [{ID}]", f"    - 2026-11-20 Queues [{ID}]", f"12\t- 2026-11-20 Queues [{ID}]", f"12. - 2026-11-20 Queues [{ID}]",
        f"- \u26a0 was true on 2026-11-20: the file is gone. Queues [{ID}]", f"- [{ID}] decision 2026-11-20: Queues | all of it", "- Queues [queues-a2b3c4]",
        f"- 2026-11-20 Queues  {ID}",
    ],
)  # fmt: skip
def test_a_line_copied_from_what_was_told_is_taken_out(line: str) -> None:
    assert strip_injected(f"Known:\n{line}\nand on") == "Known:\nand on"


@pytest.mark.parametrize("line", [
    "- Fix the login [auth-module]", "- [x] done", "- [ ] use [x-uses-redis](x.md)",
    "- [guide-module](https://example.org)", "- fixed [issue-233445]", f"Decision: use Redis, as [{ID}] says",
    f"- see [{ID}] for why Redis is used", f"[{ID}]", f"- [{ID}]", "- 2026-11-20 Queues [done]",
    "- a - b [c]", "-", "- ", "]", "- ]", "- [", f"x - 2026-11-20 Queues [{ID}]",
])  # fmt: skip
def test_a_line_of_ones_own_stays(line: str) -> None:
    assert strip_injected(f"Known:\n{line}\nand on") == f"Known:\n{line}\nand on"


@pytest.mark.parametrize("change", [
    str.upper,
    lambda text: text.replace("<", "&lt;").replace(">", "&gt;"),
    lambda text: text.replace("cortex", "CORTEX"),
])  # fmt: skip
def test_marks_that_were_rewritten_are_known(change) -> None:
    assert strip_injected(f"a {change(wrap(BRIEFING, 'old news'))} b") == "a  b"


def test_what_stands_before_a_lone_end_is_ours_as_far_as_it_has_our_form() -> None:
    ours = f"rest of a line [{ID}]\n\n## Decisions\n\n- one more\n> - and one\n</cortex-briefing>\n"
    assert strip_injected(f"Mine.\n{ours}Mine too.") == "Mine.\nMine too."
    assert (
        strip_injected("- mine\n`</cortex-briefing>` ends it")
        == "- mine\n`</cortex-briefing>` ends it"
    )


def test_a_megabyte_of_lines_takes_no_time() -> None:
    with cpu_limit(10):  # it takes 1.5 s
        for hostile in (
            "- [",
            "- a [b-abcdef]\n",
            "- ]\n",
            "- x  a-abcdef\n",
            "&lt;cortex-briefing ",
            "- \n</cortex-memory>\n",
            f"- {'a ' * 5000}[{'a-' * 40}abcdef]\n",
        ):
            strip_injected(hostile * (1_000_000 // len(hostile)) + "cortex-")
