"""Projects as a person meets them: listed, shown, and made one only where somebody says so, in a way that goes back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.operations.care.init import init
from cortex.operations.care.status import status as status_of
from cortex.operations.find.actions import actions, meetings
from cortex.operations.find.entities import topic
from cortex.operations.find.recall import recall
from cortex.operations.find.search import search
from cortex.operations.projects.project import identify_project, project
from cortex.operations.records.capture import capture
from cortex.operations.records.save import save
from cortex.operations.sessions.context import context
from cortex.operations.sessions.session import session
from cortex.operations.upkeep.heal import heal
from cortex.operations.upkeep.normalize import normalize
from cortex.vault import settings, settings_text
from cortex.vault.git import checkout
from tests.conftest import caller_at


@pytest.fixture
def shops(vault, caller):
    """Two names for one project: decisions, actions and a session of each."""
    for number, project_ in enumerate(("shop", "shop-k3f7")):
        later = caller_at(f"2026-11-2{number}T10:00:00Z", caller.cwd)
        for second, (text, more) in enumerate([
            (f"Decision: stripes {number}, because they are seen", {"branch": "main"}),
            (f"Action: paint {number}", {}),
            ("turn", {"type": "stop", "session": f"s{number}"}),
        ]):  # fmt: skip
            id_ = f"2026112{number}t10000{second}z-aaaaaaaaaa"
            capture(vault, later, text, project=project_, id=id_, **more)
    normalize(vault, caller)
    return vault


def named(vault, *names: str) -> None:
    for number, name in enumerate(names):
        written = name if name.isalnum() else json.dumps(name)
        Path(vault.root, f"n{number}.md").write_text(
            f"---\nid: n{number}\nproject: {written}\n---\ntext\n"
        )


def files_of(vault) -> dict[str, bytes]:
    return {
        str(path.relative_to(vault.root)): path.read_bytes()
        for path in sorted(Path(vault.root).rglob("*"))
        if path.is_file()
    }


def projects_of(vault, caller) -> dict[str, tuple[int, int, int]]:
    return {
        one.name: (one.notes, one.open_actions, one.sessions)
        for one in project(vault, caller).projects
    }


# -- list and show


def test_a_ticked_action_is_open_nowhere(vault, caller):
    for at, (id_, status) in enumerate(
        (("one-abcdef", "open"), ("two-abcdef", "open"), ("three-abcdef", "closed"))
    ):
        text = f"---\nid: {id_}\ntype: action\nstatus: {status}\nproject: p\n---\n- [{'x' if at == 0 else ' '}] it\n"
        Path(vault.root, f"a{at}.md").write_text(text)
    shown = project(vault, caller, "show", "p")
    assert (
        [one.id for one in shown.actions.hits]
        == [one.hit.id for one in actions(vault, caller, project="p").hits]
        == ["two-abcdef"]
    )
    figures = (shown.open_actions, projects_of(vault, caller)["p"][1], status_of(vault, caller).open_actions)  # fmt: skip
    assert figures == (1, 1, 1) == (context(vault, caller, project="p").figures.open_actions,) * 3


def test_what_is_asked_of_a_merged_project_is_asked_of_the_one_it_became(vault, caller, tmp_path):
    """In its folder too, which goes on saying the old name."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / ".cortex-project").write_text("old\n")
    here = caller._replace(cwd=str(folder))
    capture(vault, here, "Decision: paint it, because it rusts")
    capture(vault, here, "Action: buy paint")
    capture(vault, here, "- [ ] Ada sees to it", type="meeting")
    capture(vault, here, "why?", type="prompt", session="mine")
    save(vault, here, "Paint is red", topic="decision/paint")
    session(vault, here, "start", "mine")
    normalize(vault, here)
    Path(vault.root, "mine.md").write_text("---\nproject: new\n---\na note of my own\n")
    before = context(vault, here)
    assert before.figures == (5, 1, 1, 2)
    project(vault, here, "merge", "old", "new", yes=True)
    for name in ("", "old", " OLD ", "new"):
        after = context(vault, here, project=name)
        assert after.project == "new"
        assert [one.id for one in after.sessions.hits] == [one.id for one in before.sessions.hits]
        assert after.prompts == before.prompts
        assert after.figures == before.figures
        assert len(recall(vault, here, scope="project", project=name).hits) == 5
    for name in ("old", "new"):
        assert len(recall(vault, here, project=name).hits) == 5
        assert len(actions(vault, here, project=name).hits) == 2
        assert len(meetings(vault, here, project=name).hits) == 1
        assert len(topic(vault, here, project=name).hits) == 1
        assert "mine" in [one.name for one in session(vault, here, "list", project=name).hits]
    assert project(vault, here).here.project == "new"
    assert session(vault, here, "end", summary="done").name == "mine"


