"""What becomes of a turn of a session: its line in the session's note, and the records of what was decided and learned in it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from cortex.core.briefing.excerpt import reason_line
from cortex.core.extract.named_entities import find_entities
from cortex.core.markdown.scan import scan
from cortex.core.model.distillation import Distillation, compose_distillation
from cortex.core.model.event import DISTILLED, Event
from cortex.core.model.generated_text import event_lines
from cortex.core.model.record import compose_record, record_id
from cortex.core.model.turn_summary import CommandRun, PlannedStep, TurnSummary, compose_text
from cortex.core.normalize.changes import (
    AddProvenance,
    AppendToSession,
    CreateNote,
    ExistingRecords,
    NoteChange,
    UpsertTopic,
)
from cortex.core.normalize.handlers import (
    HANDLERS,
    amend_note,
    changes_for_event,
    records_from_event,
)
from cortex.core.normalize.session_note import MAX_EXCERPT_CHARS
from cortex.core.normalize.topic_upsert import upsert_record
from cortex.core.notes import note as notes
from cortex.core.notes.edit import set_inactive_status, with_fields

NOTHING = Distillation("Nothing", (), "", (), ())
CLAIM = "Decision: we chose SQLite over Postgres because it is one file."


def event(
    text: str,
    *,
    type: str = "stop",
    at: str = "2026-11-20T16:45:12Z",
    tail: str = "aaaaaaaaaa",
    session: str = "s1",
    **fields: str,
) -> Event:
    stamp = at.replace("-", "").replace(":", "").lower()
    return Event(
        id=f"{stamp}-{tail}",
        type=type,
        at=at,
        text=text,
        session=session,
        **({"project": "shop", "branch": "main"} | fields),
    )


class Vault:
    """Notes as the consumer leaves them, in memory."""

    def __init__(self, phrases: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> None:
        self.known = ExistingRecords()
        self.known.phrases = phrases
        self.notes: dict[str, bytes] = {}
        self.events: dict[str, Event] = {}

    def take(self, one: Event, *, unfinished: bool = False) -> list[NoteChange]:
        self.events[one.id] = one
        changes = changes_for_event(one, self.known, unfinished=unfinished)
        for change in changes:
            if isinstance(change, CreateNote):
                assert change.path not in self.notes
                self.notes[change.path] = change.text.encode()
            elif isinstance(change, UpsertTopic):
                self.notes[change.path] = upsert_record(
                    self.notes[change.path],
                    change,
                    lambda id_: records_from_event(self.events[id_]),
                ).data
            else:
                assert isinstance(change, AddProvenance | AppendToSession)
                self.notes[change.path] = amend_note(self.notes[change.path], change)
            self.known.register_change(change, one)
        return changes

    def of(self, type_: str) -> notes.Note:
        (found,) = [
            note for data in self.notes.values() if (note := notes.read(data)).get("type") == type_
        ]
        return found

    def types(self) -> list[str]:
        return sorted(notes.read(data).get("type") for data in self.notes.values())


def test_a_turn_is_a_line_of_its_session_and_records_of_what_it_says() -> None:
    vault = Vault()
    vault.take(event(f"Looked around.\n\n{CLAIM}\n\nWe decided to use a lock."))
    assert vault.types() == ["decision", "session"]
    note = vault.of("decision")
    assert note.title == "We chose SQLite over Postgres"
    assert note.get("confidence") == "0.85"
    assert note.provenance() == (
        ("20261120t164512z-aaaaaaaaaa",),
        {"session": "s1", "layer": "keyword"},
    )
    assert note.text_below_title.strip() == "**Why.** It is one file"
    assert reason_line(note.title, note.text_below_title) == "It is one file"


def test_the_same_sentence_in_another_session_is_the_same_record_with_one_more_event() -> None:
    vault = Vault()
    vault.take(event(CLAIM))
    (_, grown) = vault.take(
        event(
            f"Done.\n\n{CLAIM.replace('we', 'We')}",
            at="2027-01-01T10:00:00Z",
            session="s2",
            branch="other",
        )
    )
    assert isinstance(grown, AddProvenance)
    assert vault.types() == ["decision", "session", "session"]
    assert vault.of("decision").provenance()[0] == (
        "20261120t164512z-aaaaaaaaaa",
        "20270101t100000z-aaaaaaaaaa",
    )


@pytest.mark.parametrize("status", ["superseded", "deleted", "archived"])
def test_a_record_that_was_put_away_stays_so_and_its_provenance_grows(status: str) -> None:
    vault = Vault()
    vault.take(event(CLAIM))
    (path,) = [path for path in vault.notes if "decision" in path]
    vault.notes[path] = notes.write(set_inactive_status(notes.read(vault.notes[path]), status, {}))
    vault.take(event(CLAIM, at="2026-11-21T10:00:00Z"))
    assert vault.of("decision").get("status") == status
    assert len(vault.of("decision").provenance()[0]) == 2


def test_what_is_permanent_is_pinned_also_when_it_was_there_before() -> None:
    vault = Vault()
    vault.take(event("[MEMORY: preference] Short answers"))
    assert vault.of("preference").fields.get("pinned") is None
    vault.take(event("[MEMORY: preference, permanent] Short answers", at="2026-11-21T10:00:00Z"))
    assert vault.of("preference").fields["pinned"] is True
    assert records_from_event(event("[MEMORY: permanent] Short answers"))[0].pinned


@pytest.mark.parametrize(
    ("type_", "found"),
    [
        ("stop", ["decision", "learning", "session"]), ("pre_compact", ["decision", "learning", "session"]), ("subagent_stop", ["decision", "learning", "session"]),
        ("passive", ["decision", "learning", "session"]), ("prompt", ["learning", "session"]), ("post_compact", ["learning", "session"]),
        ("session_end", ["learning", "session"]), ("session_start", ["session"]),
    ],
)  # fmt: skip
def test_which_texts_are_read_by_which_layers(type_: str, found: list[str]) -> None:
    vault = Vault()
    vault.take(event(f"{CLAIM}\n\n[MEMORY: the staging box is slow]", type=type_))
    assert vault.types() == found


def test_every_word_of_an_event_s_type_has_its_handler() -> None:
    for type_ in HANDLERS:
        text = compose_distillation(NOTHING) if type_ == DISTILLED else "Decision: a"
        assert changes_for_event(event(text, type=type_), ExistingRecords())


def test_learnings_below_their_heading_are_kept_of_every_turn() -> None:
    vault = Vault()
    vault.take(
        event(
            f"{CLAIM}\n\n## Key Learnings\n\n1. Sync the folder after a rename, or it is gone.",
            type="subagent_stop",
        )
    )
    assert vault.types() == ["decision", "learning"]
    vault = Vault()
    vault.take(
        event(f"{CLAIM}\n\n## Key Learnings\n\n1. Sync the folder after a rename, or it is gone.")
    )
    assert vault.types() == ["decision", "learning", "session"]


def test_a_capture_that_is_one_tag_is_read_as_that() -> None:
    vault = Vault()
    vault.take(event("[MEMORY: rejected, permanent] a daemon", type="manual", session=""))
    note = vault.of("rejection")
    assert (note.title, note.fields["pinned"], note.get("confidence")) == (
        "A daemon",
        True,
        "1",
    )
    vault.take(
        event("Say this. [MEMORY: rejected] a daemon", type="manual", at="2026-11-21T10:00:00Z")
    )
    assert vault.of("note").text_below_title.strip() == "Say this. [MEMORY: rejected] a daemon"


def test_a_capture_that_is_a_tag_without_a_colon_is_read_too() -> None:
    vault = Vault()
    vault.take(event("[MEMORY] we deploy on Fridays", type="manual", session=""))
    assert vault.of("learning").title == "We deploy on Fridays"


@pytest.mark.parametrize(("word", "type_"), [
    ("rejected", "rejection"),
    ("learned", "learning"),
    ("fixed", "bugfix"),
    ("error", "bugfix"),
    ("oddities", "oddities"),
    ("love-letter", "love-letter"),
])  # fmt: skip
def test_a_word_for_a_type_is_that_type_also_in_an_event_of_an_earlier_version(
    word: str, type_: str
) -> None:
    assert [
        one.type
        for one in records_from_event(
            event("a daemon", type="observation", record=word, title="No daemon")
        )
    ] == [type_]


def test_an_error_that_begins_a_text_says_no_type() -> None:
    assert records_from_event(event("Error: it broke", type="manual", session=""))[0].type == "note"


def test_the_words_of_a_team_make_records() -> None:
    vault = Vault((("runbook", ("on call:",)),))
    vault.take(event("On call: page Ann first."))
    assert vault.of("runbook").title == "On call: page Ann first"
    vault = Vault((("session", ("on call:",)),))
    vault.take(event("On call: page Ann first."))
    assert vault.types() == ["session"], "no record may pass for the note of a session"


def stretch(**parts: object) -> str:
    return compose_text(TurnSummary(**parts))  # type: ignore[arg-type]


PLAN = (PlannedStep("read the code", True), PlannedStep("write the tests", False))


def test_a_plan_is_done_when_the_turn_that_shows_it_says_so() -> None:
    vault = Vault()
    vault.take(event(stretch(plan=PLAN, message="All steps are done and pushed.")))
    assert vault.of("plan").get("status") == "done"


def test_the_plan_is_one_record_of_its_branch_and_the_later_one_holds() -> None:
    vault = Vault()
    vault.take(event(stretch(plan=PLAN)))
    first = vault.of("plan")
    assert (first.get("topic"), first.get("status"), first.text_below_title.strip()) == (
        "plan/main",
        "",
        "- [x] read the code\n- [ ] write the tests",
    )
    vault.take(
        event(
            stretch(
                plan=(PlannedStep("read the code", True), PlannedStep("write the tests", True))
            ),
            at="2026-11-20T17:00:00Z",
            session="s2",
        )
    )
    assert (vault.of("plan").get("status"), vault.of("plan").get("id")) == ("done", first.get("id"))
    vault.take(event(stretch(plan=(PlannedStep("ship it", False),)), at="2026-11-20T18:00:00Z"))
    assert (vault.of("plan").get("status"), vault.of("plan").text_below_title.strip()) == (
        "",
        "- [ ] ship it",
    )
    vault.take(
        event(stretch(plan=PLAN), at="2026-11-20T17:30:00Z")
    )  # it comes late, and says less than what came after it
    assert vault.of("plan").text_below_title.strip() == "- [ ] ship it"
    assert len(vault.of("plan").provenance()[0]) == 4


def test_plans_of_other_branches_and_of_subagents_leave_it_alone() -> None:
    vault = Vault()
    vault.take(event(stretch(plan=PLAN)))
    vault.take(event(stretch(plan=PLAN), branch="fix/Login", at="2026-11-20T17:00:00Z"))
    vault.take(event(stretch(plan=PLAN), branch="fix/login", at="2026-11-20T17:01:00Z"))
    vault.take(
        event(
            stretch(message="Done.", plan=(PlannedStep("count", True),)),
            type="subagent_stop",
            at="2026-11-20T17:02:00Z",
        )
    )
    assert vault.types() == ["plan", "plan", "plan", "session"]
    vault.take(event(stretch(plan=PLAN), branch="../../etc", at="2026-11-20T17:03:00Z"))
    assert all(".." not in path for path in vault.notes)


def test_a_superseded_plan_stays_superseded() -> None:
    vault = Vault()
    vault.take(event(stretch(plan=PLAN)))
    (path,) = [path for path in vault.notes if "plan" in path]
    vault.notes[path] = notes.write(
        with_fields(notes.read(vault.notes[path]), {"status": "superseded"})
    )
    vault.take(event(stretch(plan=(PlannedStep("ship it", False),)), at="2026-11-20T18:00:00Z"))
    assert vault.of("plan").get("status") == "superseded"


def line_of(text: str, **more: str) -> str:
    vault = Vault()
    vault.take(event(text, **more))
    return next(event_lines(vault.of("session").text)).excerpt


def test_the_line_of_a_turn_says_what_was_said_and_then_what_was_done() -> None:
    text = stretch(
        message="All done.\n\n- one",
        changed_files=("cortex/a.py", "setup.py"),
        commands=(CommandRun("pytest -q", "failed: 2 failed"), CommandRun("ls")),
        plan=PLAN,
    )
    assert line_of(text) == "All done. one · changed cortex/a.py, `setup.py` · pytest -q failed"
    assert line_of(stretch(tagged_lines=("[MEMORY: x y z]",))) == "[MEMORY: x y z]"
    assert line_of(stretch(plan=PLAN)) == "(nothing said)"


@pytest.mark.parametrize("type_", ["stop", "pre_compact", "session_end"])
def test_a_line_never_holds_the_marks_and_lists_of_an_event(type_: str) -> None:
    line = line_of(
        stretch(
            message="x <!-- cortex: y",
            changed_files=tuple(f"src/a{n}.py" for n in range(99)),
            commands=(CommandRun("`[[a]]` " * 90, "failed"),),
        ),
        type=type_,
    )
    assert "<!--" not in line
    assert "Files changed" not in line
    assert len(line) <= MAX_EXCERPT_CHARS
    assert type_ == "session_end" or "src/a0.py" in line


def test_files_of_a_turn_are_what_its_session_mentions() -> None:
    vault = Vault()
    vault.take(
        event(stretch(message="Done.", changed_files=("cortex/a.py", "setup.py", "web/app.tsx")))
    )
    note = vault.of("session")
    found = find_entities(note.text, scan(note.text))
    assert [one.name for one in found if one.kind == "file"] == [
        "cortex/a.py",
        "setup.py",
        "web/app.tsx",
    ]


TEXTS = st.lists(
    st.sampled_from([CLAIM, "[MEMORY: a b c]", "Decision: a thing", "Turns out a b c d.", "[MEMORY: permanent, decision] a thing", "nothing", "## Key Learnings\n\n1. a b c d e f g h i j k"]),
    min_size=1, max_size=4,
).map("\n\n".join)  # fmt: skip


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["stop", "pre_compact", "passive", "prompt", "subagent_stop"]),
            TEXTS,
            st.booleans(),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_normalizing_twice_changes_nothing(told: list[tuple[str, str, bool]]) -> None:
    vault = Vault()
    events = [
        event(
            stretch(message=text, plan=PLAN if plan else ()),
            type=type_,
            at=f"2026-11-20T16:45:{number:02}Z",
        )
        for number, (type_, text, plan) in enumerate(told)
    ]
    for one in events:
        vault.take(one)
    before = dict(vault.notes)
    for one, unfinished in itertools.product(events, (False, True)):
        vault.take(one, unfinished=unfinished)
    assert vault.notes == before


ID, NOW = "20261127t120000z-abcdefghij", "2026-11-27T12:00:00Z"


def test_the_tasks_of_a_capture_are_actions_and_the_rest_is_what_it_was():
    text = "Decision: keep carts for a day.\n\n- [ ] Tell Ana (Ben, 1 December)\n- [x] Ask Cleo\n"
    made = records_from_event(Event(ID, "manual", NOW, text))
    assert [(one.type, one.title, one.status, one.owner, one.due) for one in made] == [
        ("decision", "Keep carts for a day", "active", "", ""),
        ("action", "Tell Ana", "open", "Ben", "2026-12-01"),
        ("action", "Ask Cleo", "done", "", ""),
    ]
    assert len({one.id for one in made}) == 3
    assert made == records_from_event(Event(ID, "manual", NOW, text))


def test_one_task_keeps_the_id_that_it_had_and_a_stated_type_holds_for_a_box():
    (made,) = records_from_event(Event(ID, "manual", NOW, "TODO: call the printer"))
    assert (made.type, made.id) == ("action", record_id("Call the printer", ID))
    (made,) = records_from_event(Event(ID, "manual", NOW, "- [ ] a box", record="decision"))
    assert (made.type, made.title) == ("decision", "A box")


def test_an_action_that_is_saved_or_captured_as_one_has_the_person_and_the_day_of_its_title():
    title = "Send the offer (Ana, 1 December)"
    saved = Event(ID, "observation", NOW, title, title=title, record="action")
    for event in (Event(ID, "manual", NOW, title, record="action"), saved):
        (made,) = records_from_event(event)
        assert (made.type, made.owner, made.due) == ("action", "Ana", "2026-12-01")


def test_of_a_turn_the_agent_s_own_tasks_count_and_those_of_the_person_do_not():
    text = "> [!user] Go on\n> TODO: what the person asks\n\nDone.\n\n> TODO: somebody else's words\n\nTODO: rotate the keys\n- [ ] Verify the flag\n"
    made = records_from_event(Event(ID, "stop", NOW, text, session="s"))
    assert [(one.type, one.title) for one in made] == [("action", "Rotate the keys")]


def test_a_record_keeps_relations_of_all_kinds_the_invented_ones_by_their_name():
    relations = ("references b-c-aaaaaa", "follows b-c-aaaaaa", "title d-e-bbbbbb")
    event = Event(ID, "observation", NOW, "Text.", title="A title", relations=relations)
    fields = notes.read(compose_record(records_from_event(event)[0]).encode()).fields
    assert fields["references"] == fields["follows"] == ["[[b-c-aaaaaa]]"]
    assert fields["relations"] == [{"kind": "title", "to": "[[d-e-bbbbbb]]"}]
    assert fields["aliases"] == ["A title"]
