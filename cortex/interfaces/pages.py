"""Long answers in pages, over any interface: a list of notes, or a long text.

A cursor is bound to its question; that of a list tells which notes were shown, so that none appears twice
though notes come, go and change places meanwhile.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from cortex.core.model.problem import ConflictError, InvalidInputError
from cortex.core.text.strings import hash_bytes
from cortex.core.text.value import NamedTuple
from cortex.interfaces.call import Call
from cortex.interfaces.declare import Parameter
from cortex.vault.state import access_log

CURSOR = Parameter("cursor", str, "", True, "the one that the answer before names", label="cursor")
MAX_NOTES = {"search": 1000, "recall": 200}  # verb -> notes of all pages together
_TEXT_VERBS = ("history", "show")
_TEXT_CHARS = 40_000  # of one answer; Claude Code refuses more than 25,000 tokens
_SLACK = 20  # notes that may have come before the end of the last page since
_QUESTION_BYTES, _NOTE_BYTES = 6, 4  # of digests


class _Page(NamedTuple):
    """A page of notes that is asked for."""

    question: bytes  # a digest of the verb and its values without the number
    shown: tuple[bytes, ...]  # digests of the absolute paths of the notes of the pages before
    size: Any  # a number of notes
    most: int  # notes of all pages

    def cut(self, answer: Any) -> tuple[Any, str]:
        """The answer with the notes of this page alone, and the cursor of the next one or nothing."""
        left = {hash_bytes(one.file, _NOTE_BYTES): one for one in answer.hits}
        new = [one for one in left if one not in self.shown][: self.size]
        page = answer._replace(hits=type(answer.hits)(left[one] for one in new))
        shown = (*self.shown, *new)
        is_all = len(left) >= answer.total and {*left} <= {*shown}
        if not new or is_all or len(shown) >= self.most:
            return page, ""
        return page, base64.urlsafe_b64encode(self.question + b"".join(shown)).decode()


class _TextPage(NamedTuple):
    """A part of a text that is asked for."""

    question: bytes
    start: int  # characters
    whole: bytes  # a digest of the text, of which the parts before were; empty for the first

    def cut(self, answer: Any) -> tuple[Any, str]:
        """The answer with this part of its text alone, and the cursor of the next one or nothing.
        `ConflictError` for a text that has changed."""
        text, end = getattr(answer, "text", ""), self.start + _TEXT_CHARS
        whole = hash_bytes(text, _NOTE_BYTES)
        if self.whole not in (b"", whole):
            raise ConflictError("the note has changed meanwhile", "ask for it without a cursor")
        if not self.start and len(text) <= end:
            return answer, ""
        data = self.question + whole + end.to_bytes(_NOTE_BYTES)
        cursor = base64.urlsafe_b64encode(data).decode() if end < len(text) else ""
        return answer._replace(text=text[self.start : end]), cursor


def has_pages(verb: str) -> bool:
    """Whether the answers of a verb come in pages."""
    return verb in MAX_NOTES or verb in _TEXT_VERBS


def answer_page(call: Call, cursor: str) -> tuple[Any, str]:
    """A page of the verb's answer, the first without a cursor, and the cursor of the next one or
    nothing. Raises as `Call.answer`, and `InvalidInputError` for a cursor of another question."""
    page = _open_page(call, cursor)
    if isinstance(page, _TextPage):
        return page.cut(call.answer())
    fetched = min(len(page.shown) + page.size + _SLACK, page.most) if page.shown else page.size
    call = call._replace(given=call.given | {"number": fetched})
    if not page.shown:
        return page.cut(call.answer())
    # It asks for what was shown before, too: that is no use of it.
    answer, following = page.cut(call._replace(caller=call.caller._replace(source="hook")).answer())
    if call.vault:
        used = [one.id for one in answer.hits if one.vault == "project"]
        access_log.append(call.vault, call.caller, call.declared.name, used)
    return answer, following


def _open_page(call: Call, cursor: str) -> _Page | _TextPage:
    verb, number = call.declared.name, call.values().get("number")
    values = sorted((key, one) for key, one in call.given.items() if key != "number")
    question = hash_bytes(json.dumps([verb, values], default=str), _QUESTION_BYTES)
    try:
        data = base64.urlsafe_b64decode(cursor) if cursor else question
    except ValueError:
        data = b""
    if data[:_QUESTION_BYTES] != question:
        hint = "give the cursor of the answer before, with the same arguments"
        raise InvalidInputError("this cursor is of no answer to these arguments", hint)
    before = data[_QUESTION_BYTES:]
    if verb in _TEXT_VERBS:
        return _TextPage(question, int.from_bytes(before[_NOTE_BYTES:]), before[:_NOTE_BYTES])
    shown = tuple(before[at : at + _NOTE_BYTES] for at in range(0, len(before), _NOTE_BYTES))
    return _Page(question, shown, number, MAX_NOTES[verb])
