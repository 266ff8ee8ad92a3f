"""Learnings in what an agent wrote: which heading, which items, and what each becomes."""

from __future__ import annotations

import pytest

from cortex.core.extract.learnings import find_learnings
from cortex.core.model import event as events
from cortex.core.model.event import Event
from cortex.core.normalize.changes import AppendToSession, CreateNote, ExistingRecords, UpsertTopic
from cortex.core.normalize.handlers import changes_for_event
from cortex.core.notes import note as notes

ONE, TWO = (
    "Sync the folder after a rename, or it is gone.",
    "A lock file must never be deleted by its holder.",
)


def texts(markdown: str) -> list[str]:
    return [one.text for one in find_learnings(markdown)]


@pytest.mark.parametrize("heading", [
    "## Key Learnings", "### Key Learnings:", "## key learning", "## Learnings", "### Learning ##",
    "## Aprendizajes", "## Aprendizajes Clave:", "  ## Key Learnings  ",
])  # fmt: skip
def test_the_headings_that_count(heading: str) -> None:
    assert texts(f"Done.\n\n{heading}\n\n1. {ONE}\n2. {TWO}\n") == [ONE, TWO]


@pytest.mark.parametrize("heading", [
    "# Key Learnings", "#### Key Learnings", "## My Key Learnings", "Key Learnings", "##Key Learnings",
    "## Learnings today",
])  # fmt: skip
def test_the_headings_that_do_not(heading: str) -> None:
    assert texts(f"{heading}\n\n1. {ONE}\n") == []


@pytest.mark.parametrize(("section", "found"), [
    (f"- {ONE}\n- {TWO}", [ONE, TWO]),
    (f"* {ONE}\n+ {TWO}", [ONE, TWO]),
    (f"1) {ONE}\n- {TWO}", [ONE]),  # numbers count before bullets
    (f"{ONE}\n\n{TWO}", []),  # prose is no item
    (f"1. {ONE}\n2. too short\n3. onelongwordwithoutanyblank\n4. only three words_here", [ONE]),
    (f"1. {ONE}\n1. {ONE.upper()}\n2. {TWO}", [ONE, TWO]),
    ("1. **Sync** the `folder` after a *rename*,\n   or it is [gone](https://x.y).", [ONE]),
    ("1. Sync the [[folder]] after a [[x|rename]], or it is gone.", [ONE]),
    ("1. The field snake_case_name stays as it is.", ["The field snake_case_name stays as it is."]),
    (f"```\n1. {TWO}\n## Learnings\n```\n1. {ONE}", [ONE]),
    (f"~~~~\n1. {TWO}\n~~~\n1. {TWO}\n~~~~\n1. {ONE}", [ONE]),
    (f"1. {ONE}\n\n## Next\n\n1. {TWO}", [ONE]),
    (f"1. {TWO}\n\n## Learnings\n\n1. {ONE}", [ONE]),  # the last section counts
    (f"1. {TWO}\n\n## Learnings\n", []),
])  # fmt: skip
def test_the_items_of_the_last_section(section: str, found: list[str]) -> None:
    assert texts(f"## Key Learnings\n\n{section}\n") == found
    assert (
        texts(f"## Key Learnings\r\n\r\n{section}\r\n".replace("\n", "\r\n").replace("\r\r", "\r"))
        == found
    )


def test_a_title_is_the_beginning_and_things_that_begin_alike_are_two_topics() -> None:
    long = "The same beginning of sixty characters that goes on and on, "
    one, two = find_learnings(f"## Learnings\n- {long}first.\n- {long}second.\n")
    assert one.title == two.title == long[:60].rstrip()
    assert one.topic.startswith("learning/the-same-beginning")
    assert one.topic != two.topic


def test_things_that_begin_alike_are_two_topics_also_in_two_texts() -> None:
    begun = "Never delete the lock file of another process while that process is alive"
    (one,), (two,), (again,) = (
        find_learnings(f"## Learnings\n- {begun}{end}")
        for end in (", it holds.", " on NFS, where it hangs.", ",  It **holds**.")
    )
    assert one.title == two.title
    assert one.topic != two.topic
    assert one.topic == again.topic
    (short,) = find_learnings(f"## Learnings\n- {ONE}")
    assert short.topic == "learning/sync-the-folder-after-a-rename-or-it-is-gone"


def event(text: str, type_: str = "passive", number: int = 1, **fields: str) -> Event:
    id_ = f"20261120t1645{number:02d}z-aaaaaaaaaa"
    return Event(id_, type_, events.time_of_id(id_), text, project="p", **fields)


@pytest.mark.parametrize("type_", ["passive", "subagent_stop"])
def test_each_learning_is_one_record_and_the_same_one_when_it_is_learned_again(type_: str) -> None:
    known = ExistingRecords()
    first = event(f"## Learnings\n1. {ONE}\n2. {TWO}\n", type_)
    changes = changes_for_event(first, known)
    for change in changes:
        assert isinstance(change, CreateNote)
        note = notes.read_strict(change.text.encode(), change.path)
        assert (note.get("type"), note.get("topic").partition("/")[0], note.get("scope")) == (
            "learning",
            "learning",
            "",  # that of the project goes without saying
        )
        known.register_change(change, first)
    assert len(changes) == 2
    again = changes_for_event(event(f"## Learnings\n- {ONE}\n", type_, 2), known)
    assert [(type(change), change.path) for change in again] == [(UpsertTopic, changes[0].path)]


@pytest.mark.parametrize(("type_", "session", "place"), [
    ("subagent_stop", "s1", "sessions/"),
    ("subagent_stop", "", "sessions/"),
    ("passive", "s1", "sessions/"),
    ("passive", "", "records/note/"),
])  # fmt: skip
def test_a_text_without_learnings_is_not_lost(type_: str, session: str, place: str) -> None:
    known = ExistingRecords()
    one = event("Nothing to report.", type_, session=session)
    (made,) = changes_for_event(one, known)
    assert isinstance(made, CreateNote)
    assert made.path.startswith(place)
    assert "Nothing to report" in made.text
    known.register_change(made, one)
    if session:
        assert isinstance(
            changes_for_event(event("Still nothing.", type_, 2, session=session), known)[0],
            AppendToSession,
        )
