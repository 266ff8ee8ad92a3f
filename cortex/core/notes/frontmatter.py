"""Frontmatter to fields: YAML read as people wrote it, through python-frontmatter with a handler of our own.

Scalars stay text, save true, false and null: `12:30`, `0123`, `1.10`, `on`, `no` and dates are what stands there,
never what YAML 1.1 makes of them. The handler walks libyaml's events and builds the fields itself, so that no tag is
resolved, no alias expanded (271 bytes of aliases become 254 MB elsewhere) and no nesting followed without end.
"""

from __future__ import annotations

import re
from typing import TypeAlias, cast

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

Value: TypeAlias = "str | bool | list[Value] | dict[str, Value] | None"
Fields: TypeAlias = dict[str, Value]

MAX_DEPTH = 20
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NULL = frozenset(["", "~", "null", "Null", "NULL"])
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_HASH_TAGS = re.compile(r"^(tags?|aliases)[ \t]*:[ \t]*#", re.MULTILINE)


class Unreadable(Exception):
    """Frontmatter that is not a mapping of readable values. `line` counts from 1 within the block."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class _Handler(YAMLHandler):
    """Gives python-frontmatter our reading of the block between the fences, which are known already."""

    def split(self, text: str) -> tuple[str, str]:
        return text.removeprefix("---\n").removesuffix("---").removesuffix("\n"), ""

    def load(self, fm: str, **_: object) -> Fields:
        return _load(fm)


_HANDLER = _Handler()


def load(block: str) -> tuple[Fields, list[tuple[int, str]]]:
    """The fields of a frontmatter block (without its fences) and the complaints about it as (line, message).
    Raises `Unreadable` when nothing can be had from it."""
    problems: list[tuple[int, str]] = []
    if hashed := _HASH_TAGS.search(block):
        line = block.count("\n", 0, hashed.start()) + 1
        problems.append(
            (
                line,
                f"`{hashed[1]}: #…` is a comment in YAML, so the value is empty; write [a, b] without #",
            )
        )
    parsed, _ = frontmatter.parse(f"---\n{block}\n---\n", handler=_HANDLER)
    fields = cast("Fields", parsed)
    repeated = fields.pop(_REPEATED, None)
    if isinstance(repeated, list):
        problems += [
            (int(str(line)), "a key stands twice; the last one counts") for line in repeated
        ]
    return fields, problems


_REPEATED = "\0repeated"  # no YAML key can hold a NUL


def _load(block: str) -> Fields:
    if block.count("[") + block.count("{") > 2000:
        raise Unreadable("too many brackets", 1)
    try:
        value, repeated = _build(block)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Unreadable(error.problem or "not YAML", mark.line + 1 if mark else 1) from error
    except yaml.reader.ReaderError as error:
        raise Unreadable(
            f"a character that YAML forbids: U+{ord(error.character):04X}"
            if isinstance(error.character, str)
            else "a character that YAML forbids",
            block.count("\n", 0, error.position) + 1,
        ) from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unreadable("a list or a single value, not `key: value` lines", 1)
    if repeated:
        value[_REPEATED] = [str(line) for line in repeated]
    return value


def _build(block: str) -> tuple[Value, list[int]]:
    """One pass over the parser's events with a stack of our own: no recursion for hostile depth to exhaust."""
    stack: list[list[Value] | dict[str, Value]] = []
    keys: list[str | None] = []  # the key that waits for its value, for each open container
    flow: list[bool] = []
    repeated: list[int] = []
    result: Value = None
    begun = 0

    def put(value: Value, line: int) -> None:
        nonlocal result
        if not stack:
            result = value
        elif isinstance(parent := stack[-1], list):
            parent.append(value)
        elif (key := keys[-1]) is None:
            if not isinstance(value, str):
                raise Unreadable("a key that is not plain text", line)
            if value in parent:
                repeated.append(line)
            keys[-1] = value
        else:
            parent[key] = value
            keys[-1] = None

    for event in yaml.parse(block, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if refusal := _refusal(event):
            raise Unreadable(refusal, line)
        if isinstance(event, yaml.ScalarEvent):
            is_key = bool(stack) and isinstance(stack[-1], dict) and keys[-1] is None
            put(event.value if is_key else _scalar(event), line)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(stack) >= MAX_DEPTH:
                raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", line)
            if stack and isinstance(stack[-1], dict) and keys[-1] is None:
                raise Unreadable("a key that is not plain text", line)
            stack.append([] if isinstance(event, yaml.SequenceStartEvent) else {})
            keys.append(None)
            flow.append(bool(event.flow_style))
        elif isinstance(event, yaml.CollectionEndEvent):
            value: Value = stack.pop()
            keys.pop()
            put(_wikilink(value) if flow.pop() else value, line)
        elif isinstance(event, yaml.DocumentStartEvent) and (begun := begun + 1) > 1:
            raise Unreadable("a second document", line)
    return result, repeated


def _refusal(event: yaml.Event) -> str:
    """Why Cortex does not read what this event of the parser stands for; empty when it does."""
    if isinstance(event, yaml.AliasEvent):
        return "an alias (`*name`), which Cortex does not follow"
    if isinstance(event, yaml.DocumentEndEvent) and event.explicit:
        return "a document end marker (`...`)"
    tag = getattr(event, "tag", None)
    return f"a tag ({tag}), which Cortex does not read" if tag is not None else ""


def _scalar(event: yaml.ScalarEvent) -> Value:
    text: str = event.value
    if not event.style:  # plain: only here does YAML give a word another type
        if text in _NULL:
            return None
        return _BOOL.get(text, text)
    return text


def _wikilink(value: Value) -> Value:
    """`[[Note]]` without quotes is a list in a list for YAML and a link for the person who wrote it."""
    if (
        isinstance(value, list)
        and len(value) == 1
        and isinstance(inner := value[0], list)
        and len(inner) == 1
    ):
        return f"[[{inner[0]}]]" if isinstance(inner[0], str) else value
    return value
