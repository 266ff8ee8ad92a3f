"""A project's vault and a person's own: searched together, shown alike, and knowledge moves from one to the other."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.interfaces.cli.render import _text_renderer
from cortex.interfaces.cli.view import DIM, OFF, View, finish
from cortex.operations.care.doctor import doctor
from cortex.operations.care.init import init
from cortex.operations.find.search import search
from cortex.operations.find.show import show
from cortex.operations.projects.promote import promote
from cortex.operations.records.capture import capture
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import files
from cortex.vault.locate import (
    Vault,
    default_vault_file,
    default_vault_root,
    find_personal_vault,
    personal_vault_problem,
)


@pytest.fixture
def own(tmp_path, caller) -> Vault:
    """The person's own vault."""
    return Vault(init(caller, str(tmp_path / "own"), default=True).root)


def note(vault: Vault, path: str, text: str) -> Path:
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def record(vault: Vault, id_: str, text: str, **fields: str) -> Path:
    known = {"id": id_, "type": "decision", "title": id_, "status": "active"} | fields
    known["provenance"] = "{events: [20261101t000000z-aaaaaaaaaa]}"
    lines = "".join(f"{key}: {value}\n" for key, value in known.items())
    return note(vault, f"records/decision/{id_}.md", f"---\n{lines}---\n\n{text}\n")


def found(vault: Vault, caller, query: str, **options) -> list[tuple[str, str]]:
    return [(hit.vault, hit.id) for hit in search(vault, caller, query, **options).hits]


# -- searched together


def test_each_hit_says_whose_it_is_and_where(vault, own, cortex):
    record(vault, "ours-aaaaaa", "a zebra")
    record(own, "mine-bbbbbb", "a zebra")
    text = cortex("search", "zebra").stdout
    assert "  records/decision/ours-aaaaaa.md:9" in text
    assert "  (personal)  ../own/records/decision/mine-bbbbbb.md:9" in text
    answer = json.loads(cortex("search", "zebra", "--json").stdout)
    assert [(hit["vault"], hit["path"]) for hit in answer["hits"]] == [
        ("project", "records/decision/ours-aaaaaa.md"),
        ("personal", "records/decision/mine-bbbbbb.md"),
    ]
    assert answer["personal"] == own.root


def test_the_projects_hits_come_first_among_those_of_one_kind(vault, own, caller):
    note(vault, "all.md", "zebra crossing, in a long text about much else besides")
    note(vault, "some.md", "zebra zebra zebra")
    note(own, "all.md", "zebra crossing")
    note(own, "some.md", "crossing crossing")
    record(vault, "old-aaaaaa", "zebra crossing", status="archived")
    assert found(vault, caller, "zebra crossing") == [
        ("project", "all.md"), ("personal", "all.md"), ("project", "some.md"), ("personal", "some.md"), ("project", "old-aaaaaa"),
    ]  # fmt: skip
    assert found(vault, caller, "zebra crossing", number=2) == [
        ("project", "all.md"),
        ("personal", "all.md"),
    ]
    assert found(vault, caller, "path:all") == [("project", "all.md"), ("personal", "all.md")]


def test_the_name_of_a_note_of_ones_own_is_found_though_the_project_fills_the_page(
    vault, own, caller
):
    for number in range(10):
        note(vault, f"n{number}.md", "how we deploy")
    note(own, "Deploy.md", "my way")
    assert found(vault, caller, "deploy")[0] == ("personal", "Deploy.md")


def test_a_word_is_corrected_by_whichever_vault_knows_it(vault, own, caller):
    note(vault, "a.md", "nothing of the kind")
    note(own, "b.md", "how exceptions are handled")
    assert search(vault, caller, "exeptions").corrected == {"exeptions": "exceptions"}
    note(vault, "c.md", "exeptions, as it was written")
    assert search(vault, caller, "exeptions").corrected == {}


