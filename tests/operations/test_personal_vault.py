"""What is personal or global goes to the person's own vault, and into no other one."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.projects.promote import promote
from cortex.operations.records.revise import revise
from cortex.operations.records.save import save
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


def test_what_is_personal_goes_to_a_vault_of_ones_own_that_is_made_once(shared, tmp_path, git):
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
    sections = brief(shared, here, why=True).sections
    why = {line.text[:24]: line.why for part in sections for line in part.lines}
    assert {one for one in why.values() if one.endswith("own vault")} == {
        "yours alone, in your own vault"
    }, why
    assert "Use slate" in brief(shared, here).text


def test_a_kept_briefing_hears_what_is_saved_as_personal(shared):
    here = caller_at(NOW, shared.root)
    brief(shared, here)
    save(shared, here, "Tea, not coffee", type="preference", scope="personal")
    assert "Tea, not coffee" in brief(shared, here, print=True).text
    save(shared, here, "Milk first", type="preference", scope="personal")
    assert "Milk first" in brief(shared, here, print=True).text


def test_a_teammate_is_not_told_what_somebody_wrote_as_personal(shared):
    Path(shared.root, "records/decision/my-way-k3f7q2.md").write_text(PERSONAL)
    assert "My way" not in brief(shared, caller_at(NOW, shared.root)).text


def test_what_a_hand_wrote_as_personal_is_not_committed_and_promote_moves_it(shared, git):
    here = caller_at(NOW, shared.root)
    file = Path(shared.root, "records/decision/my-way-k3f7q2.md")
    file.write_text(PERSONAL)
    done = sync(shared, here)
    (problem,) = done.held
    assert problem.message == "is not published: it says scope: personal"
    assert problem.hint.startswith("cortex promote records/decision/my-way-k3f7q2.md")
    assert file.exists()
    assert not in_history(git, shared.root, "My own way")
    assert not in_history(git, shared.root, "my-way")  # nor on a page of the briefings
    named = [one for one in doctor(shared, here).problems if one.where.endswith("my-way-k3f7q2.md")]
    assert [one.message for one in named] == [problem.message]
    moved = promote(shared, here, "my-way-k3f7q2")
    assert (moved.source, file.exists(), Path(moved.file).exists()) == ("removed", False, True)
    assert "My way" in brief(shared, here).text
    assert (sync(shared, here).problems, sync(shared, here).held) == ((), ())


@pytest.mark.parametrize("scope", ["personal", "global"])
def test_a_record_of_a_project_cannot_be_made_personal_there(shared, scope):
    with pytest.raises(InvalidInputError) as caught:
        revise(shared, caller_at(NOW, shared.root), "use-sla", scope=scope)
    assert "cortex promote" in caught.value.hint


@pytest.mark.parametrize("scope", ["personal", "global"])
def test_from_the_first_save_on_it_lies_in_the_persons_own_vault(vault, scope, cortex):
    """Also where nobody shares the project's vault yet."""
    here = caller_at(NOW, vault.root)
    saved = save(vault, here, "Tea, not coffee", type="preference", scope=scope)
    assert "in a vault of your own, made now: " in saved.note
    assert Path(saved.file).is_relative_to(default_vault_root())
    assert "Tea, not coffee" in brief(vault, here).text
    told = cortex("save", "Short names", "--type", "preference", "--scope", scope).stdout
    printed = Path(vault.root, told.splitlines()[1].strip()).resolve()
    assert printed.is_file()
    assert printed.is_relative_to(default_vault_root())


def test_no_agent_makes_what_is_personal_the_projects(shared):
    file = Path(shared.root, "records/decision/my-way-k3f7q2.md")
    file.write_text(PERSONAL)
    here = caller_at(NOW, shared.root)
    with pytest.raises(InvalidInputError, match="no agent shares it"):
        revise(shared, here._replace(source="mcp"), "my-way-k3f7q2", scope="project")
    revise(shared, here, "my-way-k3f7q2", scope="project")
    assert "scope: project" in file.read_text()


