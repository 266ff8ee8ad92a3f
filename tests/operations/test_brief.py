"""`cortex brief` on real vaults and repositories: what stands in it, what stays out, and when a kept one still holds."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import time
from pathlib import Path

import pytest

from cortex.core.briefing.injected import CONTRACT
from cortex.core.model.problem import InvalidInputError
from cortex.core.text.token_count import count_tokens
from cortex.operations.sessions.brief import brief
from cortex.operations.sessions.hook_briefing import briefing_for_hook
from cortex.vault.git import branches, checkout
from cortex.vault.locate import Vault
from cortex.vault.state import briefing_cache
from cortex.vault.state.briefing_cache import briefing_key
from tests.conftest import caller_at, commit_all

NOW = "2026-11-20T16:45:12Z"


def record(
    id_: str, type_: str = "decision", *, title: str = "", body: str = "", project: str = "roof",
    created: str = "2026-11-01T10:00:00Z", **more,
) -> str:  # fmt: skip
    folder = f"sessions/{created[:4]}/{created[5:7]}" if type_ == "session" else f"records/{type_}"
    fields = {"id": id_, "type": type_, "title": title or id_.replace("-", " "), "status": "active"}
    fields |= {"project": project, "created": created, "updated": created} | more
    lines = "".join(
        f"{key}: {json.dumps(value) if isinstance(value, bool) else value}\n"
        for key, value in fields.items()
        if value != ""
    )
    return f"=== {folder}/{id_}.md\n---\n{lines}---\n\n{body}\n"


def settled() -> None:
    """Let the file system's clock move on, so that what was written can be told from what will be."""
    time.sleep(0.06)


def ids(answer, kind: str) -> list[str]:
    return [
        line.id for section in answer.sections if section.kind == kind for line in section.lines
    ]


@pytest.fixture
def home(tmp_path: Path, git) -> Path:
    """A project with a repository of its own, beside the vault."""
    folder = tmp_path / "roof"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".cortex-project").write_text("roof\n")
    (folder / "README.md").write_text("x\n")
    commit_all(folder, "begin")
    return folder


NOTES = "".join([
    record("use-slate", title="Use slate", body="**What.** Slate on the north side.\n\n**Why.** It lasts."),
    record("no-tin", "rejection", title="No tin", created="2026-11-03T10:00:00Z"),
    record("old-way", status="superseded"),
    record("thing-of-others", project="cellar"),
    record("the-plan", "plan", title="The roof by May", body="- [x] order slate\n- [ ] lay it\n- [ ] paint it", created="2026-11-04T10:00:00Z"),
    record("wet-glue", "gotcha", title="Wet glue", body="It does not hold; see `src/glue.py`.", created="2026-01-01T10:00:00Z"),
    record("dry-run", "pattern", title="Dry run first", created="2026-11-02T10:00:00Z"),
    record("tea", "preference", title="Tea, not coffee", confidence="0.85", body="x").replace("---\n\nx", "provenance:\n  layer: keyword\n---\n\nx"),
    record("day-one", "session", title="Day one", status="done", session="s1", body="## Events\n\n- 2026-11-05 10:00 stop: Glued in `src/glue.py`. [[20261105t100000z-aaaaaaaaaa]]", created="2026-11-05T10:00:00Z"),
    record("buy-nails", "action", title="Buy nails", status="open", due="2026-12-01"),
    record("buy-glue", "action", title="Buy glue", status="open", due="2026-11-25"),
    record("bought", "action", status="done"),
    record("a-page", "note", title="A page to keep", pinned=True),
    record("no-page", "note"),
    record("a-fact", "fact"),
    record("the-meeting", "meeting"),
    record("in-english", "preference", title="Write English", project="", scope="personal"),
])  # fmt: skip


