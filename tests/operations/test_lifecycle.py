"""Scores, passes and prunings on real vaults: what is used gains, what has faded goes, and all of it comes back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cortex.core.model.caller import Caller
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.core.ranking.importance import (
    NEVER_ARCHIVED_TYPES,
    NON_DECAYING_TYPES,
    Signals,
    judge_archiving,
)
from cortex.core.text.iso_time import epoch_seconds
from cortex.core.text.strings import format_time
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.care.status import status
from cortex.operations.find.note_ranks import (
    rank_notes,
    signals_of_notes,
    timestamp_of,
)
from cortex.operations.find.open import open as open_
from cortex.operations.find.recall import recall
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from cortex.operations.records.lifecycle import archive_by_itself, lifecycle, prune
from cortex.operations.records.restore import restore
from cortex.operations.share.sync import sync
from cortex.vault.locate import Vault
from cortex.vault.settings import load
from cortex.watcher.loop import WatcherLoop
from cortex.watcher.scan_memory import ScanMemory
from tests.conftest import commit_all

score = partial(show, why=True)
Write = Callable[[str], Vault]
OLD = "2026-01-05T10:00:00Z"
ARCHIVED = ("status: archived", "archived_at: 2026-08-01T00:00:00Z")


def record(
    id_: str,
    *fields: str,
    type: str = "gotcha",
    created: str = OLD,
    folder: str = "records",
    body: str = "Text.",
) -> str:
    lines = [
        "---",
        f"id: {id_}",
        f"type: {type}",
        f"title: {id_}",
        *fields,
        f"created: {created}",
        "---",
        "",
        body,
    ]
    return f"=== {folder}/{type}/{id_}.md\n" + "\n".join(lines) + "\n"


def crowd(number: int = 40) -> str:
    """Records about which nothing is said, so that the vault is no small one."""
    return "".join(record(f"plain-{place}") for place in range(number))


def bytes_of(vault: Vault) -> dict[str, bytes]:
    """All but the briefings, which are made anew."""
    root = Path(vault.root)
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in files
        if path.relative_to(root).parts[0] != "briefings"
    }


def commit(vault: Vault, git: Callable[..., str]) -> None:
    if not Path(vault.root, ".git").exists():
        git(vault.root, "init", "-q")
    commit_all(vault.root, "notes")


def test_to_look_at_a_note_raises_its_score(
    vault: Vault, vault_from: Write, cortex: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    vault_from(record("looked-at", "status: active"))
    before = bytes_of(vault)

    def now() -> dict:
        return json.loads(cortex("score", "looked-at", "--json").stdout)

    first = now()
    assert (first["uses"], first["parts"]["access"], first["parts"]["recent"]) == (0, 0, 0)
    for _ in range(3):
        assert cortex("show", "looked-at").returncode == 0
    second = now()
    assert second["score"] > first["score"] + 0.7
    assert second["parts"]["access"] == 0.3
    assert second["parts"]["recent"] == 0.5
    assert second["parts"]["effective_confidence"] > first["parts"]["effective_confidence"]
    assert cortex("search", "text").returncode == 0
    third = now()
    assert (third["uses"], third["parts"]["access"]) == (4, 0.4)
    fourth = now()  # by then the score has aged by a moment
    assert fourth["uses"] == third["uses"], "to ask for a score is no use"
    assert fourth["parts"]["access"] == third["parts"]["access"]
    assert bytes_of(vault) == before, "no number is written into a note"


def test_what_a_hook_shows_unasked_changes_nothing(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(record("a"))
    hook = caller._replace(source="hook")
    show(vault, hook, "records/gotcha/a.md")
    search(vault, hook, "text")
    assert score(vault, caller, "records/gotcha/a.md").uses == 0


USES: dict[str, Callable[[Vault, Caller], object]] = {
    "show": lambda vault, caller: show(vault, caller, "used"),
    "recall": lambda vault, caller: recall(vault, caller, "used", all=True),
    "open": lambda vault, caller: open_(vault, caller, "used", launch=lambda words: 0),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("days", [0, 13, 14])
def test_what_was_used_within_two_weeks_is_neither_archived_nor_pruned(
    vault_from: Write,
    caller: Caller,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    use: Callable[[Vault, Caller], object],
) -> None:
    monkeypatch.setenv("EDITOR", "vi")
    used_at = caller._replace(now="2026-11-06T16:45:12Z")
    later = caller._replace(now=format_time(epoch_seconds(used_at.now) + days * 86400))
    names = [] if days < 14 else ["used"]

    vault = vault_from(crowd() + record("used", "confidence: 0.0001"))
    use(vault, used_at)
    assert status(vault, later).faded.total == len(names)
    assert [one.hit.id for one in lifecycle(vault, later, dry_run=True).hits] == names
    settings = Path(vault.root, "cortex.toml")
    settings.write_text(settings.read_text() + "\n[lifecycle]\nauto = true\n")
    assert archive_by_itself(vault, later) == []
    file = Path(vault.root, "records/gotcha/used.md")
    assert ("status: archived" in file.read_text()) is bool(names)

    file.write_text(record("used", *ARCHIVED).partition("\n")[2])
    assert [one.hit.id for one in prune(vault, later).hits] == names


def test_a_use_of_what_is_minor_keeps_it_as_a_use_of_what_has_faded_does() -> None:
    now = epoch_seconds("2026-11-20T00:00:00Z")
    made = now - 400 * 86400.0
    minor = Signals("note", made, made, confidence=0.1, priority=1)
    for days, reason in ((None, ""), (13, "used within 14 days"), (14, "")):
        used = None if days is None else now - days * 86400
        verdict = judge_archiving(minor._replace(used=used), now)
        assert verdict.should_archive is not bool(reason)
        assert not reason or verdict.reason == reason


def test_the_parts_of_a_score_add_up_and_follow_the_links(
    vault_from: Write, caller: Caller
) -> None:
    vault = vault_from(
        record("target", created="2026-11-10T16:45:12Z")
        + record("one", body="See [[target]].")
        + record("two", body="[[target]]")
    )
    answer = score(vault, caller, "target")
    assert answer.parts["incoming"] == 0.4
    assert answer.parts["age"] == -0.1
    assert answer.parts["rank_centrality"] == 0.15
    assert (
        answer.score
        == pytest.approx(
            sum(
                answer.parts[name]
                for name in ("base", "access", "recent", "incoming", "type", "age")
            )
        )
        == 0.8
    )


@pytest.mark.parametrize(("branch", "boost"), [("", 0.0), ("feature/x", 0.1), ("main", 0.0)])
def test_the_current_branch_counts(
    vault_from: Write, caller: Caller, branch: str, boost: float
) -> None:
    vault = vault_from(record("branched", "branch: feature/x"))
    assert score(vault, caller, "branched", branch=branch).parts["rank_branch"] == boost


def test_the_branch_that_is_checked_out_is_the_current_one(
    vault_from: Write, caller: Caller, git: Callable[..., str]
) -> None:
    vault = vault_from(record("branched", "branch: trunk"))
    git(vault.root, "init", "-q", "-b", "trunk")
    assert score(vault, caller._replace(cwd=vault.root), "branched").parts["rank_branch"] == 0.1


def test_a_score_of_nothing_offers_what_there_is(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(record("something-long"))
    with pytest.raises(NotFoundError) as error:
        score(vault, caller, "somethink-long")
    assert "something-long" in error.value.hint


@pytest.mark.parametrize("fields", [
    "confidence: .nan", "confidence: 1e999", "confidence: -5", "priority: 99",
    "updated: 9999-12-31T00:00:00Z", "type: ours",
])  # fmt: skip
def test_odd_values_are_scored_all_the_same(vault_from: Write, caller: Caller, fields: str) -> None:
    vault = vault_from(record("odd-one", fields))
    answer = score(vault, caller, "odd-one")
    assert 0 <= answer.score <= 5
    assert 0 <= answer.parts["rank"] <= 1


def test_the_text_of_a_score_has_every_part(
    vault_from: Write, cortex: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    vault_from(record("shown-here", "confidence: 0.4"))
    text = cortex("score", "shown-here").stdout
    for word in (
        "score",
        "base",
        "access",
        "recent",
        "incoming",
        "age",
        "rank",
        "recency",
        "salience",
        "half-life",
        "a pass would archive it: ",
    ):
        assert word in text
    assert cortex("score").returncode == 2


def test_a_score_says_what_a_pass_does(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(
        record("faded", "confidence: 0.1")
        + record("unsaid")
        + "=== mine.md\n---\nconfidence: 0.1\ncreated: 2020-01-01\n---\nMine.\n"
    )
    fates = [score(vault, caller, name).lifecycle for name in ("faded", "unsaid", "mine.md")]
    assert fates[0].startswith("a pass would archive it: ")
    assert (
        fates[1]
        == "kept: nothing says its confidence or priority, so it is never archived by itself"
    )
    assert fates[2] == "kept: a note of your own, without an id"


def test_the_best_comes_first_by_rank(vault_from: Write, caller: Caller) -> None:
    new = "2026-11-20T10:00:00Z"
    vault = vault_from(
        record("old") + record("fresh", created=new) + record("sure", "confidence: 1.0", created=new) + record("here", "branch: b", created=new)
        + record("pinned", "pinned: true", "confidence: 1.0", "priority: 10")
    )  # fmt: skip

    def order(branch: str) -> list[str]:
        return query_index(
            vault,
            caller.progress,
            lambda index: [
                one.id
                for one, _ in rank_notes(
                    vault, index, caller, index.catalogue.find(NoteFilter(tiers=(0,))), branch
                )
            ],
        )

    assert order("b") == ["pinned", "sure", "here", "fresh", "old"] or order("b") == [
        "pinned",
        "here",
        "sure",
        "fresh",
        "old",
    ]
    assert order("").index("here") > order("b").index("here") or order("") != order("b")
    known = query_index(
        vault,
        caller.progress,
        lambda index: signals_of_notes(
            vault, index, index.catalogue.find(NoteFilter(ids=("sure",)))
        ),
    )
    assert [one.confidence for one in known.values()] == [1.0]


@pytest.mark.parametrize(("text", "moment"), [
    ("1970-01-02T00:00:05Z", 86405),
    ("1970-01-02", 86400),
    ("1970-01-02 10:00", 86400),
    ("soon", 0),
    ("", 0),
    ("1970-xx-02", 0),
])  # fmt: skip
def test_times_as_people_write_them(text: str, moment: int) -> None:
    assert timestamp_of(text) == moment


def test_a_pass_archives_what_the_rules_say_of_each_record(
    vault_from: Write, caller: Caller
) -> None:
    types = (*NON_DECAYING_TYPES, *NEVER_ARCHIVED_TYPES, "gotcha", "note", "learning", "of-ours")
    ratings = {"low": "confidence: 0.1", "minor": "priority: 1", "unsaid": "tags: [x]"}
    ids = [f"{type_}-{name}" for type_ in types for name in ratings]
    records = (record(f"{type_}-{name}", ratings[name], type=type_) for type_ in types for name in ratings)  # fmt: skip
    vault = vault_from(crowd() + "".join(records))
    archived = [id_ for id_ in ids if score(vault, caller, id_).lifecycle.startswith("a pass would")]  # fmt: skip
    shown = lifecycle(vault, caller, dry_run=True, number=500)
    assert sorted(one.hit.id for one in shown.hits) == sorted(archived)
    assert {"gotcha-low", "gotcha-minor", "of-ours-low"} <= {*archived}


def test_a_preview_shows_what_a_pass_then_does(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(
        crowd() + record("faded", "confidence: 0.6", "note-of-mine: kept") + record("minor", "priority: 2", type="note") + record("fine", "confidence: 0.6", created="2026-11-01T00:00:00Z")
        + "=== my page.md\n---\nconfidence: 0.1\ncreated: 2020-01-01\n---\nMine.\n"
    )  # fmt: skip
    before = bytes_of(vault)
    preview = lifecycle(vault, caller, dry_run=True)
    assert bytes_of(vault) == before
    done = lifecycle(vault, caller)
    assert (
        [one.hit.id for one in preview.hits]
        == [one.hit.id for one in done.hits]
        == ["faded", "minor"]
    )
    assert [one.why for one in preview.hits] == [one.why for one in done.hits]
    assert (preview.hits[0].hit.status, done.hits[0].hit.status) == ("", "archived")
    after = bytes_of(vault)
    changed = sorted(path for path in after if after[path] != before[path])
    assert changed == ["records/gotcha/faded.md", "records/note/minor.md"]
    new = [b"status: archived", f"updated: {caller.now}".encode(), f"archived_at: {caller.now}".encode()]  # fmt: skip
    assert [one for one in after[changed[0]].splitlines() if one not in new] == before[
        changed[0]
    ].splitlines()
    assert all(line in after[changed[0]].splitlines() for line in new)
    assert lifecycle(vault, caller).hits == ()
    later = caller._replace(now="2028-01-01T00:00:00Z")
    assert [one.hit.id for one in lifecycle(vault, later).hits] == ["fine"], (
        "and nothing about which nothing was said"
    )


def test_nothing_that_only_a_default_scored_is_ever_archived(
    vault_from: Write, caller: Caller
) -> None:
    kinds = ["progress", "note", "gotcha", "our-own-kind", "context"]
    vault = vault_from(
        "".join(
            record(f"{kind}-{place}", type=kind, created="1999-01-01T00:00:00Z")
            for kind in kinds
            for place in range(10)
        )
    )
    answer = lifecycle(vault, caller._replace(now="2099-01-01T00:00:00Z"))
    assert (answer.hits, answer.total) == ((), 0)


def test_a_pass_is_bounded_and_takes_the_oldest_first(vault_from: Write, caller: Caller) -> None:
    days = ["2026-03-01", "2026-01-01", "2026-02-01"]
    vault = vault_from(
        crowd()
        + "".join(
            record(f"from-{day}", "confidence: 0.1", created=f"{day}T00:00:00Z") for day in days
        )
    )
    first = lifecycle(vault, caller, number=2)
    assert [one.hit.id for one in first.hits] == ["from-2026-01-01", "from-2026-02-01"]
    assert first.total == 3
    assert "again" in first.hint
    assert [one.hit.id for one in lifecycle(vault, caller, number=2).hits] == ["from-2026-03-01"]


def test_a_record_of_an_event_says_no_status_and_is_archived_all_the_same(
    vault_from: Write, caller: Caller
) -> None:
    event = 'provenance:\n  events: ["[[20260105t100000z-aaaaaaaaaa]]"]'
    vault = vault_from(crowd() + record("faded", "confidence: 0.1", event))
    assert [one.hit.id for one in lifecycle(vault, caller).hits] == ["faded"]


def test_a_small_vault_is_not_emptied(vault_from: Write, caller: Caller) -> None:
    vault = vault_from("".join(record(f"faded-{place}", "confidence: 0.1") for place in range(12)))
    answer = lifecycle(vault, caller)
    assert (len(answer.hits), answer.total) == (3, 12)
    assert "small" in answer.hint


def test_a_note_that_cannot_be_edited_stops_no_other(vault_from: Write, caller: Caller) -> None:
    odd = "=== records/gotcha/odd.md\n---\n{id: odd, type: gotcha, title: odd, confidence: 0.1, created: 2026-01-01T00:00:00Z}\n---\nText.\n"
    vault = vault_from(crowd() + odd + record("sound", "confidence: 0.1"))
    answer = lifecycle(vault, caller)
    assert [one.hit.id for one in answer.hits] == ["sound"]
    assert [problem.where for problem in answer.problems] == ["records/gotcha/odd.md"]


def test_an_archived_record_leaves_the_briefings(
    vault_from: Write, caller: Caller, cortex: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    vault = vault_from(crowd() + record("faded", "confidence: 0.1", "project: p", "branch: b"))
    assert cortex("heal").returncode == 0
    pages = [
        path
        for path in Path(vault.root, "briefings").rglob("*.md")
        if "[[faded|" in path.read_text()
    ]
    assert pages
    assert lifecycle(vault, caller).problems == ()
    # On the page of its type it stands below what holds.
    left = [path for path in pages if path.exists() and "[[faded|" in path.read_text()]
    assert [str(path.relative_to(vault.root)) for path in left] == ["briefings/p/types/gotcha.md"]
    assert "[[faded|" in left[0].read_text().partition("## Set aside")[2]


def test_what_a_pass_archived_is_restored_and_stays(
    vault_from: Write, cortex: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    vault = vault_from(crowd() + record("faded", "status: active", "confidence: 0.1"))
    assert [one["id"] for one in json.loads(cortex("lifecycle", "--json").stdout)["hits"]] == [
        "faded"
    ]
    assert cortex("restore", "faded").returncode == 0
    assert "status:" not in Path(vault.root, "records/gotcha/faded.md").read_text()
    assert json.loads(cortex("lifecycle", "--json").stdout)["hits"] == []


def faded(number: int) -> str:
    return "".join(record(f"faded-{place:03}", "confidence: 0.3") for place in range(number))


def test_the_status_names_what_a_pass_archives(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(crowd() + faded(7))
    shown = status(vault, caller).faded
    assert shown.total == 7 == len(lifecycle(vault, caller).hits)
    assert [one.id for one in shown.hits] == [f"faded-{place:03}" for place in range(5)]
    assert status(vault, caller).faded.total == 0


@pytest.mark.parametrize("asked", [False, True])
def test_a_sync_archives_what_has_faded_only_where_the_settings_say_so(
    vault_from: Write, caller: Caller, git: Callable[..., str], asked: bool
) -> None:
    vault = vault_from(crowd(240) + faded(60))
    commit(vault, git)
    settings = Path(vault.root, "cortex.toml")
    if asked:
        settings.write_text(settings.read_text() + "\n[lifecycle]\nauto = true\n")
    before = bytes_of(vault)

    done = sync(vault, caller)

    assert (done.push, done.trouble) == ("no remote", "")
    changed = {name for name, data in bytes_of(vault).items() if data != before[name]}
    # The longest untouched first; of equals by path.
    assert changed == {f"records/gotcha/faded-{place:03}.md" for place in range(50 * asked)}
    assert not git(vault.root, "status", "--porcelain", "records")
    if asked:
        restore(vault, caller, ["faded-000"])
        kept = Path(vault.root, "records/gotcha/faded-000.md").read_text()
        assert "status: active" in kept or "status:" not in kept
        sync(vault, caller)
        assert "archived" not in Path(vault.root, "records/gotcha/faded-000.md").read_text()


def test_a_watcher_archives_once_a_day(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(crowd(240) + faded(60))
    settings = Path(vault.root, "cortex.toml")
    settings.write_text(settings.read_text() + "\n[lifecycle]\nauto = true\n")
    loop = WatcherLoop(vault, caller, lambda line: None, ScanMemory(), quiet=1, poll=True)
    for _ in range(2):
        loop._archive_faded()
    assert status(vault, caller).faded.total == 10


def test_a_switch_that_is_none_is_named_and_archives_nothing(
    vault_from: Write, caller: Caller
) -> None:
    vault = vault_from(crowd() + faded(3))
    settings = Path(vault.root, "cortex.toml")
    settings.write_text(settings.read_text() + '\n[lifecycle]\nauto = "yes"\n')
    assert "auto" in load(vault.root).problems[0].message
    assert archive_by_itself(vault, caller) == []
    assert status(vault, caller).faded.total == 3


def test_prune_lists_until_it_is_told_and_then_hides_what_it_listed(
    vault_from: Write, caller: Caller
) -> None:
    vault = vault_from(
        record("done-with", *ARCHIVED) + record("pinned", *ARCHIVED, "pinned: true") + record("archived-lately", "status: archived", "archived_at: 2026-11-01T00:00:00Z")
        + record("by-hand", "status: archived", "updated: 2026-07-01") + record("active", "confidence: 0.0") + record("superseded", "status: superseded", "archived_at: 2026-01-01")
        + "=== my page.md\n---\nstatus: archived\narchived_at: 2020-01-01\n---\nMine.\n" + "=== events/2026/01/20260101t000000z-aaaaaaaaaa.md\n---\nid: 20260101t000000z-aaaaaaaaaa\ntype: manual\nstatus: archived\narchived_at: 2020-01-01\n---\nRaw.\n"
    )  # fmt: skip
    written(vault, "by-hand", days_ago=150)
    before = bytes_of(vault)
    preview = prune(vault, caller)
    assert [one.hit.id for one in preview.hits] == ["by-hand", "done-with"]
    assert (preview.done, preview.confirm) == (False, True)
    assert not prune(vault, caller, dry_run=True, yes=True).confirm
    assert bytes_of(vault) == before
    done = prune(vault, caller, yes=True)
    assert [one.hit.id for one in done.hits] == ["by-hand", "done-with"]
    after = {path: data for path, data in bytes_of(vault).items() if "briefings" not in path}
    assert sorted(path for path in before if after[path] != before[path]) == [
        "records/gotcha/by-hand.md",
        "records/gotcha/done-with.md",
    ]
    assert b"status: pruned" in after["records/gotcha/done-with.md"]
    assert prune(vault, caller, yes=True).hits == ()


def written(vault: Vault, id_: str, *, days_ago: int) -> None:
    moment = epoch_seconds("2026-11-20T16:45:12Z") - days_ago * 86400
    os.utime(Path(vault.root, f"records/gotcha/{id_}.md"), (moment, moment))


@pytest.mark.parametrize("said", [(), ("archived_at: last summer",), ("archived_at: ''",)])
def test_what_a_hand_archived_counts_from_when_it_was_written(
    vault_from: Write, caller: Caller, said: tuple[str, ...]
) -> None:
    vault = vault_from(
        record(
            "by-hand",
            "status: archived",
            "updated: 2025-01-01T00:00:00Z",
            *said,
            created="2025-01-01T00:00:00Z",
        )
    )
    written(vault, "by-hand", days_ago=1)
    assert prune(vault, caller, yes=True).hits == ()
    written(vault, "by-hand", days_ago=90)
    assert [one.why for one in prune(vault, caller, yes=True).hits] == ["archived for 90 days"]


def test_a_pruning_is_bounded(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(
        "".join(
            record(f"old-{place}", "status: archived", f"archived_at: 2026-0{place}-01T00:00:00Z")
            for place in range(1, 6)
        )
    )
    answer = prune(vault, caller, yes=True, number=2)
    assert ([one.hit.id for one in answer.hits], answer.total) == (["old-1", "old-2"], 5)


def test_who_still_links_to_it_is_said(vault_from: Write, caller: Caller) -> None:
    vault = vault_from(record("linked", *ARCHIVED) + record("linking", body="[[linked]]"))
    assert prune(vault, caller).hits[0].why == "archived for 111 days; 1 note still links to it"


def test_the_exit_code_says_whether_there_is_something_to_confirm(
    vault_from: Write, cortex
) -> None:
    vault_from(record("old", "status: archived", "archived_at: 2020-01-01T00:00:00Z"))
    assert cortex("prune", "--dry-run").returncode == 0
    asked = cortex("prune")
    assert (asked.returncode, "--yes" in asked.stdout) == (1, True)
    assert cortex("prune", "--yes").returncode == 0
    assert cortex("prune").returncode == 0


def test_what_was_pruned_is_shown_nowhere_and_comes_back_step_by_step(
    vault_from: Write, cortex, git: Callable[..., str]
) -> None:
    old = ("archived_at: 2020-01-01T00:00:00Z", "project: shop", "topic: bug/zebra")
    vault = vault_from(
        record("old-one", "status: archived", "status_before: active", *old, body="A zebra in `src/z.py`.", type="decision")
        + record("lives", "project: shop")
    )  # fmt: skip
    file = Path(vault.root, "records/decision/old-one.md")
    before = file.read_text()
    commit(vault, git)
    cortex("heal")
    pages = [
        one for one in Path(vault.root, "briefings").rglob("*.md") if "[[old-one" in one.read_text()
    ]
    assert pages  # what is archived stands on the archive's page
    assert cortex("prune", "--yes").returncode == 0
    assert [one for one in pages if one.exists() and "old-one" in one.read_text()] == []
    for words in (
        ("search", "zebra"), ("recall", "zebra"), ("recall", "--type", "decision"), ("entities", "src/z.py"),
        ("brief", "--project", "shop"), ("context", "--project", "shop"), ("topic", "--list"),
    ):  # fmt: skip
        assert "old-one" not in cortex(*words).stdout, words
    assert "old-one" in cortex("search", "status:pruned").stdout
    assert "status: pruned" in cortex("show", "old-one").stdout
    assert cortex("history", "old-one").returncode == 0
    assert cortex("restore", "old-one").returncode == 0
    lines = [line for line in file.read_text().splitlines() if not line.startswith("updated:")]
    assert lines == before.splitlines()
    assert cortex("restore", "old-one").returncode == 0
    assert "status: active" in file.read_text()


def test_a_person_s_edit_in_between_keeps_a_record_from_being_pruned(
    vault_from: Write, caller: Caller
) -> None:
    vault = vault_from(record("old", *ARCHIVED))
    file = Path(vault.root, "records/gotcha/old.md")

    def pin(what: str, done: int, total: int) -> None:
        if what == "pruning" and done == 0:
            file.write_text(file.read_text().replace("created:", "pinned: true\ncreated:"))

    assert prune(vault, caller._replace(progress=pin), yes=True).hits == ()
    assert "status: archived" in file.read_text()


def test_what_an_earlier_version_pruned_comes_back_from_git(
    vault_from: Write, cortex, git: Callable[..., str]
) -> None:
    vault = vault_from(record("old-one", *ARCHIVED, body="The whole text."))
    commit(vault, git)
    Path(vault.root, "records/gotcha/old-one.md").unlink()
    assert cortex("restore", "old-one").returncode == 0
    assert "The whole text." in Path(vault.root, "records/gotcha/old-one.md").read_text()


@pytest.mark.parametrize("verb", [lifecycle, prune])
@pytest.mark.parametrize("number", [0, 10_001])
def test_a_pass_of_no_size_is_refused(
    vault: Vault, caller: Caller, worded: Callable[..., Any], verb: Callable, number: int
) -> None:
    with pytest.raises(InvalidInputError):
        worded(verb, vault, caller, number=number)


def test_while_git_is_in_the_middle_of_something_nothing_is_changed(
    vault_from: Write, caller: Caller, git: Callable[..., str]
) -> None:
    vault = vault_from(crowd() + record("faded", "confidence: 0.1"))
    commit(vault, git)
    Path(vault.root, ".git/MERGE_HEAD").write_text(git(vault.root, "rev-parse", "HEAD"))
    with pytest.raises(ConflictError):
        lifecycle(vault, caller)
    with pytest.raises(ConflictError):
        prune(vault, caller, yes=True)
    assert len(lifecycle(vault, caller, dry_run=True).hits) == 1


def test_an_edit_of_a_person_in_between_wins(
    vault_from: Write, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = vault_from(crowd() + record("faded", "confidence: 0.1"))
    file = Path(vault.root, "records/gotcha/faded.md")

    def pin(what: str, done: int, total: int) -> None:
        if what == "archiving" and done == 0:
            file.write_text(
                file.read_text().replace("confidence: 0.1", "confidence: 0.1\npinned: true")
            )

    answer = lifecycle(vault, caller._replace(progress=pin))
    assert answer.hits == ()
    assert "status" not in file.read_text()


def test_the_verbs_read_no_whoosh() -> None:
    code = "import sys; import cortex.operations.find.note_ranks, cortex.operations.records.lifecycle; print([m for m in sys.modules if m.startswith(('whoosh', 'git.'))])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout.strip() == "[]"
    assert epoch_seconds("1970-01-01T00:00:01Z") == 1


@pytest.mark.parametrize(("kind", "said"), [
    ("action", "an action is never archived by itself"),
    ("plan", "a plan is never archived by itself"),
])  # fmt: skip
def test_a_verdict_is_a_sentence(vault_from: Write, caller: Caller, kind: str, said: str) -> None:
    vault = vault_from(record("due-soon", "confidence: 0.1", type=kind))
    assert said in score(vault, caller, "due-soon").lifecycle
