"""Briefings as the notes give them: written when they differ, never otherwise, never by an older program."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from cortex.core.briefing.pages import GENERATOR_VERSION
from cortex.operations.care.doctor import doctor
from cortex.operations.care.status import status
from cortex.operations.find.search import search
from cortex.operations.upkeep.heal import HealResult, heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from tests.conftest import commit_all

DECISION = """
=== records/decision/use-sqlite-k3f9q2.md
---
id: use-sqlite-k3f9q2
type: decision
title: Use SQLite
project: app
branch: main
created: 2026-11-20T10:00:00Z
---
Because it is one file.
"""
NOTHING = HealResult((), (), (), ())
PAGES = ["active-plan", "decisions-archive", "decisions", "main"]


STALE = "---\ntype: briefing\n---\nstale\n"


def text(vault, path: str) -> str:
    return Path(vault.root, path).read_text()


def test_pages_are_made_of_records_and_made_once(vault_from, caller):
    vault = vault_from(DECISION)
    assert heal(vault, caller).written == (
        *(f"briefings/app/{name}.md" for name in PAGES),
        "briefings/index.md",
    )
    assert (
        "- 2026-11-20 [[use-sqlite-k3f9q2|Use SQLite]]: it is one file ^20261120100000-niw24t43"
        in text(vault, "briefings/app/decisions.md")
    )
    assert heal(vault, caller) == NOTHING
    assert heal(vault, caller, check=True) == NOTHING


def test_check_names_what_is_stale_and_changes_nothing(vault_from, caller):
    vault = vault_from(DECISION)
    assert heal(vault, caller, check=True).stale
    assert not Path(vault.root, "briefings").exists()


def test_a_page_is_output_whatever_was_done_to_it(vault_from, caller):
    vault = vault_from(DECISION)
    heal(vault, caller)
    page = Path(vault.root, "briefings/app/decisions.md")
    right = page.read_bytes()
    for wrong in (b"", b"\xff\x00", right + b"- mine\n", right.replace(b"- 2026", b"<<<<<<< HEAD\n- 2026"), right.replace(b"\n", b"\r\n")):  # fmt: skip
        page.write_bytes(wrong)
        assert heal(vault, caller).written == ("briefings/app/decisions.md",)
        assert page.read_bytes() == right


def test_a_page_that_a_newer_program_made_is_left_alone(vault_from, caller):
    vault = vault_from(DECISION)
    heal(vault, caller)
    page = Path(vault.root, "briefings/app/decisions.md")
    newer = (
        page.read_text().replace(
            f"generator: {GENERATOR_VERSION}", f"generator: {GENERATOR_VERSION + 1}"
        )
        + "something new\n"
    )
    page.write_text(newer)
    assert heal(vault, caller) == NOTHING._replace(newer=("briefings/app/decisions.md",))
    assert heal(vault, caller, check=True).stale == ()
    assert page.read_text() == newer


def test_a_page_that_no_record_gives_any_more_says_so_and_a_persons_note_stays(vault_from, caller):
    vault = vault_from(
        f"{DECISION}=== briefings/app/my own.md\nmine\n=== briefings/README.md\nmine too"
    )
    heal(vault, caller)
    record = Path(vault.root, "records/decision/use-sqlite-k3f9q2.md")
    record.write_text(record.read_text().replace("branch: main", "branch: feature/x"))
    healed = heal(vault, caller)
    assert any(path.startswith("briefings/app/feature-x-") for path in healed.written)
    assert "branch: main" in text(vault, "briefings/app/main.md")
    assert text(vault, "briefings/app/main.md").count("Nothing yet.") == 4
    assert "app/main" not in text(vault, "briefings/index.md")
    assert heal(vault, caller) == NOTHING
    assert heal(vault, caller, prune_pages=True).removed == ("briefings/app/main.md",)
    assert text(vault, "briefings/app/my own.md") == "mine\n"
    assert text(vault, "briefings/README.md") == "mine too\n"


def test_a_record_that_is_superseded_moves_to_the_archive(vault_from, caller):
    vault = vault_from(DECISION)
    heal(vault, caller)
    record = Path(vault.root, "records/decision/use-sqlite-k3f9q2.md")
    record.write_text(
        record.read_text().replace("project: app", "project: app\nstatus: superseded")
    )
    heal(vault, caller)
    assert "Nothing yet." in text(vault, "briefings/app/decisions.md")
    assert "Use SQLite" in text(vault, "briefings/app/decisions-archive.md")


def test_two_notes_with_one_id_both_have_their_line(vault_from, caller):
    vault = vault_from(
        DECISION
        + DECISION.replace("records/decision/use-sqlite-k3f9q2", "copy").replace(
            "Use SQLite", "A copy"
        )
    )
    heal(vault, caller)
    page = text(vault, "briefings/app/decisions.md")
    assert "Use SQLite" in page
    assert "A copy" in page
    assert heal(vault, caller).written == ()


def test_normalizing_heals_and_captures_do_not(vault, caller, cortex):
    cortex("capture", "Decision: use SQLite", "--project", "app", "--branch", "main")
    assert not Path(vault.root, "briefings").exists()
    normalize(vault, caller)
    assert "Use SQLite" in text(vault, "briefings/app/decisions.md")


def test_the_same_briefings_after_everything_derived_was_deleted(vault_from, caller):
    vault = vault_from(DECISION)
    heal(vault, caller)
    before = {path: path.read_bytes() for path in Path(vault.root).rglob("briefings/**/*.md")}
    shutil.rmtree(vault.cache_folder())
    shutil.rmtree(Path(vault.root, "briefings"))
    heal(vault, caller)
    assert {
        path: path.read_bytes() for path in Path(vault.root).rglob("briefings/**/*.md")
    } == before


def test_reading_gives_a_vault_no_briefings_and_heals_them_only_after_git_was_there(
    vault_from, caller, git
):
    vault = vault_from(DECISION)
    page = Path(vault.root, "briefings/app/decisions.md")
    record = Path(vault.root, "records/decision/use-sqlite-k3f9q2.md")
    git(vault.root, "init", "-q")
    git(vault.root, "add", ".")
    search(vault, caller, "sqlite")
    assert not page.exists()
    heal(vault, caller)
    record.write_text(record.read_text().replace("Use SQLite", "Use files"))
    for read in (lambda: search(vault, caller, "sqlite"), lambda: status(vault, caller)):
        read()
        assert "Use SQLite" in page.read_text()
    git(vault.root, "add", ".")
    status(vault, caller)
    assert "Use files" in page.read_text()


def test_nothing_is_healed_by_the_way_while_git_waits_for_the_end_of_a_merge(
    vault_from, caller, git
):
    vault = vault_from(DECISION)
    heal(vault, caller)
    git(vault.root, "init", "-q")
    Path(vault.root, "briefings/app/decisions.md").write_text(STALE)
    Path(vault.root, ".git/MERGE_HEAD").write_text("0" * 40 + "\n")
    status(vault, caller)
    assert text(vault, "briefings/app/decisions.md") == STALE
    os.unlink(os.path.join(vault.root, ".git/MERGE_HEAD"))
    status(vault, caller)
    assert "Use SQLite" in text(vault, "briefings/app/decisions.md")


def test_an_unmerged_briefing_is_merged_once_it_is_healed(vault_from, caller, git):
    vault = vault_from(DECISION)
    heal(vault, caller)
    commit_all(vault.root)
    git(vault.root, "checkout", "-qb", "side")
    page = Path(vault.root, "briefings/app/decisions.md")
    git(vault.root, "rm", "-q", "briefings/app/decisions.md")
    git(vault.root, "commit", "-qm", "gone")
    git(vault.root, "checkout", "-q", "main")
    page.write_text(page.read_text() + "- changed\n")
    git(vault.root, "commit", "-qam", "changed")
    with pytest.raises(Exception, match="merge"):
        git(vault.root, "merge", "side")
    heal(vault, caller)
    assert git(vault.root, "ls-files", "-u") == ""
    assert "- changed" not in page.read_text()


def test_heal_as_a_person_sees_it(vault_from, cortex):
    vault_from(DECISION)
    checked = cortex("heal", "--check")
    assert checked.returncode == 1
    assert "stale: briefings/app/decisions.md" in checked.stdout
    assert "cortex heal" in checked.stdout
    assert cortex("heal").returncode == 0
    assert cortex("heal").stdout == "the briefings are as the notes give them\n"


def test_a_note_of_a_person_among_the_briefings_is_theirs_to_merge(vault_from, caller, git):
    vault = vault_from(DECISION)
    heal(vault, caller)
    own = Path(vault.root, "briefings/mine.md")
    own.write_text("one\n")
    commit_all(vault.root)
    git(vault.root, "checkout", "-qb", "side")
    own.write_text("theirs\n")
    git(vault.root, "commit", "-qam", "theirs")
    git(vault.root, "checkout", "-q", "main")
    own.write_text("ours\n")
    git(vault.root, "commit", "-qam", "ours")
    # What cannot be merged by items stays unmerged.
    git(vault.root, "config", "merge.cortex-briefing.driver", "false")
    with pytest.raises(Exception, match="merge"):
        git(vault.root, "merge", "side")
    heal(vault, caller)
    assert "briefings/mine.md" in git(vault.root, "ls-files", "-u")


def test_what_git_does_while_pages_are_written_is_seen_by_the_next_command(
    vault_from, caller, git, monkeypatch
):
    vault = vault_from(DECISION)
    git(vault.root, "init", "-q")
    heal(vault, caller)
    record = Path(vault.root, "records/decision/use-sqlite-k3f9q2.md")
    page = Path(vault.root, "briefings/app/decisions.md")
    page.write_text(STALE)
    replace = files.replace

    def pull_comes_between(*words) -> None:
        replace(*words)
        record.write_text(record.read_text().replace("Use SQLite", "Use files"))
        git(vault.root, "add", ".")

    with monkeypatch.context() as patched:
        patched.setattr(files, "replace", pull_comes_between)
        heal(vault, caller)
    assert "Use SQLite" in page.read_text()
    status(vault, caller)
    assert "Use files" in page.read_text()


@pytest.mark.parametrize("thing", ["link", "folder", "unreadable"])
def test_a_page_that_cannot_be_read_is_named_and_stops_no_other(
    vault_from, caller, tmp_path, thing
):
    vault = vault_from(DECISION)
    heal(vault, caller)
    page = Path(vault.root, "briefings/app/decisions.md")
    other = Path(vault.root, "briefings/app/main.md")
    page.unlink()
    (tmp_path / "outside.md").write_text("not ours\n")
    if thing == "link":
        page.symlink_to(tmp_path / "outside.md")
    elif thing == "unreadable":
        if os.geteuid() == 0:
            pytest.skip("root reads everything")
        page.write_text(STALE)
        page.chmod(0)
    else:
        page.mkdir()
    other.write_text(STALE)
    healed = heal(vault, caller)
    assert healed.written == ("briefings/app/main.md",)
    assert healed.stale == ("briefings/app/decisions.md",)
    assert [problem.where for problem in healed.problems] == ["briefings/app/decisions.md"]
    assert (tmp_path / "outside.md").read_text() == "not ours\n"
    assert [
        problem.where
        for problem in doctor(vault, caller).problems
        if problem.where.startswith("briefings/app")
    ] == ["briefings/app/decisions.md"] * (1 + (thing == "link"))


NOTES = """
=== sessions/2026/11/2026-11-20-session-of-monday-k3f9q2.md
---
id: session-of-monday-k3f9q2
type: session
title: Session of Monday
provenance:
  events: [20261120t100000z-aaaaaaaaaa]