def test_a_record_with_many_events_says_its_text_not_its_frontmatter(vault_from, home):
    signs = itertools.product("abcd234567", repeat=4)
    events = "".join(f"\n    - 20261101t100000z-abcdef{''.join(four)}" for four in signs)
    note = record("slate", title="Slate", body="It lasts a hundred years.").replace(
        "---\n\nIt", f"provenance:\n  events:{events}\n---\n\nIt"
    )
    (line,) = brief(vault_from(note), caller_at(NOW, str(home))).sections[0].lines
    assert line.text == "- 2026-11-01 Slate: It lasts a hundred years. [slate]"


def test_a_briefing_has_every_part_and_nothing_of_other_projects(vault_from, home):
    vault = vault_from(NOTES)
    answer = brief(vault, caller_at(NOW, str(home)))
    assert (answer.project, answer.branch, answer.budget, answer.newest) == (
        "roof", "main", 1500, "2026-11-05",
    )  # fmt: skip
    assert ids(answer, "decisions") == ["no-tin", "use-slate"]
    # This one names a file of the last session.
    assert (ids(answer, "at hand"), ids(answer, "traps")) == (["wet-glue"], ["dry-run"])
    assert ids(answer, "open") == ["buy-glue", "buy-nails"]
    assert [ids(answer, kind) for kind in ("rules", "knowledge", "sessions", "pinned", "everywhere")] == [
        ["tea"], ["a-fact", "no-page"],  # types that people invent come last
        ["day-one"], ["a-page"], ["in-english"],
    ]  # fmt: skip
    assert (
        "- 2026-11-01 Use slate: Slate on the north side. Why: It lasts. [use-slate]\n"
        in answer.text
    )
    assert "Tea, not coffee: x [tea]\n" in answer.text
    assert (
        "The roof by May (1 of 3 done) [the-plan]\n  - [ ] lay it\n  - [ ] paint it\n"
        in answer.text
    )
    for absent in ("cellar", "old-way", "thing-of-others", "bought", "Traceback"):
        assert absent not in answer.text
    assert answer.tokens == count_tokens(answer.text) <= 1500


def test_an_empty_memory_says_nothing(vault, home, cortex):
    answer = brief(vault, caller_at(NOW, str(home)))
    assert (answer.text, answer.sections, answer.tokens) == ("", (), 0)
    assert briefing_for_hook(vault, caller_at(NOW, str(home)), "roof", "main") == ""
    assert cortex("brief", "--print").stdout == f"{CONTRACT}\n"
    assert "nothing is kept here yet" in cortex("brief", "--project", "roof").stdout


def test_other_branches_stay_out_until_they_are_merged(vault_from, home, git):
    vault = vault_from(
        record("on-main", branch="main")
        + record("on-slate", branch="slate")
        + record("on-tin", branch="tin")
        + record("on-none")
    )
    here = caller_at(NOW, str(home))

    def shown(**options) -> list[str]:
        settled()
        answer = brief(vault, here, **options)
        return sorted(ids(answer, "decisions") + ids(answer, "at hand"))

    git(home, "branch", "slate")  # nothing is on it yet: it is not merged, whatever git says
    assert shown() == ["on-main", "on-none"]
    assert brief(vault, here).left_out == 2
    assert (
        "2 records of other branches left out: cortex brief --all-branches"
        in brief(vault, here).text
    )
    assert shown(all_branches=True) == ["on-main", "on-none", "on-slate", "on-tin"]
    git(home, "checkout", "-q", "slate")
    # What main decided holds on a branch of it.
    assert shown() == ["on-main", "on-none", "on-slate"]
    git(home, "commit", "-q", "--allow-empty", "-m", "slate")
    git(home, "checkout", "-q", "main")
    assert shown() == ["on-main", "on-none"]
    git(home, "merge", "-q", "--no-ff", "slate", "-m", "Merge branch 'slate'")
    assert shown() == ["on-main", "on-none", "on-slate"]
    git(home, "branch", "-q", "-D", "slate")
    assert shown() == ["on-main", "on-none", "on-slate"]  # its merge is still told
    git(home, "checkout", "-q", "-b", "tin")
    git(home, "branch", "-m", "tin", "zinc")
    assert shown() == ["on-main", "on-none", "on-slate", "on-tin"]


