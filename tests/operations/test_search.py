"""Search as a person meets it: always in the notes as they are now, ranked, filtered, honest about problems."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from cortex.core.model.caller import no_progress
from cortex.core.model.problem import InvalidInputError
from cortex.index.refresh import query_index
from cortex.operations.find.search import search
from cortex.operations.records.capture import capture
from tests.conftest import commit_all, cpu_limit

NOTES = """
=== records/decision/use-sqlite-aaaaaa.md
---
id: use-sqlite-aaaaaa
type: decision
title: Use SQLite for the catalogue
status: active
project: cortex
branch: main
tags: [storage, area/db]
created: 2026-11-01T10:00:00Z
updated: 2026-11-01T10:00:00Z
---

We keep the catalogue in one file, because a server is one more thing to run.
=== records/decision/use-postgres-bbbbbb.md
---
id: use-postgres-bbbbbb
type: decision
title: Use Postgres for the catalogue
status: superseded
project: cortex
created: 2025-01-01T10:00:00Z
---

We keep the catalogue in a server. catalogue catalogue catalogue
=== records/gotcha/fsync-cccccc.md
---
id: fsync-cccccc
type: gotcha
title: A file is not on disk until its folder is
status: active
project: other
updated: 2026-11-19
---

Call `os.fsync` on the folder: `merge_driver` and mergeDriver forget it. Café décision.
=== Home.md
# Welcome home

