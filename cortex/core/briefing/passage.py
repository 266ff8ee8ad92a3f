"""How well a passage that rules cut out of a session stands alone: whether a reader who was not
there understands it, and whether it still holds."""

from __future__ import annotations

import re

from cortex.core.briefing.excerpt import bare_words
from cortex.core.model.generated_text import event_lines
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

MAX_FLAWS = 1  # a passage with more is counted in a briefing, and not told
_FINDING_TYPES = ("gotcha", "discovery")
# What a person said, to which a reply belongs.
# How sentences begin that answer the one before, report what was just done, or ask.
_BEGINNING_RE = lazy_re(
    r"(?:(?:i|you|we|it|this|that|these|those|they|he|she|both|there)\b|[a-z]{1,5}['’](?:s|m|d|ve|re|ll)\b"
    r"|(?:so|but|and|or|ok|okay|right|yes|like|also|now|then|well|hm+|back|rather|asking|given|using|instead|even|still|just|not|if anything)\b|no[,.!:]"
    r"|(?:do|does|did|can|could|should|would|is|are|why|when|how|where|what|which|if|since)\b"
    r"|(?:added|changed|cleaned|created|fixed|implemented|improved|moved|refactored|removed|renamed|updated|verified)\b"
    r"|(?:adds|calls|checks|creates|falls|finds|handles|keeps|reads|removes|returns|runs|scans|uses|writes)\b"
    r"|(?:case|fix|issue|layer|option|part|phase|point|step) \d"
    r"|(?:(?:design |key )?(?:decisions|differences|findings|points)|behaviou?r|impact|results?)\b[^.]{0,30}:"
    r"|(?:all|answer|changes|done|here|looking|minor|next|option|potential|proposed|quick|suggestions?|summary|testing|the (?:issue|notice) was)\b)",
    re.IGNORECASE,
)
# Words that point to what stands elsewhere: `this file`, `the code above`.
_POINTER_RE = lazy_re(
    r"\b(?:this|these|those) (?:file|function|method|line|test|tests|code|change|changes|section|approach|case|error|pr|commit)\b"
    r"|\bthe (?:above|following)\b|\b(?:above|below)[.:,]|\bhere(?:['’]s| is| are)\b|: …(?: |$)|\b(?:in )?(?:step|line) \d",
    re.IGNORECASE,
)
# A fault as it is found, and not as it is told once it is mended.
_FAULT_RE = lazy_re(
    r"\bthe (?:real |actual |main |root )?(?:bug|cause|culprit|issue|problem) is\b|\bthe fix (?:is|would be|should be)\b",
    re.IGNORECASE,
)
# What is to be done, or is asked: an opening of work, of which the session may have done the rest.
_OPENING_RE = lazy_re(
    r"\b(?:could|should|would|needs? to|(?:the |your |our )task is)\b|\?", re.IGNORECASE
)
_BULLET_RE = lazy_re(r"[ \t>]*(?:[-*+]|\d{1,2}[.)])[ \t]+(\S.*)")
# What only might be done, of a decision that nobody answered.
_PROPOSAL_RE = lazy_re(
    r"(?:an?|one|another) (?:\w+ )?(?:alternative|approach|idea|option|possibility|way)\b|.*\b(?:could|might|would)\b",
    re.IGNORECASE,
)
_REFUSAL_RE = lazy_re(
    r"^(?!let['’]s (?!not)).*\b(?:no|not|never|without|instead|rather|drop|remove|skip|stop|avoid|against|reject\w*)\b|n['’]t\b",
    re.IGNORECASE,
)
# What assents to something that stands elsewhere, or orders work.
_NO_STATEMENT_RE = lazy_re(
    r"(?:i (?:think|guess|agree)\b,? ?|yes\b,? ?|ok\b,? ?)*(?:(?:that|this|it)(?:['’]s| is| sounds| looks) (?:the )?(?:correct|fine|good|great|ok|right)\b|agreed?\b|sounds good)"
    r"|(?:i['’]d like|i want|please|can you|could you|we need|let['’]s)(?: you)?(?: to)? (?:add|build|change|create|fix|implement|make|write)\b",
    re.IGNORECASE,
)
_CODE_RE = lazy_re(r"\w\(|[{}=;]")
_PLAIN_WORD_RE = lazy_re(r"(?<![\w(.`/:-])[a-z]{2,}(?![\w(.`/:-])", re.IGNORECASE)
_MIN_PLAIN_WORDS = 6  # of a statement; what has fewer is a fragment of code
# What an agent says that it does next, or asks whether it is to do.
_ANNOUNCEMENT_RE = lazy_re(
    r"(?:^|(?<=[.!?:;)…])\s|(?<=[.!?:;)…]\*\*)\s)(?:(?:now|so|ok|okay|first|next),? )?"
    r"(?:let(?: me|['’]s)|i['’]ll|i will|would you like|(?:do you )?want me to|sh(?:ould|all) i|you['’]ll need to)\b[^.!?:]*(?:[.!?:…]+|$)",
    re.IGNORECASE,
)
_MENDING_RE = lazy_re(
    r"\b(?:add|address|apply|change|correct|fix|implement|migrate|move|remove|replace|update)\b",
    re.IGNORECASE,
)
# What only agrees or thanks, at the beginning of a reply.
_FILLER_RE = lazy_re(
    r"(?<=\bThen: )(?:(?:ah|oh|ok|okay|yes|hm+)\b[,.! ]*)?"
    r"(?:thanks for the correction|good (?:point|catch|question)|great (?:point|catch|question)|you['’]re (?:absolutely |totally )?right"
    r"|exactly|perfect|done|got it|makes sense|now i understand[^.:!]*)\s*[.!:,—–-]+\s*",
    re.IGNORECASE,
)
_REPLY = "Then: "  # what was answered to a person's words, in a passage that begins with them
_CHANGED = " · changed "
_CHANGED_FILE_RE = lazy_re(r"- `([^`]+)`")