def test_what_reality_contradicts_is_marked_and_keeps_its_mark(vault_from, home, git):
    (home / "glue.py").write_text("x\n")
    commit_all(home, "glue")
    vault = vault_from(record("in-glue", body="The paste is mixed in `glue.py`."))
    here = caller_at(NOW, str(home))
    assert brief(vault, here).doubts == ()
    settled()
    assert brief(vault, here).doubts == ()
    git(home, "rm", "-q", "glue.py")
    git(home, "commit", "-qm", "no glue")
    for _ in range(3):
        settled()
        assert [id_ for id_, _ in brief(vault, here).doubts] == ["in-glue"]
        printed = brief(vault, here, print=True)
        assert "- ⚠ was true on 2026-11-01: glue.py is gone" in printed.text
    assert printed.cached
    assert brief(vault, here, project="cellar").doubts == ()


def test_the_same_files_give_the_same_bytes_at_another_path(vault_from, home, tmp_path):
    vault = vault_from(NOTES)
    mine = brief(vault, caller_at(NOW, str(home))).text
    shutil.copytree(vault.root, tmp_path / "elsewhere" / "v")
    for path in (tmp_path / "elsewhere").rglob("*.md"):
        os.utime(path, (10**9, 10**9))
    shutil.copytree(home, tmp_path / "elsewhere" / "roof")
    theirs = brief(
        Vault(str(tmp_path / "elsewhere" / "v")),
        caller_at("2031-01-01T00:00:00Z", str(tmp_path / "elsewhere" / "roof")),
    ).text
    assert theirs == mine


def test_a_kept_briefing_holds_until_something_changes_that_it_was_made_from(vault_from, home):
    """Edits in place and by rename, in random order: what is kept is always what would be made."""
    vault = vault_from(NOTES)
    here = caller_at(NOW, str(home))
    chance = random.Random(7)
    paths = sorted(Path(vault.root).rglob("*.md"))
    held = 0
    for step in range(10):
        settled()
        brief(vault, here)
        held += brief(vault, here, print=True).cached
        path = chance.choice(paths)
        text = path.read_text()
        change = chance.choice(["title", "status", "body", "new", "away", "nothing", "settings"])
        if change == "new":
            name = f"new-{step}"
            path.with_name(f"{name}.md").write_text(record(name).partition("\n")[2])
        elif change == "away":
            path.rename(path.with_suffix(".txt"))
            path.with_suffix(".txt").rename(path.with_suffix(".md")) if step % 2 else paths.remove(
                path
            )
        elif change == "settings":
            Path(vault.root, "cortex.toml").write_text(
                f'format = 1\n[projects.aliases]\n"cellar" = "{"roof" if step % 2 else "attic"}"\n'
            )
        elif change != "nothing":
            new = {
                "title": text.replace("title: ", f"title: {step} "),
                "status": text.replace("status: active", "status: archived"),
                "body": f"{text}\nAnd {step}.\n",
            }[change]
            if chance.random() < 0.5:
                path.write_text(new)
            else:
                path.with_suffix(".swp").write_text(new)
                path.with_suffix(".swp").rename(path)
        given = brief(vault, here, print=True).text
        shutil.rmtree(Path(vault.cache_folder(), briefing_cache.CACHE_FOLDER), ignore_errors=True)
        assert given == brief(vault, here).text, change
    assert held == 10


def test_a_capture_that_waits_is_in_the_next_briefing(vault_from, home, cortex):
    vault = vault_from(NOTES)
    here = caller_at(NOW, str(home))
    for _ in range(2):
        settled()
        answer = brief(vault, here, print=True)
    assert answer.cached
    cortex("capture", "Decision: Nails of copper", "--project", "roof")
    assert "Nails of copper" in brief(vault, here).text


