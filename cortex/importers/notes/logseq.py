"""A graph of Logseq: journals as daily notes, pages by their names, with links that go on. Properties
of a page become frontmatter, `((…))` links to blocks, TODO and DONE boxes, with the plugin Tasks'
marks for days."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import format_count
from cortex.core.text.yaml_writer import YamlValue, frontmatter
from cortex.importers.archive import open_archive
from cortex.importers.item import ForeignFile, ForeignItem

_JOURNAL_RE = lazy_re(r"journals/(\d{4})[_-](0\d|1[0-2])[_-](\d\d)\.md")
_PROPERTIES_RE = lazy_re(r"\A\s*((?:[\w/-]+::(?:[ \t][^\n]*)?(?:\n|\Z))+)\s*")
_ID_RE = lazy_re(r"\n[ \t]*id::[ ]([0-9a-f-]{36})[ \t]*$", re.MULTILINE)
_REF_RE = lazy_re(r"(?:\[([^\[\]\n]+)\]\()?\(\(([0-9a-f-]{36})\)\)(?(1)\))")
_EMBED_RE = lazy_re(r"\{\{embed\s+(\(\([0-9a-f-]{36}\)\)|\[\[[^\[\]\n]+\]\])\s*\}\}")
_TASK_RE = lazy_re(r"(?m)^([ \t]*- )(TODO|LATER|NOW|DOING|WAIT(?:ING)?|DONE|CANCELL?ED)(?=[ ])")
_PLAN_RE = lazy_re(
    r"\n[ \t]*(SCHEDULED|DEADLINE): <(\d{4}-\d\d-\d\d)[^<>\n]{0,40}>[ \t]*$", re.MULTILINE
)
_MARKS = {"DONE": "[x]", "CANCELED": "[-]", "CANCELLED": "[-]"}
_MONTHS = " Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
_ENDINGS = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd", 31: "st"}


def accepts(path: str) -> bool:
    """Whether a folder or zip is a graph that lies in files."""
    with open_archive(path) as archive:
        return archive.find("config.edn") == "logseq/config.edn"


def read(path: str) -> Iterator[ForeignItem]:
    """Each journal and page as a note; a problem counts what else there is."""
    if not accepts(path):
        raise InvalidInputError(f"{path} is no graph of Logseq", "name the folder of logseq/")
    root = os.path.basename(os.path.abspath(path)).removesuffix(".zip")
    with open_archive(path) as archive:
        names = [one for one in archive.names(".md") if one.startswith(("journals/", "pages/"))]
        blocks = {id_: name for name in names for id_ in _ID_RE.findall(archive.read(name))}
        for name in names:
            text = _translate(name, archive.read(name), blocks)
            to = f"notes/{root}/{name.partition('/')[0]}/{_page(name)}.md"
            yield ForeignFile(f"{root}/{name}", to, text)
        yield from archive.problems
        others = Counter(one.partition("/")[0] for one in archive.names())
        org = [one for one in archive.names(".org") if one.startswith(("journals/", "pages/"))]
    others.subtract(name.partition("/")[0] for name in (*names, *org))
    if org:
        message = f"left out: {format_count(len(org), 'note')} in Org mode, such as {org[0]}"
        yield Problem(path, message, "export them as Markdown in Logseq, then import that")
    if what := ", ".join(f"{count} in {one}" for one, count in sorted(others.items()) if count):
        hint = "copy assets/; the rest is Logseq's own" if others["assets"] else ""
        yield Problem(root, f"left out: {what}", hint)


def _page(name: str) -> str:
    """The name of a note by which links find it."""
    if found := _JOURNAL_RE.fullmatch(name):
        return "-".join(found.groups())
    stem = name.partition("/")[2].removesuffix(".md")
    page = re.sub("___|%2F", "/", stem)
    return page if all(part.strip(". ") for part in page.split("/")) else stem


def _translate(name: str, text: str, blocks: Mapping[str, str]) -> str:
    fields: dict[str, YamlValue] = {}
    aliases, text = list[str](), text.replace("\r\n", "\n")
    if found := _PROPERTIES_RE.match(text):
        text = text[found.end() :]
        for key, _, value in (line.partition("::") for line in found[1].splitlines()):
            items = [one.strip(" #[]\t") for one in value.split(",")]
            aliases += items if key == "alias" else []
            fields[key.lower()] = [*filter(None, items)] if key == "tags" else value.strip()
    if day := _JOURNAL_RE.fullmatch(name):
        month, number = _MONTHS.split(" ")[int(day[2])], int(day[3])
        aliases.append(f"{month} {number}{_ENDINGS.get(number, 'th')}, {day[1]}")
    elif "%" in _page(name):
        aliases.append(unquote(_page(name)))
    # The id is of the page as a block; what has a frontmatter already gets no second one.
    has_one = text.startswith("---\n")
    fields |= {"id": "", "alias": "", "aliases": [] if has_one else [*filter(None, aliases)]}

    def link(found: re.Match[str]) -> str:
        label = f"|{found[1]}" if found[1] else ""
        block = f"{_page(blocks[found[2]])}#^{found[2]}" if found[2] in blocks else ""
        return f"[[{block}{label}]]" if block else found[0]

    text = _REF_RE.sub(link, _EMBED_RE.sub(r"!\1", _ID_RE.sub(r" ^\1", text)))
    text = _PLAN_RE.sub(lambda one: f" {'📅' if one[1] == 'DEADLINE' else '⏳'} {one[2]}", text)
    text = _TASK_RE.sub(lambda found: f"{found[1]}{_MARKS.get(found[2], '[ ]')}", text)
    return frontmatter(fields) + text if any(fields.values()) else text