class LaterChanges(NamedTuple):
    """What a session changed after something was said."""

    files: frozenset[str]  # names, of the turns after it
    is_changed: bool  # any file, in its turn or after it


NO_CHANGES = LaterChanges(frozenset(), is_changed=False)


def without_talk(text: str) -> str:
    """The text without words that only agree, nor closing sentences on the agent's next step."""
    return _FILLER_RE.sub("", text[: _end_of_statements(text)].rstrip())


def _end_of_statements(text: str) -> int:
    end = len(text)
    for found in reversed(list(_ANNOUNCEMENT_RE.finditer(text))):
        if found.end() < end:
            break
        end = found.start()
    return end


def count_flaws(
    type_: str, title: str, excerpt: str, body: str = "", later: LaterChanges = NO_CHANGES
) -> int:
    """How many things make a passage hard to use: its beginning answers or asks something, and is
    not what a person wants, with the reply; it is a fragment of code, ends before its point,
    or is one item of a list in `body`; it points to what is not there; it was mended since, by what its session changed or by
    its own announcement; it proposes, and no decision follows."""
    end = _end_of_statements(excerpt)
    text, announced = f"{title}: {excerpt[:end]}", excerpt[end:]
    said, reply, _ = text.partition(_REPLY)
    is_wanted = type_ in ("decision", "rejection", "preference")
    is_answered = (
        bool(reply)
        and is_wanted
        and not said.rstrip(" :").endswith("?")
        and not _NO_STATEMENT_RE.match(title)
    )
    is_code = _CODE_RE.search(text) and len(_PLAIN_WORD_RE.findall(text)) < _MIN_PLAIN_WORDS
    is_cut = bool(excerpt) and text.endswith(":")
    is_mended = (
        (type_ in _FINDING_TYPES and any(name in text for name in later.files))
        or (type_ in _FINDING_TYPES and later.is_changed and _FAULT_RE.search(text))
        or (not is_wanted and later.is_changed and _OPENING_RE.search(text))
        or (not reply and _MENDING_RE.search(announced))
    )
    is_proposal = type_ == "decision" and not reply and _PROPOSAL_RE.match(title)
    is_no_rejection = type_ == "rejection" and not _REFUSAL_RE.search(said)
    flaws = (
        not (is_answered or is_self_contained(title)),
        is_code or is_cut or _is_list_item(title, body),
        _POINTER_RE.search(text),
        is_mended,
        is_proposal or is_no_rejection,
    )
    return sum(map(bool, flaws))


def _is_list_item(title: str, body: str) -> bool:
    """Whether the title is one item of a list, whose head says what it is about."""
    key = bare_words(title.rstrip("…"))
    items = (found[1] for found in map(_BULLET_RE.match, body.splitlines()) if found)
    return bool(key) and any(bare_words(item).startswith(key) for item in items)


def is_self_contained(title: str) -> bool:
    """False for a sentence that begins as answers, reports and questions do, or ends in a `?`."""
    plain = title.lstrip("`*_\"'“([> ")
    return not (_BEGINNING_RE.match(plain) or plain.rstrip("`*_\"'”) ").endswith("?"))


def changes_after(session_note: str, event: str) -> LaterChanges:
    """What a session changed from the turn of this event on."""
    _, _, below = session_note.partition("\n## Changed\n")
    paths = _CHANGED_FILE_RE.findall(below.partition("\n## ")[0])
    turns = list(event_lines(session_note))
    ids = [turn.id for turn in turns]
    if event not in ids:
        return NO_CHANGES
    texts = [
        turn.excerpt.rpartition(_CHANGED)[2] if _CHANGED in turn.excerpt else "" for turn in turns
    ]
    own, later = texts[ids.index(event)], " ".join(texts[ids.index(event) + 1 :])
    is_cut = re.search(r" and \d+ more\b", later) is not None  # then nothing says which
    names = {path.rpartition("/")[2] for path in paths}
    files = frozenset(name for name in names if is_cut or name in later)
    return LaterChanges(files, bool(own or later.strip()))
