"""`cortex erase`: what goes, what stays, what is asked; and what `delete` says of what it leaves."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cortex.core.notes.erasure import TOMBSTONE, derive_words, make_eraser
from cortex.vault import erased
from cortex.vault.locate import Vault
from tests.conftest import run_cortex

PERSON = "Zoë Quux-Larch"
Cortex = Callable[..., Any]


@pytest.mark.parametrize(
    "text",
    ["Zoë Quux-Larch", "ZOË QUUX-LARCH", "zoe\u0308 quux\nlarch", "Zoë  Quux Larch", '"zo\\u00eb quux-larch"', "xZoë_quux_larchy"],
)  # fmt: skip
def test_words_are_found_in_any_case_form_and_spacing(text: str) -> None:
    eraser = make_eraser([PERSON])
    assert eraser.holds(text.encode())
    left = eraser.erase("a.md", f"before {text} after\r\n".encode())
    assert left is not None
    assert TOMBSTONE in left.decode()
    assert left.startswith(b"before ")
    assert left.endswith(b" after\r\n")


def test_names_ids_links_and_fields_stay_what_they_are() -> None:
    eraser = make_eraser(["Quux"])
    note = b"---\r\nid: call-quux-about-it-k3f7q2\r\ntitle: Quux calls\r\ntags: [quux, b]\r\n---\r\n# Quux calls\r\n\r\n[[call-quux-about-it-k3f7q2|Quux]] ![](img/quux.png)\r\n"
    assert eraser.erase("records/decision/x.md", note) == (
        b"---\r\nid: call-erased-about-it-k3f7q2\r\ntitle: erased calls\r\ntags: [erased, b]\r\n---\r\n# [ERASED] calls\r\n\r\n[[call-erased-about-it-k3f7q2|[ERASED]]] ![](img/erased.png)\r\n"
    )
    assert eraser.erase_name("Notes/Über Quux.md".encode()) == "Notes/Über erased.md".encode()
    assert eraser.erase("a.toml", b'[projects]\nquux = "x"\n') == b'[projects]\nerased = "x"\n'


def test_a_clone_finds_the_words_by_what_stands_in_their_place() -> None:
    eraser = make_eraser(["Quux"])
    before = b"---\nid: call-quux-k3f7q2\n---\nAsk Quux, or QUUX.\nNothing erased here.\n"
    after = eraser.erase("a.md", before)
    assert after is not None
    assert {word.lower() for word in derive_words(before, after)} == {"quux"}


@pytest.fixture
def told(vault_from: Callable[[str], Vault], cortex: Cortex) -> Path:
    vault = vault_from(
        f"=== Own.md\n# Own\n\nFirst.\nAsk {PERSON} twice.\n\n=== img/zoë quux-larch.txt\nhers\n"
    )
    cortex("save", f"Call {PERSON} on Monday", "--type", "decision", "--why", f"{PERSON} knows")
    cortex("save", "Keep the cart", "--type", "decision", "--why", "it holds")
    return Path(vault.root)


def texts(root: Path) -> dict[str, str]:
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes().decode() for path in found}


def test_a_dry_run_lists_the_places_and_changes_nothing(told: Path, cortex: Cortex) -> None:
    before = texts(told)
    answer = json.loads(cortex("erase", PERSON, "--dry-run", "--json").stdout)
    assert not answer["done"]
    kinds = {place["kind"] for place in answer["places"]}
    assert kinds >= {"event", "record", "briefing", "file", "state"}
    assert texts(told) == before


def test_words_go_from_every_file_and_from_what_is_derived(told: Path, cortex: Cortex) -> None:
    assert cortex("erase", *PERSON.split()).returncode == 0  # the words, unquoted
    after = texts(told)
    assert [path for path, text in after.items() if "quux" in f"{path} {text}".lower()] == []
    assert after["Own.md"] == f"# Own\n\nFirst.\nAsk {TOMBSTONE} twice.\n"
    assert after["img/erased.txt"] == "hers\n"
    private = (
        path
        for kind in (".cache", ".local")
        for path in Path.home().glob(f"{kind}/**/*")
        if path.is_file()
    )
    assert [path for path in private if b"quux" in path.read_bytes().lower()] == []
    assert cortex("search", "monday").stdout.startswith(f"Call {TOMBSTONE} on Monday")
    assert cortex("search", "quux").returncode == 1
    assert cortex("doctor").returncode == 0
    again = cortex("erase", PERSON)
    assert (again.returncode, again.stdout.strip()[-13:]) == (1, "found nowhere")


def test_of_an_id_the_record_its_events_content_and_its_pages_lines_go(
    told: Path, cortex: Cortex
) -> None:
    (record,) = told.glob("records/decision/call-*.md")
    assert cortex("erase", record.stem).returncode == 0
    assert not record.exists()
    after = texts(told)
    assert [path for path, text in after.items() if "monday" in text.lower()] == []
    (event,) = (
        text for path, text in after.items() if path.startswith("events/20") and TOMBSTONE in text
    )
    assert event.endswith(f"\n## Raw Content\n\n{TOMBSTONE}\n")
    assert "Ask " in after["Own.md"]  # words were not asked for
    assert "was erased" in cortex("restore", record.stem).stderr
    assert cortex("extract", "--replay").returncode == 1
    assert "Keep the cart" in cortex("search", "cart").stdout


def test_a_record_that_plain_git_brings_back_with_an_edit_is_taken_out_again(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    cortex("sync")
    (record,) = told.glob("records/decision/keep-*.md")
    text = record.read_text()
    cortex("erase", record.stem)
    record.write_text(f"{text}\nmore\n")
    git(told, "add", "-A")
    git(told, "commit", "-qm", "by hand")
    assert "it is gone again" in cortex("sync").stdout
    assert not record.exists()


def test_the_list_holds_ids_and_no_word(told: Path, cortex: Cortex) -> None:
    cortex("erase", PERSON)
    listed = erased.read_list(str(told))
    assert len(listed.events) == 1
    lines = "".join(path.read_text() for path in (told / "events/erased").iterdir()).splitlines()
    assert {line.split()[0] for line in lines} == {"#", "event"}


def test_many_files_change_only_when_somebody_says_so(told: Path, cortex: Cortex) -> None:
    for number in range(60):
        (told / f"n{number}.md").write_text("Ask Quuxling.\n")
    before = texts(told)
    refused = cortex("erase", "quuxling")
    assert refused.returncode == 1
    assert "60 files" in refused.stderr
    assert "--yes" in refused.stdout
    assert texts(told) == before
    assert cortex("erase", "quuxling", stdin="n\n").returncode == 1
    assert texts(told) == before
    assert cortex("erase", "quuxling", stdin="y\n").returncode == 0
    assert texts(told)["n59.md"] == f"Ask {TOMBSTONE}.\n"


def test_what_stands_everywhere_is_refused(told: Path, cortex: Cortex) -> None:
    for words in ("ab", "Decision", "briefings", "tit"):
        assert "too short, or a part of what every note holds" in cortex("erase", words).stderr
    assert "in no git repository" in cortex("erase", "quux", "--history").stderr


def test_what_is_no_text_is_named_and_stays(told: Path, cortex: Cortex) -> None:
    (told / "a.bin").write_bytes(b"\0\1quuxling\2")
    answer = cortex("erase", "quuxling")
    assert "a.bin: holds it and is not UTF-8 text" in answer.stdout
    assert (told / "a.bin").read_bytes() == b"\0\1quuxling\2"


def test_under_git_it_is_committed_and_nothing_else_changes(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    cortex("sync")
    assert "gone again" not in cortex("erase", PERSON).stdout
    assert cortex("sync").returncode == 0
    assert git(told, "status", "--porcelain") == ""
    assert texts(told)["Own.md"] == f"# Own\n\nFirst.\nAsk {TOMBSTONE} twice.\n"
    assert texts(told)["img/erased.txt"] == "hers\n"


def test_an_import_does_not_bring_an_erased_turn_back(vault: Vault, cortex: Cortex) -> None:
    transcript = Path.home() / ".claude/projects/-v/s1.jsonl"
    transcript.parent.mkdir(parents=True)
    said = {
        "role": "assistant",
        "content": [{"type": "text", "text": "Decision: Quuxling sells nuts."}],
    }
    line = {
        "type": "assistant", "sessionId": "s1", "cwd": vault.root, "uuid": "u1", "message": said,
        "timestamp": "2026-11-20T10:00:00.000Z",
    }  # fmt: skip
    transcript.write_text(json.dumps(line) + "\n")
    cortex("import", "claude")
    assert str(transcript) in cortex("erase", "quuxling").stdout  # what its host may still send
    shutil.rmtree(Path.home() / ".local/state/cortex")  # as on another machine of the same person
    cortex("import", "claude")
    assert [path for path, text in texts(Path(vault.root)).items() if "uuxling" in text] == []


def test_delete_says_what_stays_and_where(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    cortex("sync")
    (record,) = told.glob("records/decision/keep-*.md")
    said = cortex("delete", record.stem).stdout
    places = "1 event, git's history (1 commit)"
    assert f"its text stays in {places}: cortex erase {record.stem} --history" in said
    assert cortex("extract", "--replay").returncode == 1
    assert cortex("delete", record.stem, "--hard", "--yes").returncode == 0
    assert cortex("extract", "--replay").returncode == 1


def test_a_turn_whose_record_was_deleted_is_no_hit_in_its_place(
    vault: Vault, cortex: Cortex
) -> None:
    cortex("capture", "Decision: badgers sell nuts", "--type", "stop", "--session", "s")
    cortex("normalize")
    (record,) = Path(vault.root).glob("records/decision/*.md")
    cortex("delete", record.stem)
    assert "stop  " not in cortex("search", "badgers").stdout
    assert "turn " not in cortex("remind", "who sells nuts, badgers?").stdout


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (["git add Own.md"], "changes are staged"),
        (["git worktree add -q ../other"], "git worktree remove"),
        (["git checkout -q --detach"], "no branch is checked out"),
    ],
)
def test_a_history_that_cannot_be_rewritten_whole_is_left_alone(
    told: Path, cortex: Cortex, git: Callable[..., str], how: list[str], said: str
) -> None:
    git(told, "init", "-q")
    cortex("sync")
    (told / "Own.md").write_text((told / "Own.md").read_text() + "more\n")
    before = git(told, "rev-parse", "HEAD")
    for command in how:
        git(told, *command.split()[1:])
    refused = cortex("erase", PERSON, "--history")
    assert refused.returncode != 0
    assert said in refused.stderr
    assert git(told, "rev-parse", "HEAD") == before
    assert PERSON in (told / "Own.md").read_text()


def test_the_event_of_a_record_whose_file_was_removed_is_no_hit(
    vault: Vault, cortex: Cortex
) -> None:
    cortex("save", "Hardy plants", "--type", "decision", "--why", "frost")
    cortex("capture", "Decision: hardy badgers sell nuts")
    cortex("normalize")
    for record in Path(vault.root).glob("records/decision/*.md"):
        cortex("delete", record.stem, "--hard", "--yes")
    assert cortex("search", "hardy").stdout.startswith("no hits")
    assert "hardy" not in cortex("remind", "who sells nuts, hardy badgers?").stdout


def test_what_cannot_be_edited_is_named_by_path_and_the_history_goes_on(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    (told / "zoë quux-larch.pdf").write_bytes(b"%PDF\0" + PERSON.encode())
    (told / "link").symlink_to(PERSON)
    (told / "wide.md").write_text(f"Ask {PERSON}", encoding="utf-16")
    git(told, "init", "-q")
    git(told, "add", ".")
    git(told, "commit", "-qm", "all")
    answer = json.loads(cortex("erase", PERSON, "--history", "--json").stdout)
    assert {one["where"]: one["message"] for one in answer["problems"]} == {
        "erased.pdf": "holds it and is not UTF-8 text",
        "link": "holds it and is a link",
        "wide.md": "holds it and is not UTF-8 text",
    }
    assert ", or no text: erased.pdf, link, wide.md" in " ".join(answer["left"])
    assert PERSON not in git(told, "log", "-p", "--all", "--", "Own.md", "events", "records")
    git(told, "rm", "-qf", "erased.pdf", "link", "wide.md")
    git(told, "commit", "-qm", "gone")
    answer = json.loads(cortex("erase", PERSON, "--history", "--json").stdout)
    assert (answer["done"], answer["problems"]) == (True, [])


def test_a_vault_without_commits_has_no_history_to_rewrite(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    assert cortex("erase", PERSON, "--history").returncode == 0
    assert "quux" not in "".join(texts(told).values()).lower()


def test_the_same_command_finishes_what_was_killed(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    git(told, "add", ".")
    git(told, "commit", "-qm", "all")
    (told / "Own.md").write_text(f"# Own\n\nFirst.\nAsk {TOMBSTONE} twice.\n")  # not yet committed
    assert cortex("erase", PERSON, "--history").returncode == 0
    assert git(told, "status", "--porcelain") == ""
    assert "quux" not in git(told, "log", "-p", "--all").lower()


def test_files_that_cortex_writes_for_a_host_are_written_anew(told: Path, cortex: Cortex) -> None:
    project = told.parent / "code"
    project.mkdir()
    at = "--vault", str(told)
    run_cortex(*at, "save", f"Pay {PERSON}", "--type", "decision", "--why", "it holds", cwd=project)
    for way in ("rules", "agents"):
        assert run_cortex(*at, "brief", "--into", way, cwd=project).returncode == 0
    (project / "CLAUDE.md").write_text(PERSON)
    assert PERSON in (project / "AGENTS.md").read_text()
    said = run_cortex(*at, "erase", PERSON, cwd=project).stdout
    assert "CLAUDE.md, outside of the vault: edit it" in said
    held = [path for path, text in texts(project).items() if PERSON in text]
    assert held == ["CLAUDE.md"]


def test_the_remote_and_the_own_vault_that_still_hold_it_are_named(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    own = told.parent / "own"
    run_cortex("init", str(own), "--default", cwd=told.parent)
    (own / "Own.md").write_text(PERSON)
    git(told, "init", "-q")
    git(told.parent, "init", "-q", "--bare", "remote")
    git(told, "remote", "add", "origin", "../remote")
    cortex("sync")
    said = cortex("erase", PERSON, "--history").stdout
    assert f"cortex --vault {own} erase" in said
    assert "keeps it until you run:\n  git push origin" in said


@pytest.mark.parametrize("text", ["Zoë\u00a0Quux-Larch", "> Zoë\n> Quux-Larch", "**Zoë** Quux-Larch"])  # fmt: skip
def test_blanks_and_marks_of_any_kind_may_stand_between_words(text: str) -> None:
    assert make_eraser([PERSON]).holds(text.encode())


def test_a_list_that_grew_on_the_remote_stops_a_sync_until_it_is_followed(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    git(told.parent, "init", "-q", "--bare", "remote")
    git(told, "remote", "add", "origin", "../remote")
    cortex("sync")
    for name in ("b", "c"):
        git(told.parent, "clone", "-q", "remote", name)
        run_cortex("sync", cwd=told.parent / name)
    cortex("erase", PERSON)
    assert cortex("sync").returncode == 0
    b, c = told.parent / "b", told.parent / "c"
    assert "were erased there" in run_cortex("sync", cwd=c).stdout  # it has nothing of its own
    (record,) = b.glob("records/decision/call-*.md")
    record.write_text(record.read_text() + f"\nAnd {PERSON} again.\n")
    stopped = run_cortex("sync", cwd=b)
    assert "files were erased there since the last sync; nothing was merged" in stopped.stdout + stopped.stderr  # fmt: skip
    assert "cortex sync --follow" in stopped.stdout + stopped.stderr
    assert run_cortex("sync", "--follow", cwd=b).returncode == 0
    assert [path for path, text in texts(b).items() if "quux" in f"{path}{text}".lower()] == []
    assert [text for text in texts(b).values() if f"And {TOMBSTONE} again." in text]


def test_a_branch_that_somebody_pushed_to_meanwhile_is_named(
    told: Path, cortex: Cortex, git: Callable[..., str]
) -> None:
    git(told, "init", "-q")
    git(told.parent, "init", "-q", "--bare", "remote")
    git(told, "remote", "add", "origin", "../remote")
    cortex("sync")
    git(told.parent, "clone", "-q", "remote", "b")
    git(told.parent / "b", "commit", "-q", "--allow-empty", "-m", "more")
    hook = told / ".git/hooks/reference-transaction"  # at the first commit, after the fetch
    hook.write_text(
        '#!/bin/sh\n[ -e "$0.ran" ] || { touch "$0.ran"; unset $(git rev-parse --local-env-vars); git -C ../b push -q; }\n'
    )
    hook.chmod(0o755)
    raced = cortex("erase", PERSON, "--history")
    assert "somebody pushed to it meanwhile" in raced.stdout
    again = cortex("erase", PERSON, "--history")
    assert (again.returncode, "  git push origin" in again.stdout) == (0, True)
