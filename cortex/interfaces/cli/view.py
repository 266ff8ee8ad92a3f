"""Where an answer is printed: width, colours and links of a terminal, how paths read from there, the
pager for what is longer than the screen, the bar for what takes long.

Renderers mark names, hints and long lines (`text.path`, `text.lead`, `text.hint`, `LONG_LINE_MARK`);
`finish` shows them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from cortex.core.model.caller import ProgressCallback, no_progress
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple
from cortex.interfaces.escape_terminal import escape

# `escape` lets none of them through.
PATH_START, PATH_END, LONG_LINE_MARK, HINT_MARK, LEAD_MARK = "\x1c", "\x1d", "\x1e", "\x1f", "\x1a"
PICTURE_MARK, FIGURES_MARK = "\x19", "\x18"  # before a line of a drawing, and of its numbers
BOLD, DIM, YELLOW, OFF = "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[0m"
PATH_RE = lazy_re(f"{PATH_START}([^{PATH_START}{PATH_END}]*){PATH_END}")
HINT_RE = lazy_re(f"{HINT_MARK}([^{HINT_MARK}]*){HINT_MARK}")
LEAD_RE = lazy_re(f"{LEAD_MARK}([^{LEAD_MARK}]*){LEAD_MARK}")
_PIECE_RE = lazy_re(r" +|[^ ]+")
_CODE_RE = lazy_re(r"\x1b\[[0-9]*m")
_MAX_ROWS = 3  # of a long line
_DEFAULT_WIDTH = 80
_BAR_WIDTH = 30
_NOT_EXECUTABLE, _NO_COMMAND = 126, 127  # exit codes of a shell
# Terminals that make links of OSC 8: a variable, and how its value begins.
_LINKING_TERMINALS = (
    ("TERM_PROGRAM", ("iTerm", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "zed")),
    ("TERM", ("xterm-kitty", "xterm-ghostty", "alacritty", "foot", "contour", "wezterm", "tmux-")),
    ("VTE_VERSION", ("5", "6", "7", "8", "9")),
    ("KONSOLE_VERSION", ("2",)),
    *((name, ("",)) for name in ("WT_SESSION", "KITTY_WINDOW_ID", "DOMTERM")),
)  # fmt: skip


class View(NamedTuple):
    """What is known of the reader. Without a terminal `width` is 0."""

    cwd: str
    root: str = ""  # of the vault whose paths are shown
    width: int = 0
    height: int = 0
    color: bool = False
    links: bool = False

    def encode(self) -> str:
        """The terminal in one word, for the watcher; empty without one."""
        numbers = (self.width, self.height, int(self.color), int(self.links))
        return ",".join(map(str, numbers)) if self.width else ""


def decode(terminal: str, cwd: str, root: str) -> View:
    """The view of whoever asks the watcher."""
    width, height, color, links = map(int, (terminal or "0,0,0,0").split(","))
    return View(cwd, root, width, height, bool(color), bool(links))


def view_of(stream: TextIO, cwd: str, environ: Mapping[str, str]) -> View:
    """The view of standard output, or of any other stream."""
    if not stream.isatty():
        return View(cwd)
    try:
        width, height = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        width = height = 0
    columns = environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else width or _DEFAULT_WIDTH
    color = "NO_COLOR" not in environ and environ.get("TERM") != "dumb"
    return View(cwd, "", width, height, color, color and _has_links(environ))


def _has_links(environ: Mapping[str, str]) -> bool:
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    return any(
        name in environ and environ[name].startswith(begin) for name, begin in _LINKING_TERMINALS
    )


def finish(shown: str, view: View) -> str:
    """The text with its paths as they are opened from the working directory, and its long lines
    wrapped."""
    lines = choose_lines(shown, pictures=view.color)
    for at, line in enumerate(lines):
        if line.startswith(LONG_LINE_MARK):
            lines[at] = wrap(line[1:], view.width) if view.width else line[1:]
    shown = LEAD_RE.sub("", "\n".join(lines)).replace(HINT_MARK, "")
    return PATH_RE.sub(lambda match: _format_path(match[1], view), shown)


def choose_lines(shown: str, *, pictures: bool) -> list[str]:
    """The lines of a text, either those of its drawings or the same in numbers."""
    left_out, kept = (FIGURES_MARK, PICTURE_MARK)[:: 1 if pictures else -1]
    return [line.removeprefix(kept) for line in shown.split("\n") if line[:1] != left_out]


def strip_colors(shown: str) -> str:
    """The text without the codes of colours."""
    return _CODE_RE.sub("", shown)


def readable_path(file: str, cwd: str) -> str:
    """A path that opens from `cwd`: relative, absolute where that would lead up twice."""
    relative = os.path.relpath(file, cwd)
    return file if relative.startswith("../../") else relative


def note_paths(answer: Any, cwd: str) -> dict[str, Any]:
    """The notes of a list by their paths, as they open from `cwd`."""
    notes = (getattr(row, "hit", row) for row in answer.hits)
    return {readable_path(note.file, cwd): note for note in notes}


def _format_path(place: str, view: View) -> str:
    """A path as its reader sees it, with a link to the file if their terminal takes links."""
    path, colon, line = place.rpartition(":")
    if not line.isdecimal():
        path, colon, line = place, "", ""
    file = os.path.join(view.root, path)
    # What is not a path of the vault, such as `query`, comes back as it is.
    if not os.path.isabs(file) or not (file.endswith(".md") or os.path.lexists(file)):
        return escape(place)
    text = f"{escape(readable_path(file, view.cwd))}{colon}{line}"
    if not view.links:
        return text
    plain = b"/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    quoted = "".join(chr(b) if b in plain else f"%{b:02X}" for b in os.fsencode(file))
    return f"\x1b]8;;file://{os.uname().nodename}{quoted}\x1b\\{text}\x1b]8;;\x1b\\"


def wrap(line: str, width: int) -> str:
    """A line in up to three rows of the width, cut at blanks, with its indent. Where the first
    coloured word would not be seen, the beginning is left out."""
    indent = " " * (len(line) - len(line.lstrip(" ")))
    room = max(width - len(indent), 10)
    pieces = _PIECE_RE.findall(line.strip(" "))
    widths = [_columns(_CODE_RE.sub("", piece)) for piece in pieces]
    begin = 0
    if (marked := next((at for at, piece in enumerate(pieces) if YELLOW in piece), 0)) > 0:
        while sum(widths[begin:marked]) > (_MAX_ROWS - 1) * room:
            begin += 2 if pieces[begin + 1][0] == " " else 1
    rows, used, color = ["… " if begin else ""], 2 if begin else 0, ""
    for piece, columns in zip(pieces[begin:], widths[begin:], strict=True):
        if used and used + columns > room - (len(rows) == _MAX_ROWS):
            rows[-1] = rows[-1].rstrip(" ")
            if len(rows) == _MAX_ROWS:
                rows[-1] += "…" + (OFF if color == YELLOW else "")
                break
            rows.append("")
            used = 0
        if used or piece[0] != " ":
            rows[-1] += piece
            used += columns
        color = (_CODE_RE.findall(piece) or [color])[-1]
    return "\n".join(indent + row for row in rows)


def _columns(text: str) -> int:
    """How many columns a text takes in a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415  few texts need it

    return sum(0 if combining(char) else 1 + (east_asian_width(char) in "WF") for char in text)


