"""Secrets in a text become `[REDACTED:kind]` before the text is written anywhere.

The shapes are those the vendors publish (`shapes`). A shape that cannot be told from prose (a password, 40 base64
characters) is taken only with its name beside it. Where a doubt remains, more is hidden rather than less.

Two rules make the cost linear and a second pass a no-op:
a pattern that has to look far consumes what it looked at even if it finds nothing (then no group took part);
marks of an earlier pass are read as NUL characters, which no pattern matches, and which end what is looked at around one.
"""

from __future__ import annotations

from cortex.core.shapes import COOKIE_PAIR, IGNORE_CASE, KINDS, LONG, NO_SECRETS, PROSE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

# A secret pasted through a chat or a word processor may carry these invisible characters.
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff\u00ad"

_KEY_REACH = 65536  # characters; the longest key block, a PGP key with a photograph, is shorter

_MARK = r"\[REDACTED:[a-z][a-z-]{0,40}\]"
_END_OF_LINE = r"""(?=[ \t]*(?:[\r\n\\"'`,]|$))"""
# A line of a key's body after a line end, real or JSON-escaped; or, its line ends lost, 40 or more in a row.
_KEY_LINE = (
    r"(?:[ \t]*(?:\r?\n|\r|\\{1,2}r\\{1,2}n|\\{1,2}n)){1,3}[ \t>|#*]{0,8}"
    r"(?:[A-Z][A-Za-z-]{1,30}:[ \t][^\r\n\\\x00]{0,200}|([A-Za-z0-9+/=]+))" + _END_OF_LINE + r"|[ \t]{0,8}([A-Za-z0-9+/=]{40,})"
)

Span = tuple[int, int]


