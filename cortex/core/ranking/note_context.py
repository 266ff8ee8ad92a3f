"""What finds a note beside its text: who speaks, its day, what its code defines, its neighbours."""

from __future__ import annotations

import re

from cortex.core.text.lazy_re import lazy_re

try:
    from _blake2 import blake2b  # `hashlib` loads OpenSSL, 2 ms of one changed note
except ImportError:
    from hashlib import blake2b

_SPEAKER_RE = lazy_re(r"^([A-Z]\w+(?: [A-Z]\w+){0,2}): ", re.MULTILINE)
_DEFINITION_RE = lazy_re(r"^[ \t]*(?:async )?(?:def|class|function|func|fn) (\w+)", re.MULTILINE)
_LAST_NUMBER_RE = lazy_re(r"(\d{1,9})\D*$")
_ISO_DAY_RE = lazy_re(r"\W*(\d{4})-(\d\d)-(\d\d)")
_MONTHS = (
    "", "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MAX_DEFINITIONS = 3  # a file of many is about none of them
# So often they are written: the weight of a term is its frequency.
_SPEAKER_REPEATS, _DEFINITION_REPEATS = 2, 4


def context_words(text: str, date: str) -> str:
    """Words of a note that its text does not say as often as they matter: its speakers, the names
    of the functions and classes that it defines, and its date in words."""
    speakers = list(dict.fromkeys(_SPEAKER_RE.findall(text)))
    names = _DEFINITION_RE.findall(text)[:_MAX_DEFINITIONS]
    words = [*speakers * _SPEAKER_REPEATS, *names * _DEFINITION_REPEATS, date]
    if (day := _ISO_DAY_RE.match(date)) and 1 <= int(day[2]) <= 12:
        words.append(f"{int(day[3])} {_MONTHS[int(day[2])]}")
    return " ".join(filter(None, words))


def series_key(path: str, date: str) -> int:
    """A key by which the notes of a series of one date, as the turns of a conversation, sort in a
    row: 32 bits of the name without its last number, 31 bits of that number. 0 without either."""
    found = _LAST_NUMBER_RE.search(path)
    if not (found and date):
        return 0
    name = f"{path[: found.start()]}\n{date}".encode("utf-8", "surrogatepass")
    of_series = int.from_bytes(blake2b(name, digest_size=4).digest(), "big") >> 1
    return of_series << 31 | int(found[1]) + 1