def test_list_counts_and_puts_the_one_changed_last_first(shops, caller, cortex):
    listed = project(shops, caller)
    assert [tuple(one[:5]) for one in listed.projects] == [
        ("shop-k3f7", 2, 1, 1, "2026-11-21T10:00:02Z"),
        ("shop", 2, 1, 1, "2026-11-20T10:00:02Z"),
    ]
    assert [one.command for one in listed.alike] == ["cortex project merge shop-k3f7 shop"]
    text = cortex("project", "list").stdout
    assert text == cortex("project").stdout
    assert (
        "shop-k3f7 looks like shop; if they are one project: cortex project merge shop-k3f7 shop\n"
        in text
    )
    assert json.loads(cortex("project", "--json").stdout)["projects"][1]["name"] == "shop"


@pytest.mark.parametrize(("names", "commands"), [
    (["my-app", "my_app", "My.App"], ["My.App my-app", "my_app my-app"]),
    (["app-2fx4", "app-bcdf", "app"], ["app-2fx4 app", "app-bcdf app"]),
    (["app-2fx4", "app-3fx4"], []),  # two folders of one name are two projects, for all that is known
    (["app", "app-docs", "app-core"], []),  # a word, no hash
    (["app", "application", "api"], []),
    (["Bücher", "bücher"], []),  # no capture can have either name
    (["it's", "ITS", "its"], ["ITS its"]),
    (["a b", "A-B", "a-b"], ["'a b' a-b", "A-B a-b"]),
])  # fmt: skip
def test_names_that_look_like_one_project_are_only_suggested(vault, caller, names, commands):
    named(vault, *names)
    before = files_of(vault)
    assert (
        sorted(
            one.command.removeprefix("cortex project merge ")
            for one in project(vault, caller).alike
        )
        == commands
    )
    assert files_of(vault) == before


def test_show_has_figures_branches_decisions_actions_and_where_the_name_comes_from(
    shops, caller, cortex
):
    shown = project(shops, caller, "show", "shop")
    figures = (shown.name, shown.notes, shown.open_actions, shown.sessions)
    assert figures == ("shop", 2, 1, 1)
    assert [(branch.name, branch.notes) for branch in shown.branches] == [("main", 1)]
    assert [(line.title, line.date) for line in shown.decisions.hits] == [
        ("Stripes 0, because they are seen", "2026-11-20T10:00:00Z")
    ]
    assert [line.title for line in shown.actions.hits] == ["Paint 0"]
    text = cortex("project", "show", "shop").stdout
    assert "open actions\n  no date     Paint 0" in text
    Path(shops.root, ".cortex-project").write_text("shop\n")
    assert (
        f"this folder is shop: {shops.root}/.cortex-project says so"
        in cortex("project", "show").stdout
    )


def test_where_a_folders_name_comes_from(tmp_path, git):
    place = tmp_path / "code/My Shop"
    (place / "sub").mkdir(parents=True)
    assert identify_project(str(place / "sub")).source == "folder"
    git(place, "init", "-q")
    assert identify_project(str(place / "sub"))[:2] == (checkout.project_of(str(place)), "folder")
    git(place, "remote", "add", "origin", "https://example.org/team/shop.git")
    assert identify_project(str(place / "sub"))[:2] == ("shop", "remote")
    (place / ".cortex-project").write_text("The Shop\n")
    assert identify_project(str(place / "sub"))[:2] == ("the-shop", "file")
    assert identify_project("/").source == "none"


def test_a_folder_that_nothing_is_known_of_is_shown_with_its_name(vault, caller, cortex):
    text = cortex("project", "show").stdout
    assert text.startswith("vault-")
    assert "no .cortex-project and no remote" in text


# -- merge


