"""Which pages a branch writes, so that branches and clones merge by plain git without a conflict."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.core.briefing.pages import parse_page
from cortex.core.model.problem import InvalidInputError
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.records.revise import revise
from cortex.operations.records.save import save
from cortex.operations.share.sync import sync
from cortex.operations.upkeep.heal import heal
from cortex.vault.git import drivers
from cortex.vault.locate import Vault
from tests.conftest import caller_at, commit_all

MINUTES = iter(range(60 * 24))


class Clone:
    """A clone of a vault, and a person at work in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.vault = Vault(str(root))

    def git(self, *words: str, fails: bool = False) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.root, capture_output=True, text=True, timeout=60, check=False
        )
        assert fails or not done.returncode, done.stdout + done.stderr
        return done.stdout + done.stderr

    @property
    def caller(self):
        minute = next(MINUTES)
        return caller_at(f"2026-11-20T{minute // 60:02}:{minute % 60:02}:00Z", str(self.root))

    def save(self, title: str, type_: str = "decision", body: str = "It is one file.") -> str:
        return save(self.vault, self.caller, title, body=body, type=type_).id

    def heal(self, **words: bool):
        return heal(self.vault, self.caller, **words)

    def commit(self) -> None:
        self.heal()
        self.git("add", "-A")
        self.git("commit", "-qm", "work")

    def switch(self, *words: str) -> None:
        self.git("switch", "-q", *words)

    def pages(self) -> dict[str, str]:
        files = sorted(self.root.rglob("briefings/**/*.md"))
        return {str(path.relative_to(self.root / "briefings")): path.read_text() for path in files}

    def clone(self, name: str, *words: str) -> Clone:
        self.git(
            "clone", "-q", *words, self.git("remote", "get-url", "origin").strip(), f"../{name}"
        )
        return Clone(self.root.parent / name)


@pytest.fixture
def main(tmp_path: Path) -> Clone:
    """A vault in a repository of its own on main, with a decision, and a remote."""
    root = tmp_path / "shop"
    init(caller_at("2026-11-20T00:00:00Z", str(tmp_path)), str(root))
    clone = Clone(root)
    clone.save("Use SQLite")
    clone.commit()
    clone.git("clone", "-q", "--bare", ".", "../remote")
    clone.git("remote", "add", "origin", "../remote")
    clone.git("fetch", "-q")
    clone.git("branch", "-q", "--set-upstream-to=origin/main")
    return clone


def lines_of(text: str) -> set[tuple[str, ...]]:
    return {tuple(item) for item in parse_page(text).items}


def test_two_branches_with_a_decision_each_merge_by_plain_git(main: Clone) -> None:
    shared = main.pages()
    for name, title in (("cart", "Carts expire"), ("pay", "Pay by card")):
        main.switch("-c", name, "main")
        main.save(title)
        main.commit()
        assert main.heal(check=True).stale == ()
        assert main.pages().keys() - shared.keys() == {f"shop/{name}.md"}
        assert {path: main.pages()[path] for path in shared} == shared
        assert title in main.pages()[f"shop/{name}.md"]
        main.git("push", "-q", "origin", name)
    plain = main.clone("plain")  # which has no driver, and no Cortex
    for name in ("cart", "pay"):
        plain.git("merge", "-q", "--no-edit", "--no-ff", f"origin/{name}")
    plain.git("push", "-q")
    main.switch("main")
    main.git("pull", "-q")
    main.heal()
    made = main.pages()
    for title in ("Carts expire", "Pay by card", "Use SQLite"):
        assert title in made["shop/decisions.md"]
    shutil.rmtree(main.root / "briefings")
    shutil.rmtree(main.vault.cache_folder())
    main.heal()
    assert main.pages() == made


def test_what_was_written_on_the_default_branch_and_carried_along_is_put_back(main: Clone) -> None:
    shared = main.pages()
    main.save("Carts expire")
    main.save("It hangs", "gotcha")
    assert main.pages() != shared
    main.switch("-c", "cart")
    main.commit()
    assert main.pages() == shared
    main.switch("main")
    main.git("merge", "-q", "cart")
    main.heal()
    assert "It hangs" in main.pages()["shop/types/gotcha.md"]


