"""What a whole session bears out: what was said or done on purpose, and of one subject the last word."""

from __future__ import annotations

import pytest

from cortex.core.distill.judge import MAX_RECORDS, RULE_TAG, find_rules, judge_session
from cortex.core.model.distillation import (
    DistilledRecord,
    compose_distillation,
    parse_distillation,
)
from cortex.core.model.event import Event
from cortex.core.model.turn_summary import (
    AGENT,
    PLAN_APPROVAL,
    USER,
    Commit,
    TurnSummary,
    Utterance,
    compose_text,
    format_utterances,
)

TASK = ("The cart needs a home.", "I looked at the cart.")  # the first prompt is the task
WHY = (
    "They filled the table, and nobody who left a cart for longer than a week ever came back to it."
)


def turn(number: int, *said: Utterance, **done: object) -> Event:
    summary = TurnSummary(format_utterances(said))._replace(**done)
    at = f"2026-11-20T10:{number:02}:00Z"
    id_ = f"20261120t10{number:02}00z-aaaaaaaaaa"
    return Event(id_, "stop", at, compose_text(summary), session="s1")


def session(*turns: tuple[str, str], **done: object) -> list[Event]:
    """Turns of a prompt and an answer; in the last one something was `done`."""
    events = [
        turn(number, Utterance(USER, prompt), Utterance(AGENT, answer))
        for number, (prompt, answer) in enumerate((TASK, *turns[:-1]))
    ]
    prompt, answer = turns[-1]
    last = turn(len(turns), Utterance(USER, prompt), Utterance(AGENT, answer), **done)
    return [*events, last]


def judged(events: list[Event]) -> list[DistilledRecord]:
    return list(judge_session(events).records)


@pytest.mark.parametrize(("words", "type_"), [
    ("Never use sleep in a test, please.", "preference"),
    ("From now on every commit says why.", "preference"),
    ("Never use sleep in tests, because it makes the suite slow and it fails on the machines that build.", "preference"),
    ("I prefer small commits over large ones.", "preference"),
    ("Use RS256, never HS256, our gateway only accepts RS256.", "preference"),
    ("Don't add emojis to commit messages.", "preference"),
    ("Never use tabs.", "preference"),
    ("Ab jetzt immer zuerst den Test schreiben.", "preference"),
    ("从现在起请使用中文写提交说明。", "preference"),
    ("Nunca uses sleep en las pruebas.", "preference"),
    ("Nutze pytest, nie unittest", "preference"),
    ("N'utilise pas moment.js ici", "preference"),
    ("No uses moment.js, usa dayjs", "preference"),
    ("从现在开始所有日志都写成 JSON", "preference"),
    ("不要用 moment.js,用 dayjs", "preference"),
    ("以后一律用 pnpm,不要用 npm", "preference"),
    ("momentは使わないでください", "preference"),
    ("From now on the API returns JSON only.", "preference"),
    ("I never want mocks in these tests.", "preference"),
])  # fmt: skip
def test_a_rule_that_was_agreed_to_is_one_at_once(words, type_):
    events = session((words, "Understood."))
    (rule,) = judged(events)
    made = judge_session(events)
    assert parse_distillation(compose_distillation(made)).records == made.records
    assert words.endswith(rule.statement)
    assert not rule.statement.startswith(("From now", "Ab jetzt", "从现在", "以后"))
    assert (rule.type, rule.tags) == (type_, (RULE_TAG,))
    assert find_rules(events[-1]) == [rule]


@pytest.mark.parametrize("words", [
    "Should we never use sleep in a test?",
    "I'd prefer that.",
    "The counter was incremented but never asserted.",
    "Can you always run the tests before you stop?",
    "Run the tests again and commit them.",
    "It still fails with the same message as before.",
    "Please open a pull request for this branch.",
    "What do you think about that approach?",
    "Never say never, just fix the bug in login",
    "I never use this feature but customers do; from now on it crashes on start please fix",
    "it starts and never stops somehow",
    "Ich benutze das nie, aber Kunden schon.",
    "Es geht immer noch nicht.",
    "Je n'utilise jamais cette page, mais elle plante.",
    "Siempre falla al arrancar.",
    "从现在开始就一直报错",
    "以后都用 pnpm 吗？",
])  # fmt: skip
def test_questions_tasks_reports_and_process_are_no_rule_and_no_choice(words):
    assert judged(session((words, "Understood."), changed_files=("a.py",))) == []


