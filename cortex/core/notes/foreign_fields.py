"""TOML between lines of `+++`, or a JSON object, at the top of a note: read, and never written."""

from __future__ import annotations

import json
import re

from cortex.core.notes.yaml_lines import MAX_BYTES_WITHOUT_EVENTS, NoteParts
from cortex.core.notes.yaml_subset import Fields, FrontmatterError
from cortex.core.text.tables import parse_toml

_TOML_PATTERN = rb"(\+{3}[ \t]*\r?\n)((?s:.*?)(?<=\n))(\+{3}[ \t]*(?:\r?\n|\Z))"
_UNCLOSED_PATTERN = rb"\+{3}[ \t]*\r?\n\s*(?:[\w\"'.-]{1,100}[ \t]*=|\[)"
_JSON_PATTERN = r"\{\s*\"[^\"\n]{0,100}\"\s*:"
_JSON_END_PATTERN = rb"[ \t]*(?:\r?\n(?!\{)|\Z)"  # not: an object on every line
# Numbers and times are the texts that people wrote, as in YAML here.
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)


def split_foreign(data: bytes) -> tuple[NoteParts, Fields]:
    """The parts of a note without YAML at its top, and its fields, which never make it a record.
    `FrontmatterError` if properties are meant there and cannot be read; its line is one of `data`."""
    head = data[:MAX_BYTES_WITHOUT_EVENTS]
    text, fields = head.decode("utf-8", "surrogateescape"), {}
    parts = NoteParts(b"", b"", b"", data)
    try:
        if toml := re.match(_TOML_PATTERN, head):
            parts = NoteParts(toml[1], toml[2], toml[3], data[toml.end() :])
            fields = parse_toml(toml[2].decode("utf-8", "replace").replace("\r\n", "\n"))
        elif re.match(_UNCLOSED_PATTERN, head):
            raise ValueError(f"no closing +++ within {len(head)} bytes")
        elif re.match(_JSON_PATTERN, text):
            fields, size = _DECODER.raw_decode(text)
            end = len(text[:size].encode("utf-8", "surrogateescape"))
            if not (closing := re.compile(_JSON_END_PATTERN).match(data, end)):
                return parts, {}
            parts = NoteParts(data[:1], data[1:end], closing[0], data[closing.end() :])
        plain = json.dumps(fields, ensure_ascii=False, default=lambda time: time.isoformat())
        if plain.count("[") + plain.count("{") > 200:
            raise ValueError("too many brackets")
    except (ValueError, RecursionError) as error:
        line = re.search(r"line (\d+)", str(error))
        at = int(line[1]) + (head[:1] == b"+") if line else 1
        raise FrontmatterError(re.split(r" \(at |: line ", str(error))[0], at) from error
    fields = _DECODER.decode(plain.encode("utf-8", "replace").decode())
    groups = fields.get("taxonomies")  # where Zola has tags
    fields = {**(groups if isinstance(groups, dict) else {}), **fields}
    return parts, {key: fields[key] for key in fields if key not in ("id", "provenance", "events")}