def test_shared_pages_that_a_branch_has_committed_come_back_as_the_merge_base_has_them(
    main: Clone,
) -> None:
    shared = main.pages()
    main.save("Carts expire")
    main.switch("-c", "cart")
    main.git("add", "-A")
    main.git("commit", "-qm", "as an earlier version did it")
    main.commit()
    assert main.pages() == shared
    main.switch("main")
    main.save("Pay by card")
    main.commit()
    main.switch("cart")
    main.git("merge", "-q", "--no-edit", "main")
    assert main.heal().written == ()
    assert "Pay by card" in main.pages()["shop/decisions.md"]
    assert main.heal(check=True).stale == ()


def test_clones_that_share_a_branch_agree_whatever_they_know_of_main(main: Clone) -> None:
    main.switch("-c", "cart")
    main.save("Carts expire")
    main.commit()
    main.git("push", "-q", "-u", "origin", "cart")
    other = main.clone("other", "-b", "cart")
    main.switch("main")
    main.save("Pay by card")
    main.commit()
    main.git("push", "-q")
    main.switch("cart")
    main.git("merge", "-q", "--no-edit", "main")
    assert sync(main.vault, main.caller).trouble == ""
    assert sync(other.vault, other.caller).trouble == ""
    assert sync(main.vault, main.caller).received == 0
    assert other.pages() == main.pages()
    assert "Pay by card" in other.pages()["shop/decisions.md"]


@pytest.mark.parametrize("how", ["--no-rebase", "--rebase"])
def test_one_side_empties_a_page_that_the_other_fills(main: Clone, how: str) -> None:
    id_ = main.save("It hangs", "gotcha")
    main.commit()
    main.git("push", "-q")
    other = main.clone("other")
    for clone in (main, other):
        drivers.register(str(clone.root))
    other.save("It is slow", "gotcha")
    other.commit()
    other.git("push", "-q")
    (main.root / f"records/gotcha/{id_}.md").unlink()
    main.commit()
    assert "Nothing yet." in main.pages()["shop/types/gotcha.md"]
    main.git("pull", "-q", "--no-edit", how)
    main.heal()
    assert "It is slow" in main.pages()["shop/types/gotcha.md"]
    assert "It hangs" not in main.pages()["shop/types/gotcha.md"]


def test_a_line_of_a_merge_is_one_sides_whole(main: Clone) -> None:
    id_ = main.save("Keep carts", body="**Why.** They are small.")
    main.commit()
    main.git("push", "-q")
    other = main.clone("other")
    for clone in (main, other):
        drivers.register(str(clone.root))
    revise(main.vault, main.caller, id_, title="Drop carts")
    record = next(other.root.rglob(f"{id_}.md"))
    record.write_text(record.read_text().replace("They are small.", "They sell."))
    for clone in (main, other):
        clone.commit()
    other.git("push", "-q")
    sides = [main.pages(), other.pages()]
    main.git("pull", "-q", "--no-rebase", "--no-edit", fails=True)  # of the record, perhaps
    for path, text in main.pages().items():
        known = set().union(*(lines_of(side.get(path, "")) for side in sides))
        assert lines_of(text) <= known, path


def test_pages_that_git_could_not_merge_are_written_and_staged(main: Clone) -> None:
    """Both sides add one, and one deletes what the other changes, in clones without a driver."""
    other = main.clone("other")
    for clone, title in ((main, "It hangs"), (other, "It is slow")):
        drivers.unregister(str(clone.root))
        clone.save(title, "gotcha")
        clone.save(f"{title}, so wait")
        clone.commit()
    (other.root / "briefings/shop/decisions.md").unlink()
    other.git("commit", "-qam", "deleted by hand")
    other.git("push", "-q")
    main.git("pull", "-q", "--no-rebase", fails=True)
    assert "briefings/shop/decisions.md" in main.git("ls-files", "-u")
    main.heal()
    assert "briefings" not in main.git("ls-files", "-u")
    for title in ("It hangs", "It is slow"):
        assert title in main.pages()["shop/types/gotcha.md"]
        assert title in main.pages()["shop/decisions.md"]


