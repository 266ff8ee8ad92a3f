"""Pages of a list of notes. A cursor is bound to its question and names the last note of its page, so
that notes which come or go meanwhile make nothing appear twice."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from cortex.core.model.problem import InvalidInputError
from cortex.core.text.strings import short_hash

# verb -> notes of a page unless `number` says otherwise, and of all pages together
_PAGE_SIZES = {"search": (10, 1000), "recall": (10, 200)}
_SLACK = 20  # notes that may have come before the end of the last page since


class Page(NamedTuple):
    """A page that is asked for."""

    question: str  # a digest of the verb and its values without the number
    shown: int  # notes of the pages before
    last: str  # path of the last of them
    size: int
    fetched: int  # notes that the verb is asked for

    def cut(self, answer: Any) -> tuple[Any, str]:
        """The answer with the notes of this page alone, and the cursor of the next one or nothing."""
        paths = [one.path for one in answer.hits]
        start = paths.index(self.last) + 1 if self.last in paths else min(self.shown, len(paths))
        hits = answer.hits[start : start + self.size]
        end, most = start + len(hits), _PAGE_SIZES[self.question.partition(" ")[0]][1]
        if not hits or end >= min(answer.total, most):
            return answer._replace(hits=hits), ""
        words = json.dumps([self.question, end, hits[-1].path])
        return answer._replace(hits=hits), base64.urlsafe_b64encode(words.encode()).decode()


def has_pages(verb: str) -> bool:
    """Whether the answers of a verb come in pages."""
    return verb in _PAGE_SIZES


def open_page(verb: str, given: Mapping[str, object], cursor: object) -> Page | None:
    """The page that a cursor asks for, the first without one. None for a number that the verb will
    refuse; `InvalidInputError` for a cursor of another question."""
    usual, most = _PAGE_SIZES[verb]
    try:
        size = int(str(given.get("number", usual)))
    except ValueError:
        return None
    if not 0 < size <= most:
        return None
    values = sorted((key, one) for key, one in given.items() if key != "number")
    question = f"{verb} {short_hash(json.dumps(values, default=str), 10)}"
    if not cursor:
        return Page(question, 0, "", size, size)
    try:
        asked, shown, last = json.loads(base64.urlsafe_b64decode(str(cursor)))
    except (ValueError, TypeError):
        asked, shown, last = "", 0, ""
    if asked != question or not isinstance(shown, int) or not isinstance(last, str):
        hint = "give the next_cursor of the answer before, with the same arguments"
        raise InvalidInputError("this cursor is of no answer to these arguments", hint)
    return Page(question, shown, last, size, min(max(shown, 0) + size + _SLACK, most))
