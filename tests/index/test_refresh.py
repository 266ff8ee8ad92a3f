"""Law 1: what was changed note by note answers as what was built anew; and several processes may look at once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings, strategies as st

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import CortexError
from cortex.core.text.strings import format_time
from cortex.index.catalogue import IndexDamaged
from cortex.index.catalogue.filters import NoteFilter
from cortex.index.refresh import last_index, open_index
from cortex.index.state_file import INDEX_FOLDER, state_path
from cortex.operations.find.search import search
from cortex.vault.locate import Vault
from cortex.vault.private import lock
from tests.conftest import SOAK

WORDS = [
    "zebra", "giraffe", "merge_driver", "merge driver", "the", "index", "café", "zebra zebra",
    "# Head", "#tag", "[[link]]", "日本語",
]  # fmt: skip
STATUS = [
    "",
    "---\nstatus: superseded\n---\n",
    "---\ntitle: zebra index\ntags: [giraffe]\n---\n",
    "---\na: b: c\n---\n",
]
paths = st.sampled_from(["a.md", "b.md", "c.md", "sub/d.md", "sub/e.md", "records/note/f.md"])
texts = st.tuples(st.sampled_from(STATUS), st.lists(st.sampled_from(WORDS), max_size=8)).map(
    lambda parts: parts[0] + " ".join(parts[1])
)
edits = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("write"), paths, texts),
            st.tuples(st.just("delete"), paths),
            st.tuples(st.just("rename"), paths, paths),
        ),
        max_size=4,
    ),
    max_size=4,
)
QUERIES = [
    "zebra", "zebra index", '"merge driver"', "mergeDriver", "gir*", "zebra -index", "日本", "cafe",
]  # fmt: skip


def apply(root: Path, edit: tuple[str, ...]) -> None:
    path = root / edit[1]
    path.parent.mkdir(parents=True, exist_ok=True)
    if edit[0] == "write":
        path.write_text(edit[2])
    elif path.exists() and edit[0] == "delete":
        path.unlink()
    elif path.exists():
        target = root / edit[2]
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)


@given(edits)
@example([[("write", "a.md", "index")], [("write", "c.md", "zebra index")]])
@settings(max_examples=400 if SOAK else 20)
def test_an_index_changed_note_by_note_answers_as_one_built_anew(steps) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "cortex.toml").write_text("format = 1\n")
        vault = Vault(os.path.realpath(folder))
        caller = Caller("/", "2026-11-20T16:45:12Z", os.urandom, "test", no_progress)
        search(vault, caller, "zebra")
        for step in steps:
            for edit in step:
                apply(Path(folder), edit)
            search(vault, caller, "zebra")
        changed = [search(vault, caller, query).hits for query in QUERIES]
        with open_index(vault, no_progress, rebuild=True):
            pass
        assert [search(vault, caller, query).hits for query in QUERIES] == changed


def test_a_query_on_many_equal_notes_gives_the_same_ones_either_way(vault_from, caller) -> None:
    vault = vault_from("".join(f"=== n{number:02d}.md\nzebra\n" for number in range(40)))
    search(vault, caller, "zebra")
    for number in (3, 17, 25):
        Path(vault.root, f"n{number:02d}.md").write_text("zebra \n")
    changed = search(vault, caller, "zebra", number=7).hits
    with open_index(vault, caller.progress, rebuild=True):
        pass
    assert search(vault, caller, "zebra", number=7).hits == changed
    assert [hit.path for hit in changed] == [f"n{number:02d}.md" for number in range(7)]


def test_several_searches_at_once_on_a_vault_that_was_never_indexed(vault_from) -> None:
    vault = vault_from("".join(f"=== n{number}.md\nzebra {number}\n" for number in range(200)))
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "cortex", "search", "zebra"],
            cwd=vault.root,
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    answers = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0] * 6
    assert len(set(answers)) == 1


def test_a_search_that_is_killed_while_it_builds_leaves_the_next_one_whole(
    vault_from, caller
) -> None:
    vault = vault_from(
        "".join(f"=== n{number}.md\nzebra {number} {'word ' * 200}\n" for number in range(400))
    )
    for delay in (0.05, 0.2, 0.35, 0.5, 0.7):
        process = subprocess.Popen(
            [sys.executable, "-m", "cortex", "rebuild"], cwd=vault.root, stdout=subprocess.DEVNULL
        )
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert len(search(vault, caller, "zebra", number=500).hits) == 400


def test_a_build_on_two_cores_answers_as_one_on_one(vault_from, caller) -> None:
    vault = vault_from(
        "".join(
            f"=== n{number}.md\n# N {number}\n\nzebra {'index ' * (number % 7)}\n"
            for number in range(500)
        )
    )
    answers = []
    for cores in (1, 2, 3):
        with open_index(vault, no_progress, rebuild=True, cores=cores):
            pass
        answers.append(search(vault, caller, "zebra index", number=500).hits)
    assert answers[0] == answers[1] == answers[2]


def test_a_note_written_anew_with_the_same_bytes_has_its_files_new_date(vault, caller) -> None:
    note = Path(vault.root, "page.md")
    note.write_text("no date in here\n")
    for mtime in (1_000_000_000, 1_100_000_000):
        os.utime(note, (mtime, mtime))
        assert search(vault, caller, "date").hits[0].date == format_time(mtime)


def test_the_last_index_is_given_as_it_is_or_not_at_all(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "vault"
    (root / "vault").mkdir(parents=True)
    vault = Vault(str(root))
    (root / "a.md").write_text("zebra")
    with last_index(vault, 0.0) as found:
        assert found is None
    with open_index(vault, no_progress):
        pass
    (root / "b.md").write_text("giraffe")
    with last_index(vault, 0.0) as found:
        assert found is not None
        assert [row.path for row in found[0].find(NoteFilter())] == ["a.md"]
        assert os.path.isdir(found[1])
    with (
        lock(os.path.join(vault.cache_folder(), "index.lock"), "search index"),
        last_index(vault, 0.0) as found,
    ):
        assert found is None
    with pytest.raises(IndexDamaged), last_index(vault, 0.0) as found:
        found[0].select("as of a damaged page")
    os.unlink(state_path(vault))
    with last_index(vault, 0.0) as found:
        assert found is None


def test_a_vault_that_is_scanned_again_is_current(vault_from, caller) -> None:
    """In another process, too, whose sets have another order."""
    names = ["a.md", "B.MD", "c.txt", "sub/d.md", "sub/.hidden.md", "sub/E.Md", "f.md"]
    vault = vault_from("\n".join(f"=== {name}\n# Zebra\n" for name in names))
    Path(vault.root, "link.md").symlink_to("a.md")
    for path in Path(vault.root).rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000), follow_symlinks=False)
    script = (
        "import sys; from cortex.core.model.caller import no_progress\n"
        "from cortex.index.refresh import open_index; from cortex.vault.locate import Vault\n"
        "with open_index(Vault(sys.argv[1]), no_progress) as now: print(now.outcome)"
    )
    time.sleep(2.1)  # stamps younger than two seconds are read again
    said = [
        subprocess.run(
            [sys.executable, "-c", script, vault.root],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in range(4)
    ]  # fmt: skip
    assert said[0] in ("built\n", "updated\n")
    assert {*said[1:]} == {"current\n"}


def test_a_build_that_finds_no_room_leaves_none_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / "a.md").write_text("zebra")
    vault = Vault(str(tmp_path))
    monkeypatch.setenv("CORTEX_ENGINE", "whoosh")
    with monkeypatch.context() as patch:
        patch.setattr("cortex.index.engines.whoosh.whoosh_index.publish", full)
        with pytest.raises(CortexError, match="No space"), open_index(vault, no_progress):
            pass
    assert not (Path(state_path(vault)).parent / INDEX_FOLDER).exists()
    with open_index(vault, no_progress) as index:
        assert index.outcome == "built"
