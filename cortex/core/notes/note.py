"""Bytes to note and back. A note keeps every byte it was read from; an edit replaces only the lines
it means to.

`write(read(data)) == data` for any bytes. Nothing here raises on a stranger's file: what cannot be
understood is a problem of the note, and its text is still there to be searched.
"""

from __future__ import annotations

import re

from cortex.core.model.event import is_event_id
from cortex.core.model.note_form import EVENTS, LAYER, SESSION, NoteForm
from cortex.core.model.note_status import UTF16_BOMS, decode_text, split_heading
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.model.record import ONE_PERSONS_SCOPES
from cortex.core.notes import yaml_lines
from cortex.core.notes.yaml_lines import split_note
from cortex.core.notes.yaml_subset import Fields, FrontmatterError, parse_plain_fields
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

BOM = yaml_lines.BOM
MAX_BYTES_WITHOUT_EVENTS = yaml_lines.MAX_BYTES_WITHOUT_EVENTS
MAX_FRONTMATTER_BYTES = yaml_lines.MAX_FRONTMATTER_BYTES
_EOL_RE = lazy_re(rb"\r\n|\n|\r")
_SCOPE_RE = lazy_re(
    rb"^[ \t{]*[\"']?scope[\"']?[ \t]*[:=][\s\[\"'-]*(personal|global)\b",
    re.MULTILINE | re.IGNORECASE,
)
_KEY_RE = lazy_re(rb"[A-Za-z_][\w-]{0,100}[ \t]*:\s")
_CONFLICT_MARKER_RE = lazy_re(r"^(?:<{7} |={7}$|>{7} )", re.MULTILINE)
_SIMPLE_FIELD_RE = lazy_re(
    r"^(id|type|title|status|project|created|updated|date):[ \t]+(\S[^\r\n]*?)[ \t]*\r?$",
    re.MULTILINE,
)


# Messages and hints of problems.
_MAX_KB = MAX_BYTES_WITHOUT_EVENTS // 1024
_SPLIT_PROBLEMS = {
    yaml_lines.UNCLOSED: (
        f"the frontmatter has no closing ---, or is larger than {_MAX_KB} KB",
        "end it with a line of three dashes",
    ),
    yaml_lines.TOO_MANY_LINES: (
        f"the frontmatter has over {yaml_lines.MAX_LINES_WITHOUT_EVENTS} lines",
        "move text below the closing ---",
    ),
}
_MEND_HINT = "mend the line; the text is searched meanwhile"
_UTF16 = (
    "UTF-16, not UTF-8",
    "save the note as UTF-8; until then its text is searched and its frontmatter is not",
)
_BINARY = ("NUL bytes: this looks like a binary file", "move it out of the vault, or rename it")
_NOT_UTF8 = ("not UTF-8", "save the note as UTF-8; until then the odd bytes are not searched")
_CONFLICT_MARKERS = (
    "conflict markers in the frontmatter",
    "choose the lines to keep and delete the markers",
)


class Note(NamedTuple):
    """A note as it stands in its file: `bom + opening + block + closing + body` are its bytes."""

    bom: bytes
    opening_fence: bytes  # the first fence line; empty when the note has no frontmatter
    frontmatter: bytes  # the lines between the fences
    closing_fence: bytes  # with a second block directly below, which is read like the first
    body: bytes
    fields: Fields
    problems: tuple[Problem, ...]

    @property
    def text(self) -> str:
        """The body as text; bytes that are not UTF-8 become U+FFFD."""
        return decode_text(self.body)

    @property
    def body_start_line(self) -> int:
        """The 1-based line of the file on which the body begins."""
        return len(_EOL_RE.findall(self.opening_fence + self.frontmatter + self.closing_fence)) + 1

    @property
    def eol(self) -> str:
        """The line ending of the file's first line; `\\n` when it has none."""
        found = _EOL_RE.search(self.opening_fence or self.body)
        return found[0].decode() if found else "\n"

    def get(self, key: str) -> str:
        """The field as text: empty when it is missing or is no single value."""
        value = self.fields.get(key)
        return value if isinstance(value, str) else ""

    def get_list(self, key: str) -> tuple[str, ...]:
        """The field as texts: a list, or one text with commas between, as people write both."""
        value = self.fields.get(key)
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",")]
        items = value if isinstance(value, list) else []
        return tuple(item for item in items if isinstance(item, str) and item)

    @property
    def title(self) -> str:
        """The field `title`, else the heading that begins the text; empty without either."""
        return self.get("title") or split_heading(self.text)[0]

    @property
    def text_below_title(self) -> str:
        """The text without a heading at its beginning that says the title."""
        title, text = split_heading(self.text)
        return text if title and self.get("title") in ("", title) else self.text

    @property
    def updated(self) -> str:
        """The field `updated`, which goes without saying where it is `created`."""
        return self.get("updated") or self.get("created")

    def provenance(self) -> tuple[tuple[str, ...], Fields]:
        """The ids of the events in `provenance`, and its other fields; of a session its name. Of a
        flat record they are fields of its own, if one of the events is: in a person's own note the
        field may say anything."""
        value = self.fields.get("provenance")
        own = {key: self.fields[key] for key in (EVENTS, SESSION, LAYER) if key in self.fields}
        block = dict(value) if isinstance(value, dict) else own
        events = block.pop(EVENTS, None)
        listed = events if isinstance(events, list) else [events]
        ids = tuple(dict.fromkeys(one.strip("[]") for one in listed if isinstance(one, str)))
        is_flat = "id" in self.fields and any(map(is_event_id, ids))
        if not isinstance(value, dict) and not is_flat:
            return (), {}
        session = block.get(SESSION)
        if isinstance(session, str) and session.startswith("[["):
            block[SESSION] = session.strip("[]").rpartition("|")[2]
        return ids, block

    @property
    def is_flat(self) -> bool:
        """Whether it is a record in the form of format 2, or a note that such a vault began."""
        if "provenance" in self.fields or "id" not in self.fields:
            return False
        return next(reversed(self.fields)) == "id" or bool(self.provenance()[0])

    def get_in(self, key: str, form: NoteForm) -> str:
        """The project or branch; where a flat record leaves it out, that of its vault's `form`."""
        is_left_out = key not in self.fields and self.is_flat and self.provenance()[0]
        return str(getattr(form, key)) if is_left_out else self.get(key)


