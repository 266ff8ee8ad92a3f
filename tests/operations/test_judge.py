"""Sessions that have ended are judged once: which, when, and what becomes of it on two clones and later."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.turn_summary import (
    AGENT,
    USER,
    Commit,
    TurnSummary,
    Utterance,
    compose_text,
    format_utterances,
)
from cortex.core.notes import note as notes
from cortex.operations.capture.capture import publish_event
from cortex.operations.upkeep.bring_up_to_date import bring_up_to_date
from cortex.vault.locate import Vault
from cortex.vault.state.unjudged import WAITING

WHY = (
    "They filled the table, and nobody who left a cart for longer than a week ever came back to it."
)
COMMIT = Commit("abc1234", "feat(cart): carts expire after a week", WHY)


class Shop:
    """A vault in which agents work."""

    def __init__(self, vault: Vault, caller: Caller) -> None:
        self.vault, self.caller = vault, caller

    def turn(
        self, at: str, prompt: str, answer: str = "Done.", *, session: str = "s1", **done: object
    ) -> None:
        said = format_utterances([Utterance(USER, prompt), Utterance(AGENT, answer)])
        self.event("stop", at, compose_text(TurnSummary(said)._replace(**done)), session)

    def end(self, at: str, session: str = "s1") -> None:
        self.event("session_end", at, "(no summary)", session)

    def event(self, type_: str, at: str, text: str, session: str) -> None:
        id_ = f"{at.replace('-', '').replace(':', '').lower()}-aaaaaaaaaa"
        event = Event(
            id_, type_, at, text, session=session, project="shop", branch="main", source="hook"
        )
        publish_event(self.vault, self.caller, event, is_retry=True)

    def read(self, now: str, source: str = "cli") -> None:
        assert bring_up_to_date(self.vault, self.caller._replace(now=now, source=source)) == []

    def records(self) -> dict[str, str]:
        """Title -> status of each record."""
        found = (
            notes.read(path.read_bytes()) for path in Path(self.vault.root).glob("records/*/*.md")
        )
        return {note.title: note.get("status") or "active" for note in found}

    def judgements(self) -> list[bytes]:
        paths = Path(self.vault.root).glob("events/*/*/*.md")
        return [data for path in sorted(paths) if b"type: distilled" in (data := path.read_bytes())]


@pytest.fixture
def shop(vault: Vault, caller: Caller) -> Shop:
    return Shop(vault, caller)


def test_a_session_is_judged_when_it_ends_and_a_rule_holds_at_once(shop):
    shop.turn("2026-11-20T10:00:00Z", "Carts should go away.", commits=(COMMIT,))
    shop.turn("2026-11-20T10:01:00Z", "Never use sleep in a test.", "Understood.")
    shop.read("2026-11-20T10:02:00Z")
    assert set(shop.records()) == {"Never use sleep in a test"}
    shop.end("2026-11-20T10:03:00Z")
    shop.read("2026-11-20T10:03:01Z")
    assert set(shop.records()) == {
        "Never use sleep in a test",
        "feat(cart): carts expire after a week",
    }
    assert len(shop.judgements()) == 1
    shop.read("2026-11-21T10:03:01Z")
    assert len(shop.judgements()) == 1
    assert WAITING.read(shop.vault) == {}


@pytest.mark.parametrize(("now", "source", "count"), [
    ("2026-11-20T10:29:00Z", "cli", 0), ("2026-11-20T10:31:00Z", "cli", 1),
    ("2026-11-20T10:01:00Z", "hook", 0), ("2026-11-20T10:03:00Z", "hook", 1),
])  # fmt: skip
def test_one_without_an_end_after_half_an_hour_or_when_another_starts(shop, now, source, count):
    shop.turn("2026-11-20T10:00:00Z", "Carts should go away.", commits=(COMMIT,))
    shop.read("2026-11-20T10:00:01Z")
    shop.read(now, source)
    assert len(shop.judgements()) == count


def test_what_a_session_that_goes_on_takes_back_is_superseded(shop):
    shop.turn("2026-11-20T10:00:00Z", "The cart needs a home.", "I looked.")
    shop.turn(
        "2026-11-20T10:01:00Z", "I think the cart table should live in SQLite.", "Good point."
    )
    shop.end("2026-11-20T10:02:00Z")
    shop.read("2026-11-20T10:02:01Z")
    assert shop.records() == {"I think the cart table should live in SQLite": "active"}
    shop.turn(
        "2026-11-27T10:00:00Z",
        "I think the cart table should live in Postgres instead.",
        "Good point.",
    )
    shop.end("2026-11-27T10:01:00Z")
    shop.read("2026-11-27T10:01:01Z")
    assert shop.records() == {
        "I think the cart table should live in SQLite": "superseded",
        "I think the cart table should live in Postgres instead": "active",
    }


def test_what_was_told_before_a_pause_stays_when_more_is_decided_after_it(shop):
    """Three of each stretch, also where a pause was short and more came than a stretch may have."""
    subjects = (
        "carts expire after a week", "prices round to whole cents", "stock counts lock their row",
        "orders print on thermal paper", "labels carry a barcode", "refunds need two signatures",
    )  # fmt: skip
    for number, subject in enumerate(subjects):
        at = f"2026-11-20T1{number // 3}:0{number % 3}:00Z"
        commit = Commit(f"abc123{number}", f"feat: {subject}", f"So that {subject}. " * 4)
        shop.turn(at, "Go on.", commits=(commit,))
        if number % 3 == 2:
            shop.read(f"2026-11-20T1{number // 3}:45:00Z")
    assert len(shop.records()) == 6
    assert {*shop.records().values()} == {"active"}
    shop.turn("2026-11-20T11:03:00Z", "Carts should go.", commits=(COMMIT._replace(subject="feat: vouchers of guests end"),))  # fmt: skip
    shop.read("2026-11-20T12:00:00Z")
    assert {*shop.records().values()} == {"active"}


def test_clones_that_judge_apart_make_the_same_files(shop, caller, tmp_path):
    other = Shop(Vault(str(tmp_path / "other")), caller)
    (tmp_path / "other").mkdir()
    (tmp_path / "other/cortex.toml").write_bytes(Path(shop.vault.root, "cortex.toml").read_bytes())
    for one, now in ((shop, "2026-11-20T11:00:00Z"), (other, "2026-12-24T08:00:00Z")):
        one.turn("2026-11-20T10:00:00Z", "Carts should go away.", commits=(COMMIT,))
        one.turn("2026-11-20T10:01:00Z", "Never use sleep in a test.", "Understood.")
        one.read(now)
    files = [
        {str(path.relative_to(one.vault.root)): path.read_bytes()
         for folder in ("events", "records", "sessions") for path in Path(one.vault.root, folder).rglob("*.md")}
        for one in (shop, other)
    ]  # fmt: skip
    assert files[0] == files[1]


def test_runs_of_a_program_and_sessions_that_bear_out_nothing_make_no_event(shop):
    shop.turn(
        "2026-11-20T10:00:00Z",
        "Carts should go.",
        session="headless-shop-2026-11-20",
        commits=(COMMIT,),
    )
    shop.turn("2026-11-20T10:00:01Z", "What is a cart?", session="s2")
    shop.read("2026-11-20T12:00:00Z")
    assert (shop.judgements(), shop.records()) == ([], {})
