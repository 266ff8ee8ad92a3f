"""Briefings in rule files and in AGENTS.md: nothing else is touched, and all of it can be taken away again, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import Conflict, Invalid
from cortex.operations.sessions.brief import brief
from cortex.operations.sessions.rules_file import (
    AGENTS,
    BEGIN,
    BRIEFING,
    END,
    MEMORY,
    deliver,
    with_block,
    without_block,
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


def test_rules_are_two_files_written_only_when_they_change(vault_from, home) -> None:
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    before = files(home)
    assert brief(vault, here, into="rules").written == (BRIEFING, MEMORY)
    assert "[use-slate]" in (home / BRIEFING).read_text()
    memory = (home / MEMORY).read_text()
    assert "[MEMORY: decision]" in memory
    assert "cortex search" in memory
    assert (home / BRIEFING).stat().st_mode & 0o077
    stamp = (home / BRIEFING).stat().st_mtime_ns
    assert brief(vault, here, into="rules").written == ()
    assert (home / BRIEFING).stat().st_mtime_ns == stamp
    assert brief(vault, here, into="none").written == (BRIEFING, MEMORY)
    assert files(home) == before


def test_a_folder_or_rule_of_somebodys_own_stays(vault_from, home) -> None:
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    (home / ".claude/rules").mkdir(parents=True)
    (home / BRIEFING).write_text("mine\n")
    with pytest.raises(Conflict) as error:
        brief(vault, here, into="rules")
    assert "--into agents" in error.value.hint
    assert brief(vault, here, into="none").written == ()
    assert (home / BRIEFING).read_text() == "mine\n"


@pytest.mark.parametrize(
    "held",
    [
        None,
        b"",
        b"# Ours\n",
        b"# Ours",
        b"# Ours\r\n\r\nText\r\n",
        b"a\n\n",
        b"\xef\xbb\xbfa\n",
        b"\xff\xfa no UTF-8\n",
    ],
)
def test_a_block_goes_into_agents_and_away_again(vault_from, home, held) -> None:
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    if held is not None:
        (home / AGENTS).write_bytes(held)
    assert brief(vault, here, into="agents").written == (AGENTS,)
    written = (home / AGENTS).read_bytes()
    assert written.startswith(held or b"")
    assert written.count(b"use-slate") == 1
    assert (b"\r\n" in written) == (b"\r\n" in (held or b""))
    assert brief(vault, here, into="agents").written == ()
    (home / AGENTS).write_bytes(written + b"more\n")
    vault_from(NOTE.replace("Use slate", "Use tin"))
    assert brief(vault, here, into="agents").written == (AGENTS,)
    assert b"Use tin" in (home / AGENTS).read_bytes()
    assert (home / AGENTS).read_bytes().endswith(b"more\n")
    (home / AGENTS).write_bytes((home / AGENTS).read_bytes().removesuffix(b"more\n"))
    assert brief(vault, here, into="none").written == (AGENTS,)
    assert ((home / AGENTS).read_bytes() if (home / AGENTS).exists() else None) == held


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
    st.text(max_size=60) | st.sampled_from([END, f"{BEGIN}\n{END}", "a\r\nb"]),
    st.booleans(),
)
def test_whatever_stands_around_a_block_stays_to_the_byte(before, after, text, ended) -> None:
    held = before + (b"\n" if ended else b"")
    whole = with_block(held, text)
    assert whole.count(END.encode()) == held.count(END.encode()) + 1
    assert without_block(whole) == held
    assert with_block(whole, text) == whole
    longer = whole + after
    assert without_block(with_block(longer, "another")) == without_block(longer)
    assert without_block(longer) == held + after


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\n{BEGIN}\nb\n", 2),
        (f"a\n{END}\n", 2),
        (f"{BEGIN}\n{END}\n{BEGIN}\n{END}\n", 3),
        (f"{END}\nx\n{BEGIN}\n", 1),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", 2),
    ],
)
def test_marks_that_do_not_match_are_an_error_that_names_the_line(
    vault_from, home, text, line
) -> None:
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    (home / AGENTS).write_text(text)
    for way in ("agents", "none"):
        with pytest.raises(Invalid) as error:
            brief(vault, here, into=way)
        assert f"{AGENTS}:{line}:" in error.value.message
    assert (home / AGENTS).read_text() == text


def test_an_example_of_a_block_in_a_fence_is_none(vault_from, home) -> None:
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    example = f"# R\n```\n{BEGIN}\nx\n{END}\n```\nend\n".encode()
    (home / AGENTS).write_bytes(example)
    assert brief(vault, here, into="none").written == ()
    assert brief(vault, here, into="agents").written == (AGENTS,)
    assert (home / AGENTS).read_bytes().startswith(example)
    assert brief(vault, here, into="agents").written == ()
    assert brief(vault, here, into="none").written == (AGENTS,)
    assert (home / AGENTS).read_bytes() == example
    (home / AGENTS).write_bytes(b"# R\n```\nnever ended\n")
    for _ in range(2):
        brief(vault, here, into="agents")
    assert (home / AGENTS).read_bytes().count(b"use-slate") == 1


def test_what_was_written_or_taken_away_is_said_and_nothing_else(vault_from, home, cortex) -> None:
    vault = vault_from(NOTE)

    def said(way: str) -> str:
        return cortex("--vault", vault.root, "brief", "--into", way, cwd=str(home)).stdout

    assert said("agents") == f"written: {AGENTS}\n"
    assert said("agents") == "nothing written: the briefing is there as it is now\n"
    assert said("none") == f"taken away: {AGENTS}\n"
    assert said("none") == "nothing of cortex was there\n"


def test_nothing_is_written_through_a_link_or_into_the_vault(vault_from, home, tmp_path) -> None:
    vault, here = vault_from(NOTE), caller_at(NOW, str(home))
    (tmp_path / "CLAUDE.md").write_text("mine\n")
    (home / AGENTS).symlink_to(tmp_path / "CLAUDE.md")
    (home / ".claude").symlink_to(tmp_path)
    for way in ("agents", "rules"):
        with pytest.raises(Invalid):
            brief(vault, here, into=way)
    assert (tmp_path / "CLAUDE.md").read_text() == "mine\n"
    assert not (tmp_path / "rules").exists()
    with pytest.raises(Invalid):
        deliver(vault, vault.root, "rules", "x")
    with pytest.raises(Invalid):
        brief(vault, here, into="elsewhere")