def test_what_a_model_calls_global_is_so_if_it_is_sure(vault):
    model = caller_at(NOW, vault.root)._replace(source="mcp")
    kept = save(vault, model, "Tea is hot", type="pattern", scope="global", confidence=0.8)
    assert Path(kept.file).is_relative_to(vault.root)
    assert "confidence above 0.8" in kept.note
    sure = save(vault, model, "Ice is cold", type="pattern", scope="global", confidence=0.9)
    assert Path(sure.file).is_relative_to(default_vault_root())


def test_a_note_of_a_persons_own_is_moved_byte_for_byte(shared):
    here = caller_at(NOW, shared.root)
    diary = Path(shared.root, "log/diary.md")
    diary.parent.mkdir()
    diary.write_bytes(b"---\r\nscope: personal\r\n---\r\nRain.\r\n")
    (problem,) = sync(shared, here).held
    assert (problem.where, problem.hint.split(";")[0]) == (
        "log/diary.md",
        "cortex promote log/diary.md moves it to your own vault",
    )
    assert "log/diary.md" in [one.where for one in doctor(shared, here).problems]
    moved = promote(shared, here, "log/diary.md")
    assert moved.source == "removed"
    assert Path(moved.file).read_bytes() == b"---\r\nscope: personal\r\n---\r\nRain.\r\n"
    assert not diary.exists()
    assert sync(shared, here).held == ()


def test_what_earlier_versions_wrote_without_a_project_is_nobodys_alone(shared, git):
    event = "20261120t100000z-aaaaaaaaaa"
    Path(shared.root, f"events/2026/11/{event}.md").write_text(
        f"---\nid: {event}\ntype: observation\nat: 2026-11-20T10:00:00Z\nscope: personal\n"
        "---\n\n## Raw Content\n\nOfall\n"
    )
    Path(shared.root, "records/note/of-all-aaaaaa.md").parent.mkdir(exist_ok=True)
    Path(shared.root, "records/note/of-all-aaaaaa.md").write_text(
        "---\nid: of-all-aaaaaa\ntype: note\ntitle: Of all\nscope: personal\nupdated: 2026-11-20T10:00:00Z\n"
        f"provenance:\n  events: [{event}]\n---\n\nOfall\n"
    )
    assert sync(shared, caller_at(NOW, shared.root)).held == ()
    assert in_history(git, shared.root, "Ofall")


def test_ones_own_vault_may_have_a_remote(shared):
    """It is the default vault: what is personal is kept and committed there."""
    here = caller_at("2026-11-21T10:00:00Z", shared.root)
    init(here, shared.root, default=True)
    saved = save(shared, here, "Tea, not coffee", type="preference", scope="personal")
    assert Path(saved.file).is_relative_to(shared.root)
    assert sync(shared, here).problems == ()
    assert not subprocess.run(
        ["git", "status", "--short"], cwd=shared.root, capture_output=True, check=True
    ).stdout


def test_a_vault_of_ones_own_that_is_gone_is_named(shared, tmp_path):
    here = caller_at(NOW, shared.root)
    init(here, str(tmp_path / "own"), default=True)
    (tmp_path / "own").rename(tmp_path / "away")
    with pytest.raises(InvalidInputError) as caught:
        save(shared, here, "Tea, not coffee", scope="personal")
    assert "is named as your own vault" in caught.value.message
    assert "cortex init DIR --default" in caught.value.hint
    assert "named as your own vault" in brief(shared, here).problems[0].message


STEPS = 200 if SOAK else 30


def test_no_chance_brings_a_personal_record_into_shared_history(shared, tmp_path, git):
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
        if scope != "project" and chance.random() < 0.3:
            # A person, or an older Cortex, writes it into the shared one.
            text = PERSONAL.replace("my-way", f"my-way-{step}").replace("My own way", word)
            text = text.replace("scope: personal", f"scope: {scope}").replace("My way", word)
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
        assert not in_history(git, root, "globalword")
