"""Small pure functions on text that several values need: slugs, digests, one-line forms, and command
lines to copy, of which a shell reads each id, path or text as one word."""

from __future__ import annotations

import sys
from _collections_abc import Iterable, Sequence

MAX_PROMPT_CHARS = 8_000  # of a prompt that are looked at; it may be a page of pasted log
_PROMPT_TAIL_CHARS = 2_500  # of these: a question often stands below what was pasted
_MAX_COMPARED_CHARS = 120  # of a mistyped name
_HASHLIB_FROM_BYTES = 100_000
_SHA256_MODULE = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
_BASE32_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_SLUG_TABLE = bytes(
    sign if chr(sign) in "abcdefghijklmnopqrstuvwxyz0123456789" else 32 for sign in range(256)
)  # the rest is a blank
# Letters and digits that Unicode 16 and 17 added: only Pythons with these tables (3.14, 3.15)
# normalize them to ASCII, but a slug, which is part of ids, is the same on every Python.
# tests/test_pythons.py finds what later versions of Unicode add.
_VERSION_DEPENDENT_LETTERS = dict.fromkeys([0xA7F1, *range(0x1CCD6, 0x1CCFA)])

_CONTROL_TO_SPACE = dict.fromkeys((*range(32), *range(127, 160)), " ")

# As in `shlex.quote`, whose module compiles patterns that captures need not load.
_PLAIN_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")

# Stems that Windows refuses as a file name, whatever the extension.
RESERVED_STEMS = frozenset(
    ["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))]
)


def encode_base32(number: int, length: int) -> str:
    """The lowest `5 * length` bits of `number` as lower-case base32 (RFC 4648 alphabet)."""
    digits = (number >> 5 * place & 31 for place in reversed(range(length)))
    return "".join(_BASE32_ALPHABET[digit] for digit in digits)


def short_hash(text: str, length: int = 6) -> str:
    """`length` base32 characters of the SHA-256 of `text`."""
    return encode_base32(int.from_bytes(hash_bytes(text, 32), "big") >> 256 - 5 * length, length)


def hash_bytes(text: str, size: int) -> bytes:
    """The first bytes of the SHA-256 of `text`."""
    return sha256_digest(text.encode("utf-8", "surrogatepass"))[:size]


def text_digest(text: str) -> str:
    """A key that is equal for texts that differ only in case and white space."""
    return hash_bytes(one_line(text).casefold(), 16).hex()


def format_time(seconds: float) -> str:
    """Seconds since the epoch as `2026-10-03T12:00:00Z`; empty outside the years 1 to 9999."""
    try:
        days, second = divmod(int(seconds), 86_400)
    except (OverflowError, ValueError):
        return ""
    # As in `parse_time`: from the 1st of March of the year 0, in spans of 400 years.
    spans, day = divmod(days + 719_468, 146_097)
    years = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * years + years // 4 - years // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5 - 1
    month += 3 if month < 10 else -9
    year = 400 * spans + years + (month < 3)
    if not 1 <= year <= 9999:
        return ""
    hour, minute = second // 3_600, second // 60 % 60
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second % 60:02}Z"


def parse_time(text: str) -> int | None:
    """Seconds since the epoch of `2026-10-03T12:00:00Z`; None for a time that does not exist. The
    same on every Python, of which some know an hour 24. Days are counted as in H. Hinnant's
    "chrono-compatible low-level date algorithms"."""
    year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
    hour, minute, second = int(text[11:13]), int(text[14:16]), int(text[17:19])
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (year and 1 <= month <= 12 and hour < 24 and minute < 60 and second < 60):
        return None
    if not 1 <= day <= (28 + is_leap if month == 2 else 30 + (month in (1, 3, 5, 7, 8, 10, 12))):
        return None
    since_march = year - (month < 3)
    days = 365 * since_march + since_march // 4 - since_march // 100 + since_march // 400
    days += (153 * ((month + 9) % 12) + 2) // 5 + day - 719_469
    return 86_400 * days + 3_600 * hour + 60 * minute + second


