"""What of a project's notes a briefing tells: pinned ones first, then by worth, each thing once, plans only while they are worked on."""

from __future__ import annotations

import pytest

from cortex.operations.find.show import show
from cortex.operations.sessions.brief import brief
from tests.conftest import caller_at, commit_all
from tests.operations.test_brief import NOW, home, ids, record, settled  # noqa: F401  a fixture


@pytest.fixture
def told(vault_from, home):  # noqa: F811  the fixture
    """The briefing of a vault of these notes, on the branch that is checked out."""

    def make(*notes: str, **options):
        return brief(vault_from("".join(notes)), caller_at(NOW, str(home)), **options)

    return make


def test_what_is_pinned_comes_first_whatever_its_type_and_all_of_it(told) -> None:
    pinned = [
        record(f"rule-{number}", ("decision", "gotcha", "action", "note")[number % 4], pinned=True)
        for number in range(12)
    ]
    others = [record(f"fact-{number}", body="Because of it. " * 20) for number in range(90)]
    answer = told(*pinned, *others)
    assert answer.sections[0].kind == "pinned"
    assert set(ids(answer, "pinned")) == {f"rule-{number}" for number in range(12)}
    assert answer.sections[0].more == 0
    assert not set(ids(answer, "decisions")) & set(ids(answer, "pinned"))


def test_a_thousand_pinned_notes_leave_room_to_the_others(told) -> None:
    pinned = [
        record(f"rule-{number:03}", title=f"Rule {number} of the house", pinned=True)
        for number in range(1000)
    ]
    answer = told(
        *pinned,
        record("use-slate"),
        record(
            "day-one",
            "session",
            title="Day one",
            session="s1",
            body="## Events\n\n- 2026-11-05 10:00 stop: Glued. [[20261105t100000z-aaaaaaaaaa]]",
        ),
    )
    assert ids(answer, "decisions") == ["use-slate"]
    assert ids(answer, "sessions") == ["day-one"]
    assert answer.sections[0].more > 900
    assert answer.tokens <= 1500


def test_decisions_come_by_worth_not_by_day(told) -> None:
    answer = told(
        *(
            record(f"small-{number}", priority=1, created=f"2026-11-1{number}T10:00:00Z")
            for number in range(6)
        ),
        record("large", priority=8, created="2026-10-01T10:00:00Z"),
        record("odd", priority=99, created="2026-01-01T10:00:00Z"),
    )
    # A priority goes to 10: what says 99 does not stand before all for ever.
    assert ids(answer, "decisions")[:3] == ["large", "odd", "small-5"]


def test_the_lesson_of_a_gotcha_is_told(told) -> None:
    body = (
        "**What.** The build hangs.\n\n**Where.** `Makefile`\n\n**Learned.** Clear the cache first."
    )
    assert "Learned: Clear the cache first." in told(record("hang", "gotcha", body=body)).text


def test_what_says_the_same_stands_in_one_line(told) -> None:
    answer = told(
        record("publish-by-link-k3f7q2", title="Publish an event by a link, never by a rename", body="A rename replaces."),
        record("events-by-link-m4p2aa", title="Publish events by a link, never by rename", body="A rename replaces."),
        record("step-two-q2q2aa", title="The release needs step 2 of the checklist"),
        record("step-six-r5r5aa", title="The release needs step 6 of the checklist"),
    )  # fmt: skip
    lines = [line.text for section in answer.sections for line in section.lines]
    assert len(lines) == 3
    assert any("k3f7q2" in line and "m4p2aa" in line for line in lines)


def test_opposite_rules_are_told_as_such_and_never_as_one(told) -> None:
    answer = told(record("tabs", "preference", title="Always use tabs in this project"), record("blanks", "preference", title="Never use tabs in this project"))  # fmt: skip
    lines = {line.id: line.text for line in answer.sections[0].lines}
    assert "the opposite: blanks" in lines["tabs"]
    assert "the opposite: tabs" in lines["blanks"]