def test_the_page_of_a_branch_that_is_gone_shrinks_to_a_line_and_is_pruned_on_main_alone(
    main: Clone,
) -> None:
    main.switch("-c", "cart")
    main.save("Carts expire")
    main.commit()
    with pytest.raises(InvalidInputError, match=r"default branch, main, and this is cart") as error:
        main.heal(prune_pages=True)
    assert error.value.hint == "git switch main && cortex heal --prune-pages"
    main.switch("main")
    main.git("merge", "-q", "--no-ff", "--no-edit", "cart")
    main.commit()
    assert "Carts expire" in main.pages()["shop/cart.md"]
    main.git("push", "-q", "origin", "main", "cart")
    other = main.clone("other")
    main.git("branch", "-qd", "cart")
    main.git("push", "-q", "origin", ":cart")
    assert main.heal(check=True).stale == ()  # a clone that cannot know says the same
    assert set(main.heal().written) == {"briefings/shop/cart.md", "briefings/index.md"}
    main.commit()
    main.git("push", "-q")
    gone = main.pages()
    assert gone["shop/cart.md"].splitlines()[-1].startswith("This branch is gone")
    assert "shop/cart" not in gone["index.md"]
    assert "Carts expire" in gone["shop/decisions.md"]
    other.git("pull", "-q")  # it has last seen the branch on the remote
    assert other.heal() == main.heal()
    assert other.pages() == gone
    shutil.copytree(main.root, main.root.parent / "copy", ignore=shutil.ignore_patterns(".git"))
    copy = Clone(main.root.parent / "copy")
    assert copy.heal(check=True).stale == copy.heal().written == ()
    main.heal(prune_pages=True)
    assert "shop/cart.md" not in main.pages()
    assert main.heal().written == ()
    assert main.heal(check=True).stale == ()
    assert (
        doctor(main.vault, main.caller).problems[0].where == "briefings/shop/cart.md"
    )  # uncommitted


def test_a_clone_that_knows_one_branch_alone_takes_no_other_for_gone(main: Clone) -> None:
    main.switch("-c", "cart")
    main.save("Carts expire")
    main.commit()
    main.switch("main")
    main.git("merge", "-q", "--no-ff", "--no-edit", "cart")
    main.commit()
    main.git("push", "-q", "origin", "main", "cart")
    single = main.clone("single", "--single-branch")
    assert single.heal().written == ()
    assert "Carts expire" in single.pages()["shop/cart.md"]


def test_a_detached_head_keeps_all_pages_as_they_are(main: Clone) -> None:
    before = main.pages()
    assert main.heal(check=True).stale == ()
    main.switch("--detach")
    main.save("Carts expire")
    assert main.pages() == before
    main.switch("main")
    main.heal()
    assert "Carts expire" in main.pages()["shop/decisions.md"]


def test_a_vault_that_the_repository_around_it_ignores_has_all_its_pages(
    tmp_path: Path, git: Callable[..., str]
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "-q")
    (code / ".gitignore").write_text("notes/\n")
    commit_all(code, "begin")
    init(caller_at("2026-11-20T00:00:00Z", str(code)), str(code / "notes"))
    git(code, "switch", "-q", "-c", "cart")
    vault = Clone(code / "notes")
    vault.save("Carts expire")
    assert "Carts expire" in vault.pages()["code/decisions.md"]


def test_a_page_that_gets_its_first_line_again_is_listed_again(vault, caller):
    """A save writes only the lines that it changes; a page without lines is not in the index."""
    first = save(vault, caller, "It hangs", type="gotcha", body="x", project="p")
    heal(vault, caller)
    record = Path(vault.root, first.path)
    record.write_text(record.read_text().replace("type: gotcha", "type: pattern"))
    heal(vault, caller)
    index = Path(vault.root, "briefings/index.md")
    assert Path(vault.root, "briefings/p/types/gotcha.md").exists()
    assert "briefings/p/types/gotcha" not in index.read_text()
    save(vault, caller, "It hangs again", type="gotcha", body="y", project="p")
    assert "briefings/p/types/gotcha" in index.read_text()
    assert heal(vault, caller, check=True).stale == ()
