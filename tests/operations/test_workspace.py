"""A session of an agent writes into one vault, the one in which it began, under one project, wherever its turns end."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.interfaces.hook import main
from cortex.vault.locate import Vault
from cortex.vault.state import session_homes

SESSION = "11111111-2222-4333-8444-555555555555"


class World:
    """Two repositories with a vault each, and a folder that is in none."""

    def __init__(self, folder: Path, cortex, git) -> None:
        self.folder, self.git = folder, git
        self.alpha, self.beta, self.outside = folder / "alpha", folder / "beta", folder / "outside"
        self.outside.mkdir()
        for root in (self.alpha, self.beta):
            (root / "packages/x").mkdir(parents=True)
            git(root, "init", "-q", "-b", "main")
            assert cortex("init", "vault", cwd=str(root)).returncode == 0
            git(root, "add", "-A")
            git(root, "commit", "-qm", "begun")

    def hook(
        self,
        event: str,
        cwd: Path | str,
        *,
        host: str = "claude",
        started: Path | str = "",
        **told: str,
    ) -> str:
        """Run a hook as a host does whose agent is in `cwd`; what it answers."""
        environment = {key: text for key, text in os.environ.items() if key != "CLAUDE_PROJECT_DIR"}
        if started:
            environment["CLAUDE_PROJECT_DIR"] = str(started)
        done = subprocess.run(
            [sys.executable, "-I", "-S", main.__file__, event, "--host", host],
            input=json.dumps({"session_id": SESSION, "cwd": str(cwd), **told}).encode(),
            cwd=cwd if os.path.isdir(cwd) else self.folder,
            env=environment,
            capture_output=True,
            timeout=60,
            check=True,
        )
        return done.stdout.decode() + done.stderr.decode()

    def transcript(self, *folders: Path | str) -> str:
        """A transcript with a turn in each of the folders; its path."""
        lines = []
        for number, folder in enumerate(folders):
            base = {
                "cwd": str(folder),
                "sessionId": SESSION,
                "timestamp": f"2026-11-20T10:0{number}:00.000Z",
            }
            said = [{"type": "text", "text": f"Decision: part {number} is made of larch."}]
            lines += [
                {**base, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"ask {number}"}},
                {**base, "type": "assistant", "uuid": f"a{number}", "message": {"id": f"m{number}", "role": "assistant", "content": said}},
            ]  # fmt: skip
        path = self.folder / "t.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return str(path)

    def captured(self) -> dict[str, list[str]]:
        """The folder with the vault -> the projects of its events."""
        found = {}
        for root in (self.alpha, self.beta):
            paths = sorted((root / "vault").rglob("*.md"), key=lambda path: path.name)
            texts = [path.read_text() for path in paths if "## Raw Content" in path.read_text()]
            projects = [
                line.removeprefix("project: ")
                for text in texts
                for line in text.splitlines()
                if line.startswith("project: ")
            ]
            if projects:
                found[root.name] = projects
        return found


@pytest.fixture
def world(tmp_path_factory, cortex, git) -> World:
    return World(tmp_path_factory.mktemp("world"), cortex, git)  # no vault is above it


@pytest.mark.parametrize("named", ["by the host", "in the transcript", "nowhere but at the start"])
@pytest.mark.parametrize(
    "went_to", ["beta", "beta/packages/x", "outside", "alpha/packages/x", "gone"]
)
def test_wherever_a_turn_ends_it_is_of_the_vault_and_project_where_the_session_began(
    world, named, went_to
):
    told, started = {}, ""
    if named == "by the host":
        started = world.alpha
    elif named == "in the transcript":
        told = {"transcript_path": world.transcript(world.alpha)}
    else:
        world.hook("session-start", world.alpha, source="startup")
    for number in range(2):
        where = world.folder / went_to
        words = f"Decision: part {number + 7} is made of oak."
        world.hook("stop", where, started=started, last_assistant_message=words, **told)
    (captured,) = world.captured().items()
    assert captured[0] == "alpha"
    assert set(captured[1]) == {"alpha"}


def test_what_was_captured_first_counts_when_a_session_is_resumed_from_another_project(world):
    path = world.transcript(world.alpha)
    world.hook("stop", world.alpha, started=world.alpha, transcript_path=path)
    path = world.transcript(world.alpha, world.beta)
    answer = world.hook("session-start", world.beta, started=world.beta, source="resume")
    assert "beta" not in answer
    world.hook("stop", world.beta, started=world.beta, transcript_path=path)
    assert world.captured() == {"alpha": ["alpha", "alpha"]}


def test_a_session_that_began_outside_of_every_vault_is_of_the_first_that_it_enters(world):
    for number, folder in enumerate((world.outside, world.beta, world.alpha, world.outside)):
        words = f"Decision: part {number} is made of larch."
        world.hook("stop", folder, started=world.outside, last_assistant_message=words)
    assert world.captured() == {"beta": ["beta"] * 3}


def test_a_folder_that_never_was_on_this_machine_says_nothing(world, cortex):
    """Neither of a vault nor that the default one is meant."""
    own = world.folder / "own"
    assert cortex("init", str(own), "--default").returncode == 0
    path = world.transcript("/home/somebody/else")
    world.hook("stop", world.beta, transcript_path=path)
    assert world.captured() == {"beta": ["beta"]}


def test_the_project_keeps_its_name_when_the_folder_is_removed(world, cortex, git):
    own, shop = world.folder / "own", world.folder / "work/shop"
    assert cortex("init", str(own), "--default").returncode == 0
    shop.mkdir(parents=True)
    git(shop, "init", "-q")
    git(shop, "remote", "add", "origin", "https://example.org/store.git")
    world.hook("stop", shop, last_assistant_message="Decision: shelves are larch.")
    shutil.rmtree(shop)
    world.hook("stop", shop, last_assistant_message="Decision: tables are oak.")
    texts = [path.read_text() for path in (own / "inbox/pending").iterdir()]
    assert len(texts) == 2
    assert all("\nproject: store\n" in text for text in texts)


def test_a_worktree_of_the_repository_gives_its_branch_and_paths_but_no_other_vault(world):
    tree = world.folder / "tree"
    world.git(world.alpha, "worktree", "add", "-q", "-b", "side", str(tree))
    world.hook("stop", tree, started=world.alpha, last_assistant_message="Decision: oak.")
    (event,) = (world.alpha / "vault/inbox/pending").iterdir()
    assert "\nbranch: side\n" in event.read_text()
    assert not list((tree / "vault").rglob("inbox/pending/*.md"))
    world.hook("stop", world.beta, started=world.alpha, last_assistant_message="Decision: larch.")
    newest = max((world.alpha / "vault/inbox/pending").iterdir(), key=lambda path: path.name)
    assert "\nbranch: main\n" in newest.read_text()


def test_a_subagent_and_a_compaction_are_of_the_session_s_vault(world):
    world.hook("stop", world.alpha, started=world.alpha, last_assistant_message="Decision: oak.")
    world.hook("subagent-stop", world.beta, agent_id="a1", last_assistant_message="Decision: ash.")
    world.hook("post-compact", world.beta, compact_summary="Decision: larch.")
    world.hook("session-end", world.beta, reason="other")
    assert list(world.captured()) == ["alpha"]


def test_gemini_names_its_project_in_a_variable_of_its_own(world, monkeypatch):
    monkeypatch.setenv("GEMINI_PROJECT_DIR", str(world.alpha))
    world.hook("AfterAgent", world.beta, host="gemini", prompt_response="Decision: oak.")
    assert world.captured() == {"alpha": ["alpha"]}


@pytest.mark.parametrize("off", ["alpha", "beta"])
def test_a_folder_that_switches_hooks_off_does_so_where_a_session_began_and_where_it_is(world, off):
    (world.folder / off / ".cortex-off").touch()
    world.hook("stop", world.beta, started=world.alpha, last_assistant_message="Decision: oak.")
    assert world.captured() == {}


def test_homes_of_sessions_are_bounded_and_forgotten_with_their_vault(world, monkeypatch):
    monkeypatch.setattr(session_homes, "_MAX_FILES", 4)
    home = Vault(str(world.alpha / "vault")), str(world.alpha), "alpha"
    for number in range(9):
        session_homes.remember_home("claude", f"s{number}", *home)
    known = [number for number in range(9) if session_homes.recall_home("claude", f"s{number}")]
    assert known[-1] == 8
    assert len(known) <= 4 + 1
    shutil.rmtree(world.alpha / "vault")
    assert session_homes.recall_home("claude", "s8") == []
