"""Records that say the same are shown, and merged by those who name them."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.interfaces.cli.main import main
from cortex.operations.records.archive import delete
from cortex.operations.records.consolidate import consolidate
from cortex.operations.records.restore import restore
from cortex.operations.records.save import save
from cortex.operations.records.supersede import supersede

WORDS = "keep the search index outside the vault because pickles would run when somebody pulls"


@pytest.fixture
def several(vault, caller) -> list[str]:
    """Three decisions of one project, two of them alike; one of another that is a copy."""
    given = [
        ("Index outside the vault", f"{WORDS} strangers code", "cortex"),
        ("Index outside the folder", f"{WORDS} foreign bytes", "cortex"),
        ("Publish by link", "never overwrite a name that is taken, link and unlink instead", "cortex"),
        ("Index outside the vault", f"{WORDS} strangers code", "other"),
    ]  # fmt: skip
    return [
        save(
            vault,
            caller,
            title,
            body=body,
            type="decision",
            project=project,
            tags=(f"t{n}", "common"),
            priority=3 + n,
        ).id
        for n, (title, body, project) in enumerate(given)
    ]


def index_place(vault, caller, project: str = "cortex"):
    """A record of a topic."""
    topic = "decision/index"
    return save(vault, caller, "Index place", body="outside", topic=topic, project=project)


def text(vault, id_: str) -> str:
    return next(Path(vault.root, "records").rglob(f"{id_}.md")).read_text()


def test_pairs_of_one_project_are_shown_with_their_difference_and_nothing_changes(
    vault, caller, several
):
    before = [text(vault, id_) for id_ in several]
    found = consolidate(vault, caller)
    (pair,) = found.pairs
    assert (found.outcome, found.compared, found.total, found.id) == ("candidates", 4, 1, "")
    assert {hit.id for hit in pair.hits} == set(several[:2])
    assert pair.strong
    only = dict(zip((hit.id for hit in pair.hits), pair.only, strict=True))
    assert only == {several[0]: ("strangers", "code"), several[1]: ("folder", "foreign", "bytes")}
    assert set(several[:2]) <= set(pair.merge.split())
    assert before == [text(vault, id_) for id_ in several]
    assert consolidate(vault, caller, least=0.99).pairs == ()
    assert consolidate(vault, caller, project="other").compared == 1


def test_what_is_set_aside_or_related_already_is_not_shown(vault, caller, several):
    save(
        vault,
        caller,
        "Index outside",
        body=WORDS,
        type="pattern",
        project="cortex",
        derived_from=tuple(several[:2]),
    )
    assert {hit.id for pair in consolidate(vault, caller).pairs for hit in pair.hits} == set(
        several[:2]
    )
    supersede(vault, caller, several[1])
    assert consolidate(vault, caller).pairs == ()


def test_a_merge_joins_what_is_named_and_its_undo_takes_it_apart(vault, caller, several):
    before = [text(vault, id_) for id_ in several]
    merged = consolidate(vault, caller, several[:2], title="Index outside")
    assert (merged.outcome, merged.originals) == ("created", tuple(several[:2]))
    new = text(vault, merged.id)
    assert "\n# Index outside\n" in new
    assert "type: decision\n" in new
    assert "tags: [t0, common, t1]\n" in new
    assert "priority: 4\n" in new
    assert "project: cortex\n" in new
    assert new.endswith(
        f"## Index outside the vault\n\n{WORDS} strangers code\n\n## Index outside the folder\n\n{WORDS} foreign bytes\n"
    )
    for id_ in several[:2]:
        assert f'superseded_by: "[[{merged.id}]]"\n' in text(vault, id_)
        assert new.count(f"[[{id_}]]") == 2  # derived from it, and in its place
    restoring, _, deleting = merged.undo.partition(" && ")
    for command in (restoring, deleting):
        assert main(["--vault", vault.root, *command.split()[1:]]) == 0
    for id_, was in zip(several, before, strict=True):
        left = [line for line in text(vault, id_).splitlines() if line not in was.splitlines()]
        assert all(line.startswith("updated: ") for line in left)
    assert "status: deleted" in text(vault, merged.id)


def test_with_keep_the_originals_stay_current(vault, caller, several):
    before = [text(vault, id_) for id_ in several[:3]]
    merged = consolidate(
        vault,
        caller,
        several[:3],
        title="All of it",
        body="In short.",
        type="context",
        topic="decision/all",
        keep=True,
    )
    assert before == [text(vault, id_) for id_ in several[:3]]
    assert text(vault, merged.id).partition("derived_from: ")[2].partition("\n")[0].count("[[") == 3
    assert "type: context\n" in text(vault, merged.id)
    assert merged.undo == f"cortex delete {merged.id}"


def test_a_merge_into_the_topic_of_one_of_them_keeps_that_one(vault, caller, several):
    kept = index_place(vault, caller)
    merged = consolidate(
        vault, caller, [several[0], kept.id], title="Index place", topic="decision/index"
    )
    # its id is that of the topic in the project of the first
    assert (merged.id, merged.outcome) == (kept.id, "updated")
    assert "status:" not in text(vault, kept.id)
    assert f'superseded_by: "[[{kept.id}]]"' in text(vault, several[0])
    assert merged.undo == f"cortex restore {several[0]}"


def test_a_merge_whose_text_one_of_them_has_already_takes_that_one(vault, caller, several):
    merged = consolidate(vault, caller, several[:2], body=f"{WORDS} strangers code")
    assert merged.id == several[0]
    assert "status:" not in text(vault, several[0])
    assert f'superseded_by: "[[{several[0]}]]"' in text(vault, several[1])


def test_nothing_is_merged_into_a_record_that_does_not_hold_itself(vault, caller, several):
    kept = index_place(vault, caller)
    supersede(vault, caller, kept.id, by=several[2])
    before = [text(vault, id_) for id_ in (*several, kept.id)]
    with pytest.raises(ConflictError, match=f"{kept.id} is superseded itself") as refused:
        consolidate(vault, caller, several[:2], topic="decision/index")
    assert f"cortex restore {kept.id}" in refused.value.hint
    assert before == [text(vault, id_) for id_ in (*several, kept.id)]


def test_a_pair_with_odd_ids_is_merged_by_the_command_that_is_shown(vault_from, caller):
    vault = vault_from(
        "\n".join(
            f"=== records/note/{name}.md\n---\nid: {id_}\ntype: note\ntitle: -x; $(id)\n---\n{WORDS}"
            for name, id_ in (("a", "a b"), ("b", '"b;$(id)"'))
        )
    )
    (pair,) = consolidate(vault, caller).pairs
    words = shlex.split(pair.merge)
    assert main(["--vault", vault.root, *words[1:]]) == 0
    assert Path(vault.root, "records/note/a.md").read_text().count("status: superseded") == 1


KILLED = """
import os, signal, sys
from cortex.vault import files
real, left = files.replace, int(sys.argv.pop(1))
def replace(root, path, data, expected):
    global left
    if path.startswith("records/") and b"\\nstatus: superseded" in data:
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return real(root, path, data, expected)
files.replace = replace
from cortex.interfaces.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "more",
    [(), ("--title", "All", "--body", "In short."), ("--topic", "decision/index", "--title", "Index place")],
)  # fmt: skip
@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_merge_that_was_killed_is_finished_by_the_same_command(
    left, more, vault, caller, several
):
    ids = several[:3]
    if "--topic" in more:
        ids.append(index_place(vault, caller).id)
    command = ["--vault", vault.root, "consolidate", *ids, *more]
    assert (
        subprocess.run(
            [sys.executable, "-c", KILLED, str(left), *command],
            capture_output=True,
            timeout=60,
            check=False,
        ).returncode
        == -9
    )
    count = len(list(Path(vault.root, "records").rglob("*.md")))
    options = {
        key.removeprefix("--"): value for key, value in zip(more[::2], more[1::2], strict=True)
    }
    done = consolidate(vault, caller, ids, **options)
    assert done.outcome == "finished"
    assert len(list(Path(vault.root, "records").rglob("*.md"))) == count
    new = text(vault, done.id)
    for id_ in several[:3]:
        assert f'superseded_by: "[[{done.id}]]"\n' in text(vault, id_)
        assert new.count(f"[[{id_}]]") == 2
    with pytest.raises(ConflictError, match="is superseded"):
        consolidate(vault, caller, ids, title="Another title")
    for command in done.undo.split(" && "):
        assert main(["--vault", vault.root, *shlex.split(command)[1:]]) == 0
    assert "status:" not in text(vault, several[0])


