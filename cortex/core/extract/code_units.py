"""What is remembered of a file of source code: a description that lists its units, and their code."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from warnings import catch_warnings as quiet

from cortex.core.model.note_status import CODE_DESCRIPTION, RAW_CODE
from cortex.core.model.record import Record
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, shorten, slugify
from cortex.core.text.tables import read_sections
from cortex.core.text.value import NamedTuple

_TABLES = read_sections(__file__)
LANGUAGE_OF_ENDING = dict(map(str.split, _TABLES["endings"]))
_UNITS = (one.split(" ", 1) for one in _TABLES["units"])
_BEGINS = {one: lazy_re(pattern) for names, pattern in _UNITS for one in names.split("/")}
_MAX_LINE_CHARS, _MAX_LISTED, _MIN_LINES, _MAX_CODE_CHARS = 400, 300, 4, 100_000
_DOC_CHARS, _FILE_DOC_CHARS, _TITLE_CHARS = 200, 1_500, 160
SOURCE_RE = lazy_re(r"Source: `([^`\n]+)`, lines \d+–\d+, (\w+), ([a-z2-7]{10})\.")
_MARKUP_RE = lazy_re(r"^[#>*+-](?=\s)|(?<!\S)#(?=\w)|\[(?=\[)|\](?=\()|<(?=!--)|%(?=%)")


class CodeUnit(NamedTuple):
    """A class, a function, or what else a language names. Lines count from 1, both included."""

    name: str
    signature: str
    doc: str  # the first words of its docstring or leading comment
    start: int
    end: int
    depth: int = 0  # how many others it stands in

    def line(self) -> str:
        lines = f"{self.start}–{self.end}" if self.end > self.start else self.start
        signature = shorten(self.signature.replace("`", "'"), _DOC_CHARS)
        return f"{'  ' * self.depth}- `{signature}` ({lines}){': ' if self.doc else ''}{self.doc}"


def code_notes(path: str, text: str, language: str) -> list[Record]:
    """The records of a file, without ids: its description, then the code of its larger units, else all."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").rstrip().split("\n")
    doc, units = _read_python("\n".join(lines)) if language == "python" else ("", [])
    units = units or (_read_lines(lines, language) if language in _BEGINS else [])
    end = next(at for at, one in enumerate([*lines, ""]) if one.lstrip()[:1] not in tuple("/*#-@"))
    start, head = _comment_above(lines, end, language, _FILE_DOC_CHARS)
    doc = doc or ("" if start or "opyright" in head or "icense" in head else head)
    found, seen = list[Record](), Counter[str]()

    def add(type_: str, name: str, title: str, unit: CodeUnit, said: str) -> None:
        topic = f"{type_}-of/{slugify(name, 80)}-{short_hash(name)}"
        place = f"`{path}`, lines {unit.start}–{unit.end}, {language}"
        body = f"Source: {place}, {short_hash(said, 10)}.\n\n{said}"
        record = Record("", type_, shorten(title, _TITLE_CHARS), body, "", (), topic=topic)
        found.append(record._replace(priority="7" if type_ == CODE_DESCRIPTION else "5"))

    about = doc.partition(". ")[0] or ", ".join(one.name for one in units if not one.depth)
    told = "\n\n".join(filter(None, (doc, "\n".join(map(CodeUnit.line, units[:_MAX_LISTED])))))
    whole = CodeUnit(path, "", "", 1, len(lines))
    kept = [one for one in units if not one.depth and one.end - one.start >= _MIN_LINES - 1]
    add(CODE_DESCRIPTION, path, f"{path}: {about}".rstrip(": ."), whole, told)
    for unit in kept or [whole][: len(lines) >= _MIN_LINES]:
        code = "\n".join(lines[unit.start - 1 : unit.end]).rstrip()[:_MAX_CODE_CHARS]
        fence = "`" * max([3, *(len(one) + 1 for one in re.findall("`{3,}", code))])
        seen[unit.name] += 1
        again = f" {seen[unit.name]}" if seen[unit.name] > 1 else ""
        name = f"{unit.name}{again} in {path}" if kept else path
        add(RAW_CODE, name, name, unit, f"{fence}{language}\n{code}\n{fence}")
    return found if any(lines) else []


def _as_prose(text: str, limit: int) -> str:
    return _MARKUP_RE.sub(lambda found: f"\\{found[0]}", shorten(one_line(text), limit))


def _read_python(text: str) -> tuple[str, list[CodeUnit]]:
    """The docstring of a module, and its classes and functions; nothing where it is no Python."""
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError), quiet(action="ignore"):
        tree = ast.parse(text)
        return _as_prose(ast.get_docstring(tree) or "", _FILE_DOC_CHARS), [*_python_units(tree)]
    return "", []


def _python_units(tree: ast.Module | ast.ClassDef, depth: int = 0) -> Iterator[CodeUnit]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            doc = _as_prose((ast.get_docstring(node) or "").partition("\n\n")[0], _DOC_CHARS)
            start = min((one.lineno for one in node.decorator_list), default=node.lineno)
            inner = [*_python_units(node, depth + 1)] if isinstance(node, ast.ClassDef) else []
            node.body, node.decorator_list = [], []
            signature = ast.unparse(node).strip().rstrip(":")
            yield CodeUnit(node.name, signature, doc, start, node.end_lineno or start, depth)
            yield from inner


def _read_lines(lines: Sequence[str], language: str) -> list[CodeUnit]:
    """The units of a language whose lines tell where one begins. It ends at the brace or `end` below its
    beginning, else before the next one."""
    found: list[CodeUnit] = []  # ending where it begins, as deep as it is indented
    for number, line in enumerate(lines):
        if begun := _BEGINS[language].match(line[:_MAX_LINE_CHARS]):
            first, doc = _comment_above(lines, number, language, _DOC_CHARS)
            name = one_line(next(filter(None, begun.groups()[1:])))
            goes_on = " ".join(lines[number : number + 8]).partition("{")[0]
            signature = one_line(goes_on if line.rstrip()[-1:] in "(," else line.rstrip(" {"))
            found.append(CodeUnit(name, signature, doc, first + 1, number + 1, len(begun[1])))
    later: dict[int, int] = {}  # depth -> the line before the next unit of that depth
    for at, unit in reversed([*enumerate(found)]):
        closing = re.compile(rf"\s{{{unit.depth}}}(?:\}}|end\b)")
        limit = min((later[one] for one in later if one <= unit.depth), default=len(lines))
        ends = (end + 1 for end in range(unit.end, limit) if closing.match(lines[end]))
        end = unit.end if lines[unit.end - 1].rstrip().endswith((";", "}")) else next(ends, limit)
        later[unit.depth] = unit.start - 1
        found[at] = unit._replace(end=end, depth=int(unit.depth > 0))
    return found


def _comment_above(lines: Sequence[str], number: int, language: str, limit: int) -> tuple[int, str]:
    """Where a comment with attributes begins that stands right above a line, and the words of it."""
    start, has_hash = number, language in _TABLES["hash comments"]
    marks = tuple(["#", "@"] if has_hash else ["//", "/*", "*", "@", "#[", "--"])
    while start and lines[start - 1].lstrip().startswith(marks):
        start -= 1
    plain = (one for one in lines[start:number] if not one.lstrip().startswith(("@", "#[")))
    words = " ".join(one.strip("/*#!-; \t") for one in plain if re.search(r"[^\W\d_]{2}", one))
    return start, _as_prose(re.split(r"\s@\w", f" {words}")[0], limit)
