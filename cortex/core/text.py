"""Small pure functions on text that several values need: slugs, digests, one-line forms."""

from __future__ import annotations

import re
import unicodedata

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"
_SPACE = re.compile(r"\s+")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")

# Stems that Windows refuses as a file name, whatever the extension.
RESERVED_STEMS = frozenset(["con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))])


def base32(number: int, length: int) -> str:
    """The lowest `5 * length` bits of `number` as lower-case base32 (RFC 4648 alphabet)."""
    return "".join(_BASE32[(number >> 5 * place) & 31] for place in reversed(range(length)))


def short_hash(text: str, length: int = 6) -> str:
    """`length` base32 characters of the SHA-256 of `text`."""
    return base32(int.from_bytes(_sha256(text.encode("utf-8", "surrogatepass")), "big") >> 256 - 5 * length, length)


def hash_bytes(text: str, size: int) -> bytes:
    """The first bytes of the SHA-256 of `text`."""
    return _sha256(text.encode("utf-8", "surrogatepass"))[:size]


def digest(text: str) -> str:
    """A key that is equal for texts that differ only in case and white space."""
    return _sha256(_SPACE.sub(" ", text.strip()).casefold().encode("utf-8", "surrogatepass")).hex()[:32]


def one_line(text: str) -> str:
    """`text` with every run of white space as one blank."""
    return _SPACE.sub(" ", text).strip()


def shorten(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters, cut between words with an ellipsis."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    space = cut.rfind(" ")
    return (cut[:space] if space > limit // 2 else cut).rstrip(" ,;:.-") + "…"


def slug(text: str, limit: int = 48) -> str:
    """`text` as `[a-z0-9-]`, at most `limit` characters, never empty, never a name that Windows reserves."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    words = _NOT_SLUG.sub("-", plain).strip("-")
    if len(words) > limit:
        cut = words[:limit]
        words = cut[: cut.rfind("-")] if "-" in cut[limit // 2 :] and words[limit] != "-" else cut
    words = words.strip("-")
    return f"{words}-" if words in RESERVED_STEMS else words or "note"


def _sha256(data: bytes) -> bytes:
    import hashlib  # noqa: PLC0415  loads OpenSSL, 4 ms, and few captures hash anything

    return hashlib.sha256(data).digest()