def test_a_copied_file_is_no_pair_that_a_command_could_merge(vault, caller, several):
    file = next(Path(vault.root, "records").rglob(f"{several[2]}.md"))
    Path(file.parent, "copy.md").write_bytes(file.read_bytes())
    (pair,) = consolidate(vault, caller).pairs
    assert {hit.id for hit in pair.hits} == set(several[:2])


def test_what_makes_no_sense_is_refused(vault, caller, several, worded):
    with pytest.raises(InvalidInputError, match="2 to 50 different records, not 1"):
        consolidate(vault, caller, [several[0], several[0]])
    with pytest.raises(InvalidInputError, match="which records"):
        consolidate(vault, caller, title="All")
    for least in ("0", "2", "much", "nan"):
        with pytest.raises(InvalidInputError, match="is not a number"):
            worded(consolidate, vault, caller, least=least)
    delete(vault, caller, several[0])
    with pytest.raises(ConflictError, match="is deleted"):
        consolidate(vault, caller, several[:2])
    restore(vault, caller, [several[0]])


def test_the_command_shows_and_merges(vault, caller, several, cortex):
    shown = cortex("consolidate")
    assert shown.returncode == 0
    assert "strong" in shown.stdout
    assert "only here: strangers, code" in shown.stdout
    assert (
        f"cortex consolidate {' '.join(sorted(several[:2]))}" in shown.stdout
        or "cortex consolidate" in shown.stdout
    )
    merged = json.loads(
        cortex(
            "consolidate",
            *several[:2],
            "--title",
            "One",
            "--body",
            "-",
            "--json",
            stdin="From a pipe.",
        ).stdout
    )
    assert merged["outcome"] == "created"
    assert "From a pipe." in text(vault, merged["id"])
    assert "no two of 3 records are alike enough" in cortex("consolidate").stdout
