"""The word pieces of a text, as an uncased BERT has them: words without case and accents, each cut
into the longest pieces of a vocabulary."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

_MAX_WORD_CHARS = 100  # a longer word is unknown
_MAX_KNOWN_WORDS = 200_000  # whose pieces are remembered
_CJK = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2CEAF), (0x2F800, 0x2FA1F))  # fmt: skip


class _CharTable(dict[int, str]):
    """What becomes of each character, for `str.translate`; filled as characters come."""

    def __missing__(self, code: int) -> str:
        char, kind = chr(code), unicodedata.category(chr(code))
        made = char.lower()
        if char in "\t\n\r" or kind.startswith("Z"):
            made = " "
        elif char == "\ufffd" or kind.startswith("C") or kind == "Mn":
            made = ""
        elif (
            (char.isascii() and not char.isalnum())
            or kind.startswith("P")
            or any(low <= code <= high for low, high in _CJK)
        ):
            made = f" {char} "
        self[code] = made
        return made


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
        if len(self._known_words) > _MAX_KNOWN_WORDS:
            self._known_words = {}
        for word in unicodedata.normalize("NFD", text).translate(self._chars).split():
            if (pieces := self._known_words.get(word)) is None:
                pieces = self._known_words[word] = self._split_word(word)
            found += pieces
            if len(found) >= most:
                break
        return found[:most]

    def _split_word(self, word: str) -> list[int]:
        found, start, mark = list[int](), 0, ""
        while start < len(word):
            ends = range(len(word), start, -1) if len(word) <= _MAX_WORD_CHARS else ()
            end = next((one for one in ends if mark + word[start:one] in self.numbers), 0)
            if not end:
                return [self.unknown]
            found.append(self.numbers[mark + word[start:end]])
            start, mark = end, "##"
        return found
