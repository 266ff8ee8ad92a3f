"""The new part of a growing file: complete lines, in bounded memory, and a fresh start when it is another file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from cortex.hosts.tail import (
    FILE_START,
    GONE,
    REPLACED,
    SHRANK,
    UNREADABLE,
    FilePosition,
    position_at,
    read_last_lines,
    read_new_lines,
    read_partial_line,
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_only_what_is_new_and_complete(file: Path) -> None:
    file.write_bytes(b"one\ntwo\nthr")
    first = read_new_lines(str(file))
    assert (first.lines, first.bytes_left, first.fault) == ([b"one", b"two"], 0, "")
    assert read_new_lines(str(file), first.position).lines == []
    assert read_partial_line(str(file), first.position) == b"thr"
    with file.open("ab") as more:
        more.write(b"ee\nfour\n")
    second = read_new_lines(str(file), first.position)
    assert (second.lines, second.line_ends) == ([b"three", b"four"], (14, 19))
    assert read_partial_line(str(file), second.position) == b""


def read_all(file: Path, most: int) -> tuple[list[bytes], int]:
    """All lines, a look at a time, and how many were too long."""
    lines, skipped, at = [], 0, FILE_START
    while True:
        look = read_new_lines(str(file), at, most)
        lines += look.lines
        skipped += look.skipped_lines
        assert sum(map(len, look.lines)) <= most
        if look.position == at:
            return lines, skipped
        at = look.position


@given(
    st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b".")), max_size=20),
    st.integers(1, 50),
)
def test_in_parts_of_any_size_what_fits_is_read_and_what_does_not_is_counted(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], most: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "parts.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    read, skipped = read_all(file, most)
    assert read == [line for line in lines if line.strip() and len(line) < most]
    assert skipped == sum(len(line) >= most for line in lines)


def test_a_line_that_is_too_long_costs_no_other_line(file: Path) -> None:
    file.write_bytes(b"a\n" + b"x" * 5_000 + b"\nb\n" + b"y" * 5_000)
    assert read_all(file, 1_000) == ([b"a", b"b"], 2)
    with file.open("ab") as more:
        more.write(b"its end\nc\n")
    assert read_all(file, 1_000) == ([b"a", b"b", b"c"], 2)


def test_a_file_that_shrank_or_was_replaced_is_read_anew(file: Path, tmp_path: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    at = read_new_lines(str(file)).position
    file.write_bytes(b"one\n")
    assert (read_new_lines(str(file), at).fault, read_new_lines(str(file), at).lines) == (
        SHRANK,
        [b"one"],
    )
    file.write_bytes(b"another\nsession\n")
    assert (read_new_lines(str(file), at).fault, read_new_lines(str(file), at).lines) == (
        REPLACED,
        [b"another", b"session"],
    )
    file.write_bytes(b"one\ntw0\nthree\n")  # only the end differs
    assert read_new_lines(str(file), at).fault == REPLACED


def test_the_same_text_under_another_inode_is_the_same_file(file: Path) -> None:
    file.write_bytes(b"one\ntwo\n")
    at = read_new_lines(str(file)).position
    other = file.with_name("other")
    other.write_bytes(b"one\ntwo\nthree\n")
    os.replace(other, file)
    assert read_new_lines(str(file), at)[:1] == ([b"three"],)


def test_a_position_can_be_named_by_its_offset(file: Path) -> None:
    file.write_bytes(b"one\ntwo\nthree\n")
    assert read_new_lines(str(file), position_at(str(file), 8)).lines == [b"three"]
    assert position_at(str(file), 14) == read_new_lines(str(file)).position
    assert read_last_lines(str(file), 9) == [b"three"]


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", ".", "a\0b", "\ud800"])
def test_what_is_no_regular_file_is_never_read(path: str) -> None:
    assert read_new_lines(path).fault in (UNREADABLE, GONE)
    assert read_new_lines(path).position == FILE_START
    assert (read_partial_line(path, FILE_START), read_last_lines(path), position_at(path, 5)) == (
        b"",
        [],
        FILE_START,
    )


def test_a_pipe_never_blocks_and_what_is_gone_leaves_the_position(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert read_new_lines(str(pipe)).fault == UNREADABLE
    at = FilePosition(5, "x")
    assert read_new_lines(str(tmp_path / "gone"), at)[:4] == ([], at, 0, GONE)