def test_notes_like_one_are_looked_for_where_it_is(vault, own, caller):
    record(vault, "ours-aaaaaa", "a zebra", title="Zebra")
    record(own, "mine-bbbbbb", "a zebra", title="Zebra crossing")
    record(own, "more-bbbbbb", "a zebra", title="Zebra stripes")
    ours = search(vault, caller, similar_to="ours-aaaaaa")
    assert not [one for one in ours.problems if "not searched" in one.message]
    assert found(vault, caller, "*", similar_to="mine-bbbbbb") == [("personal", "more-bbbbbb")]
    with pytest.raises(NotFoundError):
        search(vault, caller, similar_to="nothing-cccccc")


def test_a_project_inside_ones_own_vault_is_found_once(tmp_path, caller):
    nest = init(caller, str(tmp_path / "nest"), default=True).root
    inner = Vault(init(caller, f"{nest}/proj").root)
    note(inner, "apple.md", "quince")
    assert [id_ for _, id_ in found(inner, caller, "quince")] == ["apple.md"]


def test_events_of_both_come_behind_all_records(vault, own, caller):
    for one in (vault, own):
        note(
            one,
            "inbox/failed/20261120t164512z-aaaaaaaaaa.md",
            "---\nid: 20261120t164512z-aaaaaaaaaa\n---\nzebra",
        )
    note(own, "mine.md", "zebra")
    assert [whose for whose, _ in found(vault, caller, "zebra")] == [
        "personal",
        "project",
        "personal",
    ]


def test_a_question_is_answered_by_whichever_vault_answers_it_best(vault, own, caller):
    for number in range(12):
        note(vault, f"{number}.md", f"The editor has {number} settings")
    note(own, "mine.md", "I like a dark editor with large letters at night")
    question = "which editor colours and letters do I like at night"
    assert found(vault, caller, question)[0][0] == "personal"
    assert found(vault, caller, "editor")[0][0] == "project"


def test_what_waits_in_either_inbox_is_found(vault, own, caller, cortex):
    cortex("--vault", own.root, "capture", "Pattern: paint the zebra")
    cortex("capture", "Gotcha: the zebra moves")
    assert [(hit.vault, hit.type) for hit in search(vault, caller, "zebra").hits] == [
        ("project", "gotcha"),
        ("personal", "pattern"),
    ]


def test_set_aside_is_counted_in_both(vault, own, caller):
    record(vault, "ours-aaaaaa", "zebra", status="deleted")
    record(own, "mine-bbbbbb", "zebra", status="superseded")
    answer = search(vault, caller, "zebra")
    assert (answer.hits, answer.set_aside) == ((), 2)
    assert "2 superseded, pruned or deleted notes" in answer.hint
    assert len(found(vault, caller, "zebra", all=True)) == 2


def test_who_names_a_vault_means_it_alone(vault, own, cortex, monkeypatch, tmp_path):
    note(vault, "ours.md", "zebra")
    note(own, "mine.md", "zebra")

    def whose(*words: str) -> list[str]:
        return [
            hit["vault"]
            for hit in json.loads(cortex("search", "zebra", "--json", *words).stdout)["hits"]
        ]

    assert whose() == ["project", "personal"]
    assert whose("--vault", vault.root) == ["project"]
    assert whose("--vault", vault.root, "--whose", "both") == ["project", "personal"]
    assert whose("--whose", "project") == ["project"]
    assert whose("--whose", "personal") == ["personal"]
    monkeypatch.setenv("CORTEX_VAULT", vault.root)
    assert whose() == ["project"]
    assert whose("--whose", "both") == ["project", "personal"]
    assert cortex("show", "mine.md").returncode == 2
    monkeypatch.delenv("CORTEX_VAULT")
    assert cortex("show", "mine.md").returncode == 0


def test_in_ones_own_vault_there_is_no_other(own, caller, cortex, worded):
    note(own, "mine.md", "zebra")
    assert find_personal_vault(own) is None
    assert personal_vault_problem(own) is None
    assert found(own, caller, "zebra") == [("project", "mine.md")]
    assert cortex("search", "zebra", cwd=own.root).stdout.count("mine.md") == 1
    with pytest.raises(NotFoundError, match="no vault of your own beside"):
        search(own, caller, "zebra", whose="personal")
    with pytest.raises(InvalidInputError, match="'ours' is not project, personal or both"):
        worded(search, own, caller, query="zebra", whose="ours")