def read(data: bytes, where: str = "") -> Note:
    """Take a file apart. `where` is the path that problems name."""
    bom = BOM if data.startswith(BOM) else b""
    parts = split_note(data[len(bom) :])
    problems = [Problem(f"{where}:1", *_SPLIT_PROBLEMS[parts.error])] if parts.error else []
    fields = _parse_fields(parts.frontmatter, where, problems) if parts.opening_fence else {}
    if not parts.opening_fence and parts.body.startswith((b"+++", b"{")):
        from cortex.core.notes import foreign_fields  # noqa: PLC0415  5 ms, and hardly a note needs it

        try:
            parts, fields = foreign_fields.split_foreign(parts.body)
        except FrontmatterError as error:
            message = f"the properties at the top cannot be read: {error.message}"
            problems.append(Problem(f"{where}:{error.line}", message, _MEND_HINT))
    if data.startswith(UTF16_BOMS):
        problems.append(Problem(where, *_UTF16))
    elif b"\0" in data:
        problems.append(Problem(where, *_BINARY))
    else:
        problems += _encoding_problems(data, where)
    note = Note(bom, *parts[:4], fields, tuple(problems))
    is_doubled = parts.opening_fence and parts.body.startswith(b"---")
    return _with_second_block(note, where) if is_doubled else note


def write(note: Note) -> bytes:
    return note.bom + note.opening_fence + note.frontmatter + note.closing_fence + note.body


def read_strict(data: bytes, where: str) -> Note:
    """A note to be edited by its fields. `InvalidInputError` with its first problem."""
    note = read(data, where)
    if note.problems:
        problem = note.problems[0]
        raise InvalidInputError(f"{problem.where}: {problem.message}", problem.hint)
    if note.opening_fence[:1] in (b"+", b"{"):
        hint = "edit it yourself, or write them as YAML between lines of ---"
        raise InvalidInputError(f"{where} has TOML or JSON properties, which are only read", hint)
    return note


def scope_of_one_person(note: Note) -> str:
    """`personal` (one person's alone, in a project) or `global` (in all), where the frontmatter of a
    note says so, also if it is broken; else empty.

    Earlier versions wrote `scope: personal` into every event and record without a project: there it
    says nothing.
    """
    said = {one.strip().lower() for one in note.get_list("scope")}
    unclosed = note.body if note.body.startswith((b"---", b"+++", b"{")) else b""
    if note.problems and (found := _SCOPE_RE.search(note.frontmatter or unclosed)):
        said.add(found[1].decode().lower())
    is_old_record = bool(note.provenance()[0] and note.get("title")) and not note.is_flat
    if not note.get("project") and (is_old_record or is_event_id(note.get("id"))):
        said.discard("personal")
    return next((one for one in ONE_PERSONS_SCOPES if one in said), "")


def set_field(note: Note, key: str, lines: list[str]) -> Note:
    """The note with the top-level `key` written as `lines`: in the place of its old lines, else at
    the end of the frontmatter (a new one when there is none). Every other byte stays. The fields of
    the result are read anew."""
    if not note.opening_fence:
        written = "".join(line + note.eol for line in ("---", *lines, "---"))
        return read(note.bom + written.encode() + note.body)
    return replace_lines(note, *key_span(note.frontmatter, key), lines, key)


