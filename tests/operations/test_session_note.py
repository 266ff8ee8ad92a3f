"""Notes of sessions in a vault: the same bytes in whatever passes their events came, one file each, and lists that read
like a work journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.model import event as events
from cortex.core.model.event import Event
from cortex.core.model.layout import AT_ROOT
from cortex.core.model.turn_summary import (
    AGENT,
    USER,
    TurnSummary,
    Utterance,
    compose_text,
    format_utterances,
)
from cortex.operations.care.init import init
from cortex.operations.share.duplicates import join_files
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.locate import Vault
from tests.conftest import caller_at

NAME = "5f0c7a52-6d3f-4b1e-9d2a-0e6a1f7d1c11"


def event(minute: int, type_: str = "stop", ask: str = "", said: str = "", title: str = "", session: str = NAME) -> Event:  # fmt: skip
    spoken = [*([Utterance(USER, ask)] if ask else []), *([Utterance(AGENT, said)] if said else [])]
    text = compose_text(TurnSummary(format_utterances(spoken), (), (), (), (), title=title))
    text = {"session_start": "(no goal)", "session_end": "(no summary)\n\nreason: logout"}.get(
        type_, text
    )
    id_ = f"20261120t10{minute:02}00z-{'abcdefghij'[minute]}aaaaaaaaa"
    return Event(id_, type_, f"2026-11-20T10:{minute:02}:00Z", text, session, project="shop")


START = event(0, "session_start")
CART = event(1, ask="Keep the cart when the session ends", said="Decision: carts live in the sessions table, since memory is lost with the process.")  # fmt: skip
TITLED = event(2, ask="And mail the customer about old carts", said="Mails go out at noon, one for each cart that is a week old and was not paid.", title="Carts: kept, then mailed")  # fmt: skip
LAST = event(3, ask="Now the docs of all shops", said="They say a week. [MEMORY: decision] Carts are kept for a week, as the shop asked for it.")  # fmt: skip
END = event(4, "session_end")
ALL = [START, CART, TITLED, LAST, END]
EMPTY = [event(5, "session_start", session="empty"), event(6, "session_end", session="empty")]


def normalized(vault: Vault, *batch: Event) -> None:
    """A pass over these events alone."""
    for one in batch:
        files.create(vault.root, AT_ROOT.pending(one.id), events.compose(one).encode())
    done = normalize(vault, caller_at("2026-11-20T12:00:00Z"))
    assert not done.failed
    assert all(files.exists(vault.root, AT_ROOT.event(one.id)) for one in batch)


def session_files(vault: Vault) -> list[Path]:
    return sorted(Path(vault.root, "sessions").rglob("*.md"))


def new_vault(folder: Path) -> Vault:
    return Vault(init(caller_at("2026-11-20T09:00:00Z"), str(folder)).root)


@settings(max_examples=12)
@given(st.permutations(ALL), st.lists(st.booleans(), min_size=5, max_size=5))
def test_the_same_events_give_the_same_note_in_whatever_passes_they_came(tmp_path_factory, ordered, ends_pass):  # fmt: skip
    folder = tmp_path_factory.mktemp("passes")
    one, two = new_vault(folder / "one"), new_vault(folder / "two")
    normalized(one, *ALL)
    batch: list[Event] = []
    for each, is_last in zip(ordered, ends_pass, strict=True):
        batch.append(each)
        if is_last:
            normalized(two, *batch)
            batch = []
    normalized(two, *batch)
    (expected,), (note,) = session_files(one), session_files(two)
    assert note.read_text() == expected.read_text()
    assert 'title: "Carts: kept, then mailed"\n' in note.read_text()
    assert note.name.startswith("2026-11-20-")
    assert expected.name.startswith("2026-11-20-carts-kept-then-mailed-")


def test_a_pass_that_ends_between_a_note_and_its_events_is_made_up_for(tmp_path, monkeypatch):
    one, two = new_vault(tmp_path / "one"), new_vault(tmp_path / "two")
    normalized(one, *ALL)
    whole, moved = files.move, []

    def move(root: str, old: str, new: str) -> None:
        moved.append(old)
        if len(moved) > 2:
            raise OSError(28, "No space left on device")
        whole(root, old, new)

    for each in ALL:
        files.create(two.root, AT_ROOT.pending(each.id), events.compose(each).encode())
    monkeypatch.setattr(files, "move", move)
    assert normalize(two, caller_at("2026-11-20T12:00:00Z")).failed
    monkeypatch.setattr(files, "move", whole)
    normalized(two)
    assert not list(Path(two.root, AT_ROOT.pending()).glob("*.md"))
    (expected,), (note,) = session_files(one), session_files(two)
    assert note.read_text() == expected.read_text()


def test_a_note_keeps_its_file_when_its_title_gets_better_and_its_links_are_not_dead(tmp_path):
    vault = new_vault(tmp_path)
    normalized(vault, START, CART)
    (file,) = session_files(vault)
    assert file.name.startswith("2026-11-20-keep-the-cart-when-the-session-ends-")
    normalized(vault, TITLED, LAST)
    assert session_files(vault) == [file]
    text = file.read_text()
    assert 'title: "Carts: kept, then mailed"\n' in text
    linked = [line[4:].partition("|")[0] for line in text.splitlines() if line.startswith("- [[")]
    assert linked
    assert set(linked) <= {path.stem for path in Path(vault.root, "records").rglob("*.md")}


def test_an_event_file_that_is_gone_leaves_out_what_it_said_and_no_more(tmp_path):
    vault = new_vault(tmp_path)
    normalized(vault, START, CART, TITLED)
    Path(vault.root, AT_ROOT.event(CART.id)).unlink()
    normalized(vault, LAST)
    (file,) = session_files(vault)
    asked = file.read_text().partition("## Asked")[2].partition("\n## ")[0]
    assert asked == "\n\n- And mail the customer about old carts\n- Now the docs of all shops\n"
    assert CART.id in file.read_text()


def test_one_session_under_two_names_of_files_is_joined_with_one_overview(tmp_path):
    """Two clones made its note of other events, and gave it other names."""
    one, two = new_vault(tmp_path / "one"), new_vault(tmp_path / "two")
    normalized(one, START, CART)
    normalized(two, START, TITLED)
    (ours,), (theirs,) = session_files(one), session_files(two)
    assert ours.name != theirs.name
    for here, there in ((one, two), (two, one)):
        for path in [
            *Path(there.root).glob("events/**/*.md"),
            *Path(there.root).glob("records/**/*.md"),
        ]:
            target = Path(here.root, path.relative_to(there.root))
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
    first, second = ours.read_bytes(), theirs.read_bytes()
    Path(one.root, theirs.relative_to(two.root)).write_bytes(second)
    Path(two.root, ours.relative_to(one.root)).write_bytes(first)
    for vault in (one, two):
        assert len(join_files(vault, caller_at("2026-11-20T12:00:00Z"))) == 1
    (joined,), (also,) = session_files(one), session_files(two)
    assert joined.relative_to(one.root) == also.relative_to(two.root)
    text = joined.read_text()
    assert text == also.read_text()
    assert text.count("<!-- overview ") == text.count("## Outcome") == 1
    assert "merge_conflicts" not in text
    assert 'title: "Carts: kept, then mailed"\n' in text
    for vault in (one, two):
        normalized(vault, LAST)
    assert joined.read_text() == also.read_text()


@pytest.fixture
def journal(vault):
    normalized(vault, *ALL, *EMPTY)
    return vault


def test_sessions_in_which_nothing_was_said_stand_in_no_list(journal, cortex, tmp_path):
    listed = json.loads(cortex("session", "list", "--json").stdout)
    assert [one["title"] for one in listed["hits"]] == ["Carts: kept, then mailed"]
    assert listed["total"] == 1
    context = json.loads(cortex("context", "--project", "shop", "--json").stdout)
    assert [one["title"] for one in context["sessions"]["hits"]] == ["Carts: kept, then mailed"]
    brief = cortex("brief", "--project", "shop", "--print").stdout
    _, _, sessions = brief.partition("## Last sessions\n")
    line, *_ = sessions.splitlines()
    assert line.startswith("- 2026-11-20 Carts: kept, then mailed: They say a week.")
    assert json.loads(cortex("session", "show", "empty", "--json").stdout)["overview"] == ""


def test_the_list_reads_like_a_work_journal(journal, cortex):
    first, outcome, figures = cortex("session", "list").stdout.splitlines()
    assert first == "2026-11-20 10:00 to 2026-11-20 10:04  Carts: kept, then mailed  done"
    assert outcome.startswith("  They say a week.")
    assert figures == f"  shop  5 events, 2 records  {NAME}"
    shown = cortex("session", "show", NAME).stdout
    assert "## Asked\n\n- Keep the cart when the session ends\n" in shown
    assert "<!--" not in shown


def test_a_record_that_is_older_than_the_note_of_its_session_gets_the_link(tmp_path):
    vault = new_vault(tmp_path / "one")
    id_ = "20261120t100900z-jaaaaaaaaa"
    normalized(
        vault,
        Event(id_, "observation", "2026-11-20T10:09:00Z", "Carts are kept.", NAME, title="Carts"),
    )
    [record] = Path(vault.root, "records").rglob("*.md")
    assert f'session: "{NAME}"\n' in record.read_text()
    normalized(vault, *ALL)
    (note,) = session_files(vault)
    assert f'session: "[[{note.stem}|{NAME}]]"\n' in record.read_text()
