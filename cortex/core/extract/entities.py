"""Things with a name that a note mentions: files, addresses, packages, symbols and the like.

Only what is written as a name is taken for one: in backticks, behind a sign, with a path. A word of prose never is.
Code in fences tells of the packages that it imports and of nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from cortex.core.markdown.scan import Scanned

KINDS = ("file", "url", "package", "symbol", "person", "env_var", "cli_flag", "version", "error")
MOST = 200  # of one note
_LONGEST = 200  # characters of a name
_MOST_TRIES = 20  # places where a name is the part of another word
_LONGEST_TEXT = 256 * 1024  # characters of a note that are looked through

_EXTENSIONS = (
    "astro bash bat c cc cfg cjs clj conf cpp cs css csv cts dart ex exs fish fs go gradle graphql h hpp hs htm html ini ipynb java jl js json json5"
    " jsonl jsx kt kts less lock lua m md mdx mjs mk ml mts nix php pl plist prisma proto ps1 py pyi r rb rs rst sass scala scss sh sql styl"
    " svelte svg swift tf toml ts tsx txt vue wasm xml yaml yml zig zsh"
)
_KNOWN = frozenset(_EXTENSIONS.split())
_NAMED_FILES = frozenset(
    [
        "dockerfile",
        "makefile",
        "justfile",
        "gemfile",
        "rakefile",
        "procfile",
        ".gitignore",
        ".gitattributes",
        ".env",
        ".npmrc",
    ]
)
_ERRNO = (
    "EACCES|EADDRINUSE|EADDRNOTAVAIL|EAGAIN|EBADF|EBUSY|ECONNABORTED|ECONNREFUSED|ECONNRESET|EEXIST|EFAULT|EFBIG|EHOSTUNREACH|EINTR|EINVAL|EIO"
    "|EISDIR|ELOOP|EMFILE|EMLINK|EMSGSIZE|ENAMETOOLONG|ENETUNREACH|ENFILE|ENOBUFS|ENODEV|ENOENT|ENOEXEC|ENOMEM|ENOSPC|ENOSYS|ENOTCONN|ENOTDIR"
    "|ENOTEMPTY|ENOTSUP|ENXIO|EOPNOTSUPP|EPERM|EPIPE|EPROTO|ERANGE|EROFS|ESRCH|ESTALE|ETIMEDOUT|ETXTBSY|EXDEV"
)

# Patterns that are searched for begin with what is rare, a sign or a capital, so that prose costs next to nothing.
_FENCE = re.compile(r"\n[ \t>]{0,12}(`{3,200}|~{3,200})([^\n]{0,200})")
_SPAN = re.compile(r"`([^`\n]{1,300})`")
_PLACE = re.compile(r"\]\([^()\s]{0,500}")
_URL = re.compile(r"https?://[^\s<>\"'`\\^{}|]{3,500}")
_AT = re.compile(r"@([A-Za-z][A-Za-z0-9_-]{1,38})(?![\w/@]|\.\w)")
_ENV = re.compile(r"\$\{?([A-Z][A-Z0-9_]{2,60})\b")
_FLAG = re.compile(r"--[a-z][a-z0-9]{1,30}(?:-[a-z0-9]{1,30}){0,6}(?![\w-])")
_DOTTED = re.compile(r"\.\d{1,5}\.\d")
_VERSION = re.compile(
    r"v?\d{1,4}\.\d{1,5}\.\d{1,6}(?:-[0-9A-Za-z][0-9A-Za-z.]{0,20})?(?![\w.]\w|\w)"
)
_ERROR = re.compile(rf"E(?:rror|xception|(?:{_ERRNO.replace('|E', '|').removeprefix('E')}))\b")
_SLASH = re.compile(r"/[\w@.+-]{1,100}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/-])")
_PATH = re.compile(r"(?:[\w@.+~-]{0,100}/){0,20}[\w@.+-]{1,100}")
_ALL_CAPS = re.compile(r"[A-Z][A-Z0-9]{0,30}(?:_[A-Z0-9]{1,30}){1,8}")
_SYMBOL = re.compile(
    r"[A-Za-z_][\w]{0,60}(?:(?:\.|::)[A-Za-z_]\w{0,60}){1,6}"  # dotted
    r"|[A-Z][a-z0-9]{1,30}(?:[A-Z][a-z0-9]{0,30}){1,8}|[a-z][a-z0-9]{0,30}(?:[A-Z][a-z0-9]{0,30}){1,8}"  # CamelCase, camelCase
    r"|_{0,2}[a-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,8}_{0,2}"  # snake_case
)
_CALL = re.compile(
    r"([A-Za-z_$][\w$]{0,60}(?:(?:\.|::|->)[A-Za-z_$][\w$]{0,60}){0,6})\([^()`]{0,200}\)"
)
_PACKAGE = r"(?:@[a-z0-9][\w.-]{0,60}/)?[A-Za-z][\w.-]{0,60}"
_PINNED = re.compile(
    rf"({_PACKAGE})(?:\[[\w,-]{{1,60}}\])?(?:@|[=~<>!]=)[\^~]?v?(?:\d[\w.*-]{{0,30}}|latest|next)"
)
_JSON_PIN = re.compile(rf"\"({_PACKAGE})\"\s?:\s?\"[\^~]?\d[\w.-]{{0,30}}\",?")
_INSTALL = re.compile(
    r"(?:pip3?|uv|npm|pnpm|yarn|bun|cargo|gem|poetry)\s(?:pip\s)?(?:install|add|i)\s([^\n&|;#]{1,300})"
)
_NAME = re.compile(rf"{_PACKAGE}(?![\w/:])")
_FROM = re.compile(
    r"\s{0,40}(?:from\s+([A-Za-z_][\w.]{0,100})\s+import\b|import\s+([A-Za-z_][\w.]{0,100})\s*(?:$|,|as\b|;))"
)
_JS_FROM = re.compile(
    r"(?:\bfrom\s*|\bimport\s*|\brequire\()['\"]((?:@[a-z0-9][\w.-]{0,60}/)?[a-z0-9][\w.-]{0,60})(?:/[^'\"\n]{0,200})?['\"]"
)
_DOMAIN = re.compile(
    r"(?:www\.|[\w-]{1,60}\.(?:com|org|net|io|dev|app|ai|co|gg|me|sh|xyz|page)/)", re.IGNORECASE
)
_WORD_BEFORE = re.compile(r"[A-Za-z0-9_]{1,60}\Z")


class Entity(NamedTuple):
    """A named thing, where it is first mentioned; `key` is the name as it is compared."""

    kind: str
    name: str
    key: str
    line: int


def entities_of(body: str, scanned: Scanned, first_line: int = 1) -> tuple[Entity, ...]:
    """What a note's text, which begins on line `first_line` of its file, mentions: each thing once, in order; at most
    `MOST`."""
    text = body[:_LONGEST_TEXT]
    prose, code = _parted(text)
    spans: dict[str, None] = {}

    def kept(found: re.Match[str]) -> str:
        spans[found[1].strip()] = None
        return "` `"

    plain = _SPAN.sub(kept, prose) if "`" in prose else prose
    found: dict[tuple[str, str], str] = {}
    for kind, name in _mentions(plain, list(spans), code, scanned):
        if 0 < len(name) <= _LONGEST:
            found.setdefault((kind, key_of(kind, name)), name)
            if len(found) >= MOST:
                break
    placed = [(_at(text, name), kind, key, name) for (kind, key), name in found.items()]
    placed.sort(key=lambda one: one[0])
    entities: list[Entity] = []
    line, before = first_line, 0
    for at, kind, key, name in placed:
        line, before = line + text.count("\n", before, at), at
        entities.append(Entity(kind, name, key, line))
    return tuple(entities)


def key_of(kind: str, name: str) -> str:
    """A name as it is compared: case matters in symbols alone; a person is called the same with and without the sign, a
    version with and without its v."""
    if kind == "symbol":
        return name
    key = name.casefold()
    return (
        key.removeprefix("v")
        if kind == "version"
        else key.replace("\\", "/")
        if kind == "file"
        else key
    )


def _parted(text: str) -> tuple[str, list[str]]:
    """The text outside fences, and the lines within that may import something."""
    if "```" not in text and "~~~" not in text:
        return text, []
    text = f"\n{text}"
    prose: list[str] = []
    code: list[str] = []
    fence, start = "", 0
    for found in _FENCE.finditer(text):
        mark, rest = found.groups()
        if not fence:
            if mark[0] == "`" and "`" in rest:
                continue  # a code span of three ticks
            prose.append(text[start : found.start()])
            fence, start = mark, found.end()
        elif mark.startswith(fence) and not rest.strip():
            code.append(text[start : found.start()])
            fence, start = "", found.end()
    (code if fence else prose).append(text[start:])
    return "\n".join(prose), [
        line
        for part in code
        for line in part.split("\n")
        if "import" in line or "require(" in line or " from " in line
    ]


def _mentions(
    plain: str, spans: list[str], code: list[str], scanned: Scanned
) -> Iterator[tuple[str, str]]:
    """Every mention as kind and name, some more than once."""
    quoted = "\n".join(spans)
    for link in scanned.links:
        if link.kind == "markdown" and link.target.startswith(("http://", "https://")):
            yield "url", _address(link.target)
        elif (
            link.kind == "wikilink"
            and "people/" in link.target.casefold()
            and (name := _person(link.target))
        ):
            yield "person", name
    if "](" in plain:  # where links lead is no text; addresses among them have been told
        plain = _PLACE.sub("](", plain)
    if "://" in plain:
        plain, addresses = _addresses(plain)
        yield from (("url", one) for one in addresses)
    if "://" in quoted:
        quoted, addresses = _addresses(quoted)
        yield from (("url", one) for one in addresses)
        spans = quoted.split("\n")
    if "@" in plain:
        yield from (("person", name) for name in _handles(plain))
    for text in (plain, quoted):
        yield from _signs(text)
    for span in spans:
        yield from _of_span(span)
    for line in code:
        yield from _imported(line)


def _signs(text: str) -> Iterator[tuple[str, str]]:
    """What a sign, a capital or a slash gives away, in prose as in code spans."""
    if "$" in text:
        yield from (("env_var", found[1]) for found in _ENV.finditer(text))
    if "--" in text:
        yield from (
            ("cli_flag", found[0])
            for found in _FLAG.finditer(text)
            if found.start() == 0 or text[found.start() - 1] in " \t\n`[(|"
        )
    if "." in text:
        yield from (
            ("version", name)
            for found in _DOTTED.finditer(text)
            if (name := _version(text, found.start()))
        )
    if "/" in text:
        yield from (
            ("file", name) for found in _SLASH.finditer(text) if (name := _file(text, found))
        )
    for found in _ERROR.finditer(text):
        if name := _error(text, found):
            yield "error", name


def _of_span(span: str) -> Iterator[tuple[str, str]]:
    """What the text between backticks is as a whole, or begins with."""
    if " " in span:
        if found := _INSTALL.search(span):
            yield from (("package", name) for name in _installed(found[1]))
        elif span.startswith(("import ", "from ")):
            yield from _imported(span)
        elif found := _JSON_PIN.fullmatch(span):
            yield "package", found[1]
        elif span.endswith(")") and (found := _CALL.fullmatch(span)):
            yield "symbol", f"{found[1]}()"
        return
    if found := _PINNED.fullmatch(span) or _JSON_PIN.fullmatch(span):
        yield "package", found[1]
        return
    name = _bare_file(span)
    if name:
        yield "file", name
    elif _ALL_CAPS.fullmatch(span):
        if not span.startswith(("ERR_", "E_")):
            yield "env_var", span
    elif call := _CALL.fullmatch(span):
        yield "symbol", f"{call[1]}()"
    elif _SYMBOL.fullmatch(span) and not span.endswith(("Error", "Exception")):
        yield "symbol", span


def _bare_file(span: str) -> str:
    """A code span that is the name of a file, with or without a path, without the line behind it."""
    name, colon, line = span.partition(":")
    if colon and not line.replace(":", "").replace("-", "").isdigit():
        return ""
    if name.casefold() in _NAMED_FILES:
        return name
    stem, dot, ending = name.rpartition(".")
    plain = dot and stem and ending.lower() in _KNOWN and _PATH.fullmatch(name)
    return (
        name.removeprefix("./")
        if plain and not _DOMAIN.match(name) and not stem.endswith((".", "/"))
        else ""
    )


def _file(text: str, found: re.Match[str]) -> str:
    """The whole path around a slash and an ending."""
    start = found.start()
    begin = start
    while (
        begin > 0
        and begin > start - _LONGEST
        and (text[begin - 1].isalnum() or text[begin - 1] in "_@.+~-/")
    ):
        begin -= 1
    path = text[begin : found.end()].removeprefix("./")
    before = text[begin - 1 : begin]
    stem, _, ending = path.rpartition(".")
    if (
        before in ("*", "{", "}", "<", ":", "=", "\\", "%", "&", "?", "#")
        or "//" in path
        or _DOMAIN.match(path)
        or stem.endswith((".", "/"))
    ):
        return ""
    return (
        path
        if ending.lower() in _KNOWN
        or (ending.islower() and len(ending) < 5 and path.count("/") > 1)
        else ""
    )


def _version(text: str, at: int) -> str:
    begin = at
    while begin > 0 and text[begin - 1].isdigit() and begin > at - 5:
        begin -= 1
    if begin == at:
        return ""
    if text[begin - 1 : begin] == "v":
        begin -= 1
    found = _VERSION.match(text, begin)
    before = text[begin - 1 : begin] if begin else ""
    if not found or before.isalnum() or before in (".", "-", "_", "/", "@", "=", "^", "~"):
        return ""
    name = found[0]
    first, _, last = name.removeprefix("v").split("-")[0].split(".")
    if (
        len(first) == 4
        or (len(last) == 4 and int(last) > 1900)
        or (len(last) == 2 == len(first) and int(last) > 31)
    ):
        return ""  # a date
    numbered = name[0] != "v" and not text[text.rfind("\n", 0, begin) + 1 : begin].strip(
        " \t#*->"
    )  # the number of a section
    return "" if numbered and text[found.end() : found.end() + 1] in (" ", "\t") else name


def _error(text: str, found: re.Match[str]) -> str:
    start = found.start()
    before = (
        _WORD_BEFORE.search(text, max(0, start - 60), start)
        if start and (text[start - 1].isalnum() or text[start - 1] == "_")
        else None
    )
    if found[0] in ("Error", "Exception"):
        name = f"{before[0]}{found[0]}" if before else ""
        return name if name[:1].isupper() and "_" not in name and not name.isupper() else ""
    return "" if before else found[0]


def _handles(text: str) -> Iterator[str]:
    for found in _AT.finditer(text):
        before = text[found.start() - 1 : found.start()] if found.start() else " "
        if not (before.isalnum() or before in "._-/@`+&=\"'"):
            yield found[1]


def _person(target: str) -> str:
    """The person whose page a wikilink names: a page in a folder people."""
    *folders, name = target.split("/")
    return name.removesuffix(".md").strip() if "people" in map(str.casefold, folders) else ""


def _addresses(text: str) -> tuple[str, list[str]]:
    """The text without its addresses, and these."""
    found: list[str] = []

    def told(one: re.Match[str]) -> str:
        found.append(_address(one[0]))
        return " "

    return _URL.sub(told, text), found


def _address(url: str) -> str:
    """An address without what punctuation, people and passwords leave at it."""
    url = url.rstrip(".,;:!?*_'\"")
    while url.endswith((")", "]")) and url.count("(") + url.count("[") < url.count(")") + url.count(
        "]"
    ):
        url = url[:-1].rstrip(".,;:!?*_'\"")
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    host = host.rpartition("@")[2].casefold()
    return (
        f"{scheme.lower()}://{host}{slash}{path}".rstrip("/")
        if "." in host or host.startswith("localhost")
        else ""
    )


def _installed(words: str) -> Iterator[str]:
    for word in words.split():
        if not word.startswith(("-", ".", "/", "<", "$", "git+", "http")) and (
            found := _NAME.match(word)
        ):
            yield found[0].rstrip(".-")


def _imported(line: str) -> Iterator[tuple[str, str]]:
    """The package that a line of code imports; a file of the same project is none."""
    if found := _FROM.match(line):
        name = (found[1] or found[2]).partition(".")[0]
        if name != "__future__":
            yield "package", name
    for js in _JS_FROM.finditer(line):
        yield "package", js[1]


def _at(text: str, name: str) -> int:
    """Where a name stands first as a word of its own; 0 where it is written in another way."""
    for form in (name, name.removesuffix("()"), name.rpartition("/")[2]):
        at = text.find(form)
        for _ in range(_MOST_TRIES):
            if at < 0:
                break
            end = at + len(form)
            if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
                return at
            at = text.find(form, at + 1)
    return 0
