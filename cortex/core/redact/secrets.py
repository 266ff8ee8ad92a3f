"""Replace secrets in a text by `[REDACTED:kind]` before it is written anywhere.

The patterns are those that vendors publish (`secret_patterns`). What looks like prose (a password,
40 base64 characters) counts only beside a name. In doubt more is hidden rather than less.

Two rules make the cost linear and a second pass a no-op: a pattern that looks far consumes what it
looked at even if it finds nothing (then no group took part); marks of an earlier pass are read as
NUL characters, which no pattern matches and which end the context of a match.
"""

from __future__ import annotations

from _collections_abc import Callable, Container, Iterable, Iterator

from cortex.core.redact import secret_patterns
from cortex.core.redact.secret_patterns import SECRET_PATTERNS
from cortex.core.text.light import cache, re

# A secret pasted through a chat or a word processor may carry these invisible characters.
INVISIBLE_CHARS = "\u200b\u200c\u200d\u2060\ufeff\u00ad"

_MAX_KEY_BLOCK_CHARS = 65536  # the longest key block, a PGP key with a photograph, is shorter

_REDACTED_MARK_PATTERN = r"\[REDACTED:[a-z][a-z-]{0,40}\]"
_LINE_END_PATTERN = r"""(?=[ \t]*(?:[\r\n\\"'`,]|$))"""
# A line of a key's body after a line end, real or JSON-escaped; or 40 or more without line ends.
_KEY_LINE_PATTERN = (
    r"(?:[ \t]*(?:\r?\n|\r|\\{1,2}r\\{1,2}n|\\{1,2}n)){1,3}[ \t>|#*]{0,8}"
    r"(?:[A-Z][A-Za-z-]{1,30}:[ \t][^\r\n\\\x00]{0,200}|([A-Za-z0-9+/=]+))"
    + _LINE_END_PATTERN
    + r"|[ \t]{0,8}([A-Za-z0-9+/=]{40,})"
)

Span = tuple[int, int]


def redact(text: str, kinds: Container[str] = ()) -> tuple[str, tuple[str, ...]]:
    """The text with its secrets replaced, and the kind of each replacement in order of appearance.
    Of `kinds` alone, if any are given.

    A text without a secret comes back as the same object.
    """
    found = list_secrets(text, kinds)
    if not found:
        return text, ()
    parts: list[str] = []
    at = 0
    for start, end, kind in found:
        parts += (text[at:start], f"[REDACTED:{kind}]")
        at = end
    parts.append(text[at:])
    return "".join(parts), tuple(kind for _, _, kind in found)


def list_secrets(text: str, kinds: Container[str] = ()) -> list[tuple[int, int, str]]:
    """Start, end and kind of each secret in the text, in order; none overlaps another. Of `kinds`
    alone, if any are given."""
    seen = text
    if not text.isascii():
        for char in INVISIBLE_CHARS:
            seen = seen.replace(char, "")
    if "[REDACTED:" in seen:
        seen = re.sub(_REDACTED_MARK_PATTERN, lambda mark: "\0" * len(mark[0]), seen)
    found = _find_secrets(seen, kinds)
    place: range | list[int] = range(len(text))  # where a character of `seen` stands in `text`
    if found and len(seen) < len(text):
        place = [i for i, char in enumerate(text) if char not in INVISIBLE_CHARS]
    return [
        (place[start], place[end - 1] + 1, SECRET_PATTERNS[row][0]) for start, end, row in found
    ]


def _find_secrets(text: str, kinds: Container[str]) -> list[tuple[int, int, int]]:
    """(start, end, row of SECRET_PATTERNS) of each secret, sorted; overlaps take the lowest row."""
    folded = text.lower()
    words = text.split()
    long_words = [word for word in words if len(word) >= secret_patterns.MIN_TOKEN_CHARS]
    long = " ".join(long_words)
    spans: list[tuple[int, int, int]] = []
    for row, (kind, hints, source, flags) in enumerate(SECRET_PATTERNS):
        if kinds and kind not in kinds:
            continue
        hay = long if not flags else folded if flags & secret_patterns.IGNORE_CASE else text
        for hint in hints if hay else ():
            if hint in hay:
                pattern = re.compile(source, flags)
                matched = list(_FINDER_OF_KIND.get(kind, _find_tokens)(pattern, text))
                data_hints = () if flags else secret_patterns.BASE64_DATA_HINTS
                if matched and any(hint in long for hint in data_hints):
                    matched = list(_outside_data(matched, text))
                spans += [(start, end, row) for start, end in matched]
                break
    has_short_words = _has_twelve_in_a_row(words, _has_seed_word_length)
    if (has_short_words and _has_seed_words(words)) or _has_joined_seed_words(long_words):
        spans += [(start, end, len(SECRET_PATTERNS) - 1) for start, end in _find_seed_phrases(text)]
    found: list[tuple[int, int, int]] = []
    for start, end, row in sorted(spans):
        if found and start < found[-1][1]:
            first, last, before = found[-1]
            found[-1] = (first, max(end, last), min(row, before))
        else:
            found.append((start, end, row))
    return found


