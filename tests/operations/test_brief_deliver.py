"""Briefings in rule files and in AGENTS.md: nothing else is touched, and all of it can be taken away again, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, strategies as st

from cortex.core.briefing.injected import CONTRACT, SURFACE_FILE
from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.core.text.token_count import count_tokens
from cortex.operations.sessions.brief import brief
from cortex.operations.sessions.rules_file import (
    AGENTS_FILE,
    BEGIN_MARK,
    BRIEFING_FILE,
    END_MARK,
    MEMORY_FILE,
    SKILL_FILES,
    insert_block,
    remove_block,
    write_briefing_files,
)
from tests.conftest import caller_at

NOW = "2026-11-20T16:45:12Z"
NOTE = "=== records/decision/use-slate.md\n---\nid: use-slate\ntype: decision\ntitle: Use slate\nproject: roof\ncreated: 2026-11-01T10:00:00Z\n---\n\nIt lasts.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "roof"
    folder.mkdir()
    (folder / ".cortex-project").write_text("roof\n")
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    } | {str(path.relative_to(folder)): b"/" for path in folder.rglob("*") if path.is_dir()}


def test_rules_are_two_files_written_only_when_they_change(vault_from, home):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    before = files(home)
    assert brief(vault, here, into="rules").written == (BRIEFING_FILE, MEMORY_FILE)
    assert "[use-slate]" in (home / BRIEFING_FILE).read_text()
    memory = (home / MEMORY_FILE).read_text()
    assert "[MEMORY: decision]" in memory
    assert "cortex search" in memory
    assert (home / BRIEFING_FILE).stat().st_mode & 0o077
    stamp = (home / BRIEFING_FILE).stat().st_mtime_ns
    assert brief(vault, here, into="rules").written == ()
    assert (home / BRIEFING_FILE).stat().st_mtime_ns == stamp
    assert brief(vault, here, into="none").written == (BRIEFING_FILE, MEMORY_FILE)
    assert files(home) == before


def test_a_folder_or_rule_of_somebodys_own_stays(vault_from, home):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    (home / ".claude/rules").mkdir(parents=True)
    (home / BRIEFING_FILE).write_text("mine\n")
    with pytest.raises(ConflictError) as error:
        brief(vault, here, into="rules")
    assert "--into agents" in error.value.hint
    assert brief(vault, here, into="none").written == ()
    assert (home / BRIEFING_FILE).read_text() == "mine\n"


def test_the_contract_is_in_the_rules_and_the_block_unless_the_settings_end_it(vault_from, home):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    for way, file in (("rules", BRIEFING_FILE), ("agents", AGENTS_FILE)):
        brief(vault, here, into=way)
        assert (home / file).read_text().count(CONTRACT) == 1
    Path(vault.root, "cortex.toml").write_text("format = 1\n[hooks]\ncontract = false\n")
    for way, file in (("rules", BRIEFING_FILE), ("agents", AGENTS_FILE)):
        brief(vault, here, into=way)
        assert "cortex-contract" not in (home / file).read_text()
        assert "[use-slate]" in (home / file).read_text()
    assert brief(vault, here, print=True).contract == ""


def test_the_skill_is_written_where_hosts_look_and_taken_away_again(vault_from, home):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    before = files(home)
    assert brief(vault, here, into="skill").written == SKILL_FILES
    for path in SKILL_FILES:
        front = yaml.safe_load((home / path).read_text().split("---\n")[1])
        assert set(front) == {"name", "description"}
        assert "[MEMORY: decision]" in (home / path).read_text()
    assert brief(vault, here, into="skill").written == ()
    assert brief(vault, here, into="none").written == SKILL_FILES
    assert files(home) == before
    (home / SKILL_FILES[0]).parent.mkdir(parents=True)
    (home / SKILL_FILES[0]).write_text("---\nname: cortex\n---\nmine\n")
    with pytest.raises(ConflictError):
        brief(vault, here, into="skill")
    assert brief(vault, here, into="none").written == ()
    assert (home / SKILL_FILES[0]).read_text().endswith("mine\n")


@pytest.mark.parametrize(
    "held",
    [None, b"", b"# Ours\n", b"# Ours", b"# Ours\r\n\r\nText\r\n", b"a\n\n", b"\xef\xbb\xbfa\n", b"\xff\xfa no UTF-8\n"],
)  # fmt: skip
def test_a_block_goes_into_agents_and_away_again(vault_from, home, held):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    if held is not None:
        (home / AGENTS_FILE).write_bytes(held)
    assert brief(vault, here, into="agents").written == (AGENTS_FILE,)
    written = (home / AGENTS_FILE).read_bytes()
    assert written.startswith(held or b"")
    assert written.count(b"use-slate") == 1
    assert (b"\r\n" in written) == (b"\r\n" in (held or b""))
    assert brief(vault, here, into="agents").written == ()
    (home / AGENTS_FILE).write_bytes(written + b"more\n")
    vault_from(NOTE.replace("Use slate", "Use tin"))
    assert brief(vault, here, into="agents").written == (AGENTS_FILE,)
    assert b"Use tin" in (home / AGENTS_FILE).read_bytes()
    assert (home / AGENTS_FILE).read_bytes().endswith(b"more\n")
    (home / AGENTS_FILE).write_bytes((home / AGENTS_FILE).read_bytes().removesuffix(b"more\n"))
    assert brief(vault, here, into="none").written == (AGENTS_FILE,)
    assert ((home / AGENTS_FILE).read_bytes() if (home / AGENTS_FILE).exists() else None) == held


def test_the_surface_is_a_block_of_few_tokens_that_git_leaves_out(vault_from, home, git):
    git(home, "init", "-q")
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    file = home / SURFACE_FILE
    assert brief(vault, here, into="surface").written == (SURFACE_FILE,)
    text = file.read_text()
    assert text.startswith("<!-- CORTEX_MEMORY_START -->\n")
    assert text.endswith("<!-- CORTEX_MEMORY_END -->\n")
    assert count_tokens(text) <= 500 + 100  # the frame and what is asked of a session
    assert SURFACE_FILE not in git(home, "status", "--porcelain", "-uall")
    file.write_text(f"mine\n\n{text}mine, too\n")
    vault_from(NOTE.replace("Use slate", "Use tin"))
    brief(vault, here, into="surface")
    again = file.read_text()
    assert "Use tin" in again
    assert again.startswith("mine\n\n<!-- CORTEX_MEMORY_START -->")
    assert again.endswith("mine, too\n")
    file.write_text(text)
    assert brief(vault, here, into="none").written == (SURFACE_FILE,)
    assert not file.exists()


LINES = st.lists(
    st.sampled_from(
        [
            b"# A",
            b"",
            b"text",
            b" <!-- other -->",
            b"- x\r",
            b"```md\n<!-- cortex:begin -->\nx\n<!-- cortex:end -->\n```",
            b"~~~~\n```\n<!-- cortex:end -->\n~~~~",
        ]
    ),
    max_size=6,
).map(b"\n".join)


@given(
    LINES,
    LINES.map(lambda some: some and b"\n" + some),
    st.text(max_size=60) | st.sampled_from([END_MARK, f"{BEGIN_MARK}\n{END_MARK}", "a\r\nb"]),
    st.booleans(),
)
def test_whatever_stands_around_a_block_stays_to_the_byte(before, after, text, ended):
    held = before + (b"\n" if ended else b"")
    whole = insert_block(held, text)
    assert whole.count(END_MARK.encode()) == held.count(END_MARK.encode()) + 1
    assert remove_block(whole) == held
    assert insert_block(whole, text) == whole
    longer = whole + after
    assert remove_block(insert_block(longer, "another")) == remove_block(longer)
    assert remove_block(longer) == held + after


@pytest.mark.parametrize(("text", "line"), [
    (f"a\n{BEGIN_MARK}\nb\n", 2),
    (f"a\n{END_MARK}\n", 2),
    (f"{BEGIN_MARK}\n{END_MARK}\n{BEGIN_MARK}\n{END_MARK}\n", 3),
    (f"{END_MARK}\nx\n{BEGIN_MARK}\n", 1),
    (f"{BEGIN_MARK}\n{BEGIN_MARK}\n{END_MARK}\n", 2),
])  # fmt: skip
def test_marks_that_do_not_match_are_an_error_that_names_the_line(vault_from, home, text, line):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    (home / AGENTS_FILE).write_text(text)
    for way in ("agents", "none"):
        with pytest.raises(InvalidInputError) as error:
            brief(vault, here, into=way)
        assert f"{AGENTS_FILE}:{line}:" in error.value.message
    assert (home / AGENTS_FILE).read_text() == text


def test_an_example_of_a_block_in_a_fence_is_none(vault_from, home):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    example = f"# R\n```\n{BEGIN_MARK}\nx\n{END_MARK}\n```\nend\n".encode()
    (home / AGENTS_FILE).write_bytes(example)
    assert brief(vault, here, into="none").written == ()
    assert brief(vault, here, into="agents").written == (AGENTS_FILE,)
    assert (home / AGENTS_FILE).read_bytes().startswith(example)
    assert brief(vault, here, into="agents").written == ()
    assert brief(vault, here, into="none").written == (AGENTS_FILE,)
    assert (home / AGENTS_FILE).read_bytes() == example
    (home / AGENTS_FILE).write_bytes(b"# R\n```\nnever ended\n")
    for _ in range(2):
        brief(vault, here, into="agents")
    assert (home / AGENTS_FILE).read_bytes().count(b"use-slate") == 1


def test_what_was_written_or_taken_away_is_said_and_nothing_else(vault_from, home, cortex):
    vault = vault_from(NOTE)

    def said(way: str) -> str:
        return cortex("--vault", vault.root, "brief", "--into", way, cwd=str(home)).stdout

    assert said("agents") == f"written: {AGENTS_FILE}\n"
    assert said("agents") == "nothing written: the briefing is there as it is now\n"
    assert said("none") == f"taken away: {AGENTS_FILE}\n"
    assert said("none") == "nothing of cortex was there\n"
    assert said("elsewhere") == ""


def test_nothing_is_written_through_a_link_or_into_the_vault(vault_from, home, tmp_path):
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    (tmp_path / "CLAUDE.md").write_text("mine\n")
    (home / AGENTS_FILE).symlink_to(tmp_path / "CLAUDE.md")
    (home / ".claude").symlink_to(tmp_path)
    for way in ("agents", "rules"):
        with pytest.raises(InvalidInputError):
            brief(vault, here, into=way)
    assert (tmp_path / "CLAUDE.md").read_text() == "mine\n"
    assert not (tmp_path / "rules").exists()
    with pytest.raises(InvalidInputError):
        write_briefing_files(vault, vault.root, "rules", "x")
