"""Draw the pictures of the documentation: `python docs/dev/pictures.py` writes docs/session.svg and docs/obsidian.svg.

A real session is run in a temporary folder, on a terminal of its own. Clock, chance and identity are
fixed, so the same code draws the same pictures on every machine.
"""

from __future__ import annotations

import fcntl
import html
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]
COLUMNS, MAX_LINES = 100, 34
MINUTES = """\
# Weekly, 20 November 2026

Present: Ana, Ben, Cleo

## Decisions

- We ship on Thursdays, because support is in

## Actions

- [ ] Ana: write the release notes by 2026-11-26
- [ ] Ben: call the printer
"""
SESSION = (
    'cortex capture "Gotcha: staging drops idle connections after 30 s; ping it every 20 s"',
    "cortex capture --type meeting - < ~/minutes.md",
    "cortex actions",
    "cortex search when do we ship -n 2",
    'cortex save "The cart lives in SQLite" --why "one file, no server" --topic decision/cart',
    "cortex search type:gotcha idle connections",
)
LATER = ("cortex heal",)  # for the second picture alone
# The `cortex` of the session: time stands still, and chance is counted.
LAUNCHER = """\
#!{python}
import hashlib, os, sys, time
then, number, calls = time.gmtime({now} + 60 * int(os.environ["STEP"])), os.environ["STEP"], iter(range(10**6))
really = time.gmtime
time.gmtime = lambda seconds=None: then if seconds is None else really(seconds)
os.urandom = lambda size: hashlib.sha256(f"{{number}} {{next(calls)}}".encode()).digest()[:size]
from cortex.__main__ import console
console()
"""
NOW = 1795193112  # 2026-11-20T16:45:12Z
GLYPH, LINE = 8.43, 19  # pixels of a letter and of a line, at 14 pixels
INK = {"1": "strong", "2": "dim", "33": "mark", "$": "prompt"}


def main() -> None:
    """Write both pictures."""
    for name, picture in draw().items():
        (DOCS / name).write_text(picture)


def draw() -> dict[str, str]:
    """The pictures by their file names."""
    with tempfile.TemporaryDirectory() as folder:
        shop = Path(folder, "shop")
        environment = _prepare(Path(folder), shop)
        lines: list[str] = []
        for step, command in enumerate((*SESSION, *LATER)):
            said = _run_on_terminal(command, shop, environment | {"STEP": str(step)})
            if command in SESSION:
                lines += ["", f"\x1b[$m$\x1b[0m \x1b[1m{command}\x1b[0m", *said]
        return {"session.svg": _terminal(lines[1:]), "obsidian.svg": _vault(shop)}


