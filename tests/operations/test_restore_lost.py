"""What a merge on a server, which reads no attributes, has lost or mixed, and what a commit did to an event."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.operations.care.doctor import doctor
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.restore_lost import restore_lost
from cortex.vault.git import drivers
from cortex.vault.locate import Vault

ALIKE = "".join(
    f"Line {number} of what both notes say, so that git pairs them.\n" for number in range(12)
)


def record(id_: str, word: str) -> str:
    return f"---\nid: {id_}\ntype: decision\nstatus: active\ncreated: 2026-11-20T10:00:00Z\n---\n# Use {word}\n\n{word}\n\n{ALIKE}"


A, B, E = "use-alpha-k3f7q2", "use-beta-m4p2aa", "20261120t100000z-aaaaaaaaab"
A_PATH, B_PATH, E_PATH = (
    f"records/decision/{A}.md",
    f"records/decision/{B}.md",
    f"events/2026/11/{E}.md",
)
EVENT = f"---\nid: {E}\ntype: manual\nat: 2026-11-20T10:00:00Z\nhost: cli\nsource: capture\n---\n\n## Raw Content\n\nepsilon\n\n{ALIKE}"
EDITED = record(A, "alpha") + "edited alpha\n"


class Repo:
    """A vault under git; its remote is a bare repository without Cortex."""

    def __init__(
        self, vault: Vault, caller: Caller, git: Callable[..., str], tmp_path: Path
    ) -> None:
        self.vault, self.caller, self._git = vault, caller, git
        self.root, self.remote = Path(vault.root), tmp_path / "remote.git"
        with (self.root / "cortex.toml").open("a") as settings:
            settings.write('\n[briefings]\nbranch = "main"\n')
        self.git("init", "-q", "-b", "main")
        drivers.register(vault.root)
        self.commit()
        subprocess.run(["git", "clone", "-q", "--bare", self.root, self.remote], check=True)
        self.git("remote", "add", "origin", str(self.remote))
        self.git("fetch", "-q")
        self.git("branch", "-q", "--set-upstream-to=origin/main")

    def git(self, *words: str) -> str:
        return self._git(self.root, *words)

    def commit(self, **files: str | None) -> None:
        """Commit these texts; None removes a file. Keys are `alpha`, `beta` or `event`."""
        paths = {"alpha": A_PATH, "beta": B_PATH, "event": E_PATH}
        for name, text in files.items():
            path = self.root / paths[name]
            if text is None:
                path.unlink()
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", f"{sorted(files)}")

    def branches(self, base: dict, one: dict, two: dict) -> None:
        """`main` and `side` lead from `base`, pushed; `main` is checked out."""
        self.commit(**base)
        self.git("switch", "-qc", "side")
        self.commit(**two)
        self.git("switch", "-q", "main")
        self.commit(**one)
        self.git("push", "-q", "--all")

    def merged_by_a_server(self) -> None:
        """As hosting sites merge a branch: in a bare repository, where git 2.39 reads no attributes."""

        def run(*words: str) -> str:
            return self._git(self.remote, *words).strip()

        tree = run("merge-tree", "--write-tree", "main", "side").splitlines()[0]
        merge = run("commit-tree", tree, "-p", "main", "-p", "side", "-m", "Merge pull request #1")
        run("update-ref", "refs/heads/main", merge)

    def sync(self) -> list[str]:
        done = sync(self.vault, self.caller, yes=True)
        assert (done.trouble, done.waiting) == ("", ())
        return [f"{one.path}: {one.what}" for one in done.settled]

    def text(self, path: str) -> str | None:
        return (self.root / path).read_text() if (self.root / path).exists() else None


@pytest.fixture
def repo(vault: Vault, caller: Caller, git: Callable[..., str], tmp_path: Path) -> Repo:
    return Repo(vault, caller, git, tmp_path)


@pytest.mark.parametrize(
    ("name", "path", "own"), [("beta", B_PATH, record(B, "beta")), ("event", E_PATH, EVENT)]
)
def test_what_a_server_took_for_a_rename_is_two_notes_again(
    repo: Repo, name: str, path: str, own: str
) -> None:
    repo.branches({"alpha": record(A, "alpha")}, {"alpha": None, name: own}, {"alpha": EDITED})
    repo.merged_by_a_server()
    repo.git("fetch", "-q")
    mixed = repo.git("show", f"origin/main:{path}")
    assert mixed == own + "edited alpha\n", "git no longer pairs them"
    settled = repo.sync()
    assert f"{A_PATH}: a merge had left it out; it is back" in settled
    assert repo.text(A_PATH) == EDITED
    assert repo.text(path) == own
    assert repo.git("show", f"origin/main:{path}") == own, "and it is shared"
    assert repo.sync() == []
    assert doctor(repo.vault, repo.caller).problems == ()


def test_a_later_edit_of_a_mixed_note_stays(repo: Repo) -> None:
    repo.branches(
        {"alpha": record(A, "alpha")}, {"alpha": None, "beta": record(B, "beta")}, {"alpha": EDITED}
    )
    repo.merged_by_a_server()
    repo.git("pull", "-q")
    repo.commit(beta=(repo.text(B_PATH) or "").replace("beta\n\nOne", "beta\n\nSaid since.\n\nOne"))
    repo.sync()
    assert repo.text(B_PATH) == record(B, "beta").replace(
        "beta\n\nOne", "beta\n\nSaid since.\n\nOne"
    )


def test_a_note_that_a_person_let_go_in_a_conflict_stays_away(repo: Repo) -> None:
    repo.branches({"alpha": record(A, "alpha")}, {"alpha": None}, {"alpha": EDITED})
    subprocess.run(["git", "merge", "-q", "side"], cwd=repo.root, capture_output=True, check=False)
    repo.git("rm", "-q", A_PATH)
    repo.git("commit", "-qm", "it goes")
    repo.sync()
    assert repo.text(A_PATH) is None


@pytest.mark.parametrize("text", [EVENT + "edited\n", None])
def test_a_commit_that_edits_or_deletes_an_event_is_undone(repo: Repo, text: str | None) -> None:
    repo.commit(event=EVENT)
    repo.commit(event=text)
    healed = heal(repo.vault, repo.caller)
    (back,) = healed.brought_back
    assert back.path == E_PATH
    assert back.what.startswith("an event never changes; its own text is back")
    assert repo.text(E_PATH) == EVENT
    repo.git("checkout", "-q", "--", ".") if text else (repo.root / E_PATH).unlink()
    heal(repo.vault, repo.caller)
    assert repo.text(E_PATH) == EVENT, (
        "what is thrown away before it is committed is brought back again"
    )
    repo.sync()
    assert heal(repo.vault, repo.caller).brought_back == ()


@pytest.mark.parametrize("erased", [f'["{E}"]', f'"{E}"', f'["{E}"\n<<<<<<< ours'])
def test_an_event_that_the_settings_call_erased_stays_away(repo, erased) -> None:
    """Also where nobody understands the list, and no sound one is known, as in a fresh clone."""
    repo.commit(event=EVENT)
    with (repo.root / "cortex.toml").open("a") as file:
        file.write(f"\n[events]\nerased = {erased}\n")
    repo.commit(event=None)
    assert heal(repo.vault, repo.caller).brought_back == ()
    assert repo.text(E_PATH) is None


def test_a_secret_that_somebody_took_out_of_an_event_stays_out(repo: Repo) -> None:
    repo.commit(event=EVENT + "password: hunter2hunter2\n")
    repo.commit(event=EVENT)
    assert heal(repo.vault, repo.caller).brought_back == ()
    assert repo.text(E_PATH) == EVENT


def test_doctor_names_a_record_that_is_in_the_history_and_nowhere_now(repo: Repo) -> None:
    repo.branches({}, {}, {"beta": record(B, "beta"), "alpha": record(A, "alpha")})
    repo.git("merge", "-q", "--no-commit", "--no-ff", "side")
    repo.git("rm", "-q", "-f", B_PATH)
    repo.git("commit", "-qm", "an octopus or -X ours may leave this")
    repo.git("mv", A_PATH, "records/moved.md")
    repo.git("commit", "-qm", "moved")
    named = [one for one in doctor(repo.vault, repo.caller).problems if one.where == B_PATH]
    assert [(one.message, one.hint) for one in named] == [
        ("is in git's history and nowhere now: a merge may have dropped it", f"cortex restore {B}")
    ]
    repo.commit(alpha=None) if repo.text(A_PATH) else None
    assert A not in str(doctor(repo.vault, repo.caller).problems)


@pytest.mark.parametrize("state", [b"", b"\0\0\0\0", b"garbage\n", b"0" * 40 + b" 12-3\n"])
def test_a_state_that_a_power_cut_has_spoiled_stops_nothing(repo: Repo, state: bytes) -> None:
    repo.commit(event=EVENT)
    heal(repo.vault, repo.caller)
    Path(repo.vault.state_folder(), "merges-checked").write_bytes(state)
    repo.commit(event=None)
    assert len(restore_lost(repo.vault, repo.caller)[0]) == 1