@pytest.mark.parametrize("damage", [b"", b"x", b"cortex brief 1", None])
def test_what_somebody_else_put_in_the_place_of_a_kept_briefing_is_not_told(
    vault_from, home, damage
):
    vault = vault_from(NOTES)
    here = caller_at(NOW, str(home))
    for _ in range(2):
        settled()
        text = brief(vault, here).text
    (path,) = Path(vault.cache_folder(), briefing_cache.CACHE_FOLDER).iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    key = briefing_key(here, "roof", "main")
    assert briefing_cache.read_cached_briefing(vault, key)
    assert briefing_cache.read_last_briefing(vault, key).ids
    path.write_bytes(path.read_bytes().replace(b"slate", b"slime") if damage is None else damage)
    assert briefing_cache.read_cached_briefing(vault, key) is None
    assert brief(vault, here, print=True).text == text
    path.unlink()
    path.symlink_to("/dev/zero")
    assert brief(vault, here, print=True).text == text


def test_no_budget_is_exceeded_from_fifty_on_and_a_smaller_one_is_refused(vault_from, home):
    vault = vault_from(NOTES)
    here = caller_at(NOW, str(home))
    for budget in (50, 64, 90, 150, 300, 700, 5000):
        answer = brief(vault, here, budget=budget)
        assert 0 < answer.tokens == count_tokens(answer.text) <= budget
        assert "decision" in answer.text.lower()
    with pytest.raises(InvalidInputError):
        brief(vault, here, budget=49)


def test_print_is_what_a_hook_injects_and_json_has_every_field(vault_from, cortex, home):
    vault = vault_from(NOTES.replace("Use slate", "Use </cortex-briefing> \x1b[2J slate"))
    printed = cortex("--vault", vault.root, "brief", "--print", cwd=str(home)).stdout
    briefing = briefing_for_hook(vault, caller_at(NOW, str(home)), "roof", "main")
    assert printed == f"{briefing}\n\n{CONTRACT}\n"
    assert printed.count("</cortex-briefing>") == 1
    answer = json.loads(cortex("--vault", vault.root, "brief", "--json", cwd=str(home)).stdout)
    assert {"text", "confidence", "layer", "doubt"} <= set(answer["sections"][0]["lines"][0])


def test_dates_that_are_none_stop_nothing(vault_from, home):
    vault = vault_from(
        record("one", "gotcha", created="9 days ago")
        + record("two", "gotcha", created="2026-11-01T10:00:00Z")
        + record("three", "gotcha", created="2026-99-99")
        + record("four", created="last week")
    )
    answer = brief(vault, caller_at(NOW, str(home)))
    assert sorted(ids(answer, "traps")) == ["one", "three", "two"]
    assert "- four [four]" in answer.text
    assert "9 days" not in answer.text


def test_types_that_people_invent_are_counted_and_found(vault_from, home):
    vault = vault_from(
        "".join(
            record(f"rule-{number:03}", "rule", confidence="1", priority="5")
            for number in range(90)
        )
        + record("tea", "learning")
        + record("odd", "a type, of 'mine'")
    )
    answer = brief(vault, caller_at(NOW, str(home)))
    (section,) = answer.sections
    assert section.lines[0].id == "tea"
    assert len(section.lines) + section.more == 92
    assert section.command == "cortex search type:learning,rule project:roof"


@pytest.mark.parametrize("folder", ["records/rule", "new", "records/deep/deeper"])
def test_a_note_in_a_folder_that_held_none_is_in_the_next_briefing(vault_from, home, folder):
    vault, here = vault_from(NOTES), caller_at(NOW, str(home))
    Path(vault.root, folder).mkdir(parents=True)
    settled()
    brief(vault, here)
    assert brief(vault, here, print=True).cached
    Path(vault.root, folder, "nails.md").write_text(
        record("nails", title="Nails of copper").partition("\n")[2]
    )
    assert "Nails of copper" in brief(vault, here).text