def test_of_opposites_in_other_words_the_later_one_is_named(told) -> None:
    answer = told(
        record("old", title="Prices are cached in Redis", created="2026-11-01T10:00:00Z"),
        record("new", title="Prices are not cached in Redis", created="2026-11-09T10:00:00Z"),
    )  # fmt: skip
    lines = {line.id: line.text for line in answer.sections[0].lines}
    assert "later the opposite: new" in lines["old"]
    assert "earlier the opposite: old" in lines["new"]


def test_what_contradicts_another_one_stands_in_a_line_of_its_own(told) -> None:
    answer = told(
        record("one", title="Use slate for all of the roof"),
        record(
            "two",
            title="Use slate for all of the roof?",
            relations='\n  - kind: contradicts\n    to: "[[one]]"',
        ),
    )
    assert sorted(ids(answer, "decisions")) == ["one", "two"]
    assert "contradicts …one" in answer.text


def test_a_line_ends_with_a_handle_that_show_takes(vault_from, home) -> None:  # noqa: F811
    vault = vault_from(record("use-slate-k3f7q2") + record("use-tin-abcdef") + record("plain"))
    here = caller_at(NOW, str(home))
    lines = {line.id: line.text for line in brief(vault, here).sections[0].lines}
    handles = {id_: text.rpartition("[")[2].rstrip("]") for id_, text in lines.items()}
    assert handles == {
        "use-slate-k3f7q2": "k3f7q2",
        "use-tin-abcdef": "use-tin-abcdef",  # six letters might be a word
        "plain": "plain",
    }
    assert {show(vault, here, handle).id for handle in handles.values()} == set(lines)


def test_at_least_two_sessions_are_told(told) -> None:
    sessions = [
        record(f"day-{number}", "session", title=f"Day {number} of the long work on the roof of the house", session=f"s{number}",
               body=f"## Outcome\n\n{'Glued and glued again. ' * 20}\n\n<!-- overview e 3 x y -->\n",
               created=f"2026-11-0{number}T10:00:00Z")
        for number in range(1, 5)
    ]  # fmt: skip
    answer = told(
        *sessions, *(record(f"fact-{number}", body="Because of it. " * 20) for number in range(90))
    )
    assert len(ids(answer, "sessions")) >= 2
    assert "Glued and glued again" in answer.text
    assert len(ids(told(*sessions, budget=400), "sessions")) >= 2


STEPS = "\n".join(f"- [ ] step {number} of it" for number in range(10))


def test_of_a_plan_six_open_steps_are_told(told) -> None:
    answer = told(record("the-plan", "plan", title="The roof", body=f"- [x] done\n{STEPS}"))
    plan = next(section for section in answer.sections if section.kind == "plan")
    assert [line.text for line in plan.lines] == [
        "- The roof (1 of 11 done) [the-plan]",
        *(f"  - [ ] step {number} of it" for number in range(6)),
    ]


def test_a_proposed_plan_and_one_that_is_done_are_none(told) -> None:
    proposed = record("the-plan", "plan", body=STEPS).replace("status: active", "status: proposed")
    done = record("the-other", "plan", body="- [x] one\n- [x] two")
    assert "plan" not in [section.kind for section in told(proposed, done, record("x")).sections]


def test_a_plan_that_five_sessions_left_alone_is_gone(told) -> None:
    plan = record("the-plan", "plan", body=STEPS, created="2026-11-01T10:00:00Z")
    later = [
        record(f"day-{day}", "session", title=f"Day {day}", session=f"s{day}", created=f"2026-11-0{day}T10:00:00Z")
        for day in range(2, 7)
    ]  # fmt: skip
    assert ids(told(plan, *later[:4]), "plan")[0] == "the-plan"
    assert ids(told(plan, *later), "plan") == []
    assert ids(told(plan.replace("status: active", "status: active\npinned: true"), *later), "plan")


def _commit(folder, name: str, text: str) -> None:
    (folder / name).write_text(text)
    commit_all(folder, f"{name}: {text[:20]!r}")


