"""`cortex index-code`: what it makes of a project's files, again after changes, and where nothing of it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortex.core.model.caller import Caller
from cortex.core.model.note_status import CODE_TYPES, RAW_CODE
from cortex.core.model.problem import InvalidInputError, NotFoundError
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import query_index
from cortex.operations.distill.distill_plan import _nearest_records
from cortex.operations.find.recall import recall
from cortex.operations.find.remind import remind
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from cortex.operations.records.archive import archive, delete
from cortex.operations.records.consolidate import consolidate
from cortex.operations.records.index_code import index_code
from cortex.operations.records.save import save
from cortex.operations.runs.prepare import _captured, _loaded
from cortex.operations.sessions.brief import brief
from cortex.operations.sessions.context import context
from cortex.operations.upkeep.heal import heal
from cortex.vault.locate import Vault
from tests.conftest import caller_at, commit_all, run_git

CART = '''"""Carts live a day."""


class Cart:
    """What somebody wants to buy."""

    def total(self):
        return 1


def zebracrossing(cart):
    """Send it away."""
    parcel = wrap(cart)
    return parcel
'''
GO = "package shop\n\n// Pack wraps one.\nfunc Pack(a int) int {\n\tb := a\n\treturn b\n}\n"


class Shop:
    """A project in a repository, with its vault in it. A second passes with each command."""

    def __init__(self, root: Path, vault: Vault) -> None:
        self.root, self.vault, self.ticks = root, vault, 0

    def caller(self) -> Caller:
        self.ticks += 1
        return caller_at(
            f"2026-11-20T10:{self.ticks // 60:02}:{self.ticks % 60:02}Z", str(self.root)
        )

    def index(self, *paths: str, **options: object):
        return index_code(self.vault, self.caller(), [*paths], **options)

    def search(self, words: str, **options: object):
        return search(self.vault, self.caller(), words, **options).hits

    def figures(self, *paths: str, **options: object) -> dict[str, int]:
        done = self.index(*paths, **options)
        assert done.problems == ()
        return {one: len(titles) for one, titles in done.records.items() if titles}


@pytest.fixture
def shop(tmp_path, vault) -> Shop:
    root = tmp_path / "shop"
    (root / "src").mkdir(parents=True)
    (root / "src/cart.py").write_text(CART)
    (root / "src/pack.go").write_text(GO)
    (root / "README.md").write_text("# Shop\n")
    (root / ".cortex-project").write_text("shop\n")
    run_git(root, "init", "-q")
    commit_all(root)
    return Shop(root, vault)


def notes_of(shop: Shop, type_: str) -> list[Path]:
    return sorted(Path(shop.vault.root, "records", type_).glob("*.md"))


def test_a_description_and_the_code_of_each_unit_joined_by_source_of(shop) -> None:
    done = shop.index("src")
    assert (done.project, done.sources, done.left_out, done.dry_run) == ("shop", 2, {}, False)
    assert done.records["created"] == [
        "src/cart.py: Carts live a day",
        "Cart in src/cart.py",
        "zebracrossing in src/cart.py",
        "src/pack.go: Pack",
        "Pack in src/pack.go",
    ]
    assert len(notes_of(shop, "code-description")) == 2
    (code,) = (one for one in notes_of(shop, "code") if "zebra" in one.name)
    text = code.read_text()
    (told,) = (one for one in notes_of(shop, "code-description") if "cart" in one.name)
    assert f'source_of: ["[[{told.stem}]]"]' in text
    assert "project: shop\n" in text
    assert "priority: 5\n" in text
    assert "priority: 7\n" in told.read_text()
    assert "Source: `src/cart.py`, lines 11–14, python, " in text
    assert "```python\ndef zebracrossing(cart):\n" in text


def test_again_nothing_is_added_and_only_what_changed_is_updated(shop) -> None:
    shop.index("src")
    before = {path: path.read_bytes() for path in Path(shop.vault.root).rglob("*.md")}
    assert shop.figures("src") == {"unchanged": 5}
    assert {path: path.read_bytes() for path in Path(shop.vault.root).rglob("*.md")} == before
    (shop.root / "src/cart.py").write_text(CART.replace("wrap(cart)", "wrap(cart, twice=True)"))
    assert shop.figures("src") == {"updated": 1, "unchanged": 4}
    (hit,) = shop.search("type:code twice")
    assert hit.title == "zebracrossing in src/cart.py"
    assert len(notes_of(shop, "code")) == 3


def test_within_one_second_the_later_text_stands(shop) -> None:
    caller = shop.caller()
    for words in ("wrap(cart)", "bag(cart)", "box(cart)"):
        (shop.root / "src/cart.py").write_text(CART.replace("wrap(cart)", words))
        index_code(shop.vault, caller, ["src"])
    (hit,) = shop.search("type:code box")
    assert "box(cart)" in show(shop.vault, caller, hit.id).text
    assert not shop.search("type:code bag")


def test_what_is_gone_is_archived_and_comes_back(shop) -> None:
    shop.index("src")
    (shop.root / "src/cart.py").write_text(CART.partition("\n\n\ndef zebra")[0] + "\n")
    assert shop.figures("src") == {"updated": 1, "archived": 1, "unchanged": 3}
    (shop.root / "src/pack.go").rename(shop.root / "src/wrap.go")
    assert shop.figures("src/cart.py") == {"unchanged": 2}  # elsewhere nothing is looked at
    assert shop.figures("src") == {"created": 2, "archived": 2, "unchanged": 2}
    (note,) = (one for one in notes_of(shop, "code") if "zebra" in one.name)
    assert "status: archived\n" in note.read_text()
    assert "archived_because: not in src/cart.py\n" in note.read_text()
    (shop.root / "src/cart.py").write_text(CART)
    assert shop.figures("src") == {"updated": 2, "unchanged": 3}
    assert "status:" not in note.read_text()


def test_what_somebody_deleted_stays_so_until_it_changes(shop) -> None:
    shop.index("src")
    (note,) = (one for one in notes_of(shop, "code") if "zebra" in one.name)
    delete(shop.vault, shop.caller(), note.stem)
    assert shop.figures("src") == {"unchanged": 5}
    assert "status: deleted\n" in note.read_text()


def test_a_file_that_has_changed_or_is_not_there_marks_what_is_told_of_it(shop, cortex) -> None:
    shop.index("src")
    assert [one.doubt for one in shop.search("zebracrossing", number=2)] == ["", ""]
    (shop.root / "src/cart.py").write_text("# first\n" + CART)
    doubts = {one.title: one.doubt for one in shop.search("type:code,code-description cart")}
    assert doubts["src/cart.py: Carts live a day"] == "src/cart.py has changed since"  # its lines
    assert doubts["zebracrossing in src/cart.py"] == ""
    (shop.root / "src/cart.py").write_text(CART.replace("parcel", "box"))
    (hit,) = (one for one in shop.search("type:code zebracrossing") if "zebra" in one.title)
    assert hit.doubt == "src/cart.py has changed since"
    said = cortex(
        "--vault", shop.vault.root, "search", "type:code", "zebracrossing", cwd=str(shop.root)
    )
    assert "  ⚠ src/cart.py has changed since\n" in said.stdout
    assert show(shop.vault, shop.caller(), hit.id).doubt == hit.doubt
    (shop.root / "src/cart.py").unlink()
    assert show(shop.vault, shop.caller(), hit.id).doubt == "src/cart.py is not there"
    elsewhere = caller_at("2026-11-20T11:00:00Z", str(shop.root.parent))
    assert show(shop.vault, elsewhere, hit.id).doubt == ""  # another project


def test_code_is_found_by_words_and_told_nowhere_else(shop) -> None:
    shop.index("src")
    heal(shop.vault, shop.caller())
    (one, *_) = shop.search("zebracrossing")
    assert one.title == "zebracrossing in src/cart.py"
    assert {one.type for one in shop.search("cart day")} == {*CODE_TYPES}
    for all_ in (False, True):
        found = recall(shop.vault, shop.caller(), "zebracrossing parcel", all=all_)
        assert not [hit for hit in found.hits if hit.type == RAW_CODE]
        assert found.archived == ()
    assert recall(shop.vault, shop.caller(), type=("code",)).hits == ()
    assert recall(shop.vault, shop.caller()).hits == ()
    reminder = remind(
        shop.vault, shop.caller(), "where does zebracrossing wrap the cart in a parcel?"
    )
    assert reminder.text == ""
    assert "zebra" not in brief(shop.vault, shop.caller(), print=True).text
    assert context(shop.vault, shop.caller()).records.hits == []
    assert consolidate(shop.vault, shop.caller()).pairs == ()
    assert not [
        path
        for path in Path(shop.vault.root, "briefings").rglob("*.md")
        if "zebra" in path.read_text()
    ]
    assert "code" not in [path.stem for path in Path(shop.vault.root).glob("briefings/**/types/*")]


def test_a_pinned_one_is_in_no_briefing_either(shop) -> None:
    shop.index("src")
    (note,) = (one for one in notes_of(shop, "code") if "zebra" in one.name)
    note.write_text(note.read_text().replace("priority: 5\n", "priority: 5\npinned: true\n"))
    heal(shop.vault, shop.caller())
    assert "zebra" not in brief(shop.vault, shop.caller(), print=True).text
    assert not [
        path
        for path in Path(shop.vault.root, "briefings").rglob("*.md")
        if "zebra" in path.read_text()
    ]


def test_no_passage_of_code_has_a_vector_and_a_description_has(shop) -> None:
    shop.index("src")
    save(shop.vault, shop.caller(), "By hand", type="code", body="unicorn = 1")

    def keys(index) -> dict[str, bytes]:
        rows = index.catalogue.rows_by_number(
            number for number, _ in index.catalogue.passage_keys()
        )
        found = dict(index.catalogue.passage_keys())
        return {
            row.path: found[row.number] for row in rows.values() if found[row.number].strip(b"\0")
        }

    kept = query_index(shop.vault, shop.caller().progress, keys)
    assert kept
    for path in kept:
        text = Path(shop.vault.root, path).read_text()
        assert "\ntype: code\n" not in text, path
        assert "\nrecord: code\n" not in text, path
    assert any("code-description" in path for path in kept)


def test_no_model_is_told_code(shop) -> None:
    shop.index("src")
    caller = shop.caller()
    assert not [name for name, _ in _loaded(shop.vault, caller, "zebracrossing") if "zebra" in name]
    captured = _captured(shop.vault, caller, [(0.0, 4e9)], "")
    assert {one.record for one in captured} == {"code-description"}

    def nearest(index):
        (row,) = index.catalogue.find(NoteFilter(ids=(notes_of(shop, "code-description")[0].stem,)))
        words = frozenset({"zebracrossing", "src", "cart", "carts", "live", "day"})
        return _nearest_records(shop.vault, index, row._replace(session="other"), words)

    assert query_index(shop.vault, caller.progress, nearest) == ()


def test_a_hand_may_save_both_types_by_the_words_of_the_first_memories(shop) -> None:
    made = save(
        shop.vault, shop.caller(), "What carts do", type="code_description", body="They expire."
    )
    assert made.path.startswith("records/code-description/")
    made = save(shop.vault, shop.caller(), "Wrap", type="code", body="```py\nwrap()\n```")
    assert made.path.startswith("records/code/")
    assert show(shop.vault, shop.caller(), made.id).doubt == ""


def test_what_is_left_out_is_counted(shop) -> None:
    (shop.root / ".gitignore").write_text("out/\nsecret.py\n")
    for name in ("out/a.py", "secret.py", "vendor/b.py", "src/old.py"):
        (shop.root / name).parent.mkdir(exist_ok=True)
        (shop.root / name).write_text(CART)
    (shop.root / "src/binary.py").write_bytes(b"def f():\0\n")
    (shop.root / "src/large.py").write_text("x = 1\n" * 200_000)
    (shop.root / "src/link.py").symlink_to(shop.root / "src/cart.py")
    (shop.root / "src/empty.py").write_text("")
    (shop.root / "src/old.py").unlink()
    done = shop.index(".")
    assert done.left_out == {"ignored by git": 2, "vendored": 1, "binary": 1, "over 1 MB": 1}
    assert done.sources == 2
    assert shop.index("vendor/b.py").sources == 1  # who names it means it


def test_a_folder_in_no_repository(shop, tmp_path) -> None:
    plain = tmp_path / "plain/lib"
    plain.mkdir(parents=True)
    (plain / "a.py").write_text(CART)
    done = shop.index(str(plain))
    assert (done.sources, done.project) == (1, "shop")
    assert "`../plain/lib/a.py`" in notes_of(shop, "code-description")[0].read_text()
    assert shop.figures(str(plain)) == {"unchanged": 3}
    (plain / "a.py").unlink()
    assert shop.figures(str(plain)) == {"archived": 3}


def test_one_language_and_a_file_whose_name_tells_none(shop) -> None:
    (shop.root / "deploy").write_text("#!/bin/sh\nmain() {\n  echo a\n  echo b\n}\n")
    assert shop.figures("src", language="go") == {"created": 2}
    assert shop.figures("src", "deploy", language="py") == {"created": 5}
    assert shop.index("deploy").sources == 0
    assert shop.figures("deploy", language="shell") == {"created": 1, "updated": 1, "archived": 1}
    with pytest.raises(InvalidInputError, match="there is no language 'pyton'") as caught:
        shop.index("src", language="pyton")
    assert "did you mean python?" in caught.value.hint


def test_a_dry_run_changes_nothing_and_nothing_found_ends_with_one(shop, cortex) -> None:
    assert shop.figures("src", dry_run=True) == {"created": 5}
    assert not notes_of(shop, "code")
    (shop.root / "docs").mkdir()
    none = cortex("--vault", shop.vault.root, "index-code", "docs", cwd=str(shop.root))
    assert none.returncode == 1
    assert none.stdout.startswith("0 source files of shop: ")
    with pytest.raises(NotFoundError, match=r"there is no .*nowhere"):
        shop.index("src", "nowhere")
    assert not notes_of(shop, "code")
    done = cortex(
        "--vault", shop.vault.root, "index-code", "src", "--project", "till", cwd=str(shop.root)
    )
    assert done.returncode == 0
    assert "2 source files of till: 5 created, 0 updated" in done.stdout
    assert "created  Pack in src/pack.go" in done.stdout


def test_secrets_are_taken_out(shop) -> None:
    key = "ghp_" + "a1B2" * 9
    (shop.root / "src/cart.py").write_text(CART.replace("wrap(cart)", f'wrap(cart, "{key}")'))
    shop.index("src")
    assert not [path for path in Path(shop.vault.root).rglob("*.md") if key in path.read_text()]
    assert shop.figures("src") == {"unchanged": 5}


def test_an_archived_one_is_not_made_anew_by_hand_alone(shop) -> None:
    shop.index("src")
    (note,) = (one for one in notes_of(shop, "code") if "zebra" in one.name)
    archive(shop.vault, shop.caller(), note.stem)
    assert shop.figures("src") == {"updated": 1, "unchanged": 4}


def test_no_file_outside_of_the_project_is_read_for_a_record(shop, monkeypatch) -> None:
    shop.index("src")
    (note,) = (one for one in notes_of(shop, "code") if "zebra" in one.name)
    outside = shop.root.parent / "outside.py"
    outside.write_text(CART)
    for path in (str(outside), "../outside.py"):
        text = note.read_text().partition("Source: `")
        note.write_text(f"{text[0]}Source: `{path}`{text[2].partition('`')[2]}")
        assert show(shop.vault, shop.caller(), note.stem).doubt == ""
