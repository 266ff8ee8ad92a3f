"""The text of a note as HTML that is safe to show: no markup of its own, no script, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import MutableMapping
from functools import cache
from html import escape
from typing import Any
from urllib.parse import quote

import nh3
from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from cortex.core.notes import note as notes
from cortex.core.text.lazy_re import lazy_re

MAX_RENDERED_CHARS = 200_000  # a second of the renderer; what is longer is shown as plain text
_MAX_NESTING = 10_000  # what lies deeper the renderer leaves out without a word
RECORD_PAGE = "/record/"
_WIKILINK_RE = lazy_re(r"!?\[\[([^\[\]|\n]{1,400})(?:\|([^\[\]\n]{1,400}))?\]\]")
_TASK_RE = lazy_re(r"\[([ xX])\] ")
_TAGS = {
    "a", "blockquote", "br", "code", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s", "span",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}, "code": {"class"}, "span": {"class"}}


def render_note(text: str) -> dict[str, Any]:
    """`fields`, the properties of a note, and `html`, its text below its heading."""
    note = notes.read(text.encode("utf-8", "surrogatepass"))
    return {"fields": dict(note.fields), **render_text(note.text_below_title)}


def render_text(text: str) -> dict[str, Any]:
    """`html`, the markdown as such. Links to notes lead to their pages; an image is its name."""
    try:
        html = _renderer().render(text) if len(text) <= MAX_RENDERED_CHARS else ""
    except RecursionError:  # lists in lists, some hundred deep
        html = ""
    if not html:
        return {"html": f"<pre>{escape(text)}</pre>"}
    return {"html": nh3.clean(
        html,
        tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )}  # fmt: skip


@cache
def _renderer() -> MarkdownIt:
    renderer = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING}).enable(
        ["table", "strikethrough"]
    )
    renderer.inline.ruler.before("link", "wikilink", _wikilink)
    renderer.inline.ruler.before("link", "task", _task)
    renderer.add_render_rule("image", _image_name)  # of elsewhere it would tell who reads what
    return renderer


def _wikilink(state: StateInline, silent: bool) -> bool:
    """`[[NOTE]]` and `[[NOTE|words]]`, as links to the page of a note."""
    found = _WIKILINK_RE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        name, words = found[1].strip(), (found[2] or found[1]).strip()
        state.push("link_open", "a", 1).attrs = {
            "href": RECORD_PAGE + quote(name.partition("#")[0])
        }
        state.push("text", "", 0).content = words
        state.push("link_close", "a", -1)
    state.pos = found.end()
    return True


def _task(state: StateInline, silent: bool) -> bool:
    """The box of a task."""
    found = _TASK_RE.match(state.src, state.pos, state.posMax) if state.pos == 0 else None
    if found is None or not state.env.get("tasks", True):
        return False
    if not silent:
        state.push("text", "", 0).content = "☐ " if found[1] == " " else "☑ "
    state.pos = found.end()
    return True


def _image_name(
    _self: Any, tokens: Any, index: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    return f'<span class="image">{escape(tokens[index].content or tokens[index].attrs.get("src", ""))}</span>'