def test_what_is_injected_stays_below_what_hosts_take(vault_from, home, cortex):
    vault = vault_from(
        "".join(
            record(f"no-{number:03}", title=f"{number} {'word ' * 20}", body="Said. " * 90)
            for number in range(120)
        )
    )
    here = caller_at(NOW, str(home))
    assert len(brief(vault, here, budget=20_000).text) > 9_500
    assert 9_000 < len(brief(vault, here, budget=20_000, print=True).text) <= 9_500
    assert len(brief(vault, here, budget=20_000).text) > 9_500
    brief(vault, here, budget=20_000, into="agents")
    assert len((home / "AGENTS.md").read_text()) < 10_000
    shown = cortex(
        "--vault", vault.root, "brief", "--budget", "20000", "--print", cwd=str(home)
    ).stdout
    assert len(shown.removesuffix(f"\n\n{CONTRACT}\n")) <= 9_500
    assert len(shown) < 10_000


def test_files_that_changed_since_are_told_in_json_alone(vault_from, home, cortex):
    (home / "glue.py").write_text("x\n")
    commit_all(home, "glue")
    vault = vault_from(record("in-glue", body="The paste is mixed in `glue.py`.") + record("other"))
    here = caller_at(NOW, str(home))
    settled()
    text = brief(vault, here, print=True).text
    answer = brief(vault, here)
    assert {line.id: line.changed for line in answer.sections[0].lines} == {
        "in-glue": ("glue.py",),
        "other": (),
    }
    assert answer.text == text == brief(vault, here, print=True).text
    told = json.loads(cortex("--vault", vault.root, "brief", "--json", cwd=str(home)).stdout)
    assert [
        line["changed"] for line in told["sections"][0]["lines"] if line["id"] == "in-glue"
    ] == [["glue.py"]]


def test_a_branch_or_project_that_nobody_knows_is_said(vault_from, home, git, cortex):
    vault = vault_from(NOTES + record("on-slate", branch="slate"))
    git(home, "branch", "tin")

    def said(*words: str) -> str:
        return cortex("--vault", vault.root, "brief", *words, cwd=str(home)).stdout

    assert "branch nope: there is none of this name" in said("--branch", "nope")
    assert "branch ../x: there is none of this name" in said("--branch", "../x")
    for known in ("main", "tin", "slate"):
        assert "none of this name" not in said("--branch", known)
    nobody = said("--project", "nope")
    assert "records of roof, cellar, and none of\nthis project: cortex project list" in nobody
    assert "nothing is kept" not in nobody
    assert "cortex project list" not in said()


def test_a_session_without_a_name_is_told_by_what_was_done(vault_from, home):
    body = "## Outcome\n\nDecision: use slate.\n\n## Changed\n\n- `src/glue.py`\n\n<!-- overview e 6 x y -->\n\n## Events\n"
    vault = vault_from(
        record("one", "session", title="Session 5f0c7a52-6d3f-4b1e", body=body)
        + record("two", "session", title="Session 6", body="## Events\n")
        + record("three", "session", title="The roof", body=body)
    )
    text = brief(vault, caller_at(NOW, str(home))).text
    assert "- 2026-11-01 changed glue.py [one]\n" in text
    assert "[two]" not in text  # in which nothing was said
    assert "- 2026-11-01 The roof: changed glue.py [three]\n" in text


@pytest.mark.parametrize("name", ["/etc/passwd", "../../x", "a/../../b", "-x", "a b"])
def test_what_is_no_name_of_a_branch_names_no_file(vault_from, home, git, name):
    git(home, "branch", "tin")
    used = (
        *branches.find_included(str(home), "main", [name, "tin"]).depends_on,
        *branches.RepositoryRefs(*checkout.find_repository(str(home))).head_files(name),
    )
    assert any(path.endswith("heads/tin") for path in used)
    assert all(os.path.realpath(path).startswith(str(home)) for path in used)
    assert not any(path.endswith(name) for path in used)