project: app
branch: main
created: 2026-11-20T10:00:00Z
---
Looked around.
=== records/plan/move-house-a2b3c4.md
---
id: move-house-a2b3c4
type: plan
title: Move house
project: app
created: 2026-11-20T10:00:00Z
---
- [ ] pack the books
- [x] sell the piano
"""


def test_a_note_that_cannot_be_read_keeps_its_lines(vault_from, caller, monkeypatch):
    """Also a session, whose id is not its file name, the steps of a plan, and those of the index."""
    vault = vault_from(DECISION + NOTES)
    heal(vault, caller)
    folder = Path(vault.root, "briefings")
    before = {path: path.read_text() for path in folder.rglob("*.md")}
    assert sum("2026-11-20-session-of-monday-k3f9q2|" in one for one in before.values()) == 3
    read = files.read

    def fail(root: str, path: str, *limit: int) -> bytes:
        if path.startswith(("sessions/", "records/")):
            raise OSError(errno.EIO, "Input/output error")
        return read(root, path, *limit)

    for note in [*Path(vault.root).rglob("*-k3f9q2.md"), *Path(vault.root).rglob("*-a2b3c4.md")]:
        os.utime(note, (1, 1))  # so that they are read again
    monkeypatch.setattr(files, "read", fail)
    healed = heal(vault, caller)
    assert len({one.where for one in healed.problems}) == 3
    assert {path: path.read_text() for path in folder.rglob("*.md")} == before


def test_a_note_that_git_does_not_know_has_a_line_only_where_it_is_shared(vault_from, caller, git):
    """Else every clone that heals would take out the line that the other one puts in."""
    vault = vault_from(
        f"{DECISION}=== Ideas/mine.md\n---\ntype: decision\ntitle: My own\nproject: app\n---\n"
    )
    heal(vault, caller)
    assert "My own" in text(vault, "briefings/app/decisions.md")
    git(vault.root, "init", "-q")
    git(vault.root, "add", "records", "briefings")
    git(vault.root, "commit", "-qm", "all")
    heal(vault, caller)
    assert "My own" not in text(vault, "briefings/app/decisions.md")
    git(vault.root, "add", "Ideas")
    heal(vault, caller)
    assert "My own" in text(vault, "briefings/app/decisions.md")
    record = Path(vault.root, "records/decision/use-sqlite-k3f9q2.md")
    record.rename(Path(vault.root, "Ideas/Use SQLite.md"))
    heal(vault, caller)
    assert "[[Ideas/Use SQLite|Use SQLite]]" in text(vault, "briefings/app/decisions.md")


def test_a_persons_own_note_in_the_place_of_a_page_stays_and_is_named(vault, cortex):
    own = Path(vault.root, "briefings/index.md")
    own.parent.mkdir(exist_ok=True)
    own.write_text("# My own index\n\nwith a list\n")
    cortex("save", "Keep it", "--type", "decision")
    done = cortex("heal")
    assert own.read_text() == "# My own index\n\nwith a list\n"
    assert (
        "briefings/index.md: is a note of your own where Cortex keeps a page"
        in done.stderr + done.stdout
    )
    own.rename(own.with_name("mine.md"))
    assert cortex("heal").returncode == 0
    assert "type: briefing" in own.read_text()
