"""Plans with their steps, and what some days of work were about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.core.model.turn_summary import CommandRun, PlannedStep, TurnSummary, compose_text
from cortex.operations.find.actions import plan
from cortex.operations.records.capture import capture
from cortex.operations.sessions.reflect import reflect
from cortex.operations.upkeep.normalize import normalize
from tests.conftest import caller_at

DAY = "2026-11-{:02}T10:00:00Z"


def turn(vault, day: int, session: str, said: str, **done: object) -> None:
    """A turn of a session, as a hook captures it."""
    text = compose_text(TurnSummary(said, **done))
    at = caller_at(DAY.format(day))
    random = lambda size: day.to_bytes(size, "big")
    capture(vault, at._replace(random=random), text, type="stop", session=session, project="shop")


@pytest.fixture
def week(vault):
    """Three sessions; the first is older than a week."""
    turn(vault, 2, "old", "> [!user] Where do the fees come from?\n\nFrom the bank.")
    failed = CommandRun("make test", "failed: 3 tests")
    turn(
        vault, 16, "s1", "> [!user] Make the cart remember its coupons. Does it keep two?\n\nOne.\n\n"
        "Gotcha: the cart forgets coupons when the cookie is renewed",
        commands=(failed,), changed_files=("cart.py",),
    )  # fmt: skip
    turn(
        vault, 18, "s2", "> [!user] Speed up the checkout\n\nDone.\n\nDecision: totals are cached, for a tenth of the time",
        changed_files=("cart.py", "pay.py"),
    )  # fmt: skip
    normalize(vault, caller_at(DAY.format(19)))
    return vault


def test_a_week_is_gathered_by_what_it_was_about(week) -> None:
    found = reflect(week, caller_at(DAY.format(20)), scope="shop")
    assert found.sessions == 2
    assert [one.text for one in found.opening_intent] == [
        "Make the cart remember its coupons. Does it keep two?",
        "Speed up the checkout",
    ]
    assert [one.text for one in found.questions] == ["Does it keep two?"]
    assert [one.date[:10] for one in found.journey] == ["2026-11-16", "2026-11-18"]
    assert any("otals are cached" in one.text for one in found.discoveries)
    assert next(one.text for one in found.friction) == "make test: failed: 3 tests"
    assert any("forgets coupons" in one.text for one in found.friction)
    assert [one.text for one in found.patterns] == ["cart.py was changed in 2 sessions"]
    assert found.saved is None
    assert reflect(week, caller_at(DAY.format(20)), scope="shop") == found
    assert reflect(week, caller_at(DAY.format(20)), scope="other").sessions == 0
    older = reflect(week, caller_at(DAY.format(20)), scope="all", since=0)
    assert older.sessions == 3
    assert older.questions[0].text == "Where do the fees come from?"
    brief = reflect(week, caller_at(DAY.format(20)), scope="all", since=0, style="brief")
    assert max(map(len, (brief.journey, brief.friction, brief.opening_intent))) <= 3


def test_a_reflection_is_kept_with_what_it_was_made_from(week) -> None:
    at = caller_at(DAY.format(20))
    saved = reflect(week, at, scope="shop", save="# The cart week\n\nCookies bit us twice.").saved
    assert saved is not None
    text = Path(saved.file).read_text()
    assert "type: reflect" in text
    assert "# The cart week" in text
    assert "Cookies bit us twice." in text
    sources = reflect(week, at, scope="shop").journey
    assert all(one.id in text.partition("derived_from")[2] for one in sources)
    with pytest.raises(InvalidInputError):
        reflect(week, at, save="  \n")


def test_a_note_in_two_files_and_one_without_an_id_keep_no_reflection_from_being_kept(week) -> None:
    record = next(Path(week.root).glob("records/gotcha/*.md"))
    record.with_name(f"{record.stem} (conflicted copy).md").write_bytes(record.read_bytes())
    at = caller_at(DAY.format(20))
    saved = reflect(week, at, scope="all", save="#42 is mended\n\nIt was the cookie.").saved
    text = Path(saved.file).read_text()
    assert "# #42 is mended" in text
    assert record.stem not in text
    assert "\nproject: false\n" in text  # it is of all of them
    assert "session-s1" in text


def test_it_reads_as_a_page(week, cortex) -> None:
    shown = cortex("reflect", "--scope", "shop", "--since", "2026-11-10").stdout
    assert shown.startswith("shop since 2026-11-10")
    assert "Opening intent\n- Make the cart remember its coupons." in shown
    kept = cortex(
        "reflect", "--scope", "shop", "--save", "-", stdin="The cart week\n\nIt went well.\n"
    )
    assert kept.stdout.startswith("created: ")


def test_plans_are_those_of_the_branch_with_what_is_done(vault, git, cortex) -> None:
    git(vault.root, "init", "-q", "-b", "main")
    Path(vault.root, ".cortex-project").write_text("shop\n")
    steps = (PlannedStep("Write the test", True), PlannedStep("Mend the cart", False))
    here = caller_at(DAY.format(16), vault.root)
    planned = compose_text(TurnSummary("Go", plan=steps))
    capture(vault, here, planned, type="stop", session="s1", project="shop")
    normalize(vault, here)
    (found,) = plan(vault, here).hits
    assert found.branch == "main"
    assert found.done == 1
    assert [(one.text, one.is_done) for one in found.steps] == [
        ("Write the test", True),
        ("Mend the cart", False),
    ]
    assert found.hit.snippet == "Mend the cart"
    assert "1 of 2 done" in cortex("plan").stdout
    git(vault.root, "checkout", "-q", "-b", "side")
    assert plan(vault, here).hits == []
    assert cortex("plan").returncode == 0
    assert plan(vault, here, branch=("*",)).total == 1
    assert plan(vault, here, branch=("main",)).total == 1
    assert plan(vault, here, branch=("*",), project="other").total == 0
    assert json.loads(cortex("plan", "--branch", "*", "--json").stdout)["hits"][0]["steps"][1] == {
        "text": "Mend the cart",
        "is_done": False,
    }


def test_a_plan_of_no_project_is_of_every_project(vault_from, caller) -> None:
    vault = vault_from("=== plan.md\n---\ntype: plan\n---\n# Jam\n\n- [x] buy pears\n- [ ] boil\n")
    Path(caller.cwd, ".cortex-project").write_text("shop\n")
    (found,) = plan(vault, caller).hits
    assert (found.done, len(found.steps)) == (1, 2)


def test_what_is_left_out_is_counted(week, cortex) -> None:
    brief = reflect(week, caller_at(DAY.format(20)), scope="all", since=0, style="brief")
    whole = reflect(week, caller_at(DAY.format(20)), scope="all", since=0, style="full")
    assert whole.more == {}
    for name, count in brief.more.items():
        assert len(getattr(brief, name)) + count == len(getattr(whole, name))
    texts = [one.text for one in whole.journey]
    assert len(texts) == len({*texts})


def test_what_was_found_is_kept_as_it_is_with_what_says_it(week) -> None:
    at = caller_at(DAY.format(20))
    saved = reflect(week, at, scope="shop", save="found").saved
    (path,) = Path(week.root).glob(f"records/**/{saved.id}.md")
    text = path.read_text()
    assert "# Reflection since 2026-11-13" in text
    assert "## Opening intent\n\n- Make the cart remember its coupons. Does it keep two? [[" in text
    assert "derived_from:" in text
    assert reflect(week, at, scope="nothing", save="found").saved is None
