"""English markers and phrases for decisions, rejections, findings and preferences.

Markers begin a line, phrases are within a sentence. Other patterns tell a question, a wish, a
report of what others say, or an agent's next step.

The words stand in phrases.txt. The pattern of a rule is compiled when one of its words is found.
"""

from __future__ import annotations

import re
from functools import cache

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.tables import read_sections
from cortex.core.text.value import NamedTuple

HEDGED_CONFIDENCE = 0.3  # of what is asked, wished, denied or told of others (seed 002)
LIST_ITEM_CONFIDENCE = 0.75  # of an item below a heading such as `Key decisions`
PARAGRAPH_CONFIDENCE = 0.7  # of the paragraph below a heading such as `Decision`

_SECTIONS = read_sections(__file__)
_FRAGMENT_RE = lazy_re(r"\{([A-Z_]+)\}")


class PhraseRule(NamedTuple):
    """A phrase: a keyword that it always contains, its type, and its pattern for lowercase text."""

    keyword: str
    type: str
    confidence: float  # 0: it tells nothing unless a reason follows
    confidence_with_reason: float  # where a reason follows
    pattern: str
    is_first_person: bool  # who says it must be us, or nobody: "git chose" is told of another

    def search(self, text: str) -> re.Match[str] | None:
        return _compile(self.pattern, self.keyword).search(text)


def _lines_of(section: str) -> list[tuple[str, str]]:
    pairs = (line.partition(": ") for line in _SECTIONS[section])
    return [(key, value) for key, _, value in pairs]


_FRAGMENTS = dict(_lines_of("fragments"))


@cache
def _compile(pattern: str, word: str = "") -> re.Pattern[str]:
    while _FRAGMENT_RE.search(pattern):
        pattern = _FRAGMENT_RE.sub(lambda name: (_FRAGMENTS | {"WORD": word})[name[1]], pattern)
    return re.compile(pattern)


def _types_of(section: str) -> dict[str, str]:
    return {word: type_ for type_, words in _lines_of(section) for word in words.split("|")}


def _parse_rules() -> tuple[PhraseRule, ...]:
    rules = []
    for head, rest in _lines_of("rules"):
        type_, confidence, with_reason, speaker = head.split()
        words, _, pattern = rest.partition(" :: ")
        sure = float(confidence), float(with_reason)
        rules += [
            PhraseRule(word, type_, *sure, rf"\b{pattern}", speaker == "ours")
            for word in words.split(", ")
        ]
    return tuple(rules)


MARKERS: dict[str, tuple[str, float]] = {
    word: (head.split()[0], float(head.split()[1]))
    for head, words in _lines_of("markers")
    for word in words.split("|")
}
DASH_MARKERS = frozenset(MARKERS) - frozenset(_SECTIONS["no dash"][0].split("|"))
INLINE_TYPES = ("decision", "rejection", "gotcha", "preference", "pattern", "learning")
# Behind these words only a law tells a gotcha: `Important: never …`.
ALERT_MARKERS = frozenset(("important", "remember", "warning"))
SINGULAR_SECTIONS = _types_of("singular sections")
SECTIONS = SINGULAR_SECTIONS | _types_of("sections")

PHRASE_RULES = _parse_rules()
_ALL_KEYWORDS = dict.fromkeys(rule.keyword for rule in PHRASE_RULES)
# Every sentence with a phrase has one of these; keywords that contain another one are left out.
RULE_KEYWORDS = tuple(
    word
    for word in _ALL_KEYWORDS
    if not any(other in word for other in _ALL_KEYWORDS if other != word)
)

_PATTERNS = {name: _compile(pattern) for name, pattern in _lines_of("patterns")}
ALWAYS_NEVER_RE, NO_CONTENT_RE = _PATTERNS["always_never"], _PATTERNS["no_content"]
REASON_RE = _PATTERNS["reason"]


def is_hedged(before: str, after: str, *, ours: bool) -> bool:
    """Whether a phrase is asked, wished, denied, supposed or said of others, by its context."""
    if after.rstrip(" )*_\"'").endswith("?") or _PATTERNS["hedge_after"].search(after):
        return True
    if _PATTERNS["formerly"].search(before) and _PATTERNS["but"].search(after):
        return True
    is_quoted = before.count('"') % 2 == 1 or before.count("“") > before.count("”")
    is_told = _PATTERNS["hypothetical"].search(before) or _PATTERNS["reported"].search(before)
    if is_quoted or is_told:
        return True
    clauses = [clause.end() for clause in _PATTERNS["clause_start"].finditer(before)]
    if _PATTERNS["hedge"].search(before, clauses[-1] if clauses else 0):
        return True
    if not ours or not before.strip(" \t>*#_-"):
        return False
    near = before[-60:]
    is_own = _PATTERNS["own_subject"].search(near)
    return not is_own or bool(_PATTERNS["other_team"].search(near))


def is_unsettled(paragraph: str) -> bool:
    """Whether the paragraph below a heading asks, offers or guesses."""
    return "?" in paragraph or bool(_PATTERNS["unsettled"].search(paragraph, 0, 160))


def is_non_decision(before: str, said: str) -> bool:
    """Whether a choice is only the agent's next step: a file to read, a tool to use, an instruction
    to follow. `said` is the sentence from the phrase on, `before` the rest; both lowercase."""
    reason = _PATTERNS["reason_start"].search(said, 3)
    choice = said[: reason.start()] if reason else said
    if _PATTERNS["vague_choice"].search(said[: len(choice) + 10]):
        return True
    return bool(_PATTERNS["first_person"].search(before[-80:] + said[:12])) and any(
        _PATTERNS[name].search(choice) for name in ("agent_tool", "purpose", "spared_effort")
    )