def test_a_choice_counts_if_the_agent_agrees_or_something_is_changed_and_never_in_the_first_prompt():
    words = "I think the cart should live in SQLite."
    looked = "I looked at three files."
    assert judged(session((words, looked))) == []
    assert [one.statement for one in judged(session((words, "Good point.")))] == [words]
    assert [one.type for one in judged(session((words, looked), changed_files=("cart.py",)))] == ["decision"]  # fmt: skip
    assert judged(session((words, "Good point."))[1:]) == []


@pytest.mark.parametrize(("reply", "agreed"), [
    ("I switched the scripts to uv.", True), ("Erledigt, die Skripte nutzen uv.", True), ("Alles klar, uv.", True), ("Ich habe die Skripte umgestellt.", True),
    ("C'est fait.", True), ("J'ai remplacé pip.", True), ("Hecho.", True), ("He cambiado los scripts.", True), ("收到。", True), ("已将脚本改为 uv。", True),
    ("承知しました。", True), ("スクリプトをuvに変更しました。", True),
    ("I looked at how the scripts use pip.", False), ("I see that pip was changed.", False), ("脚本有三个。", False),
])  # fmt: skip
def test_an_agent_agrees_in_its_language_or_says_that_it_did_it(reply, agreed):
    assert bool(judged(session(("Always use uv in scripts.", reply)))) is agreed


def test_of_one_subject_the_last_word_stands():
    first = ("I think the cart table should live in SQLite.", "Good point.")
    last = ("I think the cart table should live in Postgres instead.", "Good point.")
    assert [one.statement for one in judged(session(first, last))] == [last[0]]


def test_a_commit_says_why_with_what_was_asked_for_since_the_one_before():
    commit = Commit("abc1234", "feat(cart): carts expire after a week", WHY)
    ask = "The carts that nobody comes back to should go away after a week."
    (record,) = judged(session((ask, "Looking."), ("Go on.", "Done."), commits=(commit,)))  # fmt: skip
    assert (record.statement, record.type) == (commit.subject, "decision")
    assert record.details == f"{WHY}\n\nAsked: {TASK[0]} {ask}"


@pytest.mark.parametrize("commits", [
    (Commit("abc1234", "wip"),),
    (Commit("abc1234", "feat: carts expire", WHY), Commit("def5678", 'Revert "feat: carts expire"')),
])  # fmt: skip
def test_a_commit_that_says_nothing_or_was_reverted_is_none(commits):
    assert judged(session(("Go on.", "Done."), commits=commits)) == []


def test_types_are_earned():
    plain = Commit("abc1234", "carts: keep the key of each cart", WHY)
    fixed = Commit("def5678", "fix: lost carts after a restart", WHY.replace("cart", "order"))
    made = judged(session(("Go on.", "Done."), commits=(plain, fixed)))
    assert {one.type for one in made} == {"learning", "bugfix"}


def test_an_approved_plan_and_one_that_a_session_carries_out():
    plan = f"# Plan: carts expire\n\n## Context\n\n{WHY}"
    approved = turn(1, Utterance(AGENT, plan), PLAN_APPROVAL)
    (record,) = judged([approved])
    assert (record.statement, record.type) == ("carts expire", "decision")
    assert WHY in record.details
    pasted = f"Implement the following plan: # Carts expire\n{WHY}"
    (record,) = judged([turn(1, Utterance(USER, pasted), changed_files=("cart.py",))])
    assert (record.statement, record.details) == ("Carts expire", WHY)
    assert judged([turn(1, Utterance(USER, pasted))]) == []
    back = turn(2, Utterance(USER, "I've reverted your changes, do only the second one."))
    assert judged([turn(1, Utterance(USER, pasted), changed_files=("cart.py",)), back]) == []