def _prepare(folder: Path, shop: Path) -> dict[str, str]:
    """A project with minutes and an empty vault; the environment of its person."""
    tools = folder / "bin"
    for each in (shop, tools, folder / "home"):
        each.mkdir()
    launcher = tools / "cortex"
    launcher.write_text(LAUNCHER.format(python=sys.executable, now=NOW))
    launcher.chmod(0o755)
    (folder / "home/minutes.md").write_text(MINUTES)
    environment = {
        "PATH": f"{tools}:{os.environ['PATH']}",
        "PYTHONPATH": str(DOCS.parent),
        "HOME": str(folder / "home"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "PAGER": "cat",
        "CORTEX_PAGER": "cat",
        "STEP": "0",
    } | {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in
         (("NAME", "Ana"), ("EMAIL", "ana@example.org"))}  # fmt: skip
    for command in ("git init -q -b main", "cortex init", "cortex git install"):
        subprocess.run(
            command, shell=True, cwd=shop, env=environment, check=True, capture_output=True
        )
    return environment


def _run_on_terminal(command: str, cwd: Path, environment: dict[str, str]) -> list[str]:
    """What a command writes on a terminal of our width, in lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, COLUMNS, 0, 0))
    with subprocess.Popen(
        command,
        shell=True,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        held = b""
        with suppress(OSError):  # how a terminal ends whose other side is closed
            while piece := os.read(ours, 65536):
                held += piece
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"{command}: {held.decode()}")
    text = held.decode().replace("\r\n", "\n")
    text = re.sub(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)", "", text)  # hyperlinks
    text = re.sub(r".*\r|\x1b\[[0-9;]*[A-LN-Za-ln-z]", "", text)  # a line that was written over
    return text.rstrip("\n").split("\n")


def _terminal(lines: list[str]) -> str:
    """A terminal's window with lines that have colours. It is dark on every page."""
    rows = [row for line in lines for row in _rows(line)]
    if len(rows) > MAX_LINES:
        raise SystemExit(f"the session has {len(rows)} lines, and {MAX_LINES} have room")
    width, height = round(COLUMNS * GLYPH) + 40, len(rows) * LINE + 66
    texts = [
        f'<text x="20" y="{58 + at * LINE}">{"".join(_tspan(*run) for run in row)}</text>'
        for at, row in enumerate(rows)
        if row
    ]
    dots = [
        f'<circle cx="{24 + 20 * at}" cy="20" r="6" fill="{colour}"/>'
        for at, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    style = (
        "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        "fill:#d0d4dc}.strong{font-weight:700;fill:#fff}.dim{fill:#8b93a3}"
        ".mark{fill:#f0c674}.prompt{fill:#7ec699}"
    )
    return _svg(width, height, "A session: keep something, read minutes, ask", style, [
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="10" fill="#1b1f27" stroke="#444b58"/>',
        *dots,
        *texts,
    ])  # fmt: skip


def _rows(line: str) -> Iterator[list[tuple[str, str]]]:
    """A line as rows of at most `COLUMNS` letters; a row is pairs of a class and a text."""
    row, room, ink = list[tuple[str, str]](), COLUMNS, ""
    for piece in re.split(r"(\x1b\[[0-9;$]*m)", line):
        if piece.startswith("\x1b"):
            ink = INK.get(piece[2:-1], "")
            continue
        left = piece
        while left:
            row.append((ink, left[:room]))
            left, room = left[room:], room - len(left[:room])
            if left:
                yield row
                row, room = [], COLUMNS
    yield row


def _tspan(ink: str, text: str) -> str:
    escaped = html.escape(text, quote=False)
    return f'<tspan class="{ink}">{escaped}</tspan>' if ink else escaped


def _vault(root: Path) -> str:
    """The vault as Obsidian shows it: its files, the note of the meeting, its links."""
    (note,) = root.glob("records/meeting/*.md")
    files = list(_tree(root, note))
    height = max(410, 50 + 22 * len(files))
    left = [
        _row(16 + 14 * depth, 40 + 22 * at, name, ink)
        for at, (depth, name, ink) in enumerate(files)
    ]
    selected = next(at for at, one in enumerate(files) if one[2] == "link")
    text = note.read_text()
    head, body = text.removeprefix("---\n").split("\n---\n", 1)
    links = dict.fromkeys(re.findall(r"\[\[([^]|]+)", text))
    back = sorted(
        path.stem for path in root.glob("**/*.md")
        if path != note and f"[[{note.stem}" in path.read_text() and "events" not in path.parts
    )  # fmt: skip
    style = (
        "text{font:13px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#2e2e2e}.page{fill:#fff}"
        ".side{fill:#f4f4f6}.row{fill:#e4ddf6}text.dim{fill:#737380}text.strong{font-weight:600}"
        "text.link{fill:#6a45c9}text.title{font-size:22px;font-weight:700}.edge{stroke:#d5d5dc;fill:none}"
        "@media(prefers-color-scheme:dark){text{fill:#dcdde2}.page{fill:#1e1e22}.side{fill:#26262b}"
        ".row{fill:#3b3357}text.dim{fill:#9a9aa6}text.link{fill:#ac94f4}.edge{stroke:#3f3f47}}"
    )
    return _svg(1120, height, "A vault in Obsidian: its files, a meeting, its links", style, [
        f'<rect class="page" width="1120" height="{height}" rx="8"/>',
        f'<path class="side" d="M8 0H290V{height}H8a8 8 0 0 1-8-8V8a8 8 0 0 1 8-8z"/>',
        f'<path class="side" d="M850 0H1112a8 8 0 0 1 8 8V{height - 8}a8 8 0 0 1-8 8H850z"/>',
        f'<rect class="row" x="8" y="{24 + 22 * selected}" width="274" height="22" rx="4"/>',
        *left,
        *_note(head, body),
        *_list(36, "Links", [*links]),
        *_list(76 + 22 * len(links), "Linked mentions", back),
        f'<rect class="edge" x=".5" y=".5" width="1119" height="{height - 1}" rx="8"/>',
    ])  # fmt: skip


def _tree(root: Path, note: Path) -> Iterator[tuple[int, str, str]]:
    """Each row of the file list: its depth, its text, its class. What is for machines stays shut."""

    def below(folder: Path, depth: int) -> Iterator[tuple[int, str, str]]:
        for path in sorted(folder.iterdir(), key=lambda one: (one.is_file(), one.name)):
            if path.name.startswith("."):
                continue
            if path.is_dir():
                shut = path.name in ("events", "inbox") or path.parent.name == "briefings"
                yield depth, f"{'▸' if shut else '▾'} {path.name}", "dim" if shut else "strong"
                yield from () if shut else below(path, depth + 1)
            elif path.suffix == ".md":
                yield depth, _cut(path.stem, 33 - 2 * depth), "link" if path == note else ""

    return below(root, 0)


def _note(head: str, body: str) -> Iterator[str]:
    """The open note: its properties, then its text."""
    yield _row(322, 44, "Properties", "strong")
    y = 70
    for line in head.splitlines():
        key, _, value = line.partition(": ")
        if key in ("id", "type", "project", "date", "attendees", "source_of"):
            shown = re.sub(
                r"\[\[([^]|]+)(?:\|[^]]*)?\]\]|[\"\[\]]", lambda found: found[1] or "", value
            )
            yield _row(322, y, key, "dim")
            yield _row(430, y, _cut(shown, 54), "link" if "[[" in value else "")
            y += 22
    for line in body.splitlines():
        level = len(line) - len(line.lstrip("#"))
        done = line.replace("- [ ]", "☐").replace("- [x]", "☑")
        done = f"•{done[1:]}" if done.startswith("- ") else done.lstrip("# ")
        if done:
            y += (18, 26, 22)[min(level, 2)] - 18 + 22
            yield _row(322, y, done, ("", "title", "strong")[min(level, 2)])


def _list(y: int, heading: str, names: list[str]) -> Iterator[str]:
    yield _row(872, y, heading, "strong")
    for at, name in enumerate(names, 1):
        yield _row(872, y + 22 * at, _cut(name, 33), "link")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _row(x: int, y: int, text: str, ink: str) -> str:
    named = f' class="{ink}"' if ink else ""
    return f'<text x="{x}" y="{y}"{named}>{html.escape(text, quote=False)}</text>'


def _svg(width: int, height: int, title: str, style: str, parts: list[str]) -> str:
    start = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" xml:space="preserve">'
    return "\n".join(
        [start, f"<title>{title}</title>", f"<style>{style}</style>", *parts, "</svg>", ""]
    )


if __name__ == "__main__":
    main()
