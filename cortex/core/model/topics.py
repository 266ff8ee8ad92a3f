"""Topics: stable keys of what a record is about; a later save with the same key updates it."""

from __future__ import annotations

import unicodedata

from cortex.core.model.problem import InvalidInputError
from cortex.core.model.record import RECORD_TYPES
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, short_hash, slugify

MAX_TOPIC_CHARS = 120  # as in seed 001, and so the next
MAX_SEGMENT_CHARS = 100  # of the last segment, if Cortex makes it
DEFAULT_FAMILY = "topic"  # first segment of a topic of no family; folder of such records
_MAX_SUGGESTED_WORDS = 8  # of a text that has no title

# family -> the type of record that it is about
TYPE_OF_FAMILY = {
    "architecture": "architecture", "bug": "bugfix", "decision": "decision", "pattern": "pattern",
    "config": "config", "discovery": "discovery", "learning": "learning", "code-description-of": "code-description", "code-of": "code",
}  # fmt: skip

_FAMILY_OF_TYPE = {
    **{type_: family for family, type_ in TYPE_OF_FAMILY.items()},
    **{family: family for family in TYPE_OF_FAMILY},
    "rejection": "decision", "preference": "config", "gotcha": "learning",
}  # fmt: skip

# Words of a text that tell its family, in this order (seed 001's); `debug` is no bug.
_FAMILY_KEYWORDS = {
    "bug": "bug bugs bugfix fix fixes fixed error errors crash crashes crashed exception regression"
    " broken fails failure traceback",
    "architecture": "architecture architectural design component components module modules layer"
    " layers boundary boundaries service services schema",
    "decision": "decision decisions decide decided choose chose chosen pick picked prefer instead"
    " tradeoff",
    "pattern": "pattern patterns convention conventions idiom practice style naming",
    "config": "config configuration configure setting settings environment env variable flag flags"
    " toml yaml deploy setup",
    "discovery": "discovery discovered discover found turns noticed finding findings investigated",
    "learning": "learning learned learnt lesson lessons til remember realised realized",
}
_FAMILY_RANK_OF_WORD = {
    word: place for place, words in enumerate(_FAMILY_KEYWORDS.values()) for word in words.split()
}
_WORD_RE = lazy_re(r"[a-z]+")
_MAX_READ_CHARS = 20_000  # characters of a text that are asked
_CONTROL_CHARS_RE = lazy_re(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_TOPIC_HINT = "a topic looks like decision/storage or bug/login-loop"


def normalize_topic(topic: str) -> str:
    """The topic as it is stored and compared: lower case, blanks as `-`. `InvalidInputError` if
    it is empty, too long, or has control characters, `..` or empty segments."""
    key = one_line(unicodedata.normalize("NFC", topic)).replace(" ", "-").lower()
    shown = f"{key[:40]}…" if len(key) > 40 else key
    if not key:
        raise InvalidInputError("the topic is empty", _TOPIC_HINT)
    if len(key) > MAX_TOPIC_CHARS:
        raise InvalidInputError(
            f"the topic {shown!r} has {len(key)} characters; {MAX_TOPIC_CHARS} are the most",
            _TOPIC_HINT,
        )
    if _CONTROL_CHARS_RE.search(key):
        raise InvalidInputError(f"the topic {shown!r} holds control characters", _TOPIC_HINT)
    if ".." in key or "" in key.split("/"):
        what = "'..'" if ".." in key else "an empty part between slashes"
        raise InvalidInputError(f"the topic {shown!r} has {what}", _TOPIC_HINT)
    return key


def suggest(type: str, title: str, text: str) -> str:
    """A topic for a record without one: its family, by type or by words, then its title or text."""
    family = _FAMILY_OF_TYPE.get(type.lower()) or _guess_family(f"{title} {text}") or DEFAULT_FAMILY
    words = title.split() or text[:_MAX_READ_CHARS].split()[:_MAX_SUGGESTED_WORDS]
    if len(words) > 1 and _FAMILY_OF_TYPE.get(words[0].strip(":*#-").lower()) == family:
        words = words[1:]
    return f"{family}/{topic_segment(' '.join(words)) if words else 'general'}"


def topic_segment(text: str) -> str:
    """`text` as a segment of a topic; letters beyond ASCII are told apart by a hash."""
    plain = slugify(text, MAX_SEGMENT_CHARS - 7)
    folded = unicodedata.normalize("NFKD", text)
    lost = any(sign.isalnum() and not sign.isascii() for sign in folded)
    return f"{plain}-{short_hash(one_line(text).casefold())}" if lost else plain


def type_of(topic: str) -> str:
    """The type of record by the topic's first part, a family or a type; else empty."""
    first = topic.partition("/")[0]
    return TYPE_OF_FAMILY.get(first) or (first if first in RECORD_TYPES else "")


def topic_record_id(project: str, scope: str, topic: str) -> str:
    """The id of a topic's one record within project and scope: the same on every clone."""
    return f"{slugify(topic)}-{short_hash(chr(0).join((project, scope, topic)))}"


def record_path(project: str, scope: str, topic: str) -> str:
    """Where that record is made, whatever type whoever makes it gives."""
    return f"records/{type_of(topic) or DEFAULT_FAMILY}/{topic_record_id(project, scope, topic)}.md"


def _guess_family(text: str) -> str:
    """The family whose telling words stand in a text; empty when none does."""
    found = {
        _FAMILY_RANK_OF_WORD[word]
        for word in _WORD_RE.findall(text[:_MAX_READ_CHARS].lower())
        if word in _FAMILY_RANK_OF_WORD
    }
    return list(_FAMILY_KEYWORDS)[min(found)] if found else ""