def test_a_preview_changes_nothing(shops, caller, cortex):
    before = files_of(shops)
    would = project(shops, caller, "merge", "shop-k3f7", "shop").merge
    assert files_of(shops) == before
    assert (would.done, would.notes, would.sessions, len(would.changed)) == (False, 2, 1, 3)
    assert {"briefings/shop-k3f7/decisions.md", "briefings/shop/decisions.md"} <= set(would.pages)
    assert would.next == "cortex project merge shop-k3f7 shop --yes"
    text = cortex("project", "merge", "shop-k3f7", "shop").stdout
    assert text.startswith("2 notes and 1 session of shop-k3f7 would become shop's\n")
    assert text.endswith("nothing is changed yet: cortex project merge shop-k3f7 shop --yes\n")


def test_merged_and_told_apart_again_every_note_is_what_it_was(shops, caller, cortex):
    before = files_of(shops)
    done = project(shops, caller, "merge", "shop-k3f7", "shop", yes=True).merge
    assert projects_of(shops, caller) == {"shop": (4, 2, 2)}
    after = files_of(shops)
    for path in after:
        if path.startswith("events/"):
            assert after[path] == before[path]
    for path in done.changed:
        changed = set(after[path].decode().splitlines()) ^ set(before[path].decode().splitlines())
        assert changed == {"project: shop-k3f7", "project: shop", "merged_from: [shop-k3f7]"}
    pages = [after[path].decode() for path in after if path.startswith("briefings/shop-k3f7/")]
    assert pages
    assert not any("<!-- cx" in page for page in pages)
    assert heal(shops, caller, check=True).stale == ()
    assert settings.load(shops.root).resolve_project("shop-k3f7") == "shop"
    undo = cortex(*done.next.split()[1:])
    assert undo.stdout.startswith("2 notes and 1 session of shop went back to shop-k3f7\n")
    now = files_of(shops)
    # An empty section stays.
    assert {path for path in before if now[path] != before[path]} == {"cortex.toml"}
    assert settings.load(shops.root).aliases == ()
    assert set(now) == set(before)


def test_it_is_finished_by_running_it_again(shops, caller):
    """After a crash, or when a teammate's notes of the old name came later."""
    project(shops, caller, "merge", "shop-k3f7", "shop", yes=True)
    again = project(shops, caller, "merge", "shop-k3f7", "shop", yes=True).merge
    assert (again.notes, again.changed, again.alias) == (0, (), "")
    named(shops, "shop-k3f7")
    (late,) = (one for one in project(shops, caller).projects if one.merged_into)
    assert (late.name, late.notes, late.merged_into) == ("shop-k3f7", 1, "shop")
    assert project(shops, caller).alike == ()
    assert project(shops, caller, "merge", "shop-k3f7", "shop", yes=True).merge.changed == (
        "n0.md",
    )
    assert "shop-k3f7" not in projects_of(shops, caller)


def test_merged_on_and_on_each_step_goes_back(vault, caller):
    named(vault, "a", "b", "c")
    before = files_of(vault)
    project(vault, caller, "merge", "a", "b", yes=True)
    project(vault, caller, "merge", "b", "c", yes=True)
    assert settings.load(vault.root).aliases == (("a", "c"), ("b", "c"))
    assert b"merged_from: [a, b]" in files_of(vault)["n0.md"]
    with pytest.raises(ConflictError, match="was merged into c after that"):
        project(vault, caller, "unmerge", "a")
    with pytest.raises(ConflictError, match="was merged into"):
        project(vault, caller, "merge", "c", "a")
    with pytest.raises(ConflictError, match="was merged into b"):
        project(vault, caller, "merge", "a", "d")
    project(vault, caller, "unmerge", "b", yes=True)
    project(vault, caller, "unmerge", "a", yes=True)
    now = files_of(vault)
    assert {path: data for path, data in now.items() if path.startswith("n")} == {
        path: data for path, data in before.items() if path.startswith("n")
    }


def test_who_gave_a_note_another_project_meanwhile_keeps_it(vault, caller):
    named(vault, "a", "b")
    file = Path(vault.root, "n0.md")

    def meanwhile(what: str, done: int, total: int) -> None:
        if what == "reading":
            file.write_text(file.read_text().replace("project: a", "project: c"))

    assert (
        project(
            vault, caller._replace(progress=meanwhile), "merge", "a", "b", yes=True
        ).merge.changed
        == ()
    )
    assert "project: c" in file.read_text()


def test_two_records_of_one_topic_both_stay_and_are_named(vault, caller, cortex):
    for name in ("a", "b"):
        Path(vault.root, f"{name}.md").write_text(
            f"---\nid: {name}-topic\nproject: {name}\ntopic: decision/roads\n---\nby {name}\n"
        )
    would = project(vault, caller, "merge", "a", "b", yes=True).merge
    assert would.collisions == (("decision/roads", "a-topic", "b-topic"),)
    assert projects_of(vault, caller) == {"b": (2, 0, 0)}
    assert "by a" in cortex("show", "a-topic").stdout


