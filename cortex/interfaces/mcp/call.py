"""Answer a call of a tool by its verb: structured content as `--json` has it, and a text; a list of notes
and a long text in pages.

A cursor is bound to its question; that of a list tells which notes were shown, so that none appears twice
though notes come, go and change places meanwhile.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from cortex.core.model.caller import Caller, no_progress
from cortex.core.model.problem import ConflictError, CortexError, InvalidInputError
from cortex.core.text.agent_escape import escape_for_agent, show_controls
from cortex.core.text.strings import hash_bytes, shorten
from cortex.core.text.value import NamedTuple
from cortex.index.refresh import query_index
from cortex.interfaces.cli import command, render
from cortex.interfaces.cli.view import View
from cortex.interfaces.declare import Declaration, convert, declaration_of, for_servers, load_verb
from cortex.interfaces.mcp.tools import Tool
from cortex.interfaces.schema import answer_type, arguments_schema, outline_of
from cortex.operations import DESTRUCTIVE_VERBS, OPEN_VERBS, READING_VERBS, VERBS_WITHOUT_SETUP
from cortex.operations.capture.project_context import resolve_project
from cortex.operations.find.resolve_session import list_live_sessions, session_name
from cortex.operations.find.show import ShownNote
from cortex.operations.share.git import set_up_clone
from cortex.vault.git import checkout
from cortex.vault.locate import Vault
from cortex.vault.state import access_log

# What Claude Code says to its servers: the session that they serve.
_SESSION_VARIABLE, _VERBS_OF_SESSION = "CLAUDE_CODE_SESSION_ID", ("capture", "save")

_MAX_NOTES = {"search": 1000, "recall": 200}  # verb -> notes of all pages together
_TEXT_VERBS = ("history", "show")
_TEXT_CHARS = 40_000  # of one answer; Claude Code refuses more than 25,000 tokens
_SLACK = 20  # notes that may have come before the end of the last page since
_QUESTION_BYTES, _NOTE_BYTES = 6, 4  # of digests

FindVault = Callable[[], Vault]


class ToolAnswer(NamedTuple):
    """What a call gives. Nothing in it opens a frame of a host."""

    content: dict[str, Any]
    text: str


class Page(NamedTuple):
    """A page that is asked for."""

    question: bytes  # a digest of the verb and its values without the number
    shown: tuple[bytes, ...]  # digests of the absolute paths of the notes of the pages before
    size: int
    most: int  # notes of all pages
    asks: dict[str, object]  # values that the verb is called with: the number of notes

    def cut(self, answer: Any) -> tuple[Any, str]:
        """The answer with the notes of this page alone, and the cursor of the next one or nothing."""
        left = {hash_bytes(one.file, _NOTE_BYTES): one for one in answer.hits}
        new = [one for one in left if one not in self.shown][: self.size]
        page = answer._replace(hits=type(answer.hits)(left[one] for one in new))
        shown = (*self.shown, *new)
        is_all = len(left) >= answer.total and {*left} <= {*shown}
        if not new or is_all or len(shown) >= self.most:
            return page, ""
        return page, base64.urlsafe_b64encode(self.question + b"".join(shown)).decode()


class TextPage(NamedTuple):
    """A part of a text that is asked for."""

    question: bytes
    start: int  # characters
    whole: bytes  # a digest of the text, of which the parts before were; empty for the first
    asks: dict[str, object] = {}  # noqa: RUF012  nothing changes it

    def cut(self, answer: Any) -> tuple[Any, str]:
        """The answer with this part of its text alone, and the cursor of the next one or nothing.
        `ConflictError` for a text that has changed."""
        text, end = getattr(answer, "text", ""), self.start + _TEXT_CHARS
        whole = hash_bytes(text, _NOTE_BYTES)
        if self.whole not in (b"", whole):
            raise ConflictError("the note has changed meanwhile", "ask for it without a cursor")
        if not self.start and len(text) <= end:
            return answer, ""
        data = self.question + whole + end.to_bytes(_NOTE_BYTES)
        cursor = base64.urlsafe_b64encode(data).decode() if end < len(text) else ""
        return answer._replace(text=text[self.start : end]), cursor


def declare(tool: Tool) -> Declaration:
    """The verb's declaration, without what reaches beside the vault. The parameters that the tool has
    are labelled as it calls them, the others not at all."""
    declared = for_servers(declaration_of(load_verb(tool.verb)))
    if not tool.arguments:
        own = (one._replace(label=one.name) for one in declared.parameters)
        return declared._replace(parameters=tuple(own))
    known = {one.name: one for one in declared.parameters}
    for label, (name, meaning) in tool.arguments.items():
        required = known[name].required or label in tool.required
        known[name] = known[name]._replace(label=label, meaning=meaning, required=required)
    return declared._replace(parameters=tuple(known.values()))


def describe(name: str, tool: Tool, *, structured: bool = False) -> dict[str, Any]:
    """A tool as `tools/list` shows it, under the names that JSON has. `structured`: with the outline
    of its answers, which `cortex schema VERB` has whole."""
    declared = declare(tool)
    shown = {one.label: one for one in declared.parameters if one.label}
    ordered = tuple(shown[label] for label in tool.arguments or shown)
    schema = arguments_schema(declared._replace(parameters=ordered))
    for label in tool.defaults.keys() & {one.name for one in ordered}:
        schema["properties"][label].pop("default", None)
    if _has_pages(tool.verb):
        schema["properties"]["cursor"] = {"type": "string"}
    reads = tool.verb in READING_VERBS
    hint = {"readOnlyHint": True} if reads else {"destructiveHint": tool.verb in DESTRUCTIVE_VERBS}
    answer = {"outputSchema": outline_of(answer_type(load_verb(tool.verb)))} if structured else {}
    return {
        "name": name,
        "description": tool.description or f"{declared.summary} {declared.description}".strip(),
        "inputSchema": schema,
        **answer,
        "annotations": {**hint, "openWorldHint": tool.verb in OPEN_VERBS},
    }


def call_tool(
    name: str,
    tool: Tool,
    arguments: Mapping[str, object],
    caller: Caller,
    find: FindVault,
    *,
    is_whole: bool = False,
) -> ToolAnswer:
    """Call the verb of a tool; `is_whole`: without pages. An argument that is null is not given.
    Raises `CortexError`, and `OSError`."""
    declared = declare(tool)
    parameters = {one.label: one.name for one in declared.parameters if one.label}
    has_pages = _has_pages(tool.verb) and not is_whole
    labels = [*parameters, "cursor"] if has_pages else [*parameters]
    hint = f"arguments of {name}: {', '.join(labels)}"
    if unknown := arguments.keys() - {*labels}:
        raise InvalidInputError(f"{name} has no argument {min(unknown)!r}", hint)
    words = {key: one for key, one in arguments.items() if one is not None}
    cursor = words.pop("cursor", "") if has_pages else ""
    session = os.environ.get(_SESSION_VARIABLE) if tool.verb in _VERBS_OF_SESSION else None
    given: dict[str, object] = {"session": session} if session else {}
    given |= {**tool.defaults, **{parameters[key]: one for key, one in words.items()}, **tool.fixed}
    if tool.verb in render.FRAMED_VERBS:  # they stand in a frame of ours
        given = _neutralize_json(given)
    supplied: dict[str, object] = {}
    root = ""
    if "vault" in declared.supplied:
        supplied["vault"] = vault = find()
        root = vault.root
        if tool.verb not in VERBS_WITHOUT_SETUP and not checkout.has_merge_drivers(root):
            set_up_clone(vault)
        if given.get("type") == "prompt" and not given.get("session"):
            given["session"] = _only_live_session(vault, caller, str(given.get("project", "")))
    line = command.Command(load_verb(tool.verb), declared, given, as_json=True, vault="")
    try:
        page = _open_page(declared, given, cursor, caller.now) if has_pages else None
        given |= page.asks if page else {}
        is_later = isinstance(page, Page) and bool(page.shown)
        # A later page asks for what was shown before, too: that is no use of it.
        asker = caller._replace(source="hook") if is_later else caller
        answer = command.call(line, asker, supplied, root)
    except CortexError as error:
        error.hint = hint if error.hint == f"cortex {tool.verb} --help" else error.hint
        for one in declared.parameters:
            if one.label:  # the tool's own names, not those of the command line
                error.hint = re.sub(rf"{one.flag}\b(?!-)", one.label, error.hint)
        raise
    answer, following = page.cut(answer) if page else (answer, "")
    if is_later:
        shown = [one.id for one in answer.hits if one.vault == "project"]
        access_log.append(vault, caller, tool.verb, shown)
    return _tool_answer(tool, answer, page, following, View(root or caller.cwd, root))


def _has_pages(verb: str) -> bool:
    """Whether the answers of a verb come in pages."""
    return verb in _MAX_NOTES or verb in _TEXT_VERBS


def _open_page(
    declared: Declaration, given: Mapping[str, object], cursor: object, now: str
) -> Page | TextPage:
    """The page that a cursor asks for, the first without one. `InvalidInputError` for a cursor of
    another question, and as `convert`."""
    verb = declared.name
    values = sorted((key, one) for key, one in given.items() if key != "number")
    question = hash_bytes(json.dumps([verb, values], default=str), _QUESTION_BYTES)
    try:
        data = base64.urlsafe_b64decode(str(cursor)) if cursor else question
    except ValueError:
        data = b""
    if data[:_QUESTION_BYTES] != question:
        hint = "give the next_cursor of the answer before, with the same arguments"
        raise InvalidInputError("this cursor is of no answer to these arguments", hint)
    shown_before = data[_QUESTION_BYTES:]
    if verb in _TEXT_VERBS:
        return TextPage(
            question, int.from_bytes(shown_before[_NOTE_BYTES:]), shown_before[:_NOTE_BYTES]
        )
    shown = tuple(
        shown_before[at : at + _NOTE_BYTES] for at in range(0, len(shown_before), _NOTE_BYTES)
    )
    size: Any = convert(declared, given, now)["number"]
    most = _MAX_NOTES[verb]
    fetched = min(len(shown) + size + _SLACK, most) if shown else size
    return Page(question, shown, size, most, {"number": fetched})


def _tool_answer(
    tool: Tool, answer: Any, page: Page | TextPage | None, following: str, view: View
) -> ToolAnswer:
    """What the verb answered, as content and text; `following` is the cursor of the next page."""
    content = render.as_json(answer)
    for hit in content["hits"] if tool.preview else ():
        hit["snippet"] = shorten(hit["snippet"], tool.preview)
    if isinstance(page, Page):
        answer = answer._replace(total=len(answer.hits))  # what is left is told below
    text = _text_of(tool.verb, answer, view)
    if following:
        content["next_cursor"] = following
        text = f"{text}\n\nmore with cursor {following}"
    return ToolAnswer(_neutralize_json(content, keep_text=tool.verb in render.FRAMED_VERBS), text)


def _only_live_session(vault: Vault, caller: Caller, project: str) -> str:
    """The name of the project's live session if there is exactly one, else empty. A prompt without a
    session would begin a new one."""
    project = resolve_project(vault, caller, project)
    live = query_index(
        vault,
        no_progress,
        lambda index: list_live_sessions(index.catalogue, caller.now),
    )
    names = [session_name(session.row) for session in live if session.row.project == project]
    return names[0] if len(names) == 1 else ""


def _text_of(verb: str, answer: Any, view: View) -> str:
    shown = io.StringIO()
    if isinstance(answer, ShownNote):  # whose file would be printed
        shown.write(answer.text)
    else:
        render.print_answer(verb, answer, shown, view)
    text = shown.getvalue().rstrip("\n")
    if not render.is_framed(verb, answer):
        text = escape_for_agent(f"\n{text}")[1:]
    return _readable(text)


def _neutralize_json(value: Any, *, keep_text: bool = False) -> Any:
    """A JSON value in which no text opens a frame. `keep_text`: but for the field `text`, which stands
    in a frame of ours and is neutral inside."""
    if isinstance(value, str):
        return neutralize(value)
    if isinstance(value, dict):
        kept = {"text": value["text"]} if keep_text and "text" in value else {}
        return {_neutralize_json(key): _neutralize_json(one) for key, one in value.items()} | kept
    return [_neutralize_json(one) for one in value] if isinstance(value, list) else value


def neutralize(text: str) -> str:
    """A text that opens no frame, and that a client can read."""
    return _readable(escape_for_agent(text))


def _readable(text: str) -> str:
    """The text without controls, nor halves of characters, as names that are no UTF-8 have them."""
    text = show_controls(text)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