def redact(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with its secrets replaced, and the kind of each replacement in order of appearance.

    A text without a secret comes back as the same object.
    """
    seen = text
    if not text.isascii():
        for char in HIDDEN:
            seen = seen.replace(char, "")
    if "[REDACTED:" in seen:
        import re  # noqa: PLC0415

        seen = re.sub(_MARK, lambda mark: "\0" * len(mark[0]), seen)
    found = _find(seen)
    if not found:
        return text, ()
    place: range | list[int] = range(len(text))  # where a character of `seen` stands in `text`
    if len(seen) < len(text):
        place = [i for i, char in enumerate(text) if char not in HIDDEN]
    parts: list[str] = []
    kinds: list[str] = []
    at = 0
    for start, end, row in found:
        kind = KINDS[row][0]
        parts += (text[at : place[start]], f"[REDACTED:{kind}]")
        kinds.append(kind)
        at = place[end - 1] + 1
    parts.append(text[at:])
    return "".join(parts), tuple(kinds)


def _find(text: str) -> list[tuple[int, int, int]]:
    """(start, end, row of KINDS) of each secret, in order, overlapping ones united under the earliest row."""
    folded = text.lower()
    long = " ".join([word for word in text.split() if len(word) >= LONG])
    spans: list[tuple[int, int, int]] = []
    for row, (kind, hints, source, flags) in enumerate(KINDS):
        hay = long if not flags else folded if flags & IGNORE_CASE else text
        for hint in hints:
            if hint in hay:
                import re  # noqa: PLC0415  as said

                pattern = re.compile(source, flags)
                spans += [(start, end, row) for start, end in _FIND.get(kind, _tokens)(pattern, text)]
                break
    spans.sort()
    found: list[tuple[int, int, int]] = []
    for start, end, row in spans:
        if found and start < found[-1][1]:
            first, last, before = found[-1]
            found[-1] = (first, max(end, last), min(row, before))
        else:
            found.append((start, end, row))
    return found


def _tokens(pattern: re.Pattern[str], text: str) -> list[Span]:
    if not pattern.groups:
        return [match.span() for match in pattern.finditer(text)]
    return [match.span(match.lastindex) for match in pattern.finditer(text) if match.lastindex]


def _private(pattern: re.Pattern[str], text: str) -> list[Span]:
    """From an opening tag to the tag that closes it, or to the end of the text if none does."""
    spans: list[Span] = []
    depth = start = 0
    for tag in pattern.finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                spans.append((start, tag.end()))
    if depth:
        spans.append((start, len(text)))
    return spans


def _keys(pattern: re.Pattern[str], text: str) -> list[Span]:
    """From BEGIN to END; a BEGIN without an END within reach takes the lines after it that look like a key.

    Such lines are taken after an END too: a planted END must not uncover the real body.
    """
    if not pattern.groups:
        return _tokens(pattern, text)
    import re  # noqa: PLC0415  as said

    line = re.compile(_KEY_LINE, re.ASCII)
    spans: list[Span] = []
    begun: list[re.Match[str]] = []
    for mark in pattern.finditer(text):
        if mark[1] == "BEGIN":
            begun.append(mark)
            continue
        for begin in begun:
            if mark.end() - begin.start() <= _KEY_REACH:
                spans.append((begin.start(), _key_body(line, text, mark.end())))
                break
            spans.append((begin.start(), _key_body(line, text, begin.end())))
        begun = []
    return spans + [(begin.start(), _key_body(line, text, begin.end())) for begin in begun]


def _key_body(line: re.Pattern[str], text: str, start: int) -> int:
    """Where the key lines at `start` end: headers, lines of 20 or more, and one shorter line after those."""
    at = end = start
    while match := line.match(text, at):
        at = match.end()
        run = match[1] or match[2]
        if run and len(run) >= 20:
            end = at
        elif run:
            return at if end > start else start
        elif end > start:
            break
    return end


def _assigned(pattern: re.Pattern[str], text: str) -> list[Span]:
    """Values of 8 characters or more that have both a letter and a digit, and passwords that are plain from their line."""
    spans: list[Span] = []
    at = 0
    while match := pattern.search(text, at):
        at = match.end()
        if not match.lastindex:
            continue
        start, end = match.span(match.lastindex)
        value = text[start:end]
        quoted = text[start - 1] in "\"'`"
        if not quoted:
            value = value.rstrip(".,:!?)]}>*_|")
        folder = match[0][:3].lower() == "pwd" and (value[:1] in "/~.$%" or value[1:2] == ":")
        if not folder and ((len(value) >= 8 and _mixed(value)) or (text[end : end + 1] != "\0" and _plain(text, match.start(), start, value))):
            spans.append((start, start + len(value)))
        else:
            at = start if quoted else max(start, end - 48)  # it may end in a name that has a value: `token: password: ...`
    return spans


def _mixed(value: str) -> bool:
    return value.lower() != value.upper() and any(digit in value for digit in "0123456789")


def _plain(text: str, name: int, start: int, value: str) -> bool:
    """Whether a value that is short, or of letters alone, is a password: quoted, `name=value` or a line of settings."""
    end = start + len(value)
    after = text[end : end + 1]
    said = text[name:start]
    password = said.lower().startswith(("pass", "_pass", "pwd"))
    if len(value) < 6 or not (password or said[:6].lower() == "secret"):
        return False
    quoted = text[start - 1] in "\"'`" and after in (text[start - 1], "\\")
    attached = said.rstrip("\"'").endswith("=") and " " not in said and after in ("", " ", "\n", ";", "&", '"', "'", "`", "\\")
    if not (quoted or attached or _is_setting(text, name, end)):
        return False
    if _mixed(value) or (value.lower() != value.upper() and any(sign in value for sign in "!@#%^~")):
        return password and " " not in value
    if " " in value:
        return quoted and password and _is_passphrase(value)
    if not value.replace("-", "").isalpha() or not _is_word(value):
        return False
    shouted = attached and said[:4].isupper()  # DB_PASSWORD=...
    cased = value.islower() or value.isupper() or (quoted and not value.istitle())
    return shouted or (cased and len(value) >= (8 if password else 12))


def _is_word(value: str) -> bool:
    """Whether letters alone may be a secret: no name of one, and no word that stands where one is explained."""
    low = value.lower()
    return f" {low} " not in NO_SECRETS and not low.startswith(("passw", "passphr", "secret", "token", "apikey", "api-key", "xxx", "your"))


def _is_passphrase(value: str) -> bool:
    words = value.split(" ")
    return len(words) > 2 and all(len(one) > 2 and one.isalpha() and one.islower() and f" {one} " not in PROSE and _is_word(one) for one in words)


def _is_setting(text: str, name: int, end: int) -> bool:
    """Whether nothing but a setting stands on the line: `export DB_`, the name at `name`, the value that ends at `end`."""
    before = text[max(0, name - 120) : name]
    line = before.rpartition("\n")[2]
    rest, more, _ = text[end : end + 40].partition("\n")
    if (len(line) == 120 and name > 120) or "\0" in line or (not more and len(rest) == 40):
        return False
    words = line.split()
    if words and not line[-1:].isspace():
        words.pop()
    return not rest.strip(" \t\r\"'`,;\\") and all(word in ("export", "set", "ENV", "-", "*", ">", "|", "const", "let", "var") for word in words)


def _optional(pattern: re.Pattern[str], text: str) -> list[Span]:
    """What follows `--password`: letters with digits or signs; letters alone only where the option or the line ends."""
    spans: list[Span] = []
    at = 0
    while match := pattern.search(text, at):
        start, end = match.span(match.lastindex or 0)
        at = start  # `--token --password X`
        if text[end : end + 1] == "\0":
            continue
        value = text[start:end].rstrip(".,:!?)]}>*_|")
        end = start + len(value)
        after = text[end : end + 3]
        if len(value) < 6 or _stands_in(value) or value.startswith(("-", "/", "id=", "type=")):
            continue
        ends = after[:1] in ("", "\n", '"', "'", "`", "\\", ";") or after[1:2] in ("-", "|", "\\", "&", ">", ";")
        lettered = value.isalpha() and value.islower() and len(value) >= 8 and ends
        if _mixed(value) or lettered or (value.upper() != value.lower() and any(sign in value for sign in "!@#%^~")):
            spans.append((start, end))
    return spans


def _stands_in(value: str) -> bool:
    """Whether something that says it is none stands in the place of a secret: `$TOKEN`, `<token>`, `PASSWORD`, `...`."""
    named = value.lower().startswith(("your", "xxx")) or value.replace("_", "").lower() in ("pass", "pwd")
    return value[0] in "$<{%[*(=…•" or "***" in value or "..." in value or named or not (_mixed(value) or _is_word(value))


def _programs(pattern: re.Pattern[str], text: str) -> list[Span]:
    """`-p`, `-a` and `-u user:` of programs that take a password there."""
    spans: list[Span] = []
    at = 0
    while match := pattern.search(text, at):
        start, at = match.span(match.lastindex or 0)
        value = text[start:at]
        program = _program(text, match.start())
        if match[1] is None:
            taken = program == "curl"
        elif match[1] == "a":
            taken = program == "redis-cli"
        elif program in ("mysql", "mariadb"):
            taken = not match[2] and not value.replace(":", "").isdigit()  # `-p name` is the database, `-p1:2` another's ports
        else:
            taken = program == "sshpass" or (program == "login" and not value.isdigit())
        if taken and not _stands_in(value) and text[at : at + 1] != "\0":
            spans.append((start, at))
        else:
            at = start  # an open quote may hold the next option
    return spans


def _program(text: str, end: int) -> str:
    """Which program's options stand at `end`: the last one named in this command, within 400 characters."""
    command = text[max(0, end - 400) : end].replace("\\\n", "  ")
    for sign in ("\0", "\n", "&&", "; ", "| "):
        command = command.rpartition(sign)[2]
    place, program = max((command.rfind(name), name) for name in ("curl", "mysql", "mariadb", "sshpass", "login", "redis-cli"))
    return program if place >= 0 else ""


def _cookies(pattern: re.Pattern[str], text: str) -> list[Span]:
    """The values of cookies that log somebody in, by their names."""
    import re  # noqa: PLC0415  as said

    pair = re.compile(COOKIE_PAIR, pattern.flags)
    spans: list[Span] = []
    for line in pattern.finditer(text):
        for match in pair.finditer(text, *line.span(1)):
            value = match[1]
            if (_mixed(value) or len(value) >= 16) and not _stands_in(value) and text[match.end() : match.end() + 1] != "\0":
                spans.append(match.span(1))
    return spans


_FIND = {
    "private": _private,
    "private-key": _keys,
    "assigned-secret": _assigned,
    "cookie": _cookies,
    "option-secret": _optional,
    "login-password": _programs,
}


def clean(text: str) -> str:
    """`text` as it may be written: without secrets, with `\\n` line ends; bytes that are no UTF-8, and NULs, as escapes."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\\x00")
    return redact(text)[0]
