"""Wiring the hosts of agents: real settings in real folders, by the real verb and the real command."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.hosts import hook_settings, settings_file
from cortex.hosts.hook_settings import HOSTS, wanted_entries
from cortex.interfaces.cli import render_care
from cortex.operations.care.doctor import doctor
from cortex.operations.care.hooks import HooksResult, hooks as hooks_verb
from cortex.operations.care.init import init
from cortex.vault.git import checkout
from cortex.vault.locate import find_vault
from cortex.vault.state import hook_log
from tests.conftest import NOW, caller_at, cpu_limit

FOREIGN = """// mine
{
\t"model": "opus", // the large one
\t"hooks": {
\t\t"Stop": [
\t\t\t{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]},
\t\t],
\t\t"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "lint"}]}]
\t}
}"""
BEFORE = {
    "absent": None,
    "empty": b"",
    "an object": b"{}",
    "hooks": b'{"hooks": {}}\n',
    "foreign": FOREIGN.encode(),
    "carriage returns": b"\xef\xbb\xbf" + FOREIGN.replace("\n", "\r\n").encode(),
    "no UTF-8": b'{"name": "Zo\xeb", "hooks": {"Stop": []}}',
    "minified": b'{"a":1,"hooks":{"Stop":[]}}',
}


def hooks(caller, action: str, hosts: str = "", **options: bool) -> HooksResult:
    return hooks_verb(caller, action, hosts.split(), **options)


@pytest.fixture
def home(monkeypatch) -> Path:
    for host in HOSTS.values():
        monkeypatch.delenv(host.home_variable or "CORTEX_OFF", raising=False)
    return Path(os.environ["HOME"])


@pytest.fixture
def shop(vault, git, home):
    """A project: the repository around the vault."""
    root = Path(vault.root).parent
    git(root, "init", "-q")
    return caller_at(NOW, str(root / "vault"))


def file_of(root: Path, home: Path, host: str, scope: str) -> Path:
    one = HOSTS[host]
    if scope == "user":
        folder = home / (one.home_folder or one.settings_folder) / one.hooks_subfolder
        return folder / one.settings_file
    return root / one.settings_folder / (one.local_file or one.settings_file)


def local(shop) -> Path:
    """The settings of Claude Code that a project has and nobody shares, in a folder that is there."""
    file = Path(shop.cwd).parent / ".claude/settings.local.json"
    file.parent.mkdir()
    return file


def tree(*roots: Path) -> dict[str, object]:
    """Every file, folder and link below, but for what Cortex keeps for itself."""
    return {
        str(path): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for root in roots
        for path in root.rglob("*")
        if not {".cache", ".local", ".git", "vault"} & set(path.relative_to(root).parts)
    }


@pytest.mark.sampled(5)
@pytest.mark.parametrize("scope", ["project", "user"])
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("before", BEFORE)
def test_install_then_remove_leaves_no_trace(shop, home, host, scope, before):
    root = Path(shop.cwd).parent
    file = file_of(root, home, host, scope)
    if (data := BEFORE[before]) is not None:
        file.parent.mkdir(parents=True)
        file.write_bytes(data)
        file.chmod(0o640)
    found = tree(root, home)
    done = hooks(shop, "install", host, user=scope == "user", dry_run=True)
    assert tree(root, home) == found
    assert done.changed[0].diff
    done = hooks(shop, "install", host, user=scope == "user")
    assert [one.outcome for one in done.changed] == ["wired"]
    assert [hook.name for hook in done.hosts[0].hooks] == [on.name for on in HOSTS[host].events]
    wired = tree(root, home)
    assert wired != found
    assert hooks(shop, "install", host, user=scope == "user").changed[0].outcome == "unchanged"
    assert tree(root, home) == wired
    if data is not None:
        assert file.stat().st_mode & 0o777 == 0o640
    hooks(shop, "remove", host, user=scope == "user")
    assert tree(root, home) == found


def test_what_a_project_shares_names_this_python_and_no_other_place_of_this_machine(shop):
    hooks(shop, "install", " ".join(HOSTS))
    hooks(shop, "install", "claude", shared=True)
    root = Path(shop.cwd).parent
    shared = [
        path
        for path in root.rglob("*.json")
        if path.parent.parent == root or path.name == "cortex.json"
    ]
    assert len(shared) == 7
    for path in shared:
        text = path.read_text()
        assert sys.executable in text
        assert ("command -v cortex" in text) == (path.name != "settings.local.json")
        assert str(Path.home()) not in text.replace(sys.executable, "").replace(
            str(Path(hook_settings.__file__).parents[1]), ""
        )


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("interpreter", ["/usr/bin/python", "/a python/bin/py'thon"])
@pytest.mark.parametrize("shared", [False, True])
def test_the_entries_have_the_shape_of_their_host(host, interpreter, shared):
    for on, want in zip(
        HOSTS[host].events, wanted_entries(HOSTS[host], interpreter, shared=shared), strict=True
    ):
        assert want.event == on.name
        assert on.name not in ("WorktreeCreate", "AfterModel")
        handler = want.entry["hooks"][0] if host in ("claude", "codex", "gemini") else want.entry
        line = handler["bash" if host == "copilot" else "command"]
        words = [line, *handler["args"]] if "args" in handler else shlex.split(line)
        assert words[-3:] == [on.event, "--host", host]
        assert words[0] == ("if" if shared else interpreter)
        limit = {
            "gemini": handler.get("timeout", 0) / 1000,
            "copilot": handler.get("timeoutSec"),
            "windsurf": 10,
        }.get(host, handler.get("timeout"))
        assert 3 <= limit <= 10
        assert ("args" in handler) == (host == "claude" and not shared)


@pytest.mark.parametrize("there", ["python", "cortex", "python without cortex", "nothing"])
def test_a_line_for_everybody_runs_what_is_there(tmp_path, monkeypatch, there):
    """This Python where it and the program are, else `cortex` from the path, else nothing but what the host must read."""
    for name in ("cortex", "a python"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name[-6:]} "$@"\n')
    program = tmp_path / "site's/cortex/interfaces/hook/main.py"
    program.parent.mkdir(parents=True)
    program.touch()
    monkeypatch.setattr(hook_settings, "HOOK_FILE", str(program))
    if there.startswith("python"):
        (tmp_path / "a python").chmod(0o755)
    if there in ("cortex", "python without cortex"):
        (tmp_path / "cortex").chmod(0o755)
    if there == "python without cortex":
        program.unlink()
    for host in HOSTS.values():
        for on, want in zip(
            host.events, wanted_entries(host, str(tmp_path / "a python"), shared=True), strict=True
        ):
            handler = want.entry.get("hooks", [want.entry])[0]
            line = handler.get("bash") or handler["command"]
            done = subprocess.run(
                ["/bin/sh", "-ec", line],
                env={"PATH": str(tmp_path)},
                capture_output=True,
                text=True,
                check=False,
            )
            python = f"python -I -S {program} {on.event} --host {host.name}"
            said = {"python": python, "nothing": host.empty_answer(on.event)}.get(
                there, f"cortex hook {on.event} --host {host.name}"
            )
            assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")


def test_what_a_teammate_wired_stays_where_it_can_run(shop, monkeypatch, tmp_path):
    """No two machines write each other's path over the other's again and again; one on which it cannot run writes its own."""
    file = Path(shop.cwd).parent / ".cursor/hooks.json"
    monkeypatch.setenv("PATH", str(tmp_path))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/their/python")
        hooks(shop, "install", "cursor")
    theirs = file.read_text()
    (status,) = hooks(shop, "status", "cursor").problems
    assert status.message == "neither /their/python nor a cortex on the PATH is here"
    assert status.hint == "cortex hooks install cursor"
    (tmp_path / "cortex").write_text("#!/bin/sh\n")
    (tmp_path / "cortex").chmod(0o755)
    done = hooks(shop, "install", "cursor")
    assert (done.changed[0].outcome, file.read_text()) == ("unchanged", theirs)
    assert {hook.runs for hook in done.hosts[0].hooks} == {"cortex"}
    (tmp_path / "cortex").unlink()
    done = hooks(shop, "install", "cursor")
    assert (done.changed[0].outcome, file.read_text()) == (
        "updated",
        theirs.replace("/their/python", sys.executable),
    )
    assert {hook.runs for hook in done.hosts[0].hooks} == {sys.executable}
    monkeypatch.setattr(sys, "executable", "/another/python")
    assert hooks(shop, "install", "cursor").changed[0].outcome == "unchanged"


@pytest.mark.parametrize("forgotten", [False, True])
def test_after_an_edit_ours_alone_are_taken_out(shop, home, forgotten):
    file = local(shop)
    file.write_text(FOREIGN)
    hooks(shop, "install", "claude")
    edited = (
        file.read_text()
        .replace('"opus"', '"haiku"')
        .replace('"PreToolUse": [', '"PreToolUse": [ // strict\n')
    )
    file.write_text(edited)
    if forgotten:  # as on another machine, or after the state folder was emptied
        for record in (home / ".local/state/cortex/hooks").glob("*.json"):
            record.unlink()
    assert hooks(shop, "install", "claude").changed[0].outcome == "unchanged"
    hooks(shop, "remove", "claude")
    assert file.read_text() == FOREIGN.replace('"opus"', '"haiku"').replace(
        '"PreToolUse": [', '"PreToolUse": [ // strict\n'
    )


def test_a_file_that_we_made_stays_when_somebody_wrote_into_it(shop):
    file = Path(shop.cwd).parent / ".cursor/hooks.json"
    hooks(shop, "install", "cursor")
    file.write_text(file.read_text().replace('"version": 1,', '"version": 1, "mine": true,'))
    hooks(shop, "remove", "cursor")
    assert json.loads(file.read_text()) == {"version": 1, "mine": True}


@pytest.mark.parametrize("text", ['{"hooks": {', "[1]", '{"hooks": 3}', "\xff\xfe{"])
def test_what_cannot_be_read_is_named_and_nothing_at_all_is_written(shop, home, text):
    file = home / ".cursor/hooks.json"
    file.parent.mkdir()
    file.write_text(text)
    found = tree(home)
    with pytest.raises(InvalidInputError) as error:
        hooks(shop, "install", "claude cursor", user=True)
    assert str(file) in error.value.message
    assert "nothing was written" in error.value.hint
    assert tree(home) == found


def test_a_link_to_ones_dotfiles_stays_a_link(shop, home):
    kept = home / "dotfiles/claude.json"
    kept.parent.mkdir()
    kept.write_text(FOREIGN)
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.symlink_to(kept)
    hooks(shop, "install", "claude", user=True)
    assert file.is_symlink()
    assert "session-start" in kept.read_text()
    hooks(shop, "remove", "claude", user=True)
    assert file.is_symlink()
    assert kept.read_text() == FOREIGN


@pytest.mark.parametrize("user", [False, True])
def test_no_link_leads_out_of_the_project_or_the_home_folder(shop, home, tmp_path_factory, user):
    outside = tmp_path_factory.mktemp("outside") / "settings.json"
    outside.write_text("{}")
    root = Path(shop.cwd).parent
    file = home / ".claude/settings.json" if user else root / ".claude/settings.local.json"
    if user:
        file.parent.mkdir()
        file.symlink_to(outside)
    else:  # the folder itself, and to a place in the home folder
        (home / "settings.local.json").write_text("{}")
        file.parent.symlink_to(home)
    for action in ("install", "remove"):
        with pytest.raises(InvalidInputError, match="outside"):
            hooks(shop, action, "claude", user=user)
    assert outside.read_text() == "{}"
    assert "leads to" in hooks(shop, "status", "claude").problems[0].message


def test_a_pipe_is_no_settings_file(shop):
    file = local(shop)
    os.mkfifo(file)
    with pytest.raises(InvalidInputError, match="not a regular file"):
        hooks(shop, "install", "claude")
    assert any("not a regular file" in one.message for one in hooks(shop, "status").problems)


def test_a_file_that_changed_meanwhile_is_not_overwritten(shop, home):
    file = home / "settings.json"
    for before in (None, "{}"):
        if before:
            file.write_text(before)
        change = hook_settings.plan_install(
            str(file), str(file), wanted_entries(HOSTS["claude"], sys.executable), ()
        )
        file.write_text('{"theirs": true}')
        with pytest.raises(ConflictError):
            settings_file.apply_change(change)
        assert file.read_text() == '{"theirs": true}'
    file.unlink()
    settings_file.apply_change(
        hook_settings.plan_install(
            str(file), str(file), wanted_entries(HOSTS["claude"], sys.executable), ()
        )
    )
    change = hook_settings.plan_removal(str(file), str(file), (), own=False)
    assert change.after is None
    file.write_text('{"theirs": true}')
    with pytest.raises(ConflictError):
        settings_file.apply_change(change)
    assert file.read_text() == '{"theirs": true}'
    assert sorted(path.name for path in home.iterdir() if path.name.endswith(("tmp", "new"))) == []


def test_the_environment_says_where_the_settings_are(shop, home, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for host in HOSTS.values():
        if host.home_variable:
            monkeypatch.setenv(host.home_variable, str(elsewhere / host.name))
    hooks(shop, "install", "claude codex copilot", user=True)
    assert {str(path.relative_to(elsewhere)) for path in elsewhere.rglob("*.json")} == {
        "claude/settings.json", "codex/hooks.json", "copilot/hooks/cortex.json"
    }  # fmt: skip
    assert not any(home.glob(".c[lo]*"))


def test_the_home_folder_is_no_project(home):
    with pytest.raises(InvalidInputError, match="no project"):
        hooks(caller_at(NOW, str(home)), "install", "claude")
    done = hooks(caller_at(NOW, str(home)), "install", "claude", user=True)
    assert any("is in no vault" in one.message for one in done.problems)
    assert hooks(caller_at(NOW, str(home)), "remove", user=True).changed[0].outcome == "removed"


@pytest.mark.parametrize(("words", "said"), [
    ((), "ACTION is missing"),
    (("wire",), "ACTION 'wire' is not install, remove or status"),
    (("install",), "which host"),
    (("install", "emacs"), "HOSTS 'emacs' is not claude, codex"),
    (("install", "claude", "--user", "--shared"), "different files"),
])  # fmt: skip
def test_a_mistake_is_explained(cortex, words, said):
    done = cortex("hooks", *words)
    assert done.returncode == 2
    assert said in done.stderr or "usage:" in done.stderr


def wired_twice(root: Path, home: Path, caller) -> None:
    hooks(caller, "install", "claude", user=True)


def interpreter_gone(root: Path, home: Path, caller) -> None:
    file = root / ".claude/settings.local.json"
    file.write_text(file.read_text().replace(sys.executable, "/gone/python"))


def one_missing(root: Path, home: Path, caller) -> None:
    file = root / ".claude/settings.local.json"
    file.write_text(file.read_text().replace('"PreCompact"', '"precompact"'))


def written(where: str, text: str):
    def write(root: Path, home: Path, caller) -> None:
        file = (home if where.startswith("~") else root) / where.removeprefix("~/")
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text(text)

    return write


@pytest.mark.parametrize(("host", "spoil", "said"), [
    ("claude", wired_twice, "every event runs Cortex twice"),
    ("claude", written("~/.claude/settings.json", '{"enabledPlugins": {"cortex@team": true}}'), "the plugin is switched on in "),
    ("claude", interpreter_gone, "runs /gone/python, which is gone"),
    ("claude", one_missing, "PreCompact not wired"),
    ("claude", written("~/.claude/settings.json", '{"disableAllHooks": true}'), "disableAllHooks is true in "),
    ("claude", written(".claude/settings.json", '{"allowManagedHooksOnly": true,}'), "allowManagedHooksOnly is true in "),
    ("codex", written("~/.codex/config.toml", "[features]\nhooks = false\n"), "[features] hooks = false stands in "),
    ("codex", written(".codex/config.toml", "[features]\ncodex_hooks = false\n"), "[features] codex_hooks = false stands in "),
    ("gemini", written("~/.gemini/settings.json", '{"hooksConfig": {"enabled": false}}'), "hooksConfig.enabled is false in "),
    ("gemini", written("~/.gemini/settings.json", '{"hooksConfig": {"disabled": ["cortex"]}}'), "among those that are disabled in "),
    ("copilot", written("~/.copilot/config.json", '{"disableAllHooks": true}'), "disableAllHooks is true in "),
])  # fmt: skip
def test_what_keeps_a_hook_from_running_is_named(
    shop, vault, home, monkeypatch, tmp_path, host, spoil, said
):
    root = Path(shop.cwd).parent
    (tmp_path / "cortex").write_text("#!/bin/sh\n")
    (tmp_path / "cortex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    hooks(shop, "install", host)
    assert not hooks(shop, "status").problems
    assert not [one for one in doctor(vault, shop).problems if "hooks" in one.hint]
    spoil(root, home, shop)
    problems = hooks(shop, "status").problems
    assert any(said in one.message for one in problems), problems
    assert all(one.hint for one in problems)
    assert set(problems) <= set(doctor(vault, shop).problems)


@pytest.mark.parametrize("how", ["variable", "file", "settings"])
def test_what_somebody_switched_off_on_purpose_is_said_and_is_no_problem(
    shop, vault, monkeypatch, how
):
    hooks(shop, "install", "claude")
    if how == "variable":
        monkeypatch.setenv("CORTEX_OFF", "1")
    elif how == "file":
        (Path(shop.cwd).parent / ".cortex-off").touch()
    else:
        file = Path(vault.root, "cortex.toml")
        file.write_text(file.read_text() + "[hooks]\nenabled = false\n")
    done = hooks(shop, "status")
    assert len(done.off) == 1
    assert not done.problems


def test_what_is_wired_elsewhere_is_said_after_a_removal(shop, home):
    hooks(shop, "install", "claude", user=True)
    hooks(shop, "install", "claude", shared=True)
    done = hooks(shop, "remove", "claude")
    assert done.changed[0].outcome == "not there"
    assert [line.rpartition(": ")[2] for line in done.next] == [
        "cortex hooks remove claude --shared",
        "cortex hooks remove claude --user",
    ]


@pytest.mark.parametrize(
    ("text", "named"), [("{", False), ('{"hooks": "cortex hook stop --host cursor"', True)]
)
def test_doctor_leaves_settings_alone_that_are_not_ours(shop, vault, home, text, named):
    (home / ".cursor").mkdir()
    (home / ".cursor/hooks.json").write_text(text)
    assert any("cannot be read" in one.message for one in hooks(shop, "status").problems)
    assert any("cannot be read" in one.message for one in doctor(vault, shop).problems) == named


def test_a_program_that_a_project_names_is_never_run(shop, home):
    """A project's settings may come from a stranger; one's own are trusted."""
    root = Path(shop.cwd).parent
    (root / "evil").write_text(f"#!/bin/sh\ntouch {root}/ran\n")
    (root / "evil").chmod(0o755)
    hooks(shop, "install", "claude")
    file = root / ".claude/settings.local.json"
    file.write_text(file.read_text().replace(sys.executable, str(root / "evil")))
    hooks(shop, "status")
    assert not (root / "ran").exists()
    hooks(shop, "install", "claude", user=True)
    mine = home / ".claude/settings.json"
    mine.write_text(mine.read_text().replace(sys.executable, "/bin/false"))
    assert any("keeps nothing of a turn" in one.message for one in hooks(shop, "status").problems)


def test_status_tells_when_a_hook_ran_last(shop, vault):
    hooks(shop, "install", "claude")
    hook_log.append(vault, NOW, "claude", "stop", 17)
    hook_log.append(vault, NOW, "claude", "pre-compact", 3, "the disk is full")
    told = {
        hook.event: (hook.at, hook.ms, hook.problem)
        for hook in hooks(shop, "status", "claude").hosts[0].hooks
    }
    assert told["stop"] == (NOW, 17, "")
    assert told["pre-compact"] == (NOW, 3, "the disk is full")
    assert told["session-start"] == ("", 0, "")
    assert any("the disk is full" in one.message for one in doctor(vault, shop).problems)


def test_what_was_wired_runs(shop, vault, home):
    """The very entries, as the host would run them: none fails, and each is seen to have run."""
    hooks(shop, "install", "claude")
    root = Path(shop.cwd).parent
    said = json.loads((root / ".claude/settings.local.json").read_text())
    for name, groups in said["hooks"].items():
        handler = groups[0]["hooks"][0]
        told = {
            "session_id": "s1",
            "cwd": shop.cwd,
            "hook_event_name": name,
            "last_assistant_message": "Decision: keep it in files.",
            "prompt": "why?",
        }
        done = subprocess.run(
            [handler["command"], *handler["args"]],
            input=json.dumps(told),
            cwd=root,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), (name, done.stderr)
    seen = hooks(shop, "status", "claude").hosts[0].hooks
    assert all(hook.at for hook in seen), seen


def test_the_command_from_install_to_remove(vault, git, cortex, home):
    root = Path(vault.root).parent
    git(root, "init", "-q")
    (root / ".cortex-project").write_text("shop\n")
    (root / ".claude").mkdir()
    (root / ".claude/settings.local.json").write_text(FOREIGN)
    found = tree(root, home)
    told = [
        cortex("hooks", *words.split(), cwd=str(root))
        for words in ("install claude", "status", "status --json", "remove", "status claude")
    ]
    assert [one.returncode for one in told] == [0, 0, 0, 0, 0], [one.stderr for one in told]
    said = [
        re.sub(r"(?<=claude    local   ).*", "…", one.stdout.replace(sys.executable, "PYTHON"))
        for one in told
    ]
    assert said[0] == (
        "claude    wired in .claude/settings.local.json, and it keeps a turn\n"
        "the search index was built\n"
        "next: start Claude Code anew, or look at /hooks in it; it asks whether you trust the folder\n"
        "next: a skill tells agents in a project how to ask its memory: cortex brief --into skill\n"
        "next: git would share .claude/settings.local.json, with its path of this machine: echo .claude/settings.local.json >> .gitignore\n"
    )
    assert (
        said[1]
        == "claude    local   …\nnot wired: codex, gemini, cursor, copilot, windsurf\nno hook has run here yet\n"
    )
    listed = json.loads(told[2].stdout)
    assert [one["host"] for one in listed["hosts"]] == list(HOSTS)
    assert listed["hosts"][0]["hooks"][0] == {
        "event": "session-start", "name": "SessionStart", "scope": "local", "file": str(root / ".claude/settings.local.json"),
        "runs": sys.executable, "fault": "", "at": "", "ms": 0, "problem": "", "seen": "",
    }  # fmt: skip
    assert said[3].splitlines()[0] == "claude    taken out of .claude/settings.local.json"
    assert said[4] == "not wired: claude\n"
    assert tree(root, home) == found


def test_a_second_install_asks_for_nothing_again(shop, cortex):
    root = str(Path(shop.cwd).parent)
    Path(root, ".gitignore").write_text(".claude/*.local.json\n")
    first, second = [
        cortex("hooks", "install", "claude", "cursor", cwd=root).stdout for _ in range(2)
    ]
    kept = f"next: the project is named {checkout.project_of(root)} after its path; to keep that name wherever it lies: "
    kept += f"echo {checkout.project_of(root)} > .cortex-project\n"
    assert "the search index was built\nnext: start Claude Code anew" in first
    assert first.count("cortex brief --into skill") == 1
    assert first.endswith(kept)
    assert (
        second
        == f"claude    is wired already in .claude/settings.local.json, and it keeps a turn\n"
        f"cursor    is wired already in .cursor/hooks.json, and it keeps a turn\n{kept}"
    )
    subprocess.run(["/bin/sh", "-c", kept.rpartition(": ")[2]], cwd=root, check=True)
    assert "next:" not in cortex("hooks", "install", "claude", "cursor", cwd=root).stdout


def test_status_says_each_thing_once(shop, vault, cortex, monkeypatch):
    """Cursor tells a stop by two events, and one fault is that of every event of a file."""
    monkeypatch.setenv("PATH", "/nowhere")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", "/their/python")
        hooks(shop, "install", "codex")
    hooks(shop, "install", "cursor")
    hook_log.append(vault, NOW, "cursor", "stop", 17)
    assert cortex(
        "hooks", "status", "codex", "cursor", cwd=str(Path(shop.cwd).parent)
    ).stdout.splitlines() == [
        "codex     shared  .codex/hooks.json   runs nothing",
        "  cannot run",
        f"cursor    shared  .cursor/hooks.json  {sys.executable}  keeps a turn",
        f"  stop                {NOW}  17 ms",
        "  never ran: session-start, pre-compact, session-end",
        ".codex/hooks.json: neither /their/python nor a cortex on the PATH is here",
        "  cortex hooks install codex",
    ]


def test_the_record_of_an_install_is_on_disk_before_the_settings_are(home, monkeypatch):
    """A power cut between the two must not leave settings of which nobody knows what was put in."""
    synced: list[str] = []
    fsync = os.fsync
    monkeypatch.setattr(
        os, "fsync", lambda fd: (synced.append(os.readlink(f"/proc/self/fd/{fd}")), fsync(fd))[1]
    )
    file = home / ".claude/settings.json"
    state = str(home / ".local/state/cortex/hooks")
    for python in ("/a/python", "/another/python"):
        synced.clear()
        settings_file.apply_change(
            hook_settings.plan_install(
                str(file), str(file), wanted_entries(HOSTS["claude"], python), ()
            )
        )
        ours, theirs = (
            [at for at, path in enumerate(synced) if path.startswith(state)],
            synced.index(str(file.parent)),
        )
        # The file, then its folder.
        assert [synced[at] == state for at in ours if at < theirs][:2] == [False, True], synced
        assert json.loads(file.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"] == python
    synced.clear()
    settings_file.apply_change(hook_settings.plan_removal(str(file), str(file), (), own=False))
    assert state in synced
    assert list(Path(state).glob("*.json*")) == []


@pytest.mark.parametrize(
    "value", ["007", "-", "1e", "9" * 5000, "[" * 5000, '"' * 3, "a." * 20_000, "'\\ud800'"]
)
def test_one_foreign_file_ends_neither_status_nor_doctor(shop, vault, home, value):
    for file, text in (
        (".claude/settings.json", f'{{"a": {value}}}'),
        (".codex/config.toml", f"[features]\nhooks = {value}\n{value}a = 1"),
    ):
        for root in (home, Path(shop.cwd).parent):
            (root / file).parent.mkdir()
            (root / file).write_text(text)
    with cpu_limit(2):
        assert any("line 1, column" in one.message for one in hooks(shop, "status").problems)
        doctor(vault, shop)


ANY = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")),
)
NUMBERS = ["007", "-", "1e", "9" * 5000, "1e999999", "-0", "NaN", "[" * 150, '"\\ud800"', '"\\u0000"', "{}", "null", "[]", "true", '""']  # fmt: skip


@settings(max_examples=60)
@given(st.data())
def test_whatever_foreign_settings_hold_they_are_looked_at(tmp_path_factory, data):
    """`status` and `doctor` may tell of them; they never end in a traceback."""
    root = tmp_path_factory.mktemp("any")
    (root / ".git").mkdir()
    place = caller_at(NOW, str(root))
    vault = find_vault(init(place, "vault").root, str(root), {})
    for host in HOSTS.values():
        valid = json.dumps(
            {
                "hooks": {
                    want.event: [want.entry]
                    for want in wanted_entries(host, "/python", shared=data.draw(st.booleans()))
                },
                "a": 1,
            }
        )
        at = data.draw(st.integers(0, len(valid)))
        most = data.draw(st.integers(0, 30))
        mutated = (
            valid[:at].encode()
            + data.draw(st.one_of(ANY, st.sampled_from(NUMBERS).map(str.encode)))
            + valid[at + most :].encode()
        )
        file = root / host.settings_folder / (host.local_file or host.settings_file)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data.draw(st.sampled_from([mutated, data.draw(ANY)])))
        toml = file.with_name("config.toml")
        toml.write_bytes(
            b"[features]\nhooks = "
            + data.draw(st.one_of(ANY, st.sampled_from(NUMBERS).map(str.encode)))
        )
    told = hooks(place, "status")
    json.dumps(told)
    assert all(isinstance(line, str) for line in render_care.hooks(told))
    doctor(vault, place)


def test_nothing_that_settings_say_is_copied(shop, home):
    file = local(shop)
    file.write_text('{"env": {"TOKEN": "sk-very-secret"}}')
    hooks(shop, "install", "claude")
    for path in [*home.rglob("*"), *Path(shop.cwd).rglob("*")]:
        assert not path.is_file() or b"sk-very-secret" not in path.read_bytes(), path


@pytest.mark.parametrize("host", ["claude", "cursor"])
def test_a_full_disk_is_an_error_and_no_half(home, host):
    """No file may grow beyond a few bytes: nothing is left of the attempt."""
    file = home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text("{}")
    found = tree(home)
    line = f"ulimit -f 0; exec {shlex.quote(sys.executable)} -m cortex hooks install {host} --user"
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=home, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2, done.stdout
    assert tree(home) == found
    assert not list((home / ".local/state/cortex/hooks").glob("*.json"))


def test_the_project_is_the_default_and_may_be_said(shop, cortex):
    assert cortex("hooks", "install", "claude", "--project").returncode == 0
    assert (Path(shop.cwd).parent / ".claude" / "settings.local.json").exists()
    done = cortex("hooks", "install", "claude", "--project", "--user")
    assert (done.returncode, done.stderr.splitlines()[0]) == (
        2,
        "cortex: --user and --project name different files",
    )
