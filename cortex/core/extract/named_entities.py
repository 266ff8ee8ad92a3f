"""Named entities of a note: files, addresses, packages, symbols and the like.

Only what is written as a name counts: in backticks, after a sign such as `@`, with a path or with a
file's ending. Words of prose never do. Fenced code counts only for the packages that it imports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from cortex.core.markdown.bound import fence_spans, without_fences
from cortex.core.markdown.scan import MarkdownScan
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import read_sections
from cortex.core.text.value import NamedTuple

KINDS = ("file", "url", "package", "symbol", "person", "env_var", "cli_flag", "version", "error")
MAX_ENTITIES = 200  # of one note
_MAX_NAME_CHARS = 200  # characters of a name
_MAX_POSITION_TRIES = 20  # places where a name is the part of another word
_MAX_TEXT_CHARS = 256 * 1024  # characters of a note that are looked through

_WORDS = {name: " ".join(lines).split() for name, lines in read_sections(__file__).items()}
_FILE_EXTENSIONS = frozenset(_WORDS["file extensions"])
_EXTENSIONLESS_FILES = frozenset(_WORDS["files without an extension"])
_DOTTED_LIBRARIES = frozenset(_WORDS["libraries with a dot"])

# Searched patterns begin with a rare character, so that prose costs next to nothing.
_CODE_SPAN_RE = lazy_re(r"`([^`\n]{1,300})`")
_LINK_TARGET_RE = lazy_re(r"\]\([^()\s]{0,500}")
_URL_RE = lazy_re(r"https?://[^\s<>\"'`\\^{}|]{3,500}")
_HANDLE_RE = lazy_re(r"@([A-Za-z][A-Za-z0-9_-]{1,38})(?![\w/@]|\.\w)")
_ENV_VAR_RE = lazy_re(r"\$\{?([A-Z][A-Z0-9_]{2,60})\b")
_CLI_FLAG_RE = lazy_re(r"--[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,6}(?![\w-])")
_DOTTED_NUMBER_RE = lazy_re(r"\.\d{1,5}\.\d")
_VERSION_RE = lazy_re(
    r"v?\d{1,4}\.\d{1,5}\.\d{1,6}(?:-[0-9A-Za-z][0-9A-Za-z.]{0,20})?(?![\w.]\w|\w)"
)
_ERROR_RE = lazy_re(
    rf"E(?:rror|xception|{'|'.join(name[1:] for name in _WORDS['error numbers'])})\b"
)
_FILE_ENDING_RE = lazy_re(r"\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/(-]|\.\w)")
_PATH_RE = lazy_re(r"(?:[\w@.+~-]{0,100}/){0,20}[\w@.+-]{1,100}")
_ALL_CAPS_RE = lazy_re(r"[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,8}")
_SYMBOL_RE = lazy_re(
    r"[A-Za-z_][\w]{0,60}(?:(?:\.|::)[A-Za-z_]\w{0,60}){1,6}"  # dotted
    # CamelCase, camelCase
    r"|[A-Z][a-z0-9]{1,30}(?:[A-Z][a-z0-9]{0,30}){1,8}"
    r"|[a-z][a-z0-9]{0,30}(?:[A-Z][a-z0-9]{0,30}){1,8}"
    r"|_{0,2}[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,8}_{0,2}"  # snake_case
)
_CALL_RE = lazy_re(
    r"([A-Za-z_$][\w$]{0,60}(?:(?:\.|::|->)[A-Za-z_$][\w$]{0,60}){0,6})\([^()`]{0,200}\)"
)
PACKAGE_PATTERN = r"(?:@[a-z0-9][\w.-]{0,60}/)?[A-Za-z][\w.-]{0,60}"
_PINNED_PACKAGE_RE = lazy_re(
    rf"({PACKAGE_PATTERN})(?:\[[\w,-]{{1,60}}\])?(?:@|[=~<>!]=)[\^~]?v?(?:\d[\w.*-]{{0,30}}"
    rf"|latest|next)"
)
_JSON_DEPENDENCY_RE = lazy_re(rf"\"({PACKAGE_PATTERN})\"\s?:\s?\"[\^~]?\d[\w.-]{{0,30}}\",?")
_INSTALL_COMMAND_RE = lazy_re(
    r"(?:pip3?|uv|npm|pnpm|yarn|bun|cargo|gem|poetry)\s(?:pip\s)?(?:install|add"
    r"|i)\s([^\n&|;#]{1,300})"
)
_REPOSITORY = r"[\w-][\w.-]{0,60}/[\w-][\w.-]{0,60}"
_HOSTED_PACKAGE_RES = tuple(
    lazy_re(pattern)
    for pattern in (
        rf"github\.com/{_REPOSITORY}", rf"gitlab\.com/{_REPOSITORY}", rf"bitbucket\.org/{_REPOSITORY}",
        r"golang\.org/x/[\w-]{1,60}", r"gopkg\.in/[\w-][\w.-]{0,60}(?:/[\w-][\w.-]{0,60})?",
    )
)  # fmt: skip
_SCOPED_PACKAGE_RE = lazy_re(r"@[a-z0-9][a-z0-9._-]{0,60}/[a-z0-9][a-z0-9._-]{0,60}(?!\w)")
_DECLARED_NAME = r"([A-Za-z_$][\w$]{0,60})(?![\w$])"
_RECEIVER = r"(?:\([^()\n]{1,80}\)\s)?"  # of a method in Go
# In prose these are words as well: what follows has to be written as a name.
_DECLARATION_RES = tuple(
    lazy_re(pattern)
    for pattern in (
        *(rf"{word} {_RECEIVER}(?=\w{{0,60}}[A-Z_(]){_DECLARED_NAME}" for word in ("func", "fn", "def")),
        *(rf"{word} ([A-Z][a-z]\w{{1,60}})(?![\w-])" for word in ("type", "class", "struct", "interface", "enum", "trait")),
    )
)  # fmt: skip
_DECLARATION_SPAN_RE = lazy_re(
    r"(?:(?:pub|export|public|private|abstract|static|async|default)\s){0,3}"
    rf"(?:func|fn|def|function|type|class|struct|interface|enum|trait)\s{_RECEIVER}{_DECLARED_NAME}"
)
_PACKAGE_NAME_RE = lazy_re(rf"{PACKAGE_PATTERN}(?![\w/:])")
_PYTHON_IMPORT_RE = lazy_re(
    r"\s{0,40}(?:from\s+([A-Za-z_][\w.]{0,100})\s+import\b|import\s+([A-Za-z_][\w.]{0,100})\s*(?:$"
    r"|,|as\b|;))"
)
_JS_IMPORT_RE = lazy_re(
    r"(?:\bfrom\s*|\bimport\s*|\brequire\()['\"]((?:@[a-z0-9][\w.-]{0,60}/)?[a-z0-9][\w.-]{0,60})"
    r"(?:/[^'\"\n]{0,200})?['\"]"
)
_IMPORT_SIGNS = ("import", "require(", " from ")
_DOMAIN_RE = lazy_re(
    r"(?:www\.|[\w-]{1,60}\.(?:com|org|net|io|dev|app|ai|co|gg|me|sh|xyz|page)/)", re.IGNORECASE
)
_WORD_BEFORE_RE = lazy_re(r"[A-Za-z0-9_]{1,60}\Z")


class Entity(NamedTuple):
    """A named thing, where it is first mentioned; `key` is the name as it is compared."""

    kind: str
    name: str
    key: str
    line: int


def find_entities(body: str, scanned: MarkdownScan, first_line: int = 1) -> tuple[Entity, ...]:
    """The distinct entities that a note's text mentions, in order of appearance, `MAX_ENTITIES` at
    most. `first_line` is the line of the file on which the text begins."""
    text = body[:_MAX_TEXT_CHARS]
    prose = without_fences(text)
    spans = dict.fromkeys(span.strip() for span in _CODE_SPAN_RE.findall(prose))
    without_spans = _CODE_SPAN_RE.sub("` `", prose) if spans else prose
    fenced = (line for start, end in fence_spans(text) for line in text[start:end].split("\n"))
    imports = [line for line in fenced if any(sign in line for sign in _IMPORT_SIGNS)]
    names: dict[tuple[str, str], str] = {}
    for kind, name in _iter_mentions(without_spans, list(spans), imports, scanned):
        if 0 < len(name) <= _MAX_NAME_CHARS:
            names.setdefault((kind, entity_key(kind, name)), name)
            if len(names) >= MAX_ENTITIES:
                break
    entities: list[Entity] = []
    line, previous = first_line, 0
    places = [(_first_position(text, name), *kind_and_key) for kind_and_key, name in names.items()]
    for start, kind, key in sorted(places, key=lambda place: place[0]):
        line, previous = line + text.count("\n", previous, start), start
        entities.append(Entity(kind, names[kind, key], key, line))
    return tuple(entities)


def entity_key(kind: str, name: str) -> str:
    """A name as it is compared: case matters in symbols alone; a person is called the same with and
    without the sign, a version with and without its v, a symbol with and without `()`."""
    if kind == "symbol":
        return name.removesuffix("()")
    key = name.casefold()
    if kind == "version":
        return key.removeprefix("v")
    return key.replace("\\", "/") if kind == "file" else key


def _iter_mentions(
    plain: str, spans: list[str], imports: list[str], scanned: MarkdownScan
) -> Iterator[tuple[str, str]]:
    """Every mention as kind and name, some more than once."""
    quoted = "\n".join(spans)
    for link in scanned.links:
        if link.kind == "markdown" and link.target.startswith(("http://", "https://")):
            yield "url", _clean_url(link.target)
        elif link.kind == "wikilink" and (name := _person_of_link(link.target)):
            yield "person", name
    if "](" in plain:  # where links lead is no text; addresses among them have been told
        plain = _LINK_TARGET_RE.sub("](", plain)
    if "://" in plain:
        plain, addresses = _cut_urls(plain)
        yield from (("url", one) for one in addresses)
    if "://" in quoted:
        quoted, addresses = _cut_urls(quoted)
        yield from (("url", one) for one in addresses)
        spans = quoted.split("\n")
    if "@" in plain:
        yield from (("person", name) for name in _find_handles(plain))
    for text in (plain, quoted):
        yield from _find_signed_names(text)
    for span in spans:
        yield from _classify_code_span(span)
    for line in imports:
        yield from _imported_packages(line)


def _find_signed_names(text: str) -> Iterator[tuple[str, str]]:
    """What a sign, a capital or a slash gives away, in prose as in code spans."""
    for found in _ENV_VAR_RE.finditer(text):
        yield "env_var", found[1]
    for found in _CLI_FLAG_RE.finditer(text):
        if found.start() == 0 or text[found.start() - 1] in " \t\n`[(|":
            yield "cli_flag", found[0]
    for found in _DOTTED_NUMBER_RE.finditer(text):
        yield "version", _version_around_dot(text, found.start())
    yield from (("file", name) for name in _find_files_by_ending(text))
    for found in _ERROR_RE.finditer(text):
        yield "error", _error_name(text, found)
    for pattern in _HOSTED_PACKAGE_RES:
        for found in pattern.finditer(text):
            if _begins_word(text, found.start()):
                yield "package", found[0].rstrip(".-").removesuffix(".git")
    for found in _SCOPED_PACKAGE_RE.finditer(text):
        name = found[0].rstrip(".-")
        if _begins_word(text, found.start()) and name.rpartition(".")[2] not in _FILE_EXTENSIONS:
            yield "package", name
    for pattern in _DECLARATION_RES:
        for found in pattern.finditer(text):
            if _begins_word(text, found.start()):
                yield "symbol", found[1]


def _begins_word(text: str, at: int) -> bool:
    before = text[at - 1 : at]
    return not (before.isalnum() or before in tuple("_./@:-"))


def _classify_code_span(span: str) -> Iterator[tuple[str, str]]:
    """What the text between backticks is as a whole, or begins with."""
    if " " in span:
        if found := _INSTALL_COMMAND_RE.search(span):
            yield from (("package", name) for name in _installed_packages(found[1]))
        elif span.startswith(("import ", "from ")):
            yield from _imported_packages(span)
        elif found := _JSON_DEPENDENCY_RE.fullmatch(span):
            yield "package", found[1]
        elif found := _DECLARATION_SPAN_RE.match(span):
            yield "symbol", found[1]
        elif span.endswith(")") and (found := _CALL_RE.fullmatch(span)):
            yield "symbol", f"{found[1]}()"
        return
    if found := _PINNED_PACKAGE_RE.fullmatch(span) or _JSON_DEPENDENCY_RE.fullmatch(span):
        yield "package", found[1]
        return
    name = _file_in_span(span)
    if name:
        yield "file", name
    elif _ALL_CAPS_RE.fullmatch(span):
        if not span.startswith(("ERR_", "E_")):
            yield "env_var", span
    elif call := _CALL_RE.fullmatch(span):
        yield "symbol", f"{call[1]}()"
    elif _SYMBOL_RE.fullmatch(span) and not span.endswith(("Error", "Exception")):
        yield "symbol", span


def _file_in_span(span: str) -> str:
    """A code span that names a file, with or without a path, without a line number."""
    name, colon, line = span.partition(":")
    if colon and not line.replace(":", "").replace("-", "").isdigit():
        return ""
    if name.casefold() in _EXTENSIONLESS_FILES:
        return name
    stem, dot, ending = name.rpartition(".")
    has_ending = dot and stem and ending.lower() in _FILE_EXTENSIONS
    if not has_ending or not _PATH_RE.fullmatch(name):
        return ""
    return "" if _DOMAIN_RE.match(name) or stem.endswith((".", "/")) else name.removeprefix("./")


def find_files(text: str) -> Iterator[str]:
    """The files that a text names, in prose as in code spans, without line numbers."""
    yield from _find_files_by_ending(text)
    if "`" in text:
        yield from filter(None, map(_file_in_span, _CODE_SPAN_RE.findall(text)))


def _find_files_by_ending(text: str) -> Iterator[str]:
    """The whole names, with their paths, that end as files do."""
    for found in _FILE_ENDING_RE.finditer(text):
        begin, least = found.start(), max(0, found.start() - _MAX_NAME_CHARS)
        while begin > least and (text[begin - 1].isalnum() or text[begin - 1] in "_@.+~-/"):
            begin -= 1
        path = text[begin : found.end()].removeprefix("./")
        stem, _, ending = path.rpartition(".")
        before = text[begin - 1] if begin else " "  # an asterisk may be emphasis, or a pattern's
        is_part = before in "{}<:=\\%&?#$" or (before == "*" and path[0] in "/._-")
        is_name = stem and not is_part and "//" not in path and not stem.endswith((".", "/"))
        if not is_name or _DOMAIN_RE.match(path):
            continue
        is_known = ending.lower() in _FILE_EXTENSIONS
        if "/" not in path:
            is_known = is_known and len(ending) > 1 and stem.casefold() not in _DOTTED_LIBRARIES
        if is_known or (path.count("/") > 1 and ending.islower() and len(ending) < 5):
            yield path


def _version_around_dot(text: str, at: int) -> str:
    begin = at
    while begin > 0 and text[begin - 1].isdigit() and begin > at - 5:
        begin -= 1
    if begin == at:
        return ""
    if text[begin - 1 : begin] == "v":
        begin -= 1
    found = _VERSION_RE.match(text, begin)
    before = text[begin - 1 : begin] if begin else ""
    if not found or before.isalnum() or before in (".", "-", "_", "/", "@", "=", "^", "~"):
        return ""
    name = found[0]
    first, _, last = name.removeprefix("v").split("-")[0].split(".")
    is_year_last = (len(last) == 4 and int(last) > 1900) or (
        len(last) == 2 == len(first) and int(last) > 31
    )
    if len(first) == 4 or is_year_last:
        return ""  # a date
    line_before = text[text.rfind("\n", 0, begin) + 1 : begin]
    begins_line = name[0] != "v" and not line_before.strip(" \t#*->")
    is_section_number = begins_line and text[found.end() : found.end() + 1] in (" ", "\t")
    return "" if is_section_number else name


def _error_name(text: str, found: re.Match[str]) -> str:
    start = found.start()
    is_inside = start and (text[start - 1].isalnum() or text[start - 1] == "_")
    before = _WORD_BEFORE_RE.search(text, max(0, start - 60), start) if is_inside else None
    if found[0] in ("Error", "Exception"):
        name = f"{before[0]}{found[0]}" if before else ""
        return name if name[:1].isupper() and "_" not in name and not name.isupper() else ""
    return "" if before else found[0]


def _find_handles(text: str) -> Iterator[str]:
    for found in _HANDLE_RE.finditer(text):
        before = text[found.start() - 1 : found.start()] if found.start() else " "
        if not (before.isalnum() or before in "._-/@`+&=\"'"):
            yield found[1]


def _person_of_link(target: str) -> str:
    """The person whose page a wikilink names: a page in a folder people."""
    *folders, name = target.split("/")
    return name.removesuffix(".md").strip() if "people" in map(str.casefold, folders) else ""


def _cut_urls(text: str) -> tuple[str, list[str]]:
    """The text without its addresses, and these."""
    return _URL_RE.sub(" ", text), [_clean_url(url) for url in _URL_RE.findall(text)]


def _clean_url(url: str) -> str:
    """An address without what punctuation, people and passwords leave at it."""
    punctuation = ".,;:!?*_'\""
    url = url.rstrip(punctuation)
    while url.endswith((")", "]")) and sum(map(url.count, "([")) < sum(map(url.count, ")]")):
        url = url[:-1].rstrip(punctuation)
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].casefold()
    is_host = "." in host or host.startswith("localhost")
    return f"{scheme.lower()}://{host}{slash}{path}".rstrip("/") if is_host else ""


def _installed_packages(words: str) -> Iterator[str]:
    for word in words.split():
        if not word.startswith(("-", ".", "/", "<", "$", "git+", "http")) and (
            found := _PACKAGE_NAME_RE.match(word)
        ):
            yield found[0].rstrip(".-")


def _imported_packages(line: str) -> Iterator[tuple[str, str]]:
    """The package that a line of code imports; a file of the same project is none."""
    if found := _PYTHON_IMPORT_RE.match(line):
        name = (found[1] or found[2]).partition(".")[0]
        if name != "__future__":
            yield "package", name
    for js in _JS_IMPORT_RE.finditer(line):
        yield "package", js[1]


def _first_position(text: str, name: str) -> int:
    """The offset at which a name, without its `()` or folder if need be, first stands as a whole
    word; 0 if it does so nowhere."""
    for form in (name, name.removesuffix("()"), name.rpartition("/")[2]):
        start = text.find(form)
        for _ in range(_MAX_POSITION_TRIES):
            if start < 0:
                break
            end = start + len(form)
            if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum()):
                return start
            start = text.find(form, start + 1)
    return 0
