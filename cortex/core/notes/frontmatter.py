"""Frontmatter to fields: YAML read as people wrote it, through python-frontmatter with a handler of
our own.

Scalars stay text, save true, false and null: `12:30`, `0123`, `1.10`, `on`, `no` and dates are what
stands there, never what YAML 1.1 makes of them. The handler walks libyaml's events and builds the
fields itself, so that no tag is resolved, no alias expanded (271 bytes of aliases become 254 MB
elsewhere) and no nesting followed without end.
"""

from __future__ import annotations

import re
from typing import cast

import frontmatter
import yaml
from frontmatter.default_handlers import YAMLHandler

from cortex.core.notes.yaml_subset import (
    BOOL_WORDS,
    NULL_WORDS,
    Fields,
    FieldValue,
    FrontmatterError,
    wikilink_text,
)
from cortex.core.text.lazy_re import lazy_re

MAX_DEPTH = 20
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HASH_TAGS_RE = lazy_re(r"^(tags?|aliases)[ \t]*:[ \t]*#", re.MULTILINE)


class _FrontmatterHandler(YAMLHandler):
    """Has python-frontmatter parse the block between known fences with `_load_yaml`."""

    repeated: list[int]  # lines of keys that stand twice

    def split(self, text: str) -> tuple[str, str]:
        return text.removeprefix("---\n").removesuffix("---").removesuffix("\n"), ""

    def load(self, fm: str, **_: object) -> Fields:
        fields, self.repeated = _load_yaml(fm)
        return fields


def load_fields(block: str) -> tuple[Fields, list[tuple[int, str]]]:
    """The fields of a frontmatter block (without its fences) and the complaints about it as (line,
    message). Raises `FrontmatterError` when nothing can be had from it."""
    problems: list[tuple[int, str]] = []
    if hashed := _HASH_TAGS_RE.search(block):
        line = block.count("\n", 0, hashed.start()) + 1
        hint = "is a comment in YAML, so the value is empty; write [a, b] without #"
        problems.append((line, f"`{hashed[1]}: #…` {hint}"))
    handler = _FrontmatterHandler()
    fields, _ = frontmatter.parse(f"---\n{block}\n---\n", handler=handler)
    problems += [(line, "a key stands twice; the last one counts") for line in handler.repeated]
    return cast("Fields", fields), problems


def is_readable(block: str) -> bool:
    """Whether `load_fields` reads the block and has nothing to say of it."""
    try:
        return not load_fields(block)[1]
    except FrontmatterError:
        return False


def _load_yaml(block: str) -> tuple[Fields, list[int]]:
    """The fields, and the lines of repeated keys."""
    if block.count("[") + block.count("{") > 2000:
        raise FrontmatterError("too many brackets", 1)
    try:
        value, repeated = _build_from_events(block)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise FrontmatterError(error.problem or "not YAML", mark.line + 1 if mark else 1) from error
    except yaml.reader.ReaderError as error:
        sign = f": U+{ord(error.character):04X}" if isinstance(error.character, str) else ""
        line = block.count("\n", 0, error.position) + 1
        raise FrontmatterError(f"a character that YAML forbids{sign}", line) from error
    if not isinstance(value, dict | None):
        raise FrontmatterError("a list or a single value, not `key: value` lines", 1)
    return value or {}, repeated


def _build_from_events(block: str) -> tuple[FieldValue, list[int]]:
    """One pass over the parser's events, no recursion. Returns value, lines of repeated keys."""
    stack: list[list[FieldValue] | dict[str, FieldValue]] = []
    keys: list[str | None] = []  # the key that waits for its value, for each open container
    flow: list[bool] = []
    repeated: list[int] = []
    result: FieldValue = None
    begun = 0

    def put(value: FieldValue, line: int) -> None:
        nonlocal result
        if not stack:
            result = value
        elif isinstance(parent := stack[-1], list):
            parent.append(value)
        elif (key := keys[-1]) is None:
            if not isinstance(value, str):
                raise FrontmatterError("a key that is not plain text", line)
            if value in parent:
                repeated.append(line)
            keys[-1] = value
        else:
            parent[key] = value
            keys[-1] = None

    for event in yaml.parse(block, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if refusal := _refusal_reason(event):
            raise FrontmatterError(refusal, line)
        if isinstance(event, yaml.ScalarEvent):
            is_key = bool(stack) and isinstance(stack[-1], dict) and keys[-1] is None
            put(event.value if is_key else _scalar_value(event), line)
        elif isinstance(event, yaml.CollectionStartEvent):
            if len(stack) >= MAX_DEPTH:
                raise FrontmatterError(f"nested deeper than {MAX_DEPTH} levels", line)
            if stack and isinstance(stack[-1], dict) and keys[-1] is None:
                raise FrontmatterError("a key that is not plain text", line)
            stack.append([] if isinstance(event, yaml.SequenceStartEvent) else {})
            keys.append(None)
            flow.append(bool(event.flow_style))
        elif isinstance(event, yaml.CollectionEndEvent):
            value: FieldValue = stack.pop()
            keys.pop()
            put((flow.pop() and wikilink_text(value)) or value, line)
        elif isinstance(event, yaml.DocumentStartEvent) and (begun := begun + 1) > 1:
            raise FrontmatterError("a second document", line)
    return result, repeated


def _refusal_reason(event: yaml.Event) -> str:
    """Why Cortex does not read what this event of the parser stands for; empty when it does."""
    if isinstance(event, yaml.AliasEvent):
        return "an alias (`*name`), which Cortex does not follow"
    if isinstance(event, yaml.DocumentEndEvent) and event.explicit:
        return "a document end marker (`...`)"
    tag = getattr(event, "tag", None)
    return f"a tag ({tag}), which Cortex does not read" if tag is not None else ""


def _scalar_value(event: yaml.ScalarEvent) -> FieldValue:
    text: str = event.value
    if event.style:  # not plain: YAML gives only a plain word another type
        return text
    return None if text in NULL_WORDS else BOOL_WORDS.get(text, text)