@pytest.mark.parametrize("how", ["squash", "rebase", "squash, changed since", "squash, deleted"])
def test_a_branch_that_was_squashed_or_rebased_is_merged(vault_from, home, git, how) -> None:  # noqa: F811
    vault = vault_from(record("on-main", branch="main") + record("on-slate", branch="slate"))
    here = caller_at(NOW, str(home))

    def shown() -> list[str]:
        settled()
        return sorted(ids(brief(vault, here), "decisions"))

    git(home, "checkout", "-qb", "slate")
    _commit(home, "a.py", "one\ntwo\nthree\nfour\nfive\n")
    _commit(home, "b.py", "two\n")
    git(home, "checkout", "-q", "main")
    _commit(home, "c.py", "three\n")
    assert shown() == ["on-main"]
    if how == "rebase":
        git(home, "cherry-pick", "main..slate")
    else:
        git(home, "merge", "-q", "--squash", "slate")
        git(home, "commit", "-qm", "Roof the house (#12)")
    if "changed" in how:
        _commit(home, "b.py", "three\n")
    if "deleted" in how:
        git(home, "branch", "-qD", "slate")
    assert shown() == ["on-main", "on-slate"]


def test_a_branch_that_was_deleted_unmerged_is_none(vault_from, home, git) -> None:  # noqa: F811
    vault = vault_from(record("on-main", branch="main") + record("on-slate", branch="slate"))
    git(home, "checkout", "-qb", "slate")
    _commit(home, "a.py", "one\n")
    git(home, "checkout", "-q", "main")
    git(home, "branch", "-qD", "slate")
    assert ids(brief(vault, caller_at(NOW, str(home))), "decisions") == ["on-main"]


def test_a_record_that_head_has_is_of_this_branch(vault_from, home, git, tmp_path) -> None:  # noqa: F811
    """The vault lies in the project's repository; how the branch came into this one is not known."""
    vault = vault_from(record("on-slate", branch="slate") + record("on-tin", branch="tin"))
    inside = home / "memory"
    (tmp_path / "vault").rename(inside)
    git(home, "add", "memory/records/decision/on-slate.md", "memory/cortex.toml")
    git(home, "commit", "-qm", "Slate (#12)")
    (home / "memory/records/decision/on-tin.md").touch()
    answer = brief(vault._replace(root=str(inside)), caller_at(NOW, str(home)))
    assert ids(answer, "decisions") == ["on-slate"]
    assert answer.left_out == 1


def test_the_person_s_rules_come_first_and_all_of_them(told) -> None:
    rules = [record(f"rule-{n}", "preference", title=f"Never use tin {n}") for n in range(12)]
    many = [
        record(f"d-{n}", title=f"Slate {n} lasts longer than {n + 1} years") for n in range(200)
    ]
    answer = told(*rules, *many)
    assert answer.sections[0].kind == "rules"
    assert len(answer.sections[0].lines) == 12


def test_what_names_the_files_of_the_last_sessions_comes_before_the_other_decisions(told) -> None:
    session = record("s", "session", title="Slate", session="s1", body="## Events\n\n- 2026-11-05 10:00 stop: Laid · changed `roof.py` [[20261105t100000z-aaaaaaaaaa]]")  # fmt: skip
    answer = told(session, record("near", title="roof.py reads slates", body="All of `roof.py`."), record("far", title="Tin is out", body="It rusts."))  # fmt: skip
    assert ids(answer, "at hand") == ["near"]
    assert ids(answer, "decisions") == ["far"]


def test_the_branch_of_what_holds_here_is_not_told(vault_from, home, git) -> None:  # noqa: F811
    vault = vault_from(record("use-slate", branch="roof"))
    git(home, "branch", "roof")
    here = caller_at(NOW, str(home))
    assert "branch roof" not in brief(vault, here).text
    assert "branch roof" in brief(vault, here, all_branches=True).text