def test_what_cannot_be_edited_is_left_and_named_and_stops_nothing(vault, caller, cortex):
    named(vault, "a", "b")
    odd = {
        "own.md": "---\nproject: a\n---\nno id\n",
        "bad.md": "---\nid: bad\nproject: a\ntags: [\n---\nno yaml\n",
        "flow.md": "---\n{id: flow, project: a}\n---\nin braces\n",
    }
    for name, text in odd.items():
        Path(vault.root, name).write_text(text)
    done = project(vault, caller, "merge", "a", "b", yes=True).merge
    assert done.changed == ("n0.md",)
    assert sorted(problem.where for problem in done.problems) == sorted(odd)
    assert all(problem.hint for problem in done.problems)
    for name, text in odd.items():
        assert Path(vault.root, name).read_text() == text


@pytest.mark.parametrize(("words", "error", "message", "hint"), [
    (("merge", "shop", "shop"), InvalidInputError, "one project already", "list"),
    (("merge", "shop", ""), InvalidInputError, "two projects", "merge A B"),
    (("merge", "", "shop"), InvalidInputError, "two projects", "merge A B"),
    (("merge", "shop-k3f", "shop"), NotFoundError, "no note says", "shop-k3f7"),
    (("merge", "shop", "shop-k3f8"), NotFoundError, "no note says", "shop-k3f7"),
    (("unmerge", "shop", ""), NotFoundError, "was not merged", "unmerge A B"),
    (("unmerge", "shop", "shop-k3f7"), NotFoundError, "nothing in shop-k3f7 was merged", "list"),
    (("show", "shap", ""), NotFoundError, "no note says", "shop"),
])  # fmt: skip
def test_mistakes_are_explained(shops, caller, words, error, message, hint):
    before = files_of(shops)
    with pytest.raises(error, match=message) as raised:
        project(shops, caller, words[0], words[1], words[2], yes=True)
    assert hint in raised.value.hint
    assert files_of(shops) == before


def test_into_a_name_that_no_capture_can_have_it_goes_the_other_way(vault, caller):
    named(vault, "Shop", "shop")
    with pytest.raises(InvalidInputError) as raised:
        project(vault, caller, "merge", "shop", "Shop")
    assert raised.value.hint.endswith("cortex project merge Shop shop")
    done = project(vault, caller, "merge", "Shop", "shop", yes=True).merge
    assert (done.changed, done.alias) == (("n0.md",), "")  # what no capture can have needs no alias
    assert project(vault, caller, "unmerge", "Shop", "shop", yes=True).merge.changed == ("n0.md",)


def test_a_project_becomes_that_of_this_folder_before_it_has_a_note(vault, caller):
    named(vault, "shop-k3f7")
    Path(caller.cwd, ".cortex-project").write_text("shop\n")
    assert project(vault, caller, "merge", "shop-k3f7", "shop", yes=True).merge.changed == (
        "n0.md",
    )


# -- the line in a person's file

FORMS = [
    "",
    "format = 1",
    "format = 1\n",
    "# mine\r\nformat = 1\r\n",
    '[projects.aliases]\n"x" = "y"\n\n# the index\n[index]\nexclude = []\n',
    "[projects.aliases]\n# none yet\n",
    "[projects.aliases]  # merged\n",
    "[projects]\naliases = {}\n",
    "[projects]\naliases = { x = 'y' } # inline\n[index]\n",
    "projects.aliases = {x = 'y'}\n",
    "[projects]\naliases.x = 'y'\n",
    "[index]\nexclude = ['''\n[projects.aliases]\n''']\n",
]


@pytest.mark.parametrize("text", FORMS)
def test_an_alias_is_one_line_more_and_nothing_else(vault, text):
    file = Path(vault.root, "cortex.toml")
    file.write_bytes(text.encode())
    before = tomllib.loads(text).get("projects", {}).get("aliases", {})
    try:
        assert settings_text.add_alias(vault.root, "a.b-c", "d")
    except InvalidInputError as error:
        assert "yourself" in error.hint
        assert file.read_bytes() == text.encode()
        assert "aliases = {" in text or "aliases.x" in text
        return
    now = file.read_bytes().decode()
    assert settings_text.read_aliases(vault.root) == before | {"a.b-c": "d"}
    assert [
        line for line in text.splitlines() if line not in now.splitlines() and "aliases" not in line
    ] == []
    assert not settings_text.add_alias(vault.root, "a.b-c", "d")
    assert settings_text.remove_alias(vault.root, "a.b-c")
    assert settings_text.read_aliases(vault.root) == before
    assert not settings_text.remove_alias(vault.root, "a.b-c")


