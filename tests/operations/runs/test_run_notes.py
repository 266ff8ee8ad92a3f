"""The notes of runs among the others: searched for what a person reads of them, behind what is known."""

import json
from pathlib import Path

import pytest

from cortex.core.model.caller import no_progress
from cortex.core.model.note_status import TIER_CURRENT, TIER_TRAIL
from cortex.core.runs.run_event import complete, encode_line, without_json
from cortex.core.runs.run_note import RunRequest, compose_request, compose_sealed
from cortex.index.catalogue import NoteRow
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from tests.agents.real_programs import CASES, events_of, recorded
from tests.conftest import commit_all


@pytest.fixture
def found(cortex):
    """The hits of a search."""

    def search(*words: str) -> list[dict]:
        return json.loads(cortex("search", *words, "--json").stdout)["hits"]

    return search


def rows(vault) -> dict[str, NoteRow]:
    found = query_index(vault, no_progress, lambda index: index.catalogue.find(NoteFilter()))
    return {one.path: one for one in found}


def test_a_run_is_found_by_what_a_person_reads_of_it(vault, run, ended, found) -> None:
    done = ended(run("start", "default", "Compare", "quinces", "say:Medlar-wins")["id"])
    for word in ("quinces", "medlar", "search"):
        hit = next(one for one in found(word) if one["id"] == done["id"])
        assert hit["title"] == f"default, {done['created'][:10]} {done['created'][11:16]}"
        assert "seq" not in hit["snippet"]
        assert "{" not in hit["snippet"]
    assert not [one for one in found("agent_id") if one["id"] == done["id"]]
    assert not [one for one in found("call_id") if one["id"] == done["id"]]


def test_what_is_known_comes_before_the_run(vault, run, ended, found) -> None:
    Path(vault.root, "cooking.md").write_text("# Cooking\n\nquinces\n")
    done = ended(run("start", "default", "quinces quinces quinces", "say:x")["id"])
    ids = [one["id"] for one in found("quinces")]
    assert ids.index("cooking.md") < ids.index(done["id"])
    row = rows(vault)[done["path"]]
    assert (row.tier, row.status, row.type) == (TIER_TRAIL, "finished", "run")
    assert rows(vault)["cooking.md"].tier == TIER_CURRENT


def test_its_tasks_and_links_are_nobodys(vault, run, ended, cortex) -> None:
    ended(run("start", "default", "- [ ] call [[Nobody]] #tag", "say:x")["id"])
    assert json.loads(cortex("actions", "--json").stdout)["hits"] == []
    assert "runs/" not in cortex("doctor").stdout


@pytest.mark.parametrize("repository", [False, True])
def test_runs_that_have_not_ended_are_not_searched(vault, run, settings, found, repository) -> None:
    if repository:
        commit_all(vault.root, "init")
    settings("slots = 1")
    first = run("start", "default", "quinces", "sleep:30")["id"]
    second = run("start", "default", "quinces medlars")["id"]
    Path(vault.root, "a.md").write_text("quinces")
    assert {one["path"] for one in found("quinces")} == {"a.md"}
    assert not [path for path in rows(vault) if path.startswith("runs/")]
    run("stop", second)
    run("stop", first)


def test_agents_facets_and_a_persons_own_runs_are_notes_like_others(vault, agent) -> None:
    agent("weekly-review", "What mattered?")
    own = {"facets/garden.md": "# Garden", "runs/10k.md": "---\ntype: run\n---\nA morning run.", "runs/queue.md": "x"}  # fmt: skip
    for path, text in own.items():
        Path(vault.root, path).parent.mkdir(exist_ok=True)
        Path(vault.root, path).write_text(text)
    tiers = {path: row.tier for path, row in rows(vault).items()}
    assert tiers["agents/weekly-review.md"] == TIER_CURRENT
    assert {tiers[path] for path in own} == {TIER_CURRENT}