BREAK = {
    "gone": lambda root: shutil.rmtree(root),
    "a file": lambda root: (shutil.rmtree(root), root.write_text("x")),
    "no vault any more": lambda root: (root / "cortex.toml").unlink(),
    "a dangling link": lambda root: (shutil.rmtree(root), root.symlink_to("nowhere")),
    "a loop": lambda root: (shutil.rmtree(root), root.symlink_to(root)),
    "a relative name": lambda root: Path(default_vault_file()).write_text("own\n"),
    "a name with a NUL": lambda root: Path(default_vault_file()).write_bytes(b"/x\0y\n"),
    "noise": lambda root: Path(default_vault_file()).write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("how", BREAK)
def test_a_broken_own_vault_is_a_problem_and_never_an_error(
    vault, own, caller, cortex, how, monkeypatch
):
    monkeypatch.chdir(os.path.dirname(own.root))
    note(vault, "ours.md", "zebra")
    BREAK[how](Path(own.root))
    assert find_personal_vault(vault) is None
    answer = search(vault, caller, "zebra")
    assert [hit.id for hit in answer.hits] == ["ours.md"]
    assert "named as your own vault" in answer.problems[-1].message
    assert "--default" in answer.problems[-1].hint
    assert cortex("search", "zebra").returncode == 0
    assert show(vault, caller, "ours.md").vault == "project"
    with pytest.raises(NotFoundError):
        show(vault, caller, "elsewhere.md")
    with pytest.raises(InvalidInputError, match="own vault"):
        promote(vault, caller, "ours.md")


def test_an_own_vault_whose_index_cannot_be_made_is_a_problem(vault, own, caller):
    note(vault, "ours.md", "zebra")
    note(own, "mine.md", "zebra")
    folder = own.cache_folder()
    shutil.rmtree(folder)
    Path(folder).write_text("in the way")
    answer = search(vault, caller, "zebra")
    assert [hit.id for hit in answer.hits] == ["ours.md"]
    assert (answer.problems[-1].where, "was not searched" in answer.problems[-1].message) == (
        own.root,
        True,
    )
    with pytest.raises(NotFoundError) as missing:
        show(vault, caller, "mine.md")
    assert "could not be looked in" in missing.value.hint


def test_problems_of_the_own_vault_take_one_line(vault, own, caller):
    Path(own.root, "cortex.toml").write_text("[index\n")
    (problem,) = search(vault, caller, "zebra").problems
    assert problem.where == f"{own.root}/cortex.toml"
    for number in range(5):
        note(own, f"bad-{number}.md", "---\nid: [\n---\nzebra\n")
    answer = search(vault, caller, "zebra")
    assert len(answer.hits) == 5
    assert [problem.message for problem in answer.problems] == ["6 problems in your own vault"]
    assert own.root in answer.problems[0].hint


def test_no_default_vault_is_no_problem(vault, caller):
    note(vault, "ours.md", "zebra")
    answer = search(vault, caller, "zebra")
    assert (answer.problems, answer.personal) == ((), "")


# -- one id in both


def test_the_same_record_in_both_is_shown_once_and_another_text_is_not_hidden(vault, own, caller):
    for one in (vault, own):
        record(one, "both-aaaaaa", "a zebra")
        note(one, "Home.md", "a zebra of each")
    assert sorted(found(vault, caller, "zebra")) == [("personal", "Home.md"), ("project", "Home.md"), ("project", "both-aaaaaa")]  # fmt: skip
    record(own, "both-aaaaaa", "a zebra that somebody described better")
    assert ("personal", "both-aaaaaa") in found(vault, caller, "zebra")
    assert ("project", "both-aaaaaa") in found(vault, caller, "zebra")
    assert show(vault, caller, "both-aaaaaa").vault == "project"


def test_show_finds_in_the_own_vault_what_the_project_has_not(vault, own, caller, cortex):
    record(own, "mine-bbbbbb", "a zebra")
    shown = show(vault, caller, "mine-b")
    assert (shown.vault, shown.path) == ("personal", "records/decision/mine-bbbbbb.md")
    assert shown.file == f"{own.root}/{shown.path}"
    text = cortex("show", "mine-bbbbbb").stdout
    assert text.startswith("---\nid: mine-bbbbbb")
    assert text == Path(shown.file).read_text()  # to a pipe the note alone
    (last,) = [*_text_renderer("show")(shown)][-1:]
    assert finish(last, View(vault.root)) == f"{DIM}(personal)  ../own/{shown.path}{OFF}"
    record(own, "mine-bbcccc", "a zebra")
    with pytest.raises(ConflictError, match="names 2 notes"):
        show(vault, caller, "mine-bb")
    record(vault, "ours-aaaaaa", "a zebra")
    with pytest.raises(NotFoundError) as missing:
        show(vault, caller, "ours-aaaaab")
    assert "ours-aaaaaa" in missing.value.hint


# -- promoted


@pytest.fixture
def known(vault, own, caller) -> str:
    """The id of a decision of the project that has an event."""
    of = {"project": "shop", "branch": "main", "tags": ("road",)}
    capture(vault, caller, "Decision: use zebra stripes. They are seen.", **of)
    capture(vault, caller, "Gotcha: stripes wear off", project="shop")
    (path,) = (path for path in normalize(vault, caller).created if "decision" in path)
    return path.rpartition("/")[2].removesuffix(".md")


def files_of(vault: Vault) -> dict[str, bytes]:
    return {
        str(path.relative_to(vault.root)): path.read_bytes()
        for path in sorted(Path(vault.root).rglob("*"))
        if path.is_file()
    }


def test_promote_moves_a_record_with_its_events(vault, own, caller, cortex, known):
    before = files_of(vault)
    path = f"records/decision/{known}.md"
    done = promote(vault, caller, known)
    assert (done.outcome, done.source, done.path, done.vault, done.problems) == (
        "created",
        "archived",
        path,
        own.root,
        (),
    )
    mine, ours = files_of(own), files_of(vault)
    (event,) = done.events
    event_path = f"events/2026/11/{event}.md"
    assert mine[event_path] == before[event_path] == ours[event_path]
    changed = set(before[path].decode().splitlines()) ^ set(mine[path].decode().splitlines())
    assert changed == {"project: shop", "branch: main", "promoted_from: shop"}
    changed = set(before[path].decode().splitlines()) ^ set(ours[path].decode().splitlines())
    assert {line for line in changed if not line.startswith(("updated: ", "archived_at: "))} == {
        "status: archived", "promoted_to: personal",
    }  # fmt: skip
    # The living one, not the pointer.
    assert found(vault, caller, "zebra stripes")[0] == ("personal", known)
    for one in (vault, own):
        assert heal(one, caller, check=True).stale == ()
        assert doctor(one, caller).problems == ()
        assert normalize(one, caller).created == ()
    assert show(vault, caller, known).status == "archived"


def test_promoted_twice_changes_nothing_more(vault, own, caller, known):
    promote(vault, caller, known)
    before = files_of(vault), files_of(own)
    again = promote(vault, caller, known)
    assert (again.outcome, again.source) == ("unchanged", "archived")
    assert (files_of(vault), files_of(own)) == before


def test_restored_the_project_has_it_as_it_was(vault, own, caller, cortex, known):
    path = f"records/decision/{known}.md"
    before = files_of(vault)[path].decode()
    done = promote(vault, caller, known)
    for command in done.undo:
        assert cortex(*command.split()[1:]).returncode == 0
    after = files_of(vault)[path].decode()
    assert {
        line
        for line in set(before.splitlines()) ^ set(after.splitlines())
        if not line.startswith("updated: ")
    } == set()
    (worn,) = found(vault, caller, "wear")
    assert found(vault, caller, "zebra stripes") == [("project", known), worn]


def test_an_archived_record_holds_again_where_it_is_promoted_to(vault, own, caller):
    record(vault, "do-aaaaaa", "zebra", type="action", status="archived", status_before="open")
    done = promote(vault, caller, "do-aaaaaa")
    assert show(own, caller, "do-aaaaaa").status == "open"
    assert b"status_before" not in files_of(own)[done.path]


def test_keep_leaves_the_project_as_it_is(vault, own, caller, known):
    before = files_of(vault)
    assert promote(vault, caller, known, keep=True).source == "kept"
    assert files_of(vault) == before
    (worn,) = found(vault, caller, "wear")
    assert found(vault, caller, "zebra stripes") == [("project", known), worn]


@pytest.mark.parametrize(
    "kept", ["only the event", "event and record", "event and record, nothing healed"]
)
def test_a_run_that_was_cut_short_is_finished_by_the_next(vault, own, caller, known, kept):
    """What the disk holds after a crash between two writes: they are made in this order."""
    promote(vault, caller, known, keep=True)
    if kept == "only the event":
        Path(own.root, f"records/decision/{known}.md").unlink()
    if kept.endswith("nothing healed"):
        shutil.rmtree(Path(own.root, "briefings"))
    done = promote(vault, caller, known)
    assert (done.source, done.problems) == ("archived", ())
    assert f"records/decision/{known}.md" in files_of(own)
    assert heal(own, caller, check=True).stale == ()


def test_killed_at_any_moment_it_is_finished_by_the_next(vault, own, cortex, caller, known):
    saved = [shutil.copytree(one.root, f"{one.root}-saved") for one in (vault, own)]
    promote(vault, caller, known)
    wanted = files_of(own)
    for step in range(9):
        for one, copy in zip((vault, own), saved, strict=True):
            shutil.rmtree(one.root)
            shutil.copytree(copy, one.root)
        # Killed at the n-th fsync, of which every write has some.
        code = (
            "import os, sys\nleft = int(sys.argv.pop(1)); real = os.fsync\n"
            "def fsync(fd):\n    global left\n    left -= 1\n    os._exit(9) if left < 0 else real(fd)\n"
            "os.fsync = fsync\nfrom cortex.interfaces.cli.main import main\nos._exit(main(sys.argv[1:]))"
        )
        ended = subprocess.run(
            [sys.executable, "-c", code, str(3 * step), "promote", known],
            cwd=vault.root,
            capture_output=True,
            check=False,
        ).returncode
        assert cortex("promote", known).returncode == 0
        assert {
            path: data for path, data in files_of(own).items() if "cx-tmp" not in path
        } == wanted
        assert b"promoted_to" in files_of(vault)[f"records/decision/{known}.md"]
        if ended == 0:
            break
    assert step > 2


def test_what_is_edited_while_it_is_promoted_is_not_put_away(
    vault, own, caller, known, monkeypatch
):
    file, real = Path(vault.root, f"records/decision/{known}.md"), files.create

    def typing(root, path, data):
        real(root, path, data)
        if root == own.root and path.startswith("records/"):
            file.write_text(file.read_text() + "A line by hand.\n")

    with monkeypatch.context() as patched:
        patched.setattr(files, "create", typing)
        with pytest.raises(ConflictError, match="was changed by somebody else"):
            promote(vault, caller, known)
    assert "status:" not in file.read_text()
    assert not Path(own.root, f"records/decision/{known}.md").exists()
    assert heal(own, caller, check=True).stale == ()
    assert promote(vault, caller, known).source == "archived"
    assert "A line by hand." in Path(own.root, f"records/decision/{known}.md").read_text()


def test_a_vault_with_a_blank_in_its_path_is_named_so_that_a_shell_finds_it(
    vault, caller, cortex, tmp_path, known
):
    root = str(tmp_path / "my own; vault")
    init(caller, root, default=True)
    words = shlex.split(promote(vault, caller, known).undo[1])
    assert words == ["cortex", "--vault", root, "delete", known]
    assert cortex(*words[1:]).returncode == 0


def test_another_text_under_the_id_is_a_conflict_and_nothing_is_written(vault, own, caller, known):
    promote(vault, caller, known, keep=True)
    mine = Path(own.root, f"records/decision/{known}.md")
    mine.write_text(mine.read_text() + "\nAnd in my own words.\n")
    before = files_of(vault), files_of(own)
    with pytest.raises(ConflictError, match="with another text"):
        promote(vault, caller, known)
    assert (files_of(vault), files_of(own)) == before
    mine.write_text(mine.read_text().replace("type: decision", "type: decision\nstatus: deleted"))
    with pytest.raises(ConflictError, match="deleted"):
        promote(vault, caller, known)
    mine.write_text(mine.read_text().replace(f"id: {known}", "id: somebody-else"))
    with pytest.raises(ConflictError, match="another note"):
        promote(vault, caller, known)


def test_an_event_there_with_other_content_is_a_conflict(vault, own, caller, known):
    (event,) = (
        path
        for path, data in files_of(vault).items()
        if path.startswith("events/") and b"zebra" in data
    )
    note(own, event, "something else")
    with pytest.raises(ConflictError, match="event"):
        promote(vault, caller, known)
    assert f"records/decision/{known}.md" not in files_of(own)


def test_a_copy_that_its_owner_moved_and_tagged_is_the_same_one(vault, own, caller, known):
    promote(vault, caller, known, keep=True)
    mine = Path(own.root, f"records/decision/{known}.md")
    note(own, "Roads/Stripes.md", mine.read_text().replace("tags: [road]", "tags: [road, mine]"))
    mine.unlink()
    done = promote(vault, caller, known)
    assert (done.outcome, done.path) == ("unchanged", "Roads/Stripes.md")


def test_events_and_links_that_are_not_there_are_named(vault, own, caller):
    record(vault, "rule-aaaaaa", "See [[other-bbbbbb]] and [[nowhere]].", scope="global")
    record(vault, "other-bbbbbb", "else")
    done = promote(vault, caller, "rule-aaaaaa")
    assert [problem.where for problem in done.problems] == ["20261101t000000z-aaaaaaaaaa"]
    assert done.links == ("other-bbbbbb",)
    assert b"scope: global" in files_of(own)[done.path]
    # It says no project: the vault's folder is named.
    assert b"promoted_from: vault" in files_of(own)[done.path]


@pytest.mark.parametrize(
    ("fields", "word"),
    [({"status": "deleted"}, "deleted"), ({"status": "superseded"}, "superseded"), ({"type": "session"}, "session")],
)  # fmt: skip
def test_what_is_no_knowledge_that_holds_is_refused(vault, own, caller, fields, word):
    record(vault, "rule-aaaaaa", "zebra", **fields)
    with pytest.raises(InvalidInputError, match=word):
        promote(vault, caller, "rule-aaaaaa")


def test_odd_ids_and_types_get_names_that_every_system_can_hold(vault, own, caller):
    note(vault, "a.md", "---\nid: ../Über uns\ntype: Rule of Thumb\ntitle: x\n---\nzebra\n")
    assert promote(vault, caller, "../Über uns").path.startswith("records/rule-of-thumb/uber-uns-")
    note(vault, "b.md", "---\nid: con\ntype: ../..\ntitle: y\n---\nzebra\n")
    assert promote(vault, caller, "con").path.startswith("records/note/con-")


def test_without_an_own_vault_one_is_made(vault, cortex):
    record(vault, "rule-aaaaaa", "zebra")
    done = cortex("promote", "rule-aaaaaa", "--json")
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["vault"]) == (0, os.path.realpath(default_vault_root()))
    assert os.path.isfile(answer["file"])


def test_the_own_vault_itself_has_none_beside_it(vault, cortex):
    record(vault, "rule-aaaaaa", "zebra")
    cortex("init", vault.root, "--default")
    done = cortex("promote", "rule-aaaaaa")
    assert (done.returncode, "--default" in done.stderr) == (2, True)


def test_the_command_says_where_it_went_and_what_takes_it_back(vault, own, cortex, known):
    done = cortex("promote", known)
    assert done.stdout.startswith(
        f"promoted to ../own/records/decision/{known}.md\n  with 1 event\n"
    )
    assert f"undo: cortex restore {known}" in done.stdout
    answer = json.loads(cortex("promote", known, "--json").stdout)
    assert (answer["id"], answer["outcome"]) == (known, "unchanged")
    assert cortex("promote", "nothing-of-the-kind").returncode == 2
    assert os.path.isfile(f"{own.root}/briefings/index.md")