def format_count(number: int, noun: str) -> str:
    """`3 notes`, `1 note`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def one_line(text: str) -> str:
    """`text` with every run of white space as one blank."""
    return " ".join(text.split())


def printable_line(text: str) -> str:
    """`text` on one line, with a blank for each control character."""
    return one_line(text.translate(_CONTROL_TO_SPACE))


def shorten(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters, cut between words with an ellipsis."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:.-") + "…"


def close_matches(name: str, known: Iterable[str], limit: int = 3, least: float = 0.6) -> list[str]:
    """Those of `known` most like the mistyped `name`, best first. `least` is a `difflib` ratio."""
    from difflib import get_close_matches  # noqa: PLC0415  5 ms that only a mistake costs

    return get_close_matches(name, list(known), limit, least)


def likeness(one: str, other: str) -> float:
    """How alike two words are, 0 to 1, as `difflib` has it."""
    from difflib import SequenceMatcher  # noqa: PLC0415  as above

    return SequenceMatcher(None, one, other).ratio()


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", limit: int = 3) -> str:
    """A hint that offers those of `known` most like the mistyped `name`; else `otherwise`."""
    near = close_matches(name[:_MAX_COMPARED_CHARS], known, limit)
    return f"did you mean {', '.join(near)}?" if near else otherwise


def one_of(name: str, allowed: Sequence[str]) -> str:
    """A hint for the unknown word `name`: the closest of the allowed words, then all of them."""
    meant = did_you_mean(name.lower(), allowed, limit=1)
    return f"{meant} use one of: {', '.join(allowed)}".lstrip()


def truncate_prompt(prompt: str) -> str:
    """Head and tail of a prompt, `MAX_PROMPT_CHARS` in all, as valid UTF-8. Idempotent."""
    text = prompt
    if len(prompt) > MAX_PROMPT_CHARS:
        head = prompt[: MAX_PROMPT_CHARS - _PROMPT_TAIL_CHARS - 1]
        text = f"{head}\n{prompt[-_PROMPT_TAIL_CHARS:]}"
    # JSON can carry halves of surrogate pairs, which nothing else takes.
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def slugify(text: str, limit: int = 48) -> str:
    """`text` as `[a-z0-9-]`, 1 to `limit` characters, never a name that Windows reserves."""
    if not text.isascii():
        from unicodedata import normalize  # noqa: PLC0415  most texts need no tables of Unicode

        text = normalize("NFKD", text.translate(_VERSION_DEPENDENT_LETTERS))
    ascii_text = text.encode("ascii", "ignore").lower()
    words = b"-".join(ascii_text.translate(_SLUG_TABLE).split()).decode()
    if len(words) > limit:
        cut = words[:limit]
        words = cut[: cut.rfind("-")] if "-" in cut[limit // 2 :] and words[limit] != "-" else cut
    words = words.strip("-")
    return f"{words}-" if words in RESERVED_STEMS else words or "note"


def sha256_digest(data: bytes) -> bytes:
    """The SHA-256 of bytes."""
    # `hashlib` loads OpenSSL, 4 ms; its fallback modules do not. OpenSSL is faster for long data.
    if len(data) < _HASHLIB_FROM_BYTES:
        try:
            return bytes(__import__(_SHA256_MODULE).sha256(data).digest())
        except ImportError:
            pass  # another Python
    from hashlib import sha256  # noqa: PLC0415  see above

    return sha256(data).digest()


def blake2b_digest(data: bytes, size: int) -> bytes:
    """The BLAKE2b digest of bytes, of so many bytes."""
    try:
        from _blake2 import blake2b  # noqa: PLC0415  without OpenSSL, as above
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    return blake2b(data, digest_size=size).digest()


def cortex_command(*words: str) -> str:
    """`cortex` and these words as one line for a shell, quoted where needed. Words with invisible
    characters are written as `$'…'` with octal bytes."""
    return " ".join(("cortex", *map(shell_quote, words)))


def option_words(name: str, value: str) -> tuple[str, ...]:
    """The words of an option; none without a value. A value that begins with a hyphen needs `=`."""
    if not value:
        return ()
    return (f"--{name}={value}",) if value.startswith("-") else (f"--{name}", value)


def shell_quote(word: str) -> str:
    """One word of a shell's line, printable whatever it holds."""
    if any(map(_is_invisible, word)):
        return f"$'{''.join(map(_escape_octal, word))}'"
    if word and _PLAIN_CHARS.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _is_invisible(char: str) -> bool:
    """True for format and control characters and the tag plane, which `escape` shows otherwise."""
    return not char.isprintable() or "\U000e0000" <= char <= "\U000e0fff"


def _escape_octal(char: str) -> str:
    if char in "'\\":
        return f"\\{char}"
    if not _is_invisible(char):
        return char
    # Octal ends after three digits in every shell; in some, hexadecimal has no such limit.
    errors = "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", errors))
