"""What waits for a person's look, and that what an entry names ends that."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cortex.core.merge.merge_record import merge_record
from cortex.core.model.problem import InvalidInputError
from cortex.interfaces.cli import render
from cortex.operations.care.review import review
from cortex.operations.records.revise import revise
from tests.conftest import commit_all

EVENT = "20261118t101500z-aaaaaaaaa"


def event(number: int, source: str) -> str:
    id_ = f"{EVENT}{'abcdefg'[number]}"
    text = f"---\nid: {id_}\ntype: observation\nsource: {source}\nat: 2026-11-18T10:15:00Z\n---\n"
    return f"=== events/2026/11/{id_}.md\n{text}## Raw Content\n\nx\n"


def record(name: str, title: str, *lines: str, event: str = "", body: str = "") -> str:
    said = [f"id: {name}", "type: decision", f"title: {title}", "status: active", "project: shop"]
    given = {line.partition(":")[0] for line in lines}
    said = [line for line in said if line.partition(":")[0] not in given]
    dates = [] if "created" in given else ["created: 2026-11-18T10:15:00Z"]
    made = ["provenance:", f"  events: [{EVENT}{event}]"] if event else []
    text = "\n".join(["---", *said, *dates, *lines, *made])
    return f"=== records/{name}.md\n{text}\n---\n{body or title}\n"


def ids(hits) -> list[str]:
    assert hits.total == len(hits.hits)
    return [one.id for one in hits.hits]


def test_what_no_person_typed_waits_until_somebody_has_looked(vault_from, caller) -> None:
    vault = vault_from(
        "".join(event(at, source) for at, source in enumerate(("cli", "mcp", "hook", "hook")))
        + record("by-hand", "Typed at a terminal", event="a")
        + record("by-agent", "Saved by an agent", event="b")
        + record("in-turn", "Said in a turn", event="c")
        + record("by-model", "Made by a model", event="d", body="x\n").replace(
            "provenance:\n", "provenance:\n  layer: distilled\n"
        )
        + record("by-rules", "Found by rules", event="a").replace(
            "provenance:\n", "provenance:\n  layer: judged\n"
        )
        + record("said-by-hand", "Never squash", event="a").replace(
            "provenance:\n", "provenance:\n  layer: keyword\n"
        )
        + record("old", "Long ago", "created: 2026-10-01T00:00:00Z", event="b")
        + record("aside", "Set aside", "status: archived", event="b")
    )
    found = review(vault, caller).kept
    assert {one.id: one.why for one in found.hits} == {
        "by-agent": "an agent saved it",
        "in-turn": "it was said in a session",
        "by-model": "a model made it of a session",
        "by-rules": "rules found it in a session",
    }
    one = next(one for one in found.hits if one.id == "by-agent")
    assert (one.keep, one.fix, one.drop) == (
        "cortex revise by-agent --reviewed", "cortex edit by-agent", "cortex archive by-agent",
    )  # fmt: skip
    assert (one.type, one.path, one.date) == (
        "decision",
        "records/by-agent.md",
        "2026-11-18T10:15:00Z",
    )
    looked = revise(vault, caller, "by-agent", reviewed=True)
    assert looked.undo == "cortex revise by-agent --unreviewed"
    assert "by-agent" not in ids(review(vault, caller).kept)
    assert revise(vault, caller, "by-agent", unreviewed=True).undo.endswith(" --reviewed")
    assert "by-agent" in ids(review(vault, caller).kept)
    with pytest.raises(InvalidInputError, match="reviewed or it is not"):
        revise(vault, caller, "by-agent", reviewed=True, unreviewed=True)
    revise(vault, caller, "by-agent", reviewed=True)
    # An agent's word that it has looked is none.
    assert (
        revise(vault, caller._replace(source="mcp"), "in-turn", reviewed=True).outcome
        == "unchanged"
    )
    later = caller._replace(now="2026-11-21T10:00:00Z")
    revise(vault, later, "by-agent", priority=7)
    assert {*ids(review(vault, later).kept)} == {"by-agent", "in-turn", "by-model", "by-rules"}
    assert (
        review(vault, later, number=1).kept.total,
        len(review(vault, later, number=1).kept.hits),
    ) == (4, 1)


def test_opposites_and_what_is_alike_wait_as_pairs(vault_from, caller, cortex) -> None:
    words = "one two three four five six seven eight nine ten eleven twelve"
    vault = vault_from(
        record("cached", "Prices are cached in Redis", "created: 2026-11-17T10:00:00Z")
        + record("not-cached", "Prices are not cached in Redis")
        + record(
            "said", "Tea is good", "contradicts: [[[also-said]]]", "created: 2026-11-16T10:00:00Z"
        )
        + record("also-said", "Coffee it is", "created: 2026-11-15T10:00:00Z")
        + record("alike", "Alike", body=f"{words} again")
        + record("alike-too", "Alike too", "created: 2026-11-12T10:00:00Z", body=f"{words} also")
        + record("elsewhere", "Elsewhere", "project: till", body=f"{words} too")
    )
    found = review(vault, caller)
    assert [(one.id, one.other) for one in found.contradictions.hits] == [
        ("not-cached", "cached"), ("said", "also-said"),
    ]  # fmt: skip
    assert [(one.id, one.other) for one in found.duplicates.hits] == [("alike", "alike-too")]
    assert found.duplicates.hits[0].why == "say nearly the same"
    assert found.duplicates.hits[0].fix == "cortex consolidate alike alike-too"
    first = found.contradictions.hits[0]
    assert first.fix == "cortex supersede cached --by not-cached"
    cortex(*shlex.split(first.fix)[1:])
    cortex(*shlex.split(found.duplicates.hits[0].keep)[1:])
    left = review(vault, caller)
    assert (ids(left.contradictions), ids(left.duplicates)) == (["said"], [])


def test_what_a_merge_left_open_waits(vault_from, caller, cortex) -> None:
    lost = "merge_conflicts:\n  - {field: text}"
    field = "merge_conflicts:\n  - {field: owner, kept: Ana, other: Bob}"
    vault = vault_from(
        record("lost", "Lost", lost) + record("field", "Field", field)
        + "=== mine.md\n# Mine\n\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    )  # fmt: skip
    found = {one.id: one for one in review(vault, caller).conflicts.hits}
    assert {*found} == {"lost", "field", "mine.md"}
    assert (found["mine.md"].keep, found["mine.md"].drop) == ("", "")
    assert found["mine.md"].fix == "cortex edit mine.md"
    assert found["field"].keep == ""
    cortex(*shlex.split(found["lost"].keep)[1:])
    assert {*ids(review(vault, caller).conflicts)} == {"field", "mine.md"}


def test_a_secret_waits_until_it_is_out_or_let_through(vault_from, caller, cortex, git) -> None:
    vault = vault_from(record("keys", "Keys", body="AKIAIOSFODNN7EXAMPLX is the key"))
    assert review(vault, caller).secrets.total == 0
    git(vault.root, "init", "-q")
    (one,) = review(vault, caller).secrets.hits
    assert (one.id, one.keep, one.drop) == (
        "keys", "cortex sync --publish records/keys.md", "cortex erase keys",
    )  # fmt: skip
    assert "looks like a secret" in one.why
    path = Path(vault.root, "records/keys.md")
    path.write_text(path.read_text().replace("AKIAIOSFODNN7EXAMPLX", "gone"))
    assert review(vault, caller).secrets.total == 0


def test_what_is_stale_or_faded_waits_as_status_has_it(vault_from, caller, cortex) -> None:
    old = "created: 2026-01-01T00:00:00Z"
    vault = vault_from(
        record("do-it", "Do it", "type: action", "status: open", old)
        + record("faded", "Faded", "type: learning", "confidence: 0.3", old)
    )
    found = review(vault, caller)
    assert (ids(found.stale), ids(found.faded)) == (["do-it"], ["faded"])
    assert found.stale.hits[0].fix == "cortex revise do-it --status done"
    for command in (found.stale.hits[0].fix, found.faded.hits[0].drop):
        assert cortex(*shlex.split(command)[1:]).returncode == 0
    left = review(vault, caller)
    assert (left.stale.total, left.faded.total) == (0, 0)


def test_it_is_told_in_groups(vault_from, caller, vault, cortex) -> None:
    assert render.marked_text("review", review(vault, caller)) == "nothing waits for you"
    vault_from(
        event(1, "mcp") + record("by-agent", '"Saved \\e[31m by an agent"', event="b")
        + record("do-it", "Do it", "type: action", "status: open", "created: 2026-01-01T00:00:00Z")
    )  # fmt: skip
    told = render.marked_text("review", review(vault, caller))
    assert "kept for you" in told
    assert "stale" in told
    assert "opposites" not in told
    assert "keep one: cortex revise ID --reviewed" in told
    assert "\x1b[31m" not in told


def test_two_looks_at_one_record_merge(vault, vault_from, caller, git) -> None:
    vault_from(record("one", "One"))
    commit_all(vault.root)
    git(vault.root, "checkout", "-qb", "side")
    revise(vault, caller, "one", reviewed=True)
    commit_all(vault.root)
    git(vault.root, "checkout", "-q", "-")
    revise(vault, caller._replace(now="2026-11-21T10:00:00Z"), "one", reviewed=True)
    commit_all(vault.root)
    base, ours, theirs = (
        git(vault.root, "show", f"{name}:records/one.md").encode()
        for name in ("HEAD~1", "HEAD", "side")
    )
    merged = merge_record(base, ours, theirs)
    assert b"reviewed_at: 2026-11-21T10:00:00Z" in merged.data


@pytest.mark.parametrize("number", [1, 1000])
def test_an_empty_vault_has_nothing(vault, caller, number) -> None:
    assert all(not each.total for each in review(vault, caller, number=number)[:-1])
