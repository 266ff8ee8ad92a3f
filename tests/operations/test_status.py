"""The state of the vault: figures, what is open, overdue and stale, bounded everywhere, and cheap."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.text.strings import format_time
from cortex.index.vectors import embedders
from cortex.interfaces.cli import render_find
from cortex.operations.care import embed as embed_verb
from cortex.operations.care.doctor import doctor
from cortex.operations.care.status import status
from cortex.operations.find.actions import actions
from cortex.operations.find.recall import recall
from cortex.operations.find.show import ShownNote
from cortex.operations.records.capture import capture
from cortex.operations.upkeep.normalize import normalize


def write(vault, number: int, **fields: str) -> None:
    given = {"id": f"n{number:03}", "type": "action", "title": f"Do {number}", "status": "open"}
    given |= {"created": "2026-11-19T00:00:00Z"} | fields
    lines = "".join(f"{key}: {value}\n" for key, value in given.items() if value)
    text = f"---\n{lines}---\n\ntext {number}\n"
    path = Path(vault.root, "records", f"n{number:03}.md")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_opposites_are_named(vault, caller):
    write(vault, 1, type="decision", status="", title="Prices are cached in Redis")
    write(vault, 2, type="decision", status="", title="Prices are not cached in Redis")
    write(vault, 3, type="decision", status="", title="Prices are shown in euros")
    assert {one.id for one in status(vault, caller).contradictions.hits} == {"n001", "n002"}


def test_open_overdue_and_stale_are_counted_and_named(vault, caller):
    write(vault, 1, project="p", due="2026-11-19")
    write(vault, 2, project="p", due="2026-11-20")
    write(vault, 3, project="q", due="2026-11-01T10:00:00Z", created="2026-09-01T00:00:00Z")
    write(vault, 4, project="q", due="soon", status="done")
    write(vault, 5, project="q", type="question", created="2026-10-01T00:00:00Z")
    write(vault, 6, type="decision", status="superseded", topic="decision/a")
    write(vault, 7, type="decision", status="active", topic="decision/a")
    write(vault, 8, type="decision", status="active", topic="decision/a", project="p")
    now = status(vault, caller)
    assert (now.open, now.open_actions) == ({"p": 2, "q": 2}, 3)
    assert [one.id for one in now.overdue.hits] == ["n003", "n001"]
    assert [one.id for one in now.stale.hits] == ["n003", "n005"]
    assert now.statuses == {"open": 4, "active": 2, "done": 1, "superseded": 1}
    assert (now.set_aside, now.topics, now.more) == (1, 2, {})


def test_what_is_ticked_is_neither_open_nor_overdue(vault, caller):
    write(vault, 1, due="2026-11-01")
    path = Path(vault.root, "records/n001.md")
    assert status(vault, caller).open_actions == 1
    path.write_text(path.read_text() + "\n- [x] all of it\n")
    now = status(vault, caller)
    assert (now.open_actions, now.open, now.overdue.hits) == (0, {}, [])


def test_every_section_is_bounded_and_says_what_is_left_out(vault, caller):
    for number in range(30):
        write(
            vault,
            number,
            project=f"p{number}",
            due="2026-01-01",
            created="2026-01-01T00:00:00Z",
            type="action" if number < 15 else f"kind-{number}",
        )
    failed = Path(vault.root, "inbox/failed")
    failed.mkdir(parents=True)
    for number in range(25):
        (failed / f"e{number:02}.md").write_text("---\nstatus: failed\n---\n")
    for number in range(8):
        capture(vault, caller, "a turn", type="prompt", session=f"s{number}")
    capture(
        vault, caller._replace(now="2026-11-01T00:00:00Z"), "a turn", type="prompt", session="old"
    )
    normalize(vault, caller)
    now = status(vault, caller)
    assert [
        len(part)
        for part in (
            now.failed,
            now.types,
            now.projects,
            now.open,
            now.overdue.hits,
            now.stale.hits,
            now.recent.hits,
            now.live,
        )
    ] == [20, 12, 12, 12, 5, 5, 5, 5]
    assert now.more == {"failed": 5, "types": 5, "projects": 19, "open": 18, "live": 3}
    assert (now.overdue.total, now.stale.total, now.recent.total) == (15, 30, 39)
    assert [id_.rpartition("-")[0] for id_ in now.orphans] == ["session-old"]


def test_what_a_person_sees(vault, caller, cortex):
    write(vault, 1, project="p", due="2026-01-01", created="2026-01-01T00:00:00Z")
    capture(
        vault,
        caller._replace(now="2026-01-01T00:00:00Z"),
        "a turn",
        type="prompt",
        session="old",
        project="q",
    )
    cortex("normalize")
    lines = cortex("status").stdout.splitlines()
    assert "  open: p 1" in lines
    assert lines[lines.index("overdue") + 1] == "  2026-01-01  Do 1  records/n001.md"
    assert lines[lines.index("stale") + 1] == "  2026-01-01  Do 1  records/n001.md"
    assert any(
        line.startswith("orphans: session-old-") and line.endswith("cortex session end --orphans")
        for line in lines
    )
    told = json.loads(cortex("status", "--json").stdout)
    assert (told["open"], told["overdue"]["hits"][0]["id"], told["orphans"]) == (
        {"p": 1},
        "n001",
        [told["orphans"][0]],
    )


def test_a_look_at_the_state_reads_no_note(vault, cortex):
    write(vault, 1)
    for path in Path(vault.root).rglob("*.md"):
        while path.stat().st_ctime_ns % 1_000_000_000 == 0:  # such a stamp is young for 2 seconds
            path.touch()
    assert cortex("status").returncode == 0
    line = [sys.executable, "-X", "importtime", "-m", "cortex", "status", "--vault", vault.root]
    for _ in range(3):  # once more than it takes for a stamp to be old, and once to trust it
        done = subprocess.run(line, capture_output=True, text=True, timeout=60, check=True)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "cortex.operations.find.resolve_session" in names  # or the list was read wrongly
    assert not names & {
        "yaml",
        "frontmatter",
        "whoosh",
        "cortex.core.notes.note",
        "cortex.core.normalize.session_note",
        "markdown_it",
    }


@pytest.mark.parametrize("word", ["", "active", "todo", "in-progress", "open"])
def test_an_action_is_open_until_it_is_done_whatever_word_it_has(word, vault, caller, cortex):
    write(vault, 1, status=word, due="2026-11-19", updated="2026-11-18T00:00:00Z")
    now = status(vault, caller)
    assert (now.open_actions, now.open, [one.due for one in now.overdue.hits]) == (
        1,
        {"(none)": 1},
        ["2026-11-19"],
    )
    assert [one.id for one in recall(vault, caller, scope="open").hits] == ["n001"]
    assert [one.hit.id for one in actions(vault, caller).hits] == ["n001"]
    assert "2026-11-19  Do 1" in cortex("status").stdout


@pytest.mark.parametrize(
    "due",
    "0000-00-00 2026-00-10 2026-10-00 2026-13-01 2026-10-32 2026-10-1 2026-10-011 2026-10-01 2026-10-01T08:00".split(),
)
def test_status_and_actions_agree_on_what_is_overdue(due, vault, caller):
    write(vault, 1, due=due)
    listed = [one.hit.id for one in actions(vault, caller, overdue=True).hits]
    assert (
        [one.id for one in status(vault, caller).overdue.hits]
        == listed
        == (["n001"] if due.startswith("2026-10-01") and due != "2026-10-011" else [])
    )


@pytest.mark.parametrize(("fields", "message"), [
    ({"created": "2099-01-01T00:00:00Z"}, "is dated in the future"),
    ({"updated": "2026-11-22"}, "is dated in the future"),
    ({"updated": "notadate"}, "says updated: notadate, which is no date"),
    ({"updated": "2026-11-21T10:00:00Z"}, ""),
    ({"updated": "2026-11-20 10:00"}, ""),
])  # fmt: skip
def test_doctor_names_a_time_that_cannot_be(fields, message, vault, caller):
    write(vault, 1, **fields)
    found = [one for one in doctor(vault, caller).problems if one.where == "records/n001.md"]
    assert [one.message for one in found] == ([message] if message else [])
    assert all("as in 2026-" in one.hint for one in found)  # an example, not what to write


def test_the_figures_of_an_early_year_and_of_next_to_nothing_are_whole():
    assert format_time(-62135596800) == "0001-01-01T00:00:00Z"
    names = "rank salience effective_confidence confidence rank_recency salience_base salience_gain"
    names += " salience_left base access recent incoming type rank_confidence rank_priority"
    parts = dict.fromkeys(f"{names} rank_centrality".split(), 0.0)
    parts |= {"rank_access": 0.0, "rank_branch": 0.0, "age": -0.0004}
    told = "".join(
        render_find.show(
            ShownNote("a", "a.md", "A", "note", "", "", (), cut=False, score=0.5, parts=parts)
        )
    )
    assert "-0.000" not in told
    assert "  0.000" in told


def test_it_says_how_far_the_memory_is_built_up(vault, caller, cortex, monkeypatch):
    turn = "---\nid: {0}\ntype: {1}\nat: {2}\nproject: p\n---\n\n## Raw Content\n\nText of {0}.\n"
    for id_, type_, at in (
        ("20261118t100000z-aaaaaaaaaa", "stop", "2026-11-18T10:00:00Z"),
        ("20261119t100000z-bbbbbbbbbb", "manual", "2026-11-19T10:00:00Z"),
    ):
        path = Path(vault.root, f"events/2026/11/{id_}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(turn.format(id_, type_, at))
    write(vault, 1, type="decision", status="")
    cortex("heal")
    now = status(vault, caller)
    assert (now.storage_tier, now.events, now.embeddings, now.auto_embed) == (1, 2, "0/0", False)
    assert (now.last_event, now.last_extraction) == ("2026-11-19T10:00:00Z", "2026-11-18T10:00:00Z")
    assert (now.mcp_enabled, now.mcp_available, now.projections_enabled) == (False, True, True)
    assert vault.cache_folder().endswith(f"-{now.project_hash}")
    assert vault.state_folder().endswith(f"-{now.project_hash}")
    assert (now.engine, len(now.project_hash)) == ("whoosh", 12)
    files = Path(vault.cache_folder(), "index").iterdir()
    assert now.db_size > sum(path.stat().st_size for path in files) > 0
    assert status(vault, caller._replace(source="mcp")).mcp_enabled
    Path(caller.cwd, ".mcp.json").write_text('{"mcpServers": {"other": {"args": ["cortex"]}}}')
    assert not status(vault, caller).mcp_enabled
    Path(caller.cwd, ".mcp.json").write_text('{"mcpServers": {"cortex": {"command": "cortex"}}}')
    assert status(vault, caller).mcp_enabled
    assert status(vault, caller).storage_tier == 1  # without vectors


def test_vectors_are_a_tier_and_words_of_the_command_line_stay_as_they_were(
    vault, caller, cortex, monkeypatch
):
    np = pytest.importorskip("numpy")

    class Local(embedders.Embedder):
        model = "local"

        def embed(self, texts):
            return np.eye(len(texts), 8, dtype=np.float32)

    monkeypatch.setenv("CORTEX_EMBEDDER", "static")
    monkeypatch.setattr(embed_verb.embedders, "load_embedder", lambda _chosen: Local())
    write(vault, 1, type="decision", status="")
    before = cortex("status").stdout
    cortex("embed")
    now = status(vault, caller)
    done, every = now.embedded
    assert (now.storage_tier, now.embeddings, now.auto_embed) == (2, f"{done}/{every}", True)
    assert status(vault, caller._replace(source="mcp")).storage_tier == 3
    monkeypatch.setenv("CORTEX_EMBEDDER", "openai")
    assert not status(vault, caller).auto_embed
    lines = cortex("status").stdout.splitlines()
    assert set(lines) - set(before.splitlines()) == {"  1 passage embedded"}
