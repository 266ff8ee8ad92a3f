"""Puts manual pages into the wheel: cortex(1), which lists all verbs, and a page for each verb that people use.

They are made of the reference in docs/dev/commands.md, which a test compares with the declarations of the verbs: a
build has none of Cortex's dependencies, so it cannot import them.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_MARK = "<!-- From here on"
_VERB_RE = re.compile(r"^### cortex ([a-z-]+)$", re.MULTILINE)
_ALIAS_RE = re.compile(r"^\| `cortex ([a-z-]+)` \| `(cortex .*?)` \|$", re.MULTILINE)
_PARAMETER_RE = re.compile(r"^- `(.+)`: (.*)$")
_ENTRY = ".TP 19"  # a verb and what it does, in one line
_GLOBAL_OPTIONS = (
    "- `--vault VAULT`: the vault; by default $CORTEX_VAULT, else the nearest one upwards",
    "- `--json`: answer with one JSON object",
    "- `-h, --help`: explain the verb",
)
_ABOUT = """Cortex is a memory you can read, diff and push: markdown notes in git, captured, normalized, searched. A vault is a folder with
a cortex.toml; it is found from the working directory upwards. `cortex init` makes one. `cortex VERB --help` explains any verb."""
_END = """.SH EXIT STATUS
0 for yes, 1 for no (no hits, a problem was found), 2 for an error, 130 if it was interrupted.
.SH ENVIRONMENT
.TP
.B CORTEX_VAULT
The vault, before the one that is found from the working directory.
.TP
.B CORTEX_OFF
If it is 1, hooks do nothing.
.TP
.B NO_COLOR
If it is set, no colours."""


class ManualPages(BuildHookInterface):  # type: ignore[type-arg, misc]
    """Writes the pages into a folder of their own, which is removed when the wheel is built."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, dict[str, str]]) -> None:  # noqa: ARG002
        self._folder = tempfile.mkdtemp()
        source = os.path.join(self.root, "docs", "dev", "commands.md")
        with open(source, encoding="utf-8") as file:
            text = file.read()
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or os.stat(source).st_mtime)
        day = time.strftime("%Y-%m-%d", time.gmtime(seconds))
        for name, page in manual_pages(text, self.metadata.version, day):
            path = os.path.join(self._folder, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(page)
            build_data["shared_data"][path] = f"share/man/man1/{name}"

    def finalize(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


def manual_pages(text: str, version: str, day: str) -> Iterator[tuple[str, str]]:
    """File name and text of each page, of the text of the reference: the verbs of its first group have one."""
    reference = text.partition(_MARK)[2].partition("\n")[2]
    groups = re.split(r"^## (.+)$", reference, flags=re.MULTILINE)[1:]
    overview = [".SH NAME", r"cortex \- a memory you can read, diff and push", ".SH SYNOPSIS"]
    overview += [r".B cortex", r"\fIVERB\fR ...", ".SH DESCRIPTION", _roff(_ABOUT), ".SH VERBS"]
    for heading, body in zip(groups[::2], groups[1::2], strict=True):
        overview += [f".SS {heading}", ".PD 0"]
        for alias, words in _ALIAS_RE.findall(body):
            overview += [_ENTRY, f".B cortex {_roff(alias)}", _roff(words)]
        parts = _VERB_RE.split(body)[1:]
        for verb, about in zip(parts[::2], parts[1::2], strict=True):
            summary, lines = _verb_lines(verb, about)
            has_page = heading == groups[0]
            name = rf"\fBcortex\-{verb}\fR(1)" if has_page else f".B cortex {_roff(verb)}"
            overview += [_ENTRY, name, _roff(summary)]
            if has_page:
                yield f"cortex-{verb}.1", _page(f"cortex-{verb}", version, day, lines)
    yield "cortex.1", _page("cortex", version, day, [*overview, ".PD", _END])


def _verb_lines(verb: str, about: str) -> tuple[str, list[str]]:
    """The summary of a verb, and its page."""
    prose, _, rest = about.partition("```sh\n")
    usage, summary, *paragraphs = [part for part in prose.strip().split("\n\n") if part]
    options = [line for part in paragraphs if part.startswith("- `") for line in part.splitlines()]
    name = summary[0].lower() + summary[1:].removesuffix(".")
    lines = [
        ".SH NAME",
        rf"cortex\-{verb} \- {_roff(name)}",
        ".SH SYNOPSIS",
        f".B {_roff(usage.strip('`'))}",
    ]
    lines += [".SH DESCRIPTION", _roff(summary)]
    for part in paragraphs:
        if not part.startswith("- `"):
            lines += [".PP", _roff(part)]
    lines.append(".SH OPTIONS")
    for line in (*options, *_GLOBAL_OPTIONS):
        if found := _PARAMETER_RE.match(line):
            lines += [".TP", f".B {_roff(found[1])}", _roff(found[2])]
    lines += [".SH EXAMPLES", ".nf", _roff(rest.partition("```")[0].strip()), ".fi"]
    return summary, [*lines, ".SH SEE ALSO", r"\fBcortex\fR(1)"]


def _page(name: str, version: str, day: str, lines: list[str]) -> str:
    title = f'.TH {_roff(name.upper())} 1 {day} "Cortex {version}" "Cortex Manual"'
    return "\n".join([title, *lines, ""])


def _roff(text: str) -> str:
    """Text as roff: ASCII, with no line that begins a macro, and no markup of Markdown."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace("`", "")
    text = re.sub(r"^(?=[.'])", r"\\&", text, flags=re.MULTILINE)
    return "".join(one if one.isascii() else rf"\[u{ord(one):04X}]" for one in text)
