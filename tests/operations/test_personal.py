"""What is personal goes to the person's own vault, and into no shared one."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.operations.capture.save import save
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.projects.promote import promote
from cortex.operations.records.update import update
from cortex.operations.sessions.brief import brief
from cortex.operations.share.sync import sync
from cortex.vault.locate import Vault, default_vault_root
from tests.conftest import SOAK, caller_at

NOW = "2026-11-20T16:45:12Z"
PERSONAL = (
    "---\nid: my-way-k3f7q2\ntype: decision\ntitle: My way\nstatus: active\nscope: personal\nproject: roof\n"
    "created: 2026-11-20T10:00:00Z\n---\n\nMy own way.\n"
)


@pytest.fixture
def shared(tmp_path: Path, git, caller) -> Vault:
    """A vault with a remote, on which a teammate works too."""
    git(tmp_path, "init", "-q", "--bare", "remote")
    git(tmp_path, "clone", "-q", "remote", "vault")
    vault = Vault(init(caller, str(tmp_path / "vault")).root)
    (tmp_path / "vault/.cortex-project").write_text("roof\n")
    save(vault, caller_at(NOW, vault.root), "Use slate", type="decision", why="it lasts")
    assert sync(vault, caller_at(NOW, vault.root)).trouble == ""
    return vault


def in_history(git, folder: Path, word: str) -> bool:
    return word in git(folder, "log", "--all", "-p", "--format=%s")


def test_what_is_personal_goes_to_a_vault_of_ones_own_that_is_made_once(
    shared, tmp_path, git
) -> None:
    here = caller_at(NOW, shared.root)
    first = save(shared, here, "Tea, not coffee", type="preference", scope="personal", why="taste")
    assert "in a vault of your own, made now: " in first.note
    second = save(shared, here, "Short names", scope="personal", why="taste")
    assert second.note == f"in your own vault, {default_vault_root()}"
    for saved in (first, second):
        assert Path(saved.file).is_relative_to(default_vault_root())
    sync(shared, here)
    git(tmp_path, "clone", "-q", "remote", "other")
    for root in (shared.root, tmp_path / "remote", tmp_path / "other"):
        assert not in_history(git, root, "coffee")
        assert not in_history(git, root, "Short names")
    assert "Tea, not coffee" in brief(shared, here).text
    assert "Short names" in brief(shared, here, print=True).text
    assert "Use slate" in brief(shared, here).text


def test_a_kept_briefing_hears_what_is_saved_as_personal(shared) -> None:
    here = caller_at(NOW, shared.root)
    brief(shared, here)
    save(shared, here, "Tea, not coffee", type="preference", scope="personal")
    assert "Tea, not coffee" in brief(shared, here, print=True).text
    save(shared, here, "Milk first", type="preference", scope="personal")
    assert "Milk first" in brief(shared, here, print=True).text


def test_a_teammate_is_not_told_what_somebody_wrote_as_personal(shared) -> None:
    Path(shared.root, "records/decision/my-way-k3f7q2.md").write_text(PERSONAL)
    assert "My way" not in brief(shared, caller_at(NOW, shared.root)).text


def test_what_a_hand_wrote_as_personal_is_not_committed_and_promote_moves_it(shared, git) -> None:
    here = caller_at(NOW, shared.root)
    file = Path(shared.root, "records/decision/my-way-k3f7q2.md")
    file.write_text(PERSONAL)
    done = sync(shared, here)
    (problem,) = done.problems
    assert problem.message == "is personal, so it is not committed here"
    assert problem.hint.startswith("cortex promote my-way-k3f7q2")
    assert file.exists()
    assert not in_history(git, shared.root, "My own way")
    assert not in_history(git, shared.root, "my-way")  # nor on a page of the briefings
    named = [one for one in doctor(shared, here).problems if one.where.endswith("my-way-k3f7q2.md")]
    assert "is personal, and this vault is shared" in [one.message for one in named]
    moved = promote(shared, here, "my-way-k3f7q2")
    assert (moved.source, file.exists(), Path(moved.file).exists()) == ("removed", False, True)
    assert "My way" in brief(shared, here).text
    assert sync(shared, here).problems == ()


def test_a_record_of_a_shared_vault_cannot_be_made_personal_there(shared) -> None:
    with pytest.raises(InvalidInputError) as caught:
        update(shared, caller_at(NOW, shared.root), "use-sla", scope="personal")
    assert "cortex promote" in caught.value.hint


def test_in_a_vault_that_nobody_shares_it_stays(vault) -> None:
    here = caller_at(NOW, vault.root)
    saved = save(vault, here, "Tea, not coffee", type="preference", scope="personal")
    assert (saved.note, default_vault_root()) == ("", "")
    assert Path(saved.file).is_relative_to(vault.root)
    assert "Tea, not coffee" in brief(vault, here).text


def test_ones_own_vault_may_have_a_remote(shared) -> None:
    """It is the default vault: what is personal is kept and committed there."""
    here = caller_at("2026-11-21T10:00:00Z", shared.root)
    init(here, shared.root, default=True)
    saved = save(shared, here, "Tea, not coffee", type="preference", scope="personal")
    assert Path(saved.file).is_relative_to(shared.root)
    assert sync(shared, here).problems == ()
    assert not subprocess.run(
        ["git", "status", "--short"], cwd=shared.root, capture_output=True, check=True
    ).stdout


def test_a_vault_of_ones_own_that_is_gone_is_named(shared, tmp_path) -> None:
    here = caller_at(NOW, shared.root)
    init(here, str(tmp_path / "own"), default=True)
    (tmp_path / "own").rename(tmp_path / "away")
    with pytest.raises(InvalidInputError) as caught:
        save(shared, here, "Tea, not coffee", scope="personal")
    assert "is named as your own vault" in caught.value.message
    assert "cortex init DIR --default" in caught.value.hint
    assert "named as your own vault" in brief(shared, here).problems[0].message


STEPS = 200 if SOAK else 30


def test_no_chance_brings_a_personal_record_into_shared_history(shared, tmp_path, git) -> None:
    git(tmp_path, "clone", "-q", "remote", "other")
    clones = [shared, Vault(str(tmp_path / "other"))]
    chance = random.Random(7)
    personal = 0
    for step in range(STEPS):
        vault = chance.choice(clones)
        here = caller_at(f"2026-11-21T{step // 60:02d}:{step % 60:02d}:12Z", vault.root)
        scope = chance.choice(["project", "personal", "global"])
        word = f"{scope}word{step}"
        topic = chance.choice(["", "decision/roof"])
        if scope == "personal" and chance.random() < 0.3:
            # A person, or an older Cortex, writes it into the shared one.
            text = PERSONAL.replace("my-way", f"my-way-{step}").replace("My own way", word)
            Path(vault.root, f"records/decision/my-way-{step}-k3f7q2.md").write_text(text)
        else:
            save(vault, here, f"About {word}", why="so", scope=scope, topic=topic, project="roof")
        personal += scope == "personal"
        if chance.random() < 0.4:
            sync(vault, here)
    assert personal
    for vault in clones * 2:
        assert sync(vault, caller_at("2026-11-22T10:00:00Z", vault.root)).trouble == ""
    for root in (*(Path(vault.root) for vault in clones), tmp_path / "remote"):
        assert in_history(git, root, "projectword")
        assert not in_history(git, root, "personalword")