def print_paged(text: str, view: View, out: TextIO) -> None:
    """Print an answer to a terminal: what is longer than the screen through $CORTEX_PAGER, $PAGER
    or less. Without a pager, and where it cannot run, the text comes as it is."""
    is_long = view.height and text.count("\n") >= view.height
    if not (is_long and sys.stdin and sys.stdin.isatty() and _run_pager(text)):
        out.write(text)


def _run_pager(text: str) -> bool:
    """Show a text in the pager, which a shell runs, as git does it. False, with nothing shown, if
    there is no pager."""
    import subprocess  # noqa: PLC0415  few answers are that long

    names = ("CORTEX_PAGER", "PAGER")
    command = next((os.environ[name] for name in names if name in os.environ), "less")
    if command.strip() in ("", "cat"):
        return False
    environ = {"LESS": "FRX", "LV": "-c"} | os.environ
    pager = subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=environ)
    with suppress(BrokenPipeError):  # the reader has seen enough
        pager.communicate(text.encode("utf-8", "backslashreplace"))
    while True:
        with suppress(KeyboardInterrupt):  # ends a search in the pager, not the pager
            return pager.wait() not in (_NOT_EXECUTABLE, _NO_COMMAND)


def progress_bar() -> ProgressCallback:
    """A bar on standard error of what takes over a second; silence where that is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        return no_progress
    started = time.monotonic()
    shown = 0.0

    def draw(what: str, done: int, total: int) -> None:
        nonlocal shown
        moment = time.monotonic()
        finished = done >= total >= 0
        if moment - started < 1.0 or (moment - shown < 0.1 and not finished):
            return
        shown = moment
        filled = _BAR_WIDTH * done // total if total > 0 else _BAR_WIDTH
        bar = f"[{'#' * filled}{'.' * (_BAR_WIDTH - filled)}] {done:,}/{total:,}"
        line = f"\r{what} {bar if total >= 0 else f'{done:,}'}"
        sys.stderr.write(line if not finished else "\r" + " " * len(line) + "\r")
        sys.stderr.flush()

    return draw