@pytest.mark.parametrize(
    "text", ["[index", "projects = 3", "[projects]\naliases = ['a']", "\ufeffformat = 1"]
)
def test_settings_that_cannot_be_read_are_not_written(shops, caller, text):
    Path(shops.root, "cortex.toml").write_text(text)
    before = files_of(shops)
    with pytest.raises(InvalidInputError):
        project(shops, caller, "merge", "shop-k3f7", "shop", yes=True)
    assert {
        path: data
        for path, data in files_of(shops).items()
        if path.startswith(("records", "cortex.toml"))
    } == {
        path: data for path, data in before.items() if path.startswith(("records", "cortex.toml"))
    }


@pytest.mark.parametrize(("text", "good", "problems"), [
    ("[projects.aliases]\na = 'b'\nb = 'c'\n", (("a", "c"), ("b", "c")), 0),
    ("[projects.aliases]\na = 'b'\nb = 'a'\nc = 'd'\n", (("c", "d"),), 2),
    ("[projects.aliases]\na = 3\nb = ''\nc = 'C C'\nd = 'd'\ne = '../x'\n", (), 5),
    ("[projects]\naliases = 'a'\n", (), 1),
    ("projects = 'a'\n", (), 1),
    ("[projects.aliases]\n" + "".join(f"a{number} = 'a{number + 1}'\n" for number in range(4000)), None, None),
])  # fmt: skip
def test_aliases_are_read_with_a_problem_for_each_that_is_none(vault, caller, text, good, problems):
    Path(vault.root, "cortex.toml").write_text(text)
    held = settings.load(vault.root)
    if good is not None:
        assert (held.aliases, len(held.problems)) == (good, problems)
        assert all("cortex.toml" in problem.where and problem.hint for problem in held.problems)
    assert project(vault, caller, "list").projects == ()


def test_a_worktree_is_the_project_of_its_main_work_tree_and_says_why(tmp_path, git):
    main = tmp_path / "shop"
    main.mkdir()
    git(main, "init", "-q")
    git(main, "commit", "-q", "--allow-empty", "-m", "begin")
    git(main, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    of_main, of_side = identify_project(str(main)), identify_project(str(tmp_path / "side"))
    assert of_side == of_main
    assert of_side.source == "folder"
    (main / ".cortex-project").write_text("shop\n")
    assert identify_project(str(tmp_path / "side")) == identify_project(str(main))
    assert identify_project(str(tmp_path / "side")).source == "file"


def test_the_list_names_the_vaults_of_this_machine(vault, caller, cortex, tmp_path):
    assert "vaults on this machine" not in cortex("project", "list").stdout
    init(caller, str(tmp_path / "notes"))
    named_vaults = json.loads(cortex("project", "list", "--json").stdout)["vaults"]
    assert {one["root"] for one in named_vaults} == {vault.root, str(tmp_path / "notes")}
    assert f"  notes  {tmp_path / 'notes'}\n" in cortex("project", "list").stdout


@pytest.mark.parametrize("said", ["My Project!", "日本", "Shop"])
def test_a_project_is_found_by_the_name_under_which_it_was_captured(vault, caller, said):
    capture(vault, caller, "Decision: use tea, because it is hot", project=said)
    capture(vault, caller, "Decision: use rum, because it is cold", project="other")
    kept = project(vault, caller, "show", said).name
    for query, asked in (("use", (said,)), (f'project:"{said}"', ())):
        assert {one.project for one in search(vault, caller, query, project=asked).hits} == {kept}
    assert {one.project for one in recall(vault, caller, f'project:"{said}"').hits} == {kept}
    assert project(vault, caller, "merge", said, "other").merge.a == kept


def test_a_name_that_notes_have_comes_before_the_one_that_captures_would_have(vault, caller):
    named(vault, "My Shop", "my-shop")
    assert project(vault, caller, "show", "My Shop").name == "My Shop"
    assert project(vault, caller, "merge", "My Shop", "my-shop").merge.a == "My Shop"