def test_a_record_leads_to_the_run_that_it_came_of(run, ended, cortex) -> None:
    done = ended(run("start", "default", "say:Quinces-set-slowly")["id"])
    (source,) = json.loads(cortex("origin", done["output"], "--json").stdout)["sources"]
    assert (source["run"], source["session"], source["type"]) == (done["id"], "", "run")
    assert done["id"] in cortex("origin", done["output"]).stdout
    assert "## Prompt\n\n> say:Quinces-set-slowly\n" in cortex("show", source["run"]).stdout


def test_a_run_that_said_much_is_no_problem(vault, run, ended, cortex) -> None:
    path = Path(vault.root, ended(run("start", "default", "say:x")["id"])["path"])
    head, _, rest = path.read_text().partition("## Result")
    line = encode_line({"seq": 9, "event": "info", "agent_id": "a", "ts": "2026-11-20T17:16:43.000Z", "message": "much " * 100})  # fmt: skip
    path.write_text(f"{head}{line * 3000}\n## Result{rest}")
    assert path.stat().st_size > 1 << 20
    assert "larger" not in cortex("doctor").stdout
    Path(vault.root, "own.md").write_text("much " * 300_000)
    assert "own.md: is larger than 1 MB" in cortex("doctor").stdout


def test_no_verb_writes_in_the_note_of_a_run(run, ended, cortex) -> None:
    done = ended(run("start", "default", "say:x")["id"])
    assert cortex("revise", done["id"], "--title", "other").returncode == 2


@pytest.mark.parametrize("text", ["a --> b", "{", "<!-- cx {}", "x" * 300])
def test_nothing_of_the_json_is_left_of_a_line(text: str) -> None:
    event = {"seq": 1, "event": "message", "agent_id": "a", "ts": "2026-11-20T17:16:43.000Z", "text": text}  # fmt: skip
    line = encode_line(event)
    shown = without_json(f"Before.\n{line}After --> it.\n")
    assert '"seq"' not in shown
    assert shown.count("\n") == 3
    assert shown.endswith("\nAfter --> it.\n")
    assert '"seq"' not in without_json(line[:-8])  # torn


@pytest.mark.parametrize("name", CASES)
def test_what_is_shown_of_a_run_is_short_and_no_json(name: str) -> None:
    """Of what the real programs have printed. In reading view neither properties nor comments are shown."""
    id_, protocol = "run-20261120t171643z-0193ee", name.partition("-")[0]
    request = RunRequest("hello", "Now.", provider=protocol, requested_by="cli")
    said = [{"event": "request", **request._asdict()}, *events_of(protocol, recorded(name))]
    events = [complete(one, id_, at, "2026-11-20T17:16:43.000Z") for at, one in enumerate(said)]
    data = compose_request(id_, request, events[0], "2026-11-20T17:16:43Z")
    result = str(events[-1].get("result") or events[-1]["error"])
    text = compose_sealed(data, events, result, "").decode()
    shown = without_json(text).partition("\n---\n")[2]
    assert not set("{}") & set(shown)
    assert len(shown.encode()) <= 0.3 * len(text.encode())


@pytest.mark.parametrize(("error", "result", "below"), [
    ("no luck", "no luck", ""),
    ("no luck " * 30, "no luck " * 30, ("no luck " * 30).strip()),
    ("no luck\nat line 2", "no luck\nat line 2", "no luck\nat line 2"),
    ("the answer is no JSON", "Done.", "Done."),
])  # fmt: skip
def test_only_an_error_that_the_log_shows_whole_stands_once(error, result, below) -> None:
    id_, now = "run-20261120t171643z-0193ee", "2026-11-20T17:16:43Z"
    said = [{"event": "request", "agent": "hello"}, {"event": "error", "error": error}]
    events = [complete(one, id_, at, f"{now[:-1]}.000Z") for at, one in enumerate(said)]
    data = compose_request(id_, RunRequest("hello"), events[0], now)
    shown = without_json(compose_sealed(data, events, result, "").decode())
    assert shown.partition("## Result\n\n")[2].strip() == below
    assert error[:7] in shown.partition("## Result")[0]