def _outside_data(spans: Iterable[Span], text: str) -> Iterator[Span]:
    """The spans outside of base64 data such as pictures."""
    data = [match.span() for match in re.finditer(secret_patterns.BASE64_DATA_PATTERN, text)]
    at = 0
    for start, end in spans:
        while at < len(data) and data[at][1] <= start:
            at += 1
        if at == len(data) or start <= data[at][0] or end > data[at][1]:
            yield start, end


def _find_tokens(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    for match in pattern.finditer(text):
        if match.lastindex or not pattern.groups:
            yield match.span(match.lastindex or 0)


def _find_private_blocks(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """From an opening tag to the tag that closes it, or to the end of the text if none does."""
    depth = start = 0
    for tag in pattern.finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end()
    if depth:
        yield start, len(text)


def _find_private_keys(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """From BEGIN to END, with the lines after it that look like a key: a planted END must not
    uncover the real body. A BEGIN without an END within reach takes such lines alone."""
    if not pattern.groups:
        yield from _find_tokens(pattern, text)
        return
    line = re.compile(_KEY_LINE_PATTERN, re.ASCII)
    begun: list[re.Match[str]] = []
    for mark in pattern.finditer(text):
        if mark[1] == "BEGIN":
            begun.append(mark)
            continue
        for begin in begun:
            if mark.end() - begin.start() <= _MAX_KEY_BLOCK_CHARS:
                yield begin.start(), _end_of_key_body(line, text, mark.end())
                break
            yield begin.start(), _end_of_key_body(line, text, begin.end())
        begun = []
    yield from ((begin.start(), _end_of_key_body(line, text, begin.end())) for begin in begun)


def _end_of_key_body(line: re.Pattern[str], text: str, start: int) -> int:
    """The end of the key lines at `start`: headers, lines of 20 or more, then one shorter line."""
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


def _find_assigned_secrets(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """Values of 8 characters or more with a letter and a digit, and passwords by their context."""
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
        hidden = (len(value) >= 8 and _has_letter_and_digit(value)) or (
            text[end : end + 1] != "\0" and _is_plain_password(text, match.start(), start, value)
        )
        if hidden and not folder and not _is_identifier(value, match[0]):
            yield start, start + len(value)
        elif quoted:
            at = start
        if not quoted:  # it may end in a name that has a value: `token: password: ...`
            at = max(start, end - 48)


def _has_letter_and(value: str, signs: str) -> bool:
    return value.lower() != value.upper() and any(sign in value for sign in signs)


def _has_letter_and_digit(value: str) -> bool:
    return _has_letter_and(value, "0123456789")


def _is_identifier(value: str, assigned_to: str) -> bool:
    """True if the `value` of `assigned_to` names a field or variable: `csrfmiddlewaretoken2`.

    A token is random and hardly contains the word "token", so a value that does is an identifier. A
    person may choose such a password, so a password must also have an underscore: `new_password_2`.
    """
    letters = value.rstrip("0123456789")
    if len(value) - len(letters) > 2 or not letters.replace("_", "").isalpha():
        return False
    letters = letters.lower()
    if assigned_to[:5].lower() == "token":
        return any(word in letters for word in ("token", "csrf", "xsrf"))
    has_secret_word = any(word in letters for word in ("token", "passw", "secret"))
    return has_secret_word and "_" in letters.strip("_")


def _is_plain_password(text: str, name: int, start: int, value: str) -> bool:
    """True if a short or lettered value is a password: quoted, `name=value`, a settings line."""
    end = start + len(value)
    after = text[end : end + 1]
    said = text[name:start]
    password = said.lower().startswith(_PASSWORD_NAME_PREFIXES)
    quoted = text[start - 1] in "\"'`" and after in (text[start - 1], "\\")
    ends = after in ("", " ", "\n", ";", "&", '"', "'", "`", "\\")
    attached = ends and " " not in said and said.rstrip("\"'").endswith("=")
    before = text[max(0, name - 30) : name]
    option = before[len(before.rstrip("abcdefghijklmnopqrstuvwxyz-")) :].startswith("--")
    shouted = attached and (said[:4].isupper() or option)  # DB_PASSWORD=... or --password=...
    if len(value) < 6 or not (password or said[:6].lower() == "secret"):
        return password and shouted and len(value) >= 4 and _has_letter_and_digit(value)
    if not (quoted or attached or _is_settings_line(text, name, end)):
        return False
    if _has_letter_and_digit(value) or _has_letter_and(value, "!@#%^~"):
        return password and " " not in value
    if " " in value:
        return quoted and password and _is_passphrase(value)
    if not value.replace("-", "").isalpha() or not _may_be_secret_word(value):
        return False
    cased = value.islower() or value.isupper() or (quoted and not value.istitle())
    return shouted or (cased and len(value) >= (8 if password else 12))


def _may_be_secret_word(value: str) -> bool:
    """True if letters may be a secret: neither the name of one nor a word in the place of one."""
    low = value.lower()
    return f" {low} " not in secret_patterns.NON_SECRET_WORDS and not low.startswith(
        ("passw", "passphr", "secret", "token", "apikey", "api-key", "xxx", "your")
    )


def _is_passphrase(value: str) -> bool:
    words = value.split(" ")
    return len(words) > 2 and all(
        len(one) > 2
        and one.isalpha()
        and one.islower()
        and f" {one} " not in secret_patterns.PROSE_WORDS
        and _may_be_secret_word(one)
        for one in words
    )


def _is_settings_line(text: str, name: int, end: int) -> bool:
    """True if the line is only a setting: `export DB_`, the name at `name`, a value up to `end`."""
    before = text[max(0, name - 120) : name]
    line = before.rpartition("\n")[2]
    rest, more, _ = text[end : end + 40].partition("\n")
    if (len(line) == 120 and name > 120) or "\0" in line or (not more and len(rest) == 40):
        return False
    words = line.split()
    if words and not line[-1:].isspace():
        words.pop()
    return not rest.strip(" \t\r\"'`,;\\") and all(
        word in ("export", "set", "ENV", "-", "*", ">", "|", "const", "let", "var")
        for word in words
    )


def _find_option_secrets(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """What follows `--password`: letters with digits or signs; letters alone if nothing follows."""
    at = 0
    while match := pattern.search(text, at):
        start, end = match.span(match.lastindex or 0)
        at = start  # `--token --password X`
        if text[end : end + 1] == "\0":
            continue
        value = text[start:end].rstrip(".,:!?)]}>*_|")
        end = start + len(value)
        after = text[end : end + 3]
        if len(value) < 6 or _is_placeholder(value) or value.startswith(("-", "/", "id=", "type=")):
            continue
        ends = not after or after[0] in "\n\"'`\\;" or (len(after) > 1 and after[1] in "-|\\&>;")
        lettered = value.isalpha() and value.islower() and len(value) >= 8 and ends
        if _has_letter_and_digit(value) or lettered or _has_letter_and(value, "!@#%^~"):
            yield start, end


def _is_placeholder(value: str) -> bool:
    """True for placeholders: `$TOKEN`, `<token>`, `PASSWORD`, `...`."""
    low = value.lower()
    named = low.startswith(("your", "xxx")) or low.replace("_", "") in ("pass", "pwd")
    masked = value[0] in "$<{%[*(=…•" or "***" in value or "..." in value
    return masked or named or not (_has_letter_and_digit(value) or _may_be_secret_word(value))


def _find_login_passwords(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """`-p`, `-a` and `-u user:` of programs that take a password there."""
    apostrophe = re.compile(r"(?<=\w)'(?=\w)")  # a quote that is none
    at = 0
    while match := pattern.search(text, at):
        start, at = match.span(match.lastindex or 0)
        value = text[start:at]
        command = _command_before(text, match.start(), apostrophe) + " "
        if match[1] is None:
            # Without a password the user is a token, or a word.
            taken = _last_program(command, ("curl",)) == "curl" and (
                text[at : at + 1] != ":" or _has_letter_and_digit(value)
            )
        elif match[1] == "a":
            taken = _last_program(command, ("redis-cli",)) == "redis-cli"
        else:
            program = _last_program(command, _LOGIN_PROGRAMS)
            if program in ("mysql", "mariadb"):
                # `-p name` is the database; `docker run --name mysql -p1:2` are ports.
                ports = value.replace(":", "").isdigit() and (":" in value or " run " in command)
                taken = not match[2] and not ports
            else:
                taken = program == "sshpass" or (
                    program in ("login", "mongo") and not value.isdigit()
                )
        if taken and not _is_placeholder(value) and text[at : at + 1] != "\0":
            yield start, at
        else:
            at = start  # an open quote may hold the next option


def _command_before(text: str, end: int, apostrophe: re.Pattern[str]) -> str:
    """The shell command before `end`, up to 400 characters, from a mark or bare separator on."""
    command = text[max(0, end - 400) : end].replace("\\\n", "  ")
    command = command[command.rfind("\0") :] if "\0" in command else command
    if "'" in command:
        command = apostrophe.sub("_", command)
    start, quotes = len(command), ""
    for _ in range(_MAX_QUOTED_SEPARATORS):
        at = max([command.rfind(sign, 0, start) for sign in ("\n", "&&", "; ", "| ")])
        if at < 0:
            break
        quotes += command[at:start]
        start = at
        if not (quotes.count('"') % 2 or quotes.count("'") % 2):
            return command[at + 1 :]
    return command


def _last_program(command: str, names: tuple[str, ...]) -> str:
    """The program named last in `command`, as a word or the end of a path; else empty."""
    place, program = -1, ""
    for name in names:
        at = command.rfind(name)
        while at > 0 and (
            command[at - 1].isalnum()
            or command[at - 1] in "_.@:\0"
            or (name == "login" and command[at - 1] != " ")
        ):
            at = command.rfind(name, 0, at)
        if at > place:
            place, program = at, name
    return program


def _find_cookie_values(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """The values of cookies that log somebody in, by their names."""
    pair = re.compile(secret_patterns.COOKIE_PAIR_PATTERN, pattern.flags)
    for line in pattern.finditer(text):
        for match in pair.finditer(text, *line.span(1)):
            value = match[1]
            hidden = _has_letter_and_digit(value) or len(value) >= 16
            hidden = hidden and not (_is_placeholder(value) or _is_identifier(value, "token"))
            if hidden and text[match.end() : match.end() + 1] != "\0":
                yield match.span(1)


def _find_xml_secrets(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """Text of elements such as `<password>`, values of attributes (`name="password" value=`)."""
    for match in pattern.finditer(text):
        start, end = match.span(match.lastindex or 0)
        value = text[start:end].removesuffix("]]>").strip()
        start = text.index(value, start)
        name = next(group for group in match.groups() if group).lower()
        if _is_element_secret(name, value) and text[match.end() : match.end() + 1] != "\0":
            yield start, start + len(value)


def _is_element_secret(name: str, value: str) -> bool:
    """True if `value` is a secret in an element or attribute of that lowercase name."""
    braced = len(value) >= 20 and value[0] + value[-1] == "{}"
    if braced and value[1:-1].rstrip("=").replace("+", "").replace("/", "").isalnum():
        return True  # what Maven encrypted, with a key that lies beside it
    harmless = "://" in value or name == "master" or _is_identifier(value, name[-5:])
    if harmless or len(value) < 4 or _is_placeholder(value):
        return False
    if not name.endswith(_PASSWORD_ELEMENTS):
        return len(value) >= 8 and _has_letter_and_digit(value) and " " not in value
    if " " in value:
        return _is_passphrase(value)
    letters = value.rstrip("=").isalpha() and not value.istitle() and _may_be_secret_word(value)
    if _has_letter_and_digit(value) or _has_letter_and(value, _PASSWORD_SIGNS):
        return True
    return len(value) >= 6 and (value.isdigit() or letters)


def _find_stated_passwords(pattern: re.Pattern[str], text: str) -> Iterator[Span]:
    """The spans of passwords in sentences: unquoted ones of letters with digits or punctuation,
    quoted ones of anything but known words. The last group of the pattern is the unquoted form."""
    position = 0
    while match := pattern.search(text, position):
        start, end = match.span(match.lastindex or 0)
        value = text[start:end]
        is_unquoted = match.lastindex == pattern.groups
        if is_unquoted:
            value = value.rstrip(".,:;)]}>*_|\\…")
            end = start + len(value)
        # A NUL stands in the place of what is redacted already.
        next_char = text[match.end() : match.end() + 1]
        if next_char != "\0" and _is_stated_password(value, quoted=not is_unquoted):
            yield start, end
            position = end
        else:
            position = start


def _is_stated_password(value: str, *, quoted: bool) -> bool:
    if len(value) < 6 or _is_placeholder(value) or _is_identifier(value, ""):
        return False
    if " " in value:
        return _is_passphrase(value)
    if not value.isascii() and not value.isprintable():
        return False
    path = "/" in value and (value.islower() or value[0] == "/" or "." in value)
    shouted = "_" in value and value.isupper() and value.replace("_", "").isalnum()
    code = path or shouted or any(sign in value.rstrip("=") for sign in "()[]{}<>=")
    names = value.rstrip("0123456789").replace("_", ".").split(".")
    dotted = len(names) > 1 and all(map(str.isidentifier, names))
    if code or dotted or _is_technical_term(value.lower()):
        return False
    if value.isdigit():
        return True
    has_signs = any(sign in value.rstrip("!?") for sign in _PASSWORD_SIGNS)
    signs = has_signs and value.lower() != value.upper() and "@" not in value[:1]
    word = quoted and value.isalpha() and not value.istitle() and _may_be_secret_word(value)
    return _has_letter_and_digit(value) or signs or word


def _is_technical_term(value: str) -> bool:
    """True for an algorithm or product with a number (`sha256-hashed`), a measure (`12-char`)."""
    unit = value.lstrip("0123456789").lstrip("-. ")
    if value[0].isdigit() and unit.startswith(_UNIT_PREFIXES) and unit.replace("-", "").isalpha():
        return True
    if any(sign in value for sign in _PASSWORD_SIGNS):
        return False
    name = next((one for one in _TECHNICAL_PREFIXES if value.startswith(one)), None)
    if name is None:
        return False
    rest = value[len(name) :].removeprefix("-").lstrip("0123456789.").removeprefix("-")
    described = value.endswith(f"-{rest}") and rest.replace("-", "").isalpha()
    return rest in ("", "id", "sum") or rest[0] == ":" or described


def _has_seed_words(words: list[str]) -> bool:
    """True if twelve words of BIP-39 stand in a row; ask only where twelve short ones do."""
    letters = (word.strip(_SEED_WORD_PUNCTUATION).lower() for word in words)
    return _has_twelve_in_a_row(list(filter(None, letters)), _load_bip39_words().__contains__)


@cache
def _load_bip39_words() -> frozenset[str]:
    """The 2,048 English words of BIP-39, in which wallets write down their keys. Read only for a text
    with twelve short words in a row: 14 kB."""
    from pkgutil import get_data  # noqa: PLC0415  as said

    # english.txt of https://github.com/bitcoin/bips/tree/master/bip-0039 (MIT), by Marek Palatinus,
    # Pavol Rusnak, Aaron Voisine and Sean Bowe; sha256 of the file, one word a line:
    # 2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda
    return frozenset((get_data(__package__, "bip39.txt") or b"").decode().split())


def _has_seed_word_length(word: str) -> bool:
    """True for the number or the word of a phrase, with what divides it from the next."""
    letters = word.strip(_SEED_WORD_PUNCTUATION)
    return not letters or (3 <= len(letters) <= 8 and letters.isalpha())


def _has_joined_seed_words(words: list[str]) -> bool:
    """True if one of the words is twelve, with one of these signs or JSON's line ends between."""
    return any(
        word.count(sign) > 10
        for word in words
        for sign in (",", "\\n", "-", "_", ".", "|")
        if word[:1] not in "-|_."
    )


def _has_twelve_in_a_row(words: list[str], fits: Callable[[str], bool]) -> bool:
    """True if twelve words in a row fit. Looks at every twelfth word, and backwards from there."""
    last = 11
    while last < len(words):
        at = last
        while fits(words[at]):
            at -= 1
            if at == last - 12:
                return True
        last = at + 12
    return False


def _find_seed_phrases(text: str) -> Iterator[Span]:
    """Twelve or more words of BIP-39 in a row, with the same (a blank, `", "`) between any two.

    In alphabetical order they are the list itself. The checksum is ignored: a phrase with a typing
    error, or a part of one, is hidden too.
    """
    bip39_words = _load_bip39_words()
    gap = re.compile(secret_patterns.SEED_GAP_PATTERN)
    runs: list[list[re.Match[str]]] = [[]]
    divided = ""
    for match in re.finditer(secret_patterns.SEED_WORD_PATTERN, text, re.ASCII | re.IGNORECASE):
        run = runs[-1]
        if not match[1]:
            continue
        around = text[max(match.start() - 1, 0) : match.end() + 1]
        if match[1].lower() not in bip39_words or "\0" in around:
            runs.append([])
        elif not run or not gap.fullmatch(text, run[-1].end(), match.start()):
            runs.append([match])
        else:
            between = re.sub("[0-9]+", "0", text[run[-1].end() : match.start()])
            between = re.sub(r"(?:\s|\\[nrt])+", " ", between)
            if len(run) == 1 or between == divided:
                run.append(match)
            else:
                runs.append([run[-1], match])
            divided = between
    for run in runs:
        words = [match[1].lower() for match in run]
        if len(run) >= 12 and len(set(words)) > 1 and words != sorted(set(words)):
            yield run[0].start(), run[-1].end()


_PASSWORD_NAME_PREFIXES = ("pass", "_pass", "sshpass", "pwd", "kennwort", "mot", "contras")
_PASSWORD_ELEMENTS = (
    "passwd", "password", "passphrase", "passwort", "kennwort", "passe", "seña", "pass", "pwd",
    "secret",
)  # fmt: skip
_LOGIN_PROGRAMS = (
    "mysql", "mariadb", "mongo", "sshpass", "login", "ssh ", "scp ", "rsync ", "sftp ",
)  # fmt: skip
_PASSWORD_SIGNS = "!@#$%^&*~"
# Not passwords, though letters and digits: what one is stored with, and measures of one.
_TECHNICAL_PREFIXES = (
    "sha", "md5", "base64", "base32", "base58", "utf", "aes", "argon", "pbkdf", "bcrypt", "scrypt",
    "oauth", "http", "ipv", "s3", "ec2", "k8s", "x509", "ed25519", "rsa", "hmac", "python",
    "postgres", "mysql", "sqlite", "1password", "2fa", "iso", "ascii", "latin", "pkcs", "rot13",
    "windows", "win", "rfc", "rc4", "v1", "v2", "v3", "ntlm", "u2f", "fido", "i18n", "e2e", "p2p",
    "cwe", "cve",
)  # fmt: skip
_UNIT_PREFIXES = (
    "char", "digit", "byte", "bit", "letter", "symbol", "sign", "word", "hour", "day", "week",
    "month", "year", "min", "sec", "st", "nd", "rd", "th", "x", "kb", "mb", "zeichen", "stell",
    "buchstab", "ziffer", "caract", "chiffre", "lettre", "mot", "letra", "dígito", "cifra",
)  # fmt: skip
_MAX_QUOTED_SEPARATORS = 12  # places in quotes that are looked at
_SEED_WORD_PUNCTUATION = "0123456789,;.:()[]\"'`*#_|>-\\"

_FINDER_OF_KIND = {
    "private": _find_private_blocks,
    "private-key": _find_private_keys,
    "assigned-secret": _find_assigned_secrets,
    "cookie": _find_cookie_values,
    "option-secret": _find_option_secrets,
    "login-password": _find_login_passwords,
    "xml-secret": _find_xml_secrets,
    "said-password": _find_stated_passwords,
}


def sanitize_text(text: str) -> str:
    """`text` without secrets and what only a terminal understands, with `\\n` line ends; invalid UTF-8
    and NULs as escapes."""
    if "\x1b" in text or "\b" in text:
        from cortex.core.text.terminal_codes import strip_terminal_codes  # noqa: PLC0415

        text = strip_terminal_codes(text)
    if not text.isascii():
        try:
            data = text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:  # half of a surrogate pair, which JSON can carry
            data = text.encode("utf-8", "surrogatepass")
        text = data.decode("utf-8", "backslashreplace")
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\\x00")
    return redact(text)[0]
