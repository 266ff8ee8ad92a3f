"""Why each line of a briefing is there: asked for alone, and never another text."""

from __future__ import annotations

from cortex.core.text.token_count import count_tokens
from cortex.interfaces.cli import render
from cortex.operations.sessions.brief import brief
from tests.conftest import caller_at
from tests.operations.test_brief import NOTES, NOW, home, record  # noqa: F401  a fixture

OWN = "=== mine.md\n---\nproject: roof\n---\n- [ ] call the roofer\n"


def reasons(answer) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for section in answer.sections:
        for line in section.lines:
            found.setdefault(line.id, []).append(line.why)
    return found


def test_each_line_says_what_put_it_there(vault_from, home) -> None:  # noqa: F811
    vault = vault_from(NOTES + OWN + record("late", "action", status="open", due="2026-11-19"))
    here = caller_at(NOW, str(home))
    plain, answer = brief(vault, here), brief(vault, here, why=True)
    assert answer.text == plain.text
    assert {line.why for section in plain.sections for line in section.lines} == {""}
    why = reasons(answer)
    assert why["a-page"] == ["pinned"]
    assert why["tea"] == ["your rule"]
    assert why["wet-glue"] == ["names src/glue.py, which the last sessions touched"]
    assert why["late"] == ["overdue since 2026-11-19"]
    assert why["buy-nails"] == ["open, due 2026-12-01"]
    assert why["mine.md:4"] == ["a task of a note of your own"]
    assert why["the-plan"] == ["a plan that goes on", *["a step of the plan that is left"] * 2]
    assert why["day-one"] == ["one of the last sessions"]
    assert why["in-english"] == ["yours alone"]
    assert why["no-tin"][0].startswith("Decisions and rejections: number 1 of 2 by worth, score ")
    assert why["no-tin"][0].endswith(" of 5")
    for section in answer.sections:
        for line in section.lines:
            assert line.tokens == count_tokens(f"{line.text}\n") > 0
    assert "    \x1b[2mpinned; " in render.marked_text("brief", answer)
    assert "pinned; " not in render.marked_text("brief", plain)


def test_a_branch_says_what_is_of_it(vault_from, home, git) -> None:  # noqa: F811
    git(home, "checkout", "-qb", "ridge")
    vault = vault_from(
        record("of-ridge", branch="ridge") + record("of-main", branch="main")
        + record("lay-it", "action", status="open", branch="ridge")
    )  # fmt: skip
    why = reasons(brief(vault, caller_at(NOW, str(home)), why=True))
    assert why["of-ridge"] == ["at hand, of this branch (ridge)"]
    assert why["lay-it"] == ["open, without a date, of this branch (ridge)"]
    assert why["of-main"][0].startswith("Decisions and rejections: number 1 of 1 ")


def test_only_who_asks_pays_for_reasons(vault_from, home, monkeypatch) -> None:  # noqa: F811
    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr("cortex.operations.sessions.brief_why.explain_sections", refuse)
    vault = vault_from(NOTES)
    assert brief(vault, caller_at(NOW, str(home)), print=True, why=True).text
    assert brief(vault, caller_at(NOW, str(home))).sections