The map of everything, with #inline/tag and [[use-sqlite-aaaaaa]].
"""


@pytest.fixture
def notes(vault_from):
    return vault_from(NOTES)


def ids(vault, caller, query, **options):
    return [hit.id for hit in search(vault, caller, query, **options).hits]


QUERIES = [
    ("where do we keep the catalogue", ["use-sqlite-aaaaaa"]),
    ("catalogue", ["use-sqlite-aaaaaa"]),
    ('"one more thing"', ["use-sqlite-aaaaaa"]),
    ("catalog*", ["use-sqlite-aaaaaa"]),
    ("catalogue -server", []),
    ("catalogue -postgres", ["use-sqlite-aaaaaa"]),
    ("merge driver", ["fsync-cccccc"]),
    ("mergeDriver", ["fsync-cccccc"]),
    ("merge_driver", ["fsync-cccccc"]),
    ("os.fsync", ["fsync-cccccc"]),
    ("cafe decision", ["fsync-cccccc"]),
    ("welcome", ["Home.md"]),
    ("type:gotcha", ["fsync-cccccc"]),
    ("type:decision,gotcha status:active", ["fsync-cccccc", "use-sqlite-aaaaaa"]),
    ("tag:area", ["use-sqlite-aaaaaa"]),
    ("tag:inline", ["Home.md"]),
    ("-tag:storage catalogue", []),
    ("project:other", ["fsync-cccccc"]),
    ("branch:main", ["use-sqlite-aaaaaa"]),
    ("status:superseded catalogue", ["use-postgres-bbbbbb"]),
    ("path:gotcha", ["fsync-cccccc"]),
    ("path:records/*/use* catalogue", ["use-sqlite-aaaaaa"]),
    ("type:gotcha after:7d", ["fsync-cccccc"]),
    ("type:decision before:2026", []),
    ("type:decision after:2026-11-01 before:2026-11-02", ["use-sqlite-aaaaaa"]),
    ("zebra", []),
    ("the and of", []),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_finds(notes, caller, query, expected):
    assert ids(notes, caller, query) == expected


def test_notes_with_all_words_come_before_notes_with_some(notes, caller):
    assert ids(notes, caller, "folder server")[0] in ("fsync-cccccc", "use-sqlite-aaaaaa")
    assert len(ids(notes, caller, "folder server", all=True)) == 3
    assert ids(notes, caller, "catalogue folder sqlite")[0] == "use-sqlite-aaaaaa"


def test_a_hit_names_the_line_and_shows_it(notes, cortex):
    (hit,) = json.loads(cortex("search", "one more thing", "-n", "1", "--json").stdout)["hits"]
    assert {key: hit[key] for key in ("id", "path", "line", "title", "type", "status")} == {
        "id": "use-sqlite-aaaaaa",
        "path": "records/decision/use-sqlite-aaaaaa.md",
        "line": 13,
        "title": "Use SQLite for the catalogue",
        "type": "decision",
        "status": "active",
    }
    assert hit["score"] > 0
    assert (
        hit["snippet"]
        == "We keep the catalogue in one file, because a server is one more thing to run."
    )


def test_a_pipe_gets_no_colour_and_no_mark(notes, cortex):
    out = cortex("search", "catalogue").stdout
    assert "\x1b" not in out
    assert "\ue000" not in out
    assert "superseded" in out
    assert "records/decision/use-sqlite-aaaaaa.md:13" in out


@pytest.mark.parametrize(("query", "cause"), [
    ("catalogue after:3000", "no note passes after:3000-01-01:"),
    ("tag:nope catalogue", "no note passes tag:nope:"),
    ("before:1980 catalogue", "no note passes before:1980-01-01:"),
    ("type:decision tag:nope,never catalogue", "no note passes tag:nope,never:"),
    ("type:gotcha tag:storage catalogue", "no note passes all of its filters:"),
])  # fmt: skip
def test_filters_that_no_note_passes_are_named(notes, cortex, query, cause):
    done = cortex("search", query)
    assert cause in done.stdout, done.stdout
    assert "cortex status" in done.stdout


def test_no_hits_is_exit_one_with_a_hint_and_an_error_is_exit_two(notes, cortex):
    none = cortex("search", "zebra")
    assert (none.returncode, "no hits" in none.stdout, "try" in none.stdout) == (1, True, True)
    wrong = cortex("search", "after:soon")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "not a date" in wrong.stderr


def test_a_filter_that_no_note_passes_lets_none_through(notes, caller):
    assert search(notes, caller, "catalogue").hits
    assert search(notes, caller, "type:nothing catalogue").hits == ()


@pytest.mark.parametrize("query", ["", "* - ''", '"', "-", "()[]{}", "  "])
def test_operators_alone_are_an_error_that_says_how_to_ask(notes, caller, query):
    with pytest.raises(InvalidInputError, match="nothing to search for"):
        search(notes, caller, query)


@pytest.mark.parametrize(
    "query",
    ["a" * 10_000, "word " * 2_000, '"a b ' * 2_500, "x* " * 3_000, "tag: type: a\0b", "((((" * 2_500 + "catalogue", "\x1b]0;x\x07 catalogue"],
)  # fmt: skip
def test_a_query_of_ten_thousand_characters_is_answered(notes, caller, query):
    with cpu_limit(10):
        search(notes, caller, query)


def test_an_event_stands_behind_its_record(notes, caller, cortex):
    cortex("capture", "Pattern: label the zebra crossing")
    (only,) = search(notes, caller, "zebra").hits
    assert only.path.startswith("records/pattern/")


def test_turns_stand_before_the_note_of_their_session_and_what_is_no_event_behind_them(
    vault, caller, cortex
):
    for number in range(30):
        capture(vault, caller, f"zebra {number}", type="stop", session="s")
    Path(vault.root, "inbox/pending/broken.md").write_text("zebra in a file that is no event")
    hits = search(vault, caller, "zebra", number=50).hits
    folders = [hit.path.partition("/")[0] for hit in hits]
    assert (folders.count("events"), folders.count("sessions"), folders[-1]) == (30, 0, "inbox")
    assert [one.type for one in hits[0].others] == ["session"]


def test_filters_know_other_alphabets_and_any_case(vault_from, caller):
    vault = vault_from(
        "=== a.md\n---\nproject: \u00d6sterreich\nstatus: Superseded\ntype: Meeting Notes\n---\nzebra\n=== b.md\nzebra\n"
    )
    assert ids(vault, caller, "project:\u00f6sterreich", all=True) == ["a.md"]
    assert ids(vault, caller, 'type:"meeting notes"', all=True) == ["a.md"]
    assert ids(vault, caller, "zebra") == ["b.md"]
    assert ids(vault, caller, "zebra", all=True) == ["b.md", "a.md"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [("after:1970", 4), ("before:1970-01-01", 0), ("-after:2026", 1), ("-before:2026", 3), ("after:9999y", 4)],
)  # fmt: skip
def test_bounds_at_the_edges(notes, caller, query, expected):
    assert len(ids(notes, caller, query, all=True)) == expected


# -- what is set aside


def record(id_: str, status: str, text: str, **fields: str) -> str:
    head = "".join(
        f"{key}: {value}\n"
        for key, value in (
            {"id": id_, "type": "decision", "title": id_, "status": status} | fields
        ).items()
    )
    return f"=== records/decision/{id_}.md\n---\n{head}---\n{text}\n"


ASIDE = (
    record("holds-aaaaaa", "active", "zebra crossing")
    + record("old-bbbbbb", "superseded", "zebra crossing zebra")
    + record("gone-cccccc", "deleted", "zebra crossing giraffe")
    + record("kept-dddddd", "archived", "zebra crossing lane")
    + record("long-eeeeee", "pruned", "zebra crossing giraffe")
)


@pytest.mark.parametrize(("query", "options", "expected", "aside"), [
    ("zebra crossing", {}, ["holds-aaaaaa", "kept-dddddd"], 3),
    ("zebra crossing", {"all": True}, ["holds-aaaaaa", "old-bbbbbb", "gone-cccccc", "kept-dddddd", "long-eeeeee"], 0),
    ("status:superseded", {}, ["old-bbbbbb"], 0),
    ("zebra status:deleted,archived", {}, ["gone-cccccc", "kept-dddddd"], 0),
    ("status:pruned", {}, ["long-eeeeee"], 0),
    ("zebra -status:archived", {}, ["holds-aaaaaa"], 3),
    ("type:decision", {}, ["holds-aaaaaa", "kept-dddddd"], 3),
    ("type:decision", {"all": True}, ["holds-aaaaaa", "gone-cccccc", "kept-dddddd", "long-eeeeee", "old-bbbbbb"], 0),
    ("zebra", {"number": 1}, ["holds-aaaaaa"], 0),  # the number leaves them out, and --all would show no more
    ("zebra", {"number": 2}, ["holds-aaaaaa", "kept-dddddd"], 1),
    ("giraffe", {}, [], 2),
])  # fmt: skip
def test_superseded_and_deleted_leave_the_answer_and_are_counted(
    vault_from, caller, query, options, expected, aside
):
    found = search(vault_from(ASIDE), caller, query, **options)
    assert ([hit.id for hit in found.hits], found.set_aside) == (expected, aside)


def test_what_dropped_out_is_told_with_the_command_that_shows_it(vault_from, cortex):
    vault_from(ASIDE)
    assert cortex("search", "zebra", "crossing").stdout.endswith(
        "\n\n3 superseded, pruned or deleted notes left out: cortex search --all zebra crossing\n"
    )
    none = cortex("search", '"crossing giraffe"')
    assert (none.returncode, none.stdout.splitlines()[1:]) == (
        1,
        [
            "  2 superseded, pruned or deleted notes left out: cortex search --all '\"crossing giraffe\"'"
        ],
    )
    shown = cortex("search", "--all", '"crossing giraffe"')
    assert "gone-cccccc" in shown.stdout
    answer = json.loads(cortex("search", "zebra", "--json").stdout)
    assert (answer["set_aside"], [hit["vault"] for hit in answer["hits"]]) == (
        3,
        ["project", "project"],
    )
    assert "status: deleted" in cortex("show", "gone-cccccc").stdout


def test_the_event_of_a_record_that_dropped_out_does_not_come_in_its_place(vault, caller, cortex):
    cortex("capture", "Decision: zebra crossings are painted")
    assert cortex("search", "zebra").returncode == 0
    (note,) = Path(vault.root, "records/decision").iterdir()
    note.write_text(note.read_text().replace("type: decision", "type: decision\nstatus: deleted"))
    found = search(vault, caller, "zebra")
    assert (found.hits, found.set_aside) == ((), 1)
    assert [
        hit.path.partition("/")[0] for hit in search(vault, caller, "path:events zebra").hits
    ] == ["events"]
    assert [
        hit.path.partition("/")[0] for hit in search(vault, caller, "zebra", all=True).hits
    ] == ["records"]


@pytest.mark.parametrize(("number", "aside"), [(5, 4), (20, 9)])
def test_what_dropped_out_makes_room_for_others(vault_from, caller, number, aside):
    """Nine superseded notes that match better neither fill the answer nor keep those with some of the words from it."""
    old = "".join(
        record(f"old-{letter * 6}", "superseded", "zebra crossing lane") for letter in "bcdefghij"
    )
    vault = vault_from(
        old
        + record("new-aaaaaa", "archived", "a zebra, and much more text than the others have")
        + "=== own.md\ncrossing\n"
    )
    found = search(vault, caller, "zebra crossing", number=number)
    assert (sorted(hit.id for hit in found.hits), found.set_aside) == (
        ["new-aaaaaa", "own.md"],
        aside,
    )


def test_a_preview_holds_four_hundred_characters(vault_from, caller):
    (hit,) = search(
        vault_from(f"=== a.md\n{'word ' * 100}zebra {'word ' * 100}\n"), caller, "zebra"
    ).hits
    assert 390 <= len(hit.snippet) <= 404


def test_a_catalogue_that_is_damaged_where_no_stamp_shows_it_is_built_anew(notes, cortex, caller):
    before = search(notes, caller, "catalogue").hits
    for words in (["search", "catalogue"], ["status"], ["doctor"], ["show", "use-sqlite"]):
        cortex("status")
        (catalogue,) = cached(".sqlite")
        data = bytearray(catalogue.read_bytes())
        data[4096 : 4096 * 3] = os.urandom(4096 * 2)
        catalogue.write_bytes(data)
        (state,) = cached("state.json")
        table = json.loads(state.read_text())
        status = catalogue.stat()
        table["sealed"]["catalogue.sqlite"] = (
            f"{status.st_mtime_ns}.{status.st_ctime_ns}.{status.st_size}.{status.st_ino}"
        )
        state.write_text(json.dumps(table))
        assert cortex(*words).returncode == 0, words
    assert search(notes, caller, "catalogue").hits == before


# -- always fresh, with no daemon


def test_an_edit_a_new_file_a_rename_and_a_deletion_are_seen_at_once(notes, cortex):
    home = Path(notes.root, "Home.md")
    assert cortex("search", "welcome").returncode == 0
    home.write_text("# Zebra\n")
    assert cortex("search", "welcome").returncode == 1
    assert "Home.md" in cortex("search", "zebra").stdout
    Path(notes.root, "sub").mkdir()
    home.rename(Path(notes.root, "sub/Hut.md"))
    assert "sub/Hut.md" in cortex("search", "zebra").stdout
    assert "Home.md" not in cortex("search", "zebra").stdout
    Path(notes.root, "new.md").write_text("a giraffe")
    assert "new.md" in cortex("search", "giraffe").stdout
    Path(notes.root, "sub/Hut.md").unlink()
    assert cortex("search", "zebra").returncode == 1


def test_an_edit_that_keeps_size_and_mtime_is_seen(notes, cortex):
    home = Path(notes.root, "Home.md")
    home.write_text("zebra")
    os.utime(home, (1_700_000_000, 1_700_000_000))
    assert cortex("search", "zebra").returncode == 0
    time.sleep(0.1)  # past the tick in which a stamp is not trusted
    assert cortex("search", "zebra").returncode == 0
    home.write_text("koala")
    os.utime(home, (1_700_000_000, 1_700_000_000))
    assert cortex("search", "koala").returncode == 0
    assert cortex("search", "zebra").returncode == 1


def test_a_branch_switch_and_a_pull_are_seen(notes, cortex, git, tmp_path):
    root = notes.root
    git(root, "init", "-q")
    commit_all(root)
    git(root, "checkout", "-qb", "other")
    Path(root, "zebra.md").write_text("zebra")
    commit_all(root)
    assert cortex("search", "zebra").returncode == 0
    git(root, "checkout", "-q", "main")
    assert cortex("search", "zebra").returncode == 1
    git(root, "merge", "-q", "other")
    assert cortex("search", "zebra").returncode == 0


def test_what_git_ignores_dot_folders_and_excluded_notes_are_not_searched(notes, cortex, git):
    root = notes.root
    git(root, "init", "-q")
    for path in ("secret/a.md", ".obsidian/b.md", "private/c.md", "open/d.md"):
        Path(root, path).parent.mkdir(exist_ok=True)
        Path(root, path).write_text("zebra")
    Path(root, ".gitignore").write_text("secret/\n")
    toml = Path(root, "cortex.toml")
    toml.write_text(toml.read_text().replace("exclude = []", 'exclude = ["private"]'))

    def found() -> list[str]:
        return [
            hit["path"] for hit in json.loads(cortex("search", "zebra", "--json").stdout)["hits"]
        ]

    assert found() == ["open/d.md"]
    Path(root, ".gitignore").write_text("open/\n")
    toml.write_text(toml.read_text().replace('exclude = ["private"]', "exclude = []"))
    assert sorted(found()) == ["private/c.md", "secret/a.md"]


def test_a_folder_in_which_git_ignores_all_that_is_there_by_now_is_searched_for_more(
    notes, caller, git
):
    git(notes.root, "init", "-q")
    Path(notes.root, ".gitignore").write_text("*.pdf\nsecret-*.md\nprivate/\n")
    for path in ("papers/a.pdf", "drafts/secret-1.md", "private/deep/b.md"):
        Path(notes.root, path).parent.mkdir(parents=True)
        Path(notes.root, path).write_text("zebra")
    assert ids(notes, caller, "zebra") == []
    for path in ("papers/real.md", "drafts/secret-2.md", "drafts/open.md", "private/c.md"):
        Path(notes.root, path).write_text("zebra")
    assert sorted(ids(notes, caller, "zebra")) == ["drafts/open.md", "papers/real.md"]


def test_what_was_ignored_stays_so_while_git_fails_and_git_is_asked_again(
    notes, caller, git, tmp_path, monkeypatch
):
    git(notes.root, "init", "-q")
    Path(notes.root, ".gitignore").write_text("private/\n")
    Path(notes.root, "private").mkdir()
    Path(notes.root, "private/s.md").write_text("zebra")
    assert ids(notes, caller, "zebra") == []
    Path(notes.root, "open.md").write_text("zebra")
    (tmp_path / "git").write_text("#!/bin/sh\nexit 128\n")
    (tmp_path / "git").chmod(0o755)
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path))
        assert ids(notes, caller, "zebra") == ["open.md"]
    Path(notes.root, "open.md").write_text("zebra again")
    found = search(notes, caller, "zebra")
    assert [hit.id for hit in found.hits] == ["open.md"]
    assert found.problems == ()


def test_the_rules_that_gits_settings_name_count(notes, caller, git, tmp_path):
    git(notes.root, "init", "-q")
    Path(notes.root, "private").mkdir()
    Path(notes.root, "private/s.md").write_text("zebra")
    rules = tmp_path / "ignored everywhere"
    rules.write_text("")
    git(notes.root, "config", "core.excludesFile", str(rules))
    assert ids(notes, caller, "zebra") == ["private/s.md"]
    rules.write_text("private/\n")
    assert ids(notes, caller, "zebra") == []
    rules.write_text("\n")
    assert ids(notes, caller, "zebra") == ["private/s.md"]


def test_a_path_is_found_in_any_case_whatever_its_bytes(vault_from, caller, cortex):
    vault = vault_from("=== Äpfel/a4.md\nzebra\n=== plans/b.md\nzebra\n")
    with open(os.fsencode(f"{vault.root}/caf") + b"\xe9.md", "w") as file:
        file.write("zebra")
    assert ids(vault, caller, "path:äpfel/") == ids(vault, caller, "path:äp*") == ["Äpfel/a4.md"]
    assert ids(vault, caller, "path:pl*") == ["plans/b.md"]
    assert len(ids(vault, caller, "path:*a*")) == 3
    found = query_index(vault, no_progress, lambda index: index.catalogue.notes_named_from("c", 9))
    assert [row.path for row in found] == ["caf\udce9.md"]


def test_an_option_of_a_command_is_a_word(vault_from, caller):
    vault = vault_from(
        "=== a.md\ngit push with --force is forbidden\n=== b.md\ngit push is allowed\n"
    )
    assert ids(vault, caller, "git push --force")[0] == "a.md"
    assert ids(vault, caller, "git push -force") == ["b.md"]
    assert ids(vault, caller, 'push -"is forbidden"') == ["b.md"]


def test_what_is_superseded_keeps_nothing_older_out_of_a_list(vault_from, caller):
    rows = [("active", 3), ("superseded", 9), ("archived", 1)]
    vault = vault_from(
        "".join(
            record(
                f"{status}-{number}-aaaaaa",
                status,
                "zebra",
                updated=f"2026-1{2 - at}-0{number + 1}",
            )
            for at, (status, count) in enumerate(rows)
            for number in range(count)
        )
    )
    listed = search(vault, caller, "type:decision")
    assert [hit.status for hit in listed.hits] == ["active"] * 3 + ["archived"]
    assert (listed.total, listed.set_aside) == (4, 7)


def test_a_note_that_git_tracks_is_searched_though_a_rule_names_its_folder(notes, cortex, git):
    root = notes.root
    git(root, "init", "-q")
    Path(root, ".gitignore").write_text("drafts/\n")
    commit_all(root)
    git(root, "checkout", "-qb", "other")
    Path(root, "drafts").mkdir()
    Path(root, "drafts/x.md").write_text("zebra")
    git(root, "add", "-f", "drafts/x.md")
    git(root, "commit", "-qm", "two")
    git(root, "checkout", "-q", "main")
    Path(root, "drafts").mkdir(exist_ok=True)
    Path(root, "drafts/y.md").write_text("giraffe")
    assert cortex("search", "zebra").returncode == 1
    git(root, "checkout", "-q", "other")
    assert cortex("search", "zebra").returncode == 0


def test_a_prefix_stands_for_all_its_words_and_for_parts_of_identifiers(vault_from, caller):
    vault = vault_from(
        "".join(
            f"=== n{number}.md\nco{chr(97 + number // 26)}{chr(97 + number % 26)}x client-prerender foo_bar_baz\n"
            for number in range(120)
        )
    )
    assert len(ids(vault, caller, "co*", number=500)) == 120
    assert ids(vault, caller, "client -co*") == []
    assert len(ids(vault, caller, "client-pre*", number=500)) == 120
    assert len(ids(vault, caller, "foo_b*", number=500)) == 120


def test_a_vault_that_the_repository_around_it_ignores_is_searched_all_the_same(notes, cortex, git):
    above = os.path.dirname(notes.root)
    git(above, "init", "-q")
    Path(above, ".gitignore").write_text("vault/\n")
    assert cortex("search", "welcome").returncode == 0


# -- damage to what is derived


def cached(suffix: str) -> list[Path]:
    return [
        path
        for path in Path(os.environ["HOME"], ".cache/cortex").rglob("*")
        if path.is_file() and path.name.endswith(suffix)
    ]


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for place in range(len(data) // 3, len(data), max(1, len(data) // 50)):
        data[place] ^= 0x55
    path.write_bytes(data)


DAMAGE = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "noise": lambda path: path.write_bytes(os.urandom(path.stat().st_size)),
    "flipped": flip,
    "gone": lambda path: path.unlink(),
}
PARTS = [".toc", ".trm", ".pst", ".sqlite", "stamps", "state.json"]


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("how", DAMAGE)
def test_any_damage_is_noticed_and_the_search_answers(notes, caller, part, how):
    before = search(notes, caller, "catalogue").hits
    files = cached(part)
    assert files
    DAMAGE[how](files[0])
    assert search(notes, caller, "catalogue").hits == before
    assert search(notes, caller, "catalogue").hits == before


def test_the_whole_cache_can_go(notes, caller):
    before = search(notes, caller, "catalogue").hits
    shutil.rmtree(Path(os.environ["HOME"], ".cache/cortex"))
    assert search(notes, caller, "catalogue").hits == before


def test_another_version_of_the_program_builds_its_own(notes, caller, monkeypatch):
    before = search(notes, caller, "catalogue").hits
    monkeypatch.setattr("cortex.index.state_file.FORMAT", "2/9.9.9")
    assert search(notes, caller, "catalogue").hits == before


# -- events and notes of sessions beside records


def turn_event(number: int, session: str, message: str) -> str:
    id_ = f"202611{number:02d}t100000z-aaaaaaaaaa"
    return f"=== events/2026/11/{id_}.md\n---\nid: {id_}\ntype: stop\nat: 2026-11-{number:02d}T10:00:00Z\nsession: {session}\n---\n\n## Raw Content\n\n{message}\n"


LONG = "We looked at the invoices and the ledger and moved on to other things. " * 14
CUSTOMS = f"> [!user] why do parcels to Norway come back?\n\n{LONG}\n\n* * *\n\nThe carrier wants a customs form for every parcel to Norway.\n\n* * *\n\n{LONG}\n\nSo the label printer adds the form."
PRINTER = record(
    "printer-aaaaaa", "active", "The label printer adds the form.", title="Print forms"
)


def test_the_passage_of_a_turn_that_answers_stands_before_a_record_that_does_not(
    vault_from, caller
):
    vault = vault_from(PRINTER + turn_event(1, "s", CUSTOMS) + turn_event(2, "s", LONG))
    question = "what does the carrier want for a parcel to Norway?"
    first, *_ = search(vault, caller, question).hits
    assert (first.id, first.title) == (
        "20261101t100000z-aaaaaaaaaa",
        "Why do parcels to Norway come back",
    )
    plain = first.snippet.replace("\ue000", "").replace("\ue001", "")
    assert "The carrier wants a customs form for every parcel to Norway." in plain
    assert "[!user]" not in plain
    lines = Path(first.file).read_text().split("\n")
    assert "Norway" in lines[first.line - 1]


def test_of_one_matter_the_best_is_shown_and_the_others_are_named(vault_from, caller, cortex):
    told = PRINTER.replace(
        "---\nThe", "provenance:\n  events: [20261101t100000z-aaaaaaaaaa]\n---\nThe"
    )
    event = "20261101t100000z-aaaaaaaaaa"
    session = told.replace("printer-aaaaaa", "session-s").replace("decision", "session")
    vault = vault_from(told + session + turn_event(1, "s", CUSTOMS))

    def named(question: str) -> list[tuple[str, list[str]]]:
        found = search(vault, caller, question).hits
        return [(hit.id, [one.id for one in hit.others]) for hit in found]

    assert named("which form does the label printer add?")[0] == ("printer-aaaaaa", [event])
    assert named("which form does the carrier want for a parcel to Norway?") == [
        (event, ["printer-aaaaaa", "session-s"])
    ]
    assert named("type:stop") == [(event, [])]
    printed = cortex("search", "which form does the carrier want for a parcel to Norway?").stdout
    assert "  also  decision printer-aaaaaa  session session-s\n" in printed


def test_a_few_words_are_all_wanted_and_a_question_is_not(vault_from, caller):
    scattered = f"zebra {LONG}\n\ngiraffe {LONG}"
    vault = vault_from(
        record("all-aaaaaa", "active", scattered)
        + record("near-aaaaaa", "active", "The zebra has painted stripes.")
    )
    assert ids(vault, caller, "zebra giraffe") == ["all-aaaaaa", "near-aaaaaa"]
    assert ids(vault, caller, "which zebra or giraffe has painted stripes") == [
        "near-aaaaaa",
        "all-aaaaaa",
    ]


def talk(number: int, text: str, date: str = "8 May, 2023") -> str:
    return f"=== notes/talk-{number:02}.md\n---\ndate: {date}\n---\n{text}\n"


def paths(vault, caller, query: str) -> list[str]:
    return [one.path for one in search(vault, caller, query).hits]


def test_a_turn_of_a_conversation_is_found_by_what_was_asked_before_it(vault_from, caller):
    vault = vault_from(
        talk(8, "Ana: The weather was fine.")
        + talk(9, "Ana: Which instrument did you buy in the end?")
        + talk(10, "Ben: A cello, and I play it at night.")
        + talk(11, "Ana: Lovely.", "10 May, 2023")
        + talk(40, "Ben: The instrument shop is closed.", "9 May, 2023")
    )
    found = paths(vault, caller, "instrument that somebody did buy in the end")
    assert [one[-5:-3] for one in found] == ["09", "10", "08", "40"]  # not 11, of another day
    os.unlink(f"{vault.root}/notes/talk-09.md")
    assert paths(vault, caller, "instrument did buy in the end") == ["notes/talk-40.md"]


def test_speakers_dates_and_names_of_functions_find_a_note(vault_from, caller):
    vault = vault_from(
        talk(1, "Ana: We painted the fence.", "2023-05-08")
        + talk(3, "Ben: We painted the fence.", "2023-06-08")
        + "=== notes/code.md\ndef merge_trees(left, right):\n    join(left)\n"
        + "=== notes/use.md\nCalls merge_trees once in a long text about trees.\n"
    )
    assert paths(vault, caller, "what did Ben paint")[0] == "notes/talk-03.md"
    assert paths(vault, caller, "who painted a fence in May 2023")[0] == "notes/talk-01.md"
    assert paths(vault, caller, "how do you merge two trees of them")[0] == "notes/code.md"


def test_the_whole_note_is_scored_and_its_best_passage_is_shown(vault_from, caller):
    long = f"zebra {LONG}\n\n{LONG} giraffe\n\n{LONG} painted zebra giraffe"
    vault = vault_from(record("long-aaaaaa", "active", long) + record("b-aaaaaa", "active", LONG))
    (hit,) = search(vault, caller, "where is the giraffe painted with zebra colours").hits
    assert "painted" in hit.snippet


def test_phrases_and_exclusions_are_of_the_whole_note(vault_from, caller):
    vault = vault_from(
        record("long-aaaaaa", "active", f"The zebra waits. {LONG}\n\n{LONG}\n\nA quiet giraffe.")
    )
    assert ids(vault, caller, 'zebra "quiet giraffe"') == ["long-aaaaaa"]
    assert ids(vault, caller, "zebra -giraffe") == []


def test_fewer_hits_are_the_first_of_more(vault_from, caller):
    vault = vault_from(
        "".join(turn_event(day, "s", f"{CUSTOMS} {'form ' * day}") for day in range(1, 20))
        + PRINTER
    )
    many = ids(vault, caller, "label form of the printer", number=20)
    assert ids(vault, caller, "label form of the printer", number=5) == many[:5]


@pytest.mark.parametrize(("message", "title"), [
    ("> [!user] Implement the following plan: # Plan: Split heavy parcels\n\nDone.", "Split heavy parcels"),
    ("## Summary\n\nParcels are split now.", "Summary"),
    ("<!-- cortex: what was done -->\n\nFiles changed:\n\n- src/parcels.py", "src/parcels.py"),
])  # fmt: skip
def test_a_turn_is_called_by_what_was_asked_or_said_or_done(vault_from, caller, message, title):
    (hit,) = search(vault_from(turn_event(1, "s", message)), caller, "parcels").hits
    assert hit.title == title
    assert "Raw Content" not in hit.snippet
