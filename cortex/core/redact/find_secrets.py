"""Find the secrets in a file before it is published, with their lines.

Beside what the patterns find in running text: a token that is broken over lines, and a name whose
value stands in the next cell of a table, below it in a column, or in the next line.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from cortex.core.redact.secret_patterns import MIN_TOKEN_CHARS, TOKEN_PATTERNS
from cortex.core.redact.secrets import list_secrets
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import text_digest
from cortex.core.text.value import NamedTuple

_TOKEN_KINDS = frozenset((*(kind for kind, _, _ in TOKEN_PATTERNS), "jwt"))
_QUOTING = " \t\r>|*#-"  # that may stand around the parts of a word that goes on in the next line
_PASSWORD_NAME = (
    r"pass(?:word|wort|phrase|code|wd)?|pwd?|kennwort|contraseña|clave|mdp|mot de passe"
)
# The whole text of a cell, or of a line but for its colon: `Wi-Fi password`, `AWS_SECRET_KEY`.
_NAME_RE = lazy_re(
    rf"(?:[\w-]{{1,20}}[ _-]){{0,2}}(?:(?P<password>{_PASSWORD_NAME})"
    r"|secret(?:[ _-](?:access[ _-])?key)?|token|(?:api|access|private)[ _-]?key)",
    re.IGNORECASE,
)
_NAME_HINTS = (
    "pass", "pw", "kennwort", "contrase", "clave", "mdp", "secret", "token", "api", "access",
    "private",
)  # fmt: skip
_VALUE_RE = lazy_re(r"(?=\S*\d)(?=\S*[^\W\d_])[^\s()\[\]{}<>|\"']{6,200}")
_LISTS = ("csv", "tsv", "txt")  # the files in which a comma or a tab parts columns
_MAX_VALUES, _MAX_CELLS, _MAX_CELL_CHARS = 10_000, 50, 300  # of a file; of a row; of a cell


class FoundSecret(NamedTuple):
    """What looks like a secret."""

    line: int  # from 1 on; 0 stands for the name of the file
    kind: str
    text: str

    @property
    def digest(self) -> str:
        """By which a person's word that it is none is remembered."""
        return text_digest(self.text)


def find_secrets(text: str, name: str = "") -> list[FoundSecret]:
    """What looks like a secret in a text and in the name of its file, by line, each once."""
    found = [FoundSecret(0, kind, name[start:end]) for start, end, kind in list_secrets(name)]
    line = at = 0
    for start, end, kind in list_secrets(text):
        line, at = line + text.count("\n", at, start), start
        found.append(FoundSecret(line + 1, kind, text[start:end]))
    lines = text.split("\n")
    known = {one.text for one in found}
    broken = _find_broken_tokens(lines)
    found += [one for one in broken if not any(part in one.text for part in known)]
    signs = "|\t;," if name.rpartition(".")[2].lower() in _LISTS else "|"
    folded = text.lower()
    may_name = any(hint in folded for hint in _NAME_HINTS)
    if named := [*islice(_named_values(lines, signs), _MAX_VALUES)] if may_name else []:
        judged = "\n".join(f'{kind}: "{value}"' for _, kind, value in named)
        for start, _, _ in list_secrets(judged):
            line, _, value = named[judged.count("\n", 0, start)]
            found += [FoundSecret(line, "assigned-secret", value)] if value not in known else []
    return sorted(dict.fromkeys(found))


def mask_known_lines(text: str, known: str, name: str) -> str:
    """The text with those lines emptied that `known` has too, so that its new ones are looked through
    alone. What belongs to a new line stays: the lines beside it, the rows of tables, a list whole."""
    if name.rpartition(".")[2].lower() in _LISTS:
        return text
    lines, old = text.split("\n"), set(known.split("\n"))
    new = [line not in old for line in lines]
    has_row = any("|" in line for line, is_new in zip(lines, new, strict=True) if is_new)
    near = zip(lines, new, (False, *new), (*new[1:], False), strict=False)
    return "\n".join(
        line if is_new or before or after or (has_row and "|" in line) else ""
        for line, is_new, before, after in near
    )


def _find_broken_tokens(lines: list[str]) -> Iterator[FoundSecret]:
    """Tokens that are broken over lines, with the line in which they begin."""
    text, starts, at = [], [], 0
    for parts in _broken_words(lines):
        for number, part in (*parts, (0, "\n")):
            text.append(part)
            starts.append((at, number))
            at += len(part)
    joined = "".join(text)
    for start, end, kind in list_secrets(joined, _TOKEN_KINDS) if text else ():
        _, line = starts[bisect_right(starts, (start, len(lines))) - 1]
        yield FoundSecret(line, kind, joined[start:end])


def _broken_words(lines: list[str]) -> Iterator[list[tuple[int, str]]]:
    """The last word of each line and the first of the next one, where both are as long as a token; a
    line of one word goes on in the next one. Each part with its line."""
    parts: list[tuple[int, str]] = []
    for number, line in enumerate((*lines, ""), 1):
        words = line.strip(_QUOTING).split()
        if parts and words:
            parts.append((number, words[0].rstrip("\\")))
        if len(words) != 1:
            if len(parts) > 1 and sum(len(part) for _, part in parts) >= MIN_TOKEN_CHARS:
                yield parts
            parts = []
        if words and not parts:
            parts = [(number, words[-1].rstrip("\\"))]


def _named_values(lines: list[str], signs: str) -> Iterator[tuple[int, str, str]]:
    """What may be a secret and stands beside its name in a table, below it in a column, or in the next
    line with a text, with its line and name. `signs` part the cells of a row."""
    columns: dict[int, str] = {}  # of the table that is read: what its heads name
    sign = waiting = ""
    for number, line in enumerate(lines, 1):
        if sign and sign not in line:
            columns, sign = {}, ""
        sign = sign or next((each for each in signs if each in line), "")
        cells = [_bare(cell) for cell in _cells(line, sign)] if sign else []
        values = [(columns[at], cells[at]) for at in columns if at < len(cells)]
        names = {at: kind for at, cell in enumerate(cells) if (kind := _secret_kind(cell))}
        if sign == "|":  # a list of names, say, is a row too
            values += [(kind, cells[at + 1]) for at, kind in names.items() if at + 1 < len(cells)]
        columns = columns or names
        values += [(waiting, _bare(line))] if waiting else []
        is_name = line[:1] == "#" or line.rstrip(" \t\r*")[-1:] in (":", "=")
        if line.strip():
            waiting = _secret_kind(_bare(line)) if is_name else ""
        yield from ((number, *one) for one in values if _VALUE_RE.fullmatch(one[1]))


def _cells(line: str, sign: str) -> list[str]:
    """The cells of a row; in a list a cell in quotes may hold the sign that parts them."""
    if '"' in line and sign != "|":
        return next(csv.reader([line], delimiter=sign), [])[:_MAX_CELLS]
    return line.split(sign, _MAX_CELLS)


def _bare(cell: str) -> str:
    return cell[:_MAX_CELL_CHARS].strip(" \t\r\"'`*_:=>#+-")


def _secret_kind(cell: str) -> str:
    """The name of a secret that a cell is, as the patterns know it; empty if it is none."""
    if not (named := _NAME_RE.fullmatch(cell)):
        return ""
    return "password" if named["password"] else re.sub(r"[ -]", "_", cell.lower())