def test_a_choice_that_points_elsewhere_stands_with_the_answer_or_not_at_all():
    said = "I think it should also cover the carts of guests instead."
    silent = session(("Look at the carts.", "I looked."), (said, "Good point."))
    assert judged(silent) == []
    reply = "Good point: the job that removes old carts now also looks at the carts of guests, not of members alone."
    (made,) = judged(session(("Look at the carts.", "I looked."), (said, reply)))
    assert made.details.startswith("Answer: Good point: the job")


def test_a_plan_tells_what_is_to_be_done_and_then_why():
    plan = "# Plan: Chain the hooks\n\n## Problem\n\nHooks of others are overwritten.\n\n## Solution\n\nKeep a backup and call it."
    (made,) = judged([turn(1, Utterance(AGENT, plan), PLAN_APPROVAL, changed_files=("a.py",))])
    assert made.details == "Keep a backup and call it.\n\n**Why.** Hooks of others are overwritten."


def test_a_plan_whose_steps_have_headings_tells_those():
    plan = "# Plan: Chain\n\n## Context\n\nHooks go.\n\n## Changes\n\n### 1. Keep a backup\n\nAs .old.\n\n### Step 2: Call it\n\nAt the end."
    (made,) = judged([turn(1, Utterance(AGENT, plan), PLAN_APPROVAL, changed_files=("a.py",))])
    assert made.details == "Keep a backup; Call it\n\n**Why.** Hooks go."


def test_what_an_agent_said_and_the_person_pastes_back_is_not_theirs():
    line = "We should keep the carts in one table instead of six"
    events = session(
        ("Look at the carts.", f"I see two ways. {line}."),
        (f"{line}, yes", "Good point."),
        (line, "Good point."),
    )
    assert [one.statement for one in judged(events)] == [f"{line}, yes"]


def test_an_answer_stands_before_a_question_that_is_too_long_for_a_title():
    long = "Which of the stores that we looked at should hold the carts of all guests of the shop?"
    (made,) = judged([turn(1, Utterance(USER, "SQLite (Recommended)", long))])
    assert made.statement == f"SQLite ({long})"


def test_an_answer_stands_with_its_question_and_a_refusal_with_its_reason():
    question = Utterance(USER, "In SQLite", "Where should the cart live?")
    refusal = Utterance(USER, "Let's use the session table instead.", "refused cart.py")
    process = Utterance(USER, "Work on it now", "What would you like to do?")
    made = judged([turn(1, question, refusal, process)])
    assert {one.statement for one in made} == {"Where should the cart live? In SQLite", refusal.text}  # fmt: skip


def test_a_rule_that_a_person_gives_when_they_refuse_a_call_is_a_rule_at_once():
    refused = turn(
        1, Utterance(USER, "never force-push, use revert commits", "refused git push -f")
    )
    (rule,) = judged([refused])
    assert (rule.type, rule.tags, rule.details) == (
        "preference",
        (RULE_TAG,),
        "Instead of: git push -f",
    )
    assert find_rules(refused) == [rule]


def test_there_are_few_and_what_speaks_best_for_itself_comes_first():
    words = ["alpha worker", "gamma table", "epsilon button", "theta queue", "kappa cache"]
    turns = [(f"I think the {one} should go away.", "Good point.") for one in words]
    commit = Commit("abc1234", "carts expire", WHY)
    made = judged(session(*turns, commits=(commit,)))
    assert len(made) == MAX_RECORDS
    assert made[0].statement == commit.subject


def test_the_agent_s_own_sentences_and_other_people_s_are_left_out():
    confident = "The root cause is that the worker never reads the file. We decided to use a lock."
    other = "<teammate-message>Never use sleep in a test.</teammate-message>"
    assert judged([turn(1, Utterance(USER, other), Utterance(AGENT, confident))]) == []


def test_the_same_events_give_the_same_judgement_in_whatever_pieces_they_come():
    events = session(("I think the cart should live in SQLite.", "Good point."), ("Never use sleep in a test.", "OK."))  # fmt: skip
    assert judge_session(events) == judge_session(iter(events))