def replace_lines(note: Note, start: int, end: int, lines: list[str], key: str) -> Note:
    """The note with `lines` in the place of the bytes `start` to `end` of its frontmatter, read
    anew. `InvalidInputError` if that changes another field than `key`, or makes a problem."""
    written = "".join(line + note.eol for line in lines).encode()
    block = note.frontmatter[:start] + written + note.frontmatter[end:]
    changed = read(write(note._replace(frontmatter=block)))
    if not changed.opening_fence and changed.problems:
        raise InvalidInputError(
            f"with {key!r} it could not be read any more: {changed.problems[0].message}",
            "take lines out of its frontmatter",
        )
    # Frontmatter can be written in ways that lines do not follow ({a: b}, ? key): then nothing is
    # changed.
    same = {**note.fields, key: None} == {**changed.fields, key: None}
    if not same or len(changed.problems) > len(note.problems):
        raise InvalidInputError(
            f"its frontmatter is written in a way in which {key!r} cannot be changed alone",
            "write it as `key: value` lines",
        )
    return changed


def insert_body_line(note: Note, line: str, before: int) -> Note:
    """The note with `line` before the body's line `before` (0-based; past the end appends)."""
    lines = note.body.splitlines(keepends=True)
    if lines and before >= len(lines) and not lines[-1].endswith((b"\n", b"\r")):
        lines[-1] += note.eol.encode()
    lines.insert(before, line.encode() + note.eol.encode())
    return note._replace(body=b"".join(lines))


def _with_second_block(note: Note, where: str) -> Note:
    """The note with the fields of a block that a program put directly below its own. What Cortex
    wrote has none: there it is text."""
    second, problems = split_note(note.body), list(note.problems)
    is_ours = note.provenance()[0] or is_event_id(note.get("id"))
    if is_ours or not _KEY_RE.match(second.frontmatter):
        return note
    fields = _parse_fields(second.frontmatter, where, problems, note.body_start_line)
    if len(problems) > len(note.problems) or not fields:
        return note._replace(problems=tuple(problems))
    below, fields = note._replace(fields=fields), {**fields, **note.fields}
    for key in {"tags", "aliases"} & fields.keys():
        fields[key] = [*note.get_list(key), *below.get_list(key)]
    closing = note.closing_fence + b"".join(second[:3])
    return note._replace(closing_fence=closing, body=second.body, fields=fields)


def _parse_fields(block: bytes, where: str, problems: list[Problem], begin: int = 1) -> Fields:
    """The fields of a block whose opening fence is the line `begin` of the file."""

    def add(line: int, message: str, hint: str) -> None:
        problems.append(Problem(f"{where}:{begin + line}", message, hint))

    try:
        text = block.decode()
    except UnicodeDecodeError:
        return {}  # named as an encoding problem of the whole note
    if marker := _CONFLICT_MARKER_RE.search(text):
        add(text.count("\n", 0, marker.start()) + 1, *_CONFLICT_MARKERS)
        return _salvage_fields(text)
    if (plain := parse_plain_fields(text)) is not None:
        return plain
    # Most notes end above, and PyYAML takes 20 ms to import.
    from cortex.core.notes.frontmatter import load_fields  # noqa: PLC0415

    try:
        fields, complaints = load_fields(text)
    except FrontmatterError as error:
        hint = _MEND_HINT
        if "mapping values" in error.message:
            hint = "put the value in quotes"
        add(error.line, f"the frontmatter cannot be read: {error.message}", hint)
        return _salvage_fields(text)
    for line, message in complaints:
        add(line, message, "edit the line")
    return fields


def _salvage_fields(text: str) -> Fields:
    """What can be told of a note whose frontmatter is no YAML: plain one-line fields, so that its
    id, title and status still hold. For showing and finding only; `parse` refuses such a note."""
    fields: Fields = {}
    for key, value in _SIMPLE_FIELD_RE.findall(text):
        if value[0] not in "[{&*!|>%@`\"'":
            fields.setdefault(key, value)
    return fields


def _encoding_problems(data: bytes, where: str) -> list[Problem]:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = len(_EOL_RE.findall(data[: error.start])) + 1
        return [Problem(f"{where}:{line}", *_NOT_UTF8)]
    return []


def key_span(block: bytes, key: str) -> tuple[int, int]:
    """Where the lines of a top-level key stand in a block: its own and the indented, list and
    comment lines that follow. Both ends are the block's end when it has no such key."""
    name = re.escape(key.encode())
    head = re.compile(rb"(?:%b|\"%b\"|'%b')[ \t]*:" % (name, name, name))
    start = end = -1
    offset = 0
    for line in block.splitlines(keepends=True):
        if start < 0:
            if head.match(line):
                start, end = offset, offset + len(line)
        elif line[:1] in (b" ", b"\t") or line.startswith((b"- ", b"-\n", b"-\r")):
            end = offset + len(line)
        elif line.strip() and not line.startswith(b"#"):
            break
        offset += len(line)
    return (start, end) if start >= 0 else (len(block), len(block))
