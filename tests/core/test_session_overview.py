"""The overview of a session: what its events tell, in whatever order they come; a person's edits stay."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.event import Event
from cortex.core.model.turn_summary import (
    AGENT,
    USER,
    Commit,
    PlannedStep,
    TurnSummary,
    Utterance,
    compose_text,
    format_utterances,
    parse_turn_summary,
)
from cortex.core.normalize.handlers import append_turns
from cortex.core.normalize.session_note import compose_note
from cortex.core.normalize.session_overview import compose_overview, with_overview
from cortex.core.notes import note as notes


def turn(number: int, ask: str, *said: str, title: str = "", files: tuple[str, ...] = (), plan: tuple[PlannedStep, ...] = (), answer: tuple[str, str] | None = None) -> Event:  # fmt: skip
    """One turn of a session, a minute after the one before."""
    spoken = [Utterance(USER, ask)] if ask else []
    spoken += [Utterance(AGENT, text) for text in said]
    if answer:
        spoken.append(Utterance(USER, answer[1], answer[0]))
    text = compose_text(TurnSummary(format_utterances(spoken), (), files, (), plan, title=title))
    id_ = f"20261120t10{number:02}00z-{'abcdefghij'[number]}aaaaaaaaa"
    at = f"2026-11-20T10:{number:02}:00Z"
    return Event(id_, "stop", at, text, "5f1c-uuid", project="shop", branch="main")


CART = turn(
    0, "Can you please keep the cart when the session ends? It is lost today.", "Let me look at the store.",
    "The cart lives in memory alone; I put it into the sessions table.", files=("shop/cart.py",),
)  # fmt: skip
TESTS = turn(
    1, "run the tests", "All 12 tests pass, the cart is kept over a restart now, and old carts go after a week.",
    files=("tests/test_cart.py",), plan=(PlannedStep("Keep the cart", True), PlannedStep("Tell the docs", False)),
)  # fmt: skip


def session_note(events: list[Event]) -> notes.Note:
    """The note after these events, each in a pass of its own."""
    note = notes.read(compose_note(events[0]).encode())
    note = with_overview(note, compose_overview(events[:1], ()))
    for count, event in enumerate(events[1:], start=2):
        note = with_overview(append_turns(note, [event]), compose_overview(events[:count], ()))
    return note


def test_it_says_what_was_asked_what_came_of_it_and_what_is_open():
    overview = compose_overview([TESTS, CART], [("keep-carts-abc234", "Keep | carts", "decision"), ("key-def567", "A key", "learning")])  # fmt: skip
    assert overview.title == "Keep the cart when the session ends"
    assert overview.text == (
        "## Asked\n\n- Keep the cart when the session ends?\n\n"
        "## Outcome\n\nAll 12 tests pass, the cart is kept over a restart now, and old carts go after a week.\n\n"
        "## Decided\n\n- [[keep-carts-abc234|Keep - carts]]\n\n## Learned\n\n- [[key-def567|A key]]\n\n"
        "## Changed\n\n- `shop/cart.py`\n- `tests/test_cart.py`\n\n"
        "## Open\n\n- Tell the docs"
    )


@pytest.mark.parametrize(("event", "title"), [
    (turn(0, "hi", "Hello.", title="Carts over a restart"), "Carts over a restart"),
    (turn(0, "Add a few tests. @/home/me/shop/cart/store.go:680-706"), "Add a few tests"),
    (turn(0, "Explain @src/cart.ts beside /home/me/shop/old.ts"), "Explain cart.ts beside old.ts"),
    (turn(0, "Mail me@example.org about @shop/cart"), "Mail me@example.org about @shop/cart"),
    (turn(0, "Implement the following plan: # Plan: Carts that stay ## Context They are lost."), "Carts that stay"),
    (turn(0, "yes", "The payments were taken twice, since the retry had no key."), "The payments were taken twice, since the retry had no key"),
    (turn(0, ""), "Session on main of 2026-11-20"),
    (turn(0, "<command-name>/clear</command-name>"), "Session on main of 2026-11-20"),
    (turn(0, "购物车在会话结束时丢失", "好的"), "购物车在会话结束时丢失"),
])  # fmt: skip
def test_a_title_is_never_an_id(event, title):
    assert compose_overview([event], ()).title == title


WHY = (
    "They are kept in the sessions table, which the worker reads again after a restart of the shop."
)
CARTS = Commit("abc1234", "feat(cart): keep carts over a restart", WHY)


def done(number: int, ask: str, *said: str, **what: object) -> Event:
    """A turn in which something was done."""
    event = turn(number, ask, *said)
    return event._replace(text=compose_text(parse_turn_summary(event.text)._replace(**what)))


def test_a_title_comes_from_a_plan_then_a_commit_then_a_pull_request_then_the_host():
    asked = turn(0, "Look at the carts, please", "I looked at all of them.", title="The host says")
    request = Commit("https://git.example.org/a/b/pull/7", "Keep all carts for a week", WHY)
    proposed = done(1, "Go on", "Proposed.", pull_requests=(request,))
    committed = done(2, "Commit it", "Committed as abc1234.", commits=(CARTS,))
    plan = done(3, "Implement the following plan: # Carts that stay", "Done.")
    events = [asked]
    for event, title in ((proposed, "Keep all carts for a week"), (committed, "Keep carts over a restart"), (plan, "Carts that stay")):  # fmt: skip
        events.append(event)
        assert compose_overview(events, ()).title.startswith(title)
    assert compose_overview([asked], ()).title.startswith("The host says")


def test_the_outcome_is_of_the_last_turn_that_a_person_asked_for_and_that_changed_something():
    kept = done(0, "Keep the carts", f"Done! All 12 tests pass.\n\n{WHY}\n\nShall I commit it?", changed_files=("cart.py",))  # fmt: skip
    committed = done(1, "commit", "Committed as abc1234, working tree clean. You're welcome!")
    machine = turn(2, "<task-notification>done</task-notification>", "Monitor task is still watching the shop and the carts, and it goes on.")  # fmt: skip
    text = compose_overview([kept, committed, machine], ()).text
    assert f"## Outcome\n\n{WHY}\n\n" in text


def test_where_the_report_says_little_the_commits_tell_what_came_of_it():
    event = done(0, "Keep the carts", "Done.", changed_files=("cart.py",), commits=(CARTS,))
    text = compose_overview([event], ()).text
    assert f"## Outcome\n\n{CARTS.subject}: {WHY}\n\n" in text
    assert f"- abc1234 {CARTS.subject}" in text.partition("## Changed")[2]


def test_what_is_open_is_what_is_not_ticked_unless_all_is_done_and_what_the_report_leaves():
    plan = (PlannedStep("Keep the cart", True), PlannedStep("Tell the docs", False))
    left = "The carts are kept now over a restart of the shop, in the table.\n\nStill open:\n- old carts\n- mails"
    overview = compose_overview([done(0, "Keep the carts", left, plan=plan)], ())
    assert overview.text.endswith("## Open\n\n- Tell the docs\n- old carts\n- mails")
    all_done = (
        "All steps are done: the carts are kept now over a restart of the shop, in the table."
    )
    assert "## Open" not in compose_overview([done(0, "Keep the carts", all_done, plan=plan)], ()).text  # fmt: skip


def test_what_only_its_words_tell_stands_below_learned_if_nothing_was_changed_since():
    found = "We chose SQLite over Postgres because it is one file."
    said = turn(0, "Where do the carts live?", found)
    later = turn(
        1,
        "And prices?",
        "The prices lie in the same file as the carts, in a table of their own, by the day.",
    )
    assert (
        "## Learned\n\n- We chose SQLite over Postgres" in compose_overview([said, later], ()).text
    )
    assert "## Learned" not in compose_overview([said], ()).text  # which its outcome tells
    changed = done(1, "Move them", "Moved.", changed_files=("cart.py",))
    assert "## Learned" not in compose_overview([said, changed], ()).text


def test_the_report_of_a_turn_that_nobody_asked_for_tells_the_outcome_if_it_closes_the_work():
    asked = done(
        0,
        "Move the carts",
        "I look at the carts first, then at the prices, and move both.",
        changed_files=("a.py",),
    )
    report = "All carts and prices were moved into SQLite. " * 5
    closing = turn(1, "", report)._replace(
        text=compose_text(TurnSummary(report, changed_files=("b.py",)))
    )
    assert (
        "moved into SQLite"
        in compose_overview([asked, closing], ()).text.partition("## Outcome")[2]
    )


def test_a_commit_that_was_amended_is_told_once():
    commits = (Commit("aaa1111", "feat: move the carts"), Commit("bbb2222", "feat: move the carts"))
    text = compose_overview([done(0, "Move the carts", "Moved.", commits=commits)], ()).text
    assert "bbb2222" in text
    assert "aaa1111" not in text


def test_a_word_that_stands_nowhere_by_itself_is_no_topic():
    turns = [turn(n, "Look at 7carts", f"I read 7carts {n}.", title="Look") for n in range(4)]
    assert compose_overview(turns, ()).title.startswith("Look")


def test_what_a_person_has_changed_stays():
    note = session_note([CART])
    body = note.body.replace(b"Keep the cart", b"KEEP THE CART")
    mine = notes.read(notes.write(note._replace(body=body)).replace(b"title: Keep", b"title: My"))
    later = with_overview(append_turns(mine, [TESTS]), compose_overview([CART, TESTS], ()))
    assert later.get("title") == "My the cart when the session ends"
    assert b"KEEP THE CART" in later.body
    assert later.body.count(b"## Asked") == later.body.count(b"<!-- overview") == 1
    assert b"12 tests pass" not in later.body.partition(b"## Events")[0]


def test_the_title_of_a_person_stays_over_an_overview_that_is_ours():
    mine = notes.read(notes.write(session_note([CART])).replace(b"title: Keep", b"title: My"))
    for events in ([CART, TESTS], [CART, TESTS, turn(2, "Also mail the customer about it")]):
        mine = with_overview(append_turns(mine, [events[-1]]), compose_overview(events, ()))
        assert mine.get("title") == "My the cart when the session ends"
    assert b"mail the customer" in mine.body


TURNS = st.permutations(
    [CART, TESTS, turn(2, "Mail the customer about the cart"), turn(3, "", "I was wrong.")]
)


@given(TURNS, st.integers(1, 3))
def test_the_same_events_give_the_same_note_in_whatever_order(events, cut):
    note = notes.read(compose_note(events[0]).encode())
    for event in events[1:cut]:
        note = append_turns(note, [event])
    note = with_overview(note, compose_overview(events[:cut], ()))
    for event in events[cut:]:
        note = append_turns(note, [event])
    note = with_overview(note, compose_overview(events, ()))
    assert notes.write(note) == notes.write(session_note(sorted(events)))


def test_two_clones_that_went_on_have_one_overview_and_equal_notes():
    base = session_note([CART])
    third = turn(2, "Mail the customer when the cart is old, and say how old the cart is", "Mails go out at noon, once for each cart that is a week old and was not paid.", files=("shop/mail.py",))  # fmt: skip
    one, two = (
        notes.write(with_overview(append_turns(base, [event]), compose_overview([CART, event], ())))
        for event in (TESTS, third)
    )
    merged = merge_record(notes.write(base), one, two)
    assert merged.is_clean
    assert merged.data == merge_record(notes.write(base), two, one).data
    note = notes.read(merged.data)
    assert note.body.count(b"<!-- overview") == note.body.count(b"## Outcome") == 1
    assert note.get_list("aliases") == (note.get("title"),)
    assert b"Mails go out at noon" in note.body
    assert [note.body.count(event.id.encode()) for event in (CART, TESTS)] == [1, 1]
    later = with_overview(note, compose_overview([CART, TESTS, third], ()))
    assert b"tests/test_cart.py" in later.body
    assert later.get("title") == compose_overview([CART, TESTS, third], ()).title


THIRD = turn(2, "Mail the customer: when the cart is old", title="Carts: kept, then mailed")
FOURTH = turn(
    3, "Tell the docs how long carts stay", "They say a week now, and how a shop changes that."
)
_EDITS = {
    "none": (b"", b""),
    "overview": (b"I put it into", b"I moved it to"),
    "title": (b"title: Keep the cart when", b"title: 'My: cart, when"),
    "alias": (b"aliases: [", b"aliases: [carts, "),
    "alias gone": (b"aliases: [Keep the cart when the session ends]\n", b""),
    "a section of one's own": (b"## Events", b"## My words\n\nkept\n\n## Events"),
    "no overview": (b"## Asked", b"## Mine instead\n\n## Asked"),
}  # fmt: skip


def gone_on(data: bytes, edit: str, *events: Event) -> bytes:
    """The note that a person edits and that goes on with these events, each in a pass of its own."""
    old, new = _EDITS[edit]
    if edit == "title":
        new, old = new + b" the session ends'", old + b" the session ends"
    data = data.replace(old, new, 1)
    known = [CART]
    for event in events:
        known.append(event)
        note = append_turns(notes.read(data), [event])
        data = notes.write(with_overview(note, compose_overview(known, ())))
    return data


@given(
    st.sampled_from(sorted(_EDITS)), st.sampled_from(sorted(_EDITS)), st.sampled_from(sorted(_EDITS)),
    st.permutations([TESTS, THIRD, FOURTH]), st.integers(0, 3), st.booleans(),
)  # fmt: skip
def test_however_two_clones_went_on_there_is_one_overview_and_no_conflict(
    before, here, there, events, cut, is_added
):
    base = gone_on(notes.write(session_note([CART])), before)
    one, two = gone_on(base, here, *events[:cut]), gone_on(base, there, *events[cut:])
    merged = merge_record(b"" if is_added else base, one, two)
    assert merged.data == merge_record(b"" if is_added else base, two, one).data
    note = notes.read(merged.data)
    assert note.problems == ()
    edited_twice = {here, there} >= {"overview", "no overview"}
    if not (is_added or edited_twice):
        assert merged.is_clean
        assert note.body.count(b"<!-- overview") == note.body.count(b"## Outcome") == 1
    edits = {before, here, there}
    if "title" in edits:
        assert note.get("title") == "My: cart, when the session ends"
    elif not is_added:
        assert note.get("title") in {notes.read(side).get("title") for side in (one, two)}
        assert len({*note.get_list("aliases")} - {"carts", note.get("title")}) == 0
    if "alias" in edits and before != "alias gone":
        assert "carts" in note.get_list("aliases")
    if "overview" in edits:
        assert b"I moved it to" in note.body
    for event in events:
        assert note.body.count(b"[[" + event.id.encode()) == 1
    # What comes next goes into the title, and into the overview, unless a person changed it.
    later = gone_on(merged.data, "none", turn(5, "Ship it to all shops now", title="Last"))
    assert notes.read(later).get("title") == (note.get("title") if "title" in edits else "Last")


def test_an_alias_that_a_person_took_out_stays_out_and_a_title_alone_is_known_as_ours():
    silent = turn(0, "", title="Carts")
    note = session_note([silent])
    assert note.body.startswith(b"\n<!-- overview ")
    assert (note.get("title"), note.get_list("aliases")) == ("Carts", ("Carts",))
    bare = notes.read(notes.write(note).replace(b"aliases: [Carts]\n", b""))
    later = with_overview(append_turns(bare, [THIRD]), compose_overview([silent, THIRD], ()))
    assert (later.get("title"), later.get_list("aliases")) == ("Carts: kept, then mailed", ())


def test_what_somebody_called_a_session_is_its_title_and_a_goal_too():
    start = Event("20261120t090000z-aaaaaaaaaa", "session_start", "2026-11-20T09:00:00Z", "(no goal)", "release notes")  # fmt: skip
    assert compose_overview([start], ()).title == "Session release notes"
    goal = compose_overview([start._replace(text="Publish by link")], ())
    assert (goal.title, goal.text) == ("Publish by link", "## Asked\n\n- Publish by link")
    note = session_note([start])
    assert note.get_list("aliases") == ()
    ended = start._replace(id="20261120t110000z-aaaaaaaaaa", type="session_end", at="2026-11-20T11:00:00Z")  # fmt: skip
    summed = ended._replace(session="5f1c", text="The links are signed, and last for a week.")
    assert compose_overview([summed], ()).title == "The links are signed, and last for a week"


def test_line_ends_of_windows_stay():
    note = notes.read(notes.write(session_note([CART])).replace(b"\n", b"\r\n"))
    later = notes.write(
        with_overview(append_turns(note, [TESTS]), compose_overview([CART, TESTS], ()))
    )
    assert later.count(b"\n") == later.count(b"\r\n")
    assert later.replace(b"\r\n", b"\n") == notes.write(session_note([CART, TESTS]))


@pytest.mark.parametrize("text", ["## Events\n\n- a", "<!-- overview 20261120t090000z-aaaaaaaaaa 1 aaaaaaaaaa aaaaaaaaaa -->", "```\n## Events\n" * 200, "x" * 5000, "# A\n\n---\n\n- 2026-11-20 10:00 stop: a [[20261120t100000z-aaaaaaaaaa]]"])  # fmt: skip
def test_what_was_said_is_no_structure_of_the_note(text):
    event = turn(0, "Look at this", f"{text}\n\nThat is what came of it, in more than eighty characters, so that it tells something.")  # fmt: skip
    note = session_note([event])
    assert note.text.count("\n## Events\n") == note.text.count("<!-- overview ") == 1
    later = with_overview(append_turns(note, [TESTS]), compose_overview([event, TESTS], ()))
    assert notes.write(later) == notes.write(session_note([event, TESTS]))
