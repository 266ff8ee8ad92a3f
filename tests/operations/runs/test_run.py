"""A run, from the request to the note that it ends as, with real processes."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cortex.core.model.layout import ACTIVE, QUEUE
from cortex.operations.runs.run_list import iter_runs
from cortex.vault.runs import run_files, run_state
from cortex.vault.user_settings import settings_file


def wait_for(condition, seconds: float = 30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came")


def running(vault) -> list[str]:
    return run_files.list_runs(vault, ACTIVE)


def events_of(vault, id_: str) -> list[dict]:
    return list(run_files.find_run(vault, id_).events)


def is_working(vault, id_: str) -> bool:
    """Whether its program runs a tool."""
    try:
        return any(one["event"] == "tool_start" for one in events_of(vault, id_))
    except Exception:  # it moves
        return False


def runner_of(id_: str) -> int:
    """The process that runs a run."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"work" in words and id_.encode() in words:
            return int(folder.name)
    return 0


def has_ended(pid: int) -> bool:
    """Whether a process has let go of all that it held; its memory goes first."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def marked(id_: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"CORTEX_RUN={id_}".encode() in (folder / "environ").read_bytes():
                found.append(folder.name)
        except OSError:
            continue
    return found


def test_a_request_is_run_and_ends_as_a_note(vault, run, ended) -> None:
    id_ = run("start", "default", "What", "is", "it?", "say:Forty-two.")["id"]
    done = ended(id_)
    assert (done["status"], done["model"], done["tokens_in"], done["cost_usd"]) == ("finished", "m-1", 200, 0.28)  # fmt: skip
    assert done["answer"]["result"] == "Forty-two."
    kinds = [one["event"] for one in done["answer"]["events"]]
    assert kinds == ["request", "start", "tool_start", "tool_end", "finish"]
    assert {one["agent_id"] for one in done["answer"]["events"]} == {id_}
    assert [one["seq"] for one in done["answer"]["events"]] == [0, 1, 2, 3, 4]
    text = Path(vault.root, done["path"]).read_text()
    assert text.startswith(f"---\nid: {id_}\ntype: run\nagent: default\nprovider: mine\nmodel: m-1\ntier: flash\nstatus: finished\n")  # fmt: skip
    assert "cost_usd: 0.28\n" in text
    assert "late" not in text
    assert not running(vault)
    assert not os.listdir(Path(vault.root, "runs/queue"))
    assert not marked(id_)


def test_what_comes_of_it_is_an_event_and_a_record(vault, run, ended, cortex) -> None:
    done = ended(run("start", "default", "say:Quinces-set-slowly", "tell me")["id"])
    (event,) = list(Path(vault.root, "events").rglob("*.md"))
    assert f"run: {done['id']}\n" in event.read_text()
    found = json.loads(cortex("search", "quinces", "--json").stdout)["hits"]
    assert any(one["id"] == done["output"] for one in found), (done["output"], found)


def test_a_program_that_dies_or_fails_is_said(run, ended) -> None:
    died = ended(run("start", "default", "die")["id"])
    assert (died["status"], died["answer"]["events"][-1]["event"]) == ("failed", "error")
    assert "7" in died["error"]
    failed = ended(run("start", "default", "fail")["id"])
    assert (failed["status"], failed["error"]) == ("failed", "no luck")


def test_lines_that_are_no_json_are_info(run, ended) -> None:
    done = ended(run("start", "default", "plain")["id"])
    assert {"event": "info", "message": "no JSON"}.items() <= done["answer"]["events"][4].items()


def test_values_of_variables_reach_the_program_and_nothing_else(
    vault, run, ended, tmp_path
) -> None:
    asked = run(
        "start", "default", "echo:REGION_KEY", "--env", "REGION_KEY=eu-1234567,b", "--env", "A=1"
    )
    done = ended(asked["id"])
    assert done["status"] == "finished"
    assert any(one.get("text") == "it is [REDACTED:env]" for one in done["answer"]["events"])
    everything = subprocess.run(["grep", "-rl", "eu-1234567", str(tmp_path)], capture_output=True, text=True, check=False)  # fmt: skip
    assert everything.stdout == ""
    assert done["answer"]["events"][0]["env"] == ["A", "REGION_KEY"]


def test_the_same_request_twice_waits_once(vault, run, settings) -> None:
    settings("slots = 1")
    first = run("start", "default", "sleep:3")
    wait_for(lambda: is_working(vault, first["id"]))
    second, third = (run("start", "default", "say:x") for _ in range(2))
    assert second["id"] == third["id"]
    assert (second["answer"]["outcome"], third["answer"]["outcome"]) == ("requested", "waiting")
    run("stop", second["id"])
    run("stop", first["id"])


def test_never_more_than_the_slots_run_and_what_waits_has_its_turn(vault, run, ended, settings, tmp_path) -> None:  # fmt: skip
    settings("slots = 2")
    log = tmp_path / "log"
    ids = [run("start", "default", f"log:{log} sleep:0.3 say:{count}")["id"] for count in range(6)]
    most = 0

    def all_ended() -> bool:
        nonlocal most
        most = max(most, len(running(vault)))
        return len(list(run_files.list_ended(vault))) == len(ids)

    wait_for(all_ended, 60)
    assert most <= 2
    assert {ended(id_)["status"] for id_ in ids} == {"finished"}
    assert len(log.read_text().splitlines()) == len(ids)


def test_a_run_that_moves_while_it_is_looked_for_is_listed_once(vault, run, ended, monkeypatch) -> None:  # fmt: skip
    id_ = ended(run("start", "default", "say:x")["id"])["id"]
    monkeypatch.setattr(run_files, "list_open", lambda _vault: [(QUEUE, id_), (ACTIVE, id_)])
    assert [one.id for one in iter_runs(vault)] == [id_]


def test_a_run_is_stopped_with_all_that_it_started(vault, run) -> None:
    id_ = run("start", "default", "spawn sleep:60")["id"]
    wait_for(lambda: is_working(vault, id_))
    done = run("stop", id_, "--reason", "no longer needed")
    assert (done["status"], done["error"]) == ("stopped", "no longer needed")
    assert not marked(id_)
    assert not running(vault)


def test_a_runner_that_is_killed_loses_no_event_and_leaves_nothing(vault, run, cortex) -> None:
    id_ = run("start", "default", "spawn sleep:60")["id"]
    wait_for(lambda: is_working(vault, id_))
    before = events_of(vault, id_)
    runner = wait_for(lambda: runner_of(id_))
    os.kill(runner, signal.SIGKILL)
    wait_for(lambda: has_ended(runner))
    assert cortex("status").returncode == 0
    after = events_of(vault, id_)
    assert after[: len(before)] == before
    assert [one["event"] for one in after[len(before) :]] == ["error"]
    assert after[-1]["reason"] == "recovered"
    assert not running(vault)
    assert not marked(id_)


def test_what_nobody_took_is_started_by_the_next_command(vault, run, ended, monkeypatch) -> None:
    monkeypatch.setattr("cortex.operations.runs.request.start_detached", lambda *_: None)
    id_ = run("start", "default", "say:late")["id"]
    monkeypatch.setattr("cortex.operations.upkeep.recover_runs._MIN_WAIT_SECONDS", -1)
    assert ended(id_)["status"] == "finished"


def test_a_request_that_came_by_git_is_named_and_never_started(vault, run, cortex) -> None:
    id_ = "run-20261120t171643z-0193ee"
    run_state.remember(vault, id_, {})
    run_files.add_request(vault, id_, run_files.RunRequest("default", "x"), "2026-11-20T17:16:43Z")
    run_state.forget(vault, id_)
    cortex("status")
    assert run_files.list_runs(vault, QUEUE) == [id_]
    assert f"runs/queue/{id_}.md" in cortex("doctor").stdout
    assert run("stop", id_)["status"] == "stopped"


def test_a_follower_that_comes_back_misses_nothing(vault, run, cortex_process) -> None:
    id_ = run("start", "default", "sleep:1 say:x")["id"]
    line = [sys.executable, "-m", "cortex", "run", "follow", id_, "--json"]
    with subprocess.Popen(line, cwd=vault.root, stdout=subprocess.PIPE, text=True) as follower:
        first = json.loads(follower.stdout.readline())
        follower.kill()
    rest = cortex_process("run", "follow", id_, "--from", str(first["seq"] + 1), "--json")
    seen = [first, *map(json.loads, rest.stdout.splitlines()[:-1])]
    assert [one["seq"] for one in seen] == list(range(len(seen)))
    assert seen == events_of(vault, id_)


def test_a_run_goes_on_with_its_session_by_the_same_provider(run, ended) -> None:
    first = ended(run("start", "default", "show")["id"])
    again = ended(run("continue", first["id"], "show more")["id"])
    config = json.loads(again["answer"]["result"])
    assert (config["session_id"], config["chat_id"]) == ("session-1", first["id"])
    assert [one["id"] for one in run("list", "--chat-id", first["id"])["answer"]["runs"]] == [again["id"]]  # fmt: skip
    wrong = run("continue", first["id"], "more", "--provider", "google", code=2)
    assert "stays with its provider" in wrong["message"]


def test_two_that_go_on_at_once_do_not_take_each_other_s_folder(run, ended) -> None:
    first = ended(run("start", "default", "x")["id"])
    slow = run("continue", first["id"], "sleep:3 echo:TMPDIR look")["id"]
    quick = ended(run("continue", first["id"], "touch say:quick")["id"])
    done = ended(slow)
    assert (quick["status"], done["status"]) == ("finished", "finished")
    said = [one["text"] for one in done["answer"]["events"] if one["event"] == "message"]
    assert said[0].startswith("here ")


def test_a_program_is_given_no_more_of_the_environment_than_it_needs(run, ended, monkeypatch) -> None:  # fmt: skip
    for name in ("LD_PRELOAD", "PYTHONPATH", "NODE_OPTIONS", "GIT_DIR", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
                 "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"):  # fmt: skip
        monkeypatch.setenv(name, "" if name in ("LD_PRELOAD", "PYTHONPATH", "GIT_DIR") else os.environ["HOME"])  # fmt: skip
    done = ended(run("start", "default", "look")["id"])
    (said,) = [one["text"] for one in done["answer"]["events"] if one["event"] == "message"]
    of_the_network = [name for name in said.split() if re.search("(?i)_PROXY$|_CERT_|_CA_CERTS$", name)]  # fmt: skip
    assert {*said.split()} - {"LC_CTYPE", *of_the_network} <= {
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LC_ALL", "CORTEX_DAY", "CORTEX_HOOK", "CORTEX_RUN",
    }  # fmt: skip


def test_an_agent_that_is_not_trusted_is_not_run(vault, agent, run, cortex) -> None:
    agent("review", "say:fine")
    Path(vault.root, "agents/review.md").write_text("---\ntype: agent\n---\nsay:changed\n")
    refused = run("start", "review", code=2)
    assert "not as you trusted it" in refused["message"]
    assert refused["hint"] == "cortex trust review"


def test_one_that_changes_between_request_and_start_is_skipped(vault, agent, run, ended, monkeypatch) -> None:  # fmt: skip
    monkeypatch.setattr("cortex.operations.runs.request.start_detached", lambda *_: None)
    agent("review", "say:fine")
    id_ = run("start", "review")["id"]
    Path(vault.root, "agents/review.md").write_text("---\ntype: agent\n---\nsay:changed\n")
    monkeypatch.setattr("cortex.operations.upkeep.recover_runs._MIN_WAIT_SECONDS", -1)
    done = ended(id_)
    assert (done["status"], done["error"]) == ("skipped", "not_trusted")
    assert [one["event"] for one in done["answer"]["events"]] == ["request", "finish"]


def test_a_disabled_agent_is_skipped(agent, run, ended) -> None:
    agent("review", disabled="true")
    done = ended(run("start", "review")["id"])
    assert (done["status"], done["error"]) == ("skipped", "disabled")


def test_a_generator_is_skipped_without_anything_to_analyse(agent, run, ended, cortex) -> None:
    agent("digest", "say:a-digest", output="md")
    assert ended(run("start", "digest", "--day", "20010101")["id"])["error"] == "no_input"
    cortex("capture", "Something happened")
    done = ended(run("start", "digest")["id"])
    assert done["status"] == "finished"


def test_output_goes_to_its_place_and_again_with_refresh_alone(vault, agent, run, ended) -> None:
    agent("digest", "say:A-digest", output="md", tools="read")
    done = ended(run("start", "digest", "--day", "20261120")["id"])
    place = "runs/output/20261120/agents/digest.md"
    assert done["output"] == place
    assert Path(vault.root, place).read_text() == "A-digest\n"
    refused = run("start", "digest", "--day", "20261120", code=2)
    assert refused["message"] == f"{place} is there already"
    agent("digest", "say:Another", output="md", tools="read")
    ended(run("start", "digest", "--day", "20261120", "--refresh")["id"])
    assert Path(vault.root, place).read_text() == "Another\n"
    elsewhere = ended(run("start", "digest", "--output-path", "notes/mine.md")["id"])
    assert elsewhere["output"] == "notes/mine.md"


def test_a_write_that_fails_is_logged_and_stops_nothing(vault, agent, run, ended) -> None:
    agent("digest", "say:A-digest", output="md", tools="read")
    Path(vault.root, "runs").mkdir(exist_ok=True)
    Path(vault.root, "runs/output").write_text("in the way")
    done = ended(run("start", "digest", "--day", "20261120")["id"])
    assert done["status"] == "finished"
    assert any("was not written" in one.get("message", "") for one in done["answer"]["events"])


def test_json_that_is_none_fails(agent, run, ended) -> None:
    agent("facets", "say:words", output="json", tools="read")
    assert ended(run("start", "facets")["id"])["error"] == "the answer is no JSON"


def test_a_result_that_is_json_is_written_as_such(vault, agent, run, ended) -> None:
    agent("facets", "object", output="json", tools="read")
    done = ended(run("start", "facets", "--day", "20261120", "--segment", "101500_1260")["id"])
    place = Path(vault.root, "runs/output/20261120/101500_1260/facets.json")
    assert json.loads(place.read_text()) == [{"facet": "work", "level": "high"}]
    assert done["output"] == "runs/output/20261120/101500_1260/facets.json"


def test_a_result_that_is_too_long_for_an_event_stays_with_its_run(vault, run, ended) -> None:
    done = ended(run("start", "default", "long")["id"])
    assert done["status"] == "finished"
    assert any(
        "not captured: the content is" in one.get("message", "") for one in done["answer"]["events"]
    )
    assert len(done["answer"]["result"]) > 1_000_000


def test_half_a_character_is_no_reason_to_lose_an_answer(run, ended) -> None:
    done = ended(run("start", "default", "half")["id"])
    assert (done["status"], done["answer"]["result"]) == ("finished", "half � of it")


def test_a_fault_of_ours_ends_the_run_with_its_name(run, ended, monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "sitecustomize.py").write_text(
        "import cortex.operations.runs.prepare as p\n"
        "def prepare_config(*_): raise RuntimeError('a bug')\n"
        "p.prepare_config = prepare_config\n"
    )
    done = ended(run("start", "default", "x")["id"])
    assert (done["status"], done["error"]) == ("failed", "RuntimeError: a bug")


def test_what_a_user_lists_as_a_secret_is_hidden_however_it_is_printed(vault, run, ended, settings, monkeypatch) -> None:  # fmt: skip
    settings('env = ["CREDENTIAL"]')
    monkeypatch.setenv("CREDENTIAL", 'first-line\nthe other "quoted" one')
    done = ended(run("start", "default", "quote:CREDENTIAL")["id"])
    text = Path(vault.root, done["path"]).read_text()
    assert "[REDACTED:env]" in text
    assert "first-line" not in text
    assert "quoted" not in text


def test_an_answer_is_told_to_no_other_request(run, ended) -> None:
    ended(run("start", "default", "say:PRIVATE-SALARY")["id"])
    other = ended(run("start", "default", "show")["id"])
    assert "PRIVATE-SALARY" not in other["answer"]["result"]


def test_refresh_replaces_only_what_a_run_wrote(vault, run, ended) -> None:
    Path(vault.root, "notes").mkdir()
    diary = Path(vault.root, "notes/diary.md")
    diary.write_text("Dear diary\n")
    refused = run("start", "default", "say:gone", "--output-path", "notes/diary.md", "--refresh", code=2)  # fmt: skip
    assert refused["message"] == "notes/diary.md is not as a run wrote it"
    done = ended(run("start", "default", "say:mine", "--output-path", "notes/new.md")["id"])
    assert done["output"] == "notes/new.md"
    ended(run("start", "default", "say:again", "--output-path", "notes/new.md", "--refresh")["id"])
    assert Path(vault.root, "notes/new.md").read_text() == "again\n"
    assert diary.read_text() == "Dear diary\n"
    Path(vault.root, "notes/new.md").write_text("again, and a thought of mine\n")
    edited = run("start", "default", "say:x", "--output-path", "notes/new.md", "--refresh", code=2)
    assert edited["message"] == "notes/new.md is not as a run wrote it"


def test_what_is_one_persons_alone_is_not_given_to_an_agent_of_a_team(vault_from, agent, run, ended) -> None:  # fmt: skip
    vault_from("""
