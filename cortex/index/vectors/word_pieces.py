"""The word pieces of a text, as an uncased BERT has them: words without case and accents, each cut
into the longest pieces of a vocabulary."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_MAX_WORD_CHARS = 100  # a longer word is unknown
_MAX_KNOWN_WORDS = 200_000  # whose pieces are remembered
_CJK = (
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)  # fmt: skip


class _CharTable(dict[int, str]):
    """What becomes of each character, for `str.translate`; filled as characters come."""

    def __missing__(self, code: int) -> str:
        self[code] = made = _normalize_char(chr(code))
        return made


def _normalize_char(char: str) -> str:
    kind = unicodedata.category(char)
    if char in "\t\n\r" or kind.startswith("Z"):
        return " "
    if char == "\ufffd" or kind.startswith("C") or kind == "Mn":
        return ""
    is_symbol = char.isascii() and not char.isalnum()
    if is_symbol or kind.startswith("P") or any(low <= ord(char) <= high for low, high in _CJK):
        return f" {char} "
    return char.lower()


class WordPieces:
    """A vocabulary: the number of each piece, in which those that go on a word begin with `##`."""

    def __init__(self, pieces: Sequence[str], unknown: str = "[UNK]") -> None:
        self.numbers = {piece: number for number, piece in enumerate(pieces)}
        self.unknown = self.numbers[unknown]
        self._chars = _CharTable()
        self._known_words: dict[str, list[int]] = {}

    def split(self, text: str, most: int) -> list[int]:
        """The numbers of at most `most` pieces, without marks of beginning and end."""
        found: list[int] = []
        for word in unicodedata.normalize("NFD", text).translate(self._chars).split():
            if (pieces := self._known_words.get(word)) is None:
                if len(self._known_words) > _MAX_KNOWN_WORDS:
                    self._known_words.clear()
                pieces = self._known_words[word] = self._split_word(word)
            found += pieces
            if len(found) >= most:
                break
        return found[:most]

    def _split_word(self, word: str) -> list[int]:
        found, start, mark = list[int](), 0, ""
        if len(word) > _MAX_WORD_CHARS:
            return [self.unknown]
        while start < len(word):
            for end in range(len(word), start, -1):
                if (number := self.numbers.get(mark + word[start:end])) is not None:
                    break
            else:
                return [self.unknown]
            found.append(number)
            start, mark = end, "##"
        return found