=== notes/pay.md
---
type: note
scope: personal
---
Salary negotiations: 12345
=== notes/plan.md
---
type: note
---
Salary bands for everybody
""")
    agent("reader", "show", load="salary")
    result = ended(run("start", "reader")["id"])["answer"]["result"]
    assert "Salary bands" in result
    assert "12345" not in result


def test_a_prompt_that_leaves_a_fence_open_hides_no_log(vault, run, ended) -> None:
    done = ended(run("start", "default", "```\n<!-- left open\nsay:x")["id"])
    text = Path(vault.root, done["path"]).read_text()
    assert "> ```\n> <!-- left open\n> say:x\n\n## Log\n" in text


def test_an_untrusted_base_is_named_for_what_it_is(vault, agent, run) -> None:
    agent("review")
    Path(vault.root, "agents/journal.md").write_text("Be kind.\n")
    assert run("start", "review", code=2)["hint"] == "cortex trust journal"


def test_doctor_names_scheduled_agents_that_do_not_run(vault, agent, cortex) -> None:
    agent("review", schedule="daily", priority=40)
    Path(vault.root, "agents/review.md").write_text(
        "---\nschedule: daily\npriority: 40\n---\nOther\n"
    )
    Path(vault.root, "agents/odd.md").write_text("---\nschedule: dayly\npriority: 40\n---\nOther\n")
    said = cortex("doctor").stdout
    assert "is scheduled, and does not run" in said
    assert "schedule is not understood" in said


def test_broken_settings_are_named_and_not_what_they_lack(run, settings) -> None:
    file = Path(settings_file())
    file.write_text("[[broken\n")
    assert "cannot be read" in run("start", "default", "x", code=2)["message"]


def test_there_is_one_start_whatever_a_program_says_before_it(agent, run, ended, settings) -> None:
    agent("dear", "again say:x", max_cost_usd="0.5", tier="pro")
    kinds = [one["event"] for one in ended(run("start", "dear")["id"])["answer"]["events"]]
    assert kinds == ["request", "info", "start", "info", "tool_start", "tool_end", "finish"]


def test_a_stop_that_comes_before_the_program_starts_counts(vault, run, ended, monkeypatch, tmp_path) -> None:  # fmt: skip
    monkeypatch.setattr("cortex.operations.runs.request.start_detached", lambda *_: None)
    log = tmp_path / "log"
    id_ = run("start", "default", f"log:{log}")["id"]
    run_state.STOPS.write(vault, "not now", id_)
    monkeypatch.setattr("cortex.operations.upkeep.recover_runs._MIN_WAIT_SECONDS", -1)
    done = ended(id_)
    assert (done["status"], done["error"]) == ("stopped", "not now")
    assert not log.exists()


def test_a_secret_that_is_a_word_of_the_protocol_hides_no_event(run, ended) -> None:
    words = ("A=finish", "B=result", "C=session_id", "D=tool_start", "E=message")
    options = [part for word in words for part in ("--env", word)]
    done = ended(run("start", "default", "say:x", *options)["id"])
    assert done["status"] == "finished"
    assert [one["event"] for one in done["answer"]["events"]] == ["request", "start", "tool_start", "tool_end", "finish"]  # fmt: skip


def test_what_a_killed_run_has_left_in_its_folder_is_removed(vault, run, cortex) -> None:
    id_ = run("start", "default", "sleep:60")["id"]
    wait_for(lambda: is_working(vault, id_))
    folder = Path(run_state.folder(vault), f"{id_}.work")
    (folder / "f.txt").write_text("what it wrote there")
    runner = wait_for(lambda: runner_of(id_))
    os.kill(runner, signal.SIGKILL)
    wait_for(lambda: has_ended(runner))
    cortex("status")
    assert not folder.exists()


def test_a_request_that_nobody_can_take_holds_up_no_other(vault, run, ended, monkeypatch) -> None:
    monkeypatch.setattr("cortex.operations.runs.request.start_detached", lambda *_: None)
    blocked, other = (run("start", "default", f"say:{one}")["id"] for one in ("a", "b"))
    Path(vault.root, "runs/active").mkdir(exist_ok=True)
    Path(vault.root, f"runs/active/{blocked}.md").write_text("in the way")
    monkeypatch.setattr("cortex.operations.upkeep.recover_runs._MIN_WAIT_SECONDS", -1)
    assert ended(other)["status"] == "finished"


def test_limits_end_a_run(agent, run, ended, settings) -> None:
    settings("idle = 1")
    assert "said nothing for 1 seconds" in ended(run("start", "default", "sleep:60")["id"])["error"]
    settings("idle = 60")
    agent("slow", "sleep:60", timeout="1")
    assert "longer than 1 seconds" in ended(run("start", "slow")["id"])["error"]


def test_a_program_that_falls_silent_has_begun_and_its_last_words_are_kept(vault, run, ended, settings) -> None:  # fmt: skip
    settings("idle = 1")
    id_ = run("start", "default", "hush")["id"]
    wait_for(lambda: any(one["event"] == "start" for one in events_of(vault, id_)))
    assert running(vault) == [id_]
    done = ended(id_)
    assert done["error"] == "it said nothing for 1 seconds (idle in your settings): Attempt 1 failed: Error: no quota"  # fmt: skip
    assert done["seconds"] >= 1


@pytest.mark.parametrize(("words", "message"), [
    (("start", "../x", "y"), "is no name of an agent"),
    (("start", "nobody"), "there is no agents/nobody.md"),
    (("start", "default"), "what is it to do?"),
    (("start", "default", "x", "--provider", "other"), "there is no provider 'other'"),
    (("start", "default", "x", "--tier", "lite"), "mine has no model of the tier 'lite'"),
    (("start", "default", "x", "--facet", "none"), "there is no facets/none.md"),
    (("start", "default", "x", "--env", "nothing"), "--env is NAME=VALUE"),
    (("start", "default", "x", "--output", "md", "--output-path", "../x.md"), "is not a path inside the vault"),
    (("start", "default", "x", "--output", "md", "--output-path", "agents/x.md"), "is no place for an output"),
    (("start", "default", "x" * 1_000_001), "the prompt is 1,000,001 bytes"),
    (("start", "default", "x", "--day", "foo"), "is no day or segment"),
    (("start", "default", "x", "--segment", "1"), "is no day or segment"),
    (("show", "zz"), "names no run"),
    (("show", "0123456"), "there is no run 0123456"),
    (("stop", ""), "which run?"),
])  # fmt: skip
def test_what_cannot_be_run_is_said_before_anything_is_written(vault, run, words, message) -> None:
    assert message in run(*words, code=2)["message"]
    assert not Path(vault.root, "runs/queue").exists() or not os.listdir(Path(vault.root, "runs/queue"))  # fmt: skip


def test_an_agent_starts_no_agents(run, monkeypatch) -> None:
    monkeypatch.setenv("CORTEX_RUN", "run-20261120t171643z-0193ee")
    assert "starts no agents" in run("start", "default", "x", code=2)["message"]


def test_hooks_are_silent_inside_a_run(run, ended) -> None:
    done = ended(run("start", "default", "echo:CORTEX_HOOK")["id"])
    assert any(one.get("text") == "it is model" for one in done["answer"]["events"])


def test_costs_say_what_is_unknown(run, ended, cortex) -> None:
    ended(run("start", "default", "x")["id"])
    ended(run("start", "default", "x", "--tier", "pro")["id"])
    total = json.loads(cortex("costs", "--json").stdout)["total"]
    assert (total["runs"], total["cost_usd"], total["unknown"]) == (2, 0.28, 1)


def test_one_commit_a_run(vault, run, ended, git) -> None:
    git(vault.root, "init", "-q", "-b", "main")
    git(vault.root, "add", ".")
    git(vault.root, "commit", "-qm", "begin")
    done = ended(run("start", "default", "say:Plums")["id"])
    wait_for(lambda: "cortex: run default" in git(vault.root, "log", "--format=%s"))
    shown = git(vault.root, "show", "--name-only", "--format=%s")
    assert done["path"] in shown
    assert "events/" in shown
    assert git(vault.root, "log", "--format=%s").split("\n").count("cortex: run default") == 1
    assert "runs/active" not in git(vault.root, "status", "--porcelain", "-uall")
