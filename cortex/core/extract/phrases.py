"""The words by which people say in English that something was decided, rejected, found out or is liked: markers at the beginning of
a line, phrases within a sentence, and what makes a phrase a question, a wish or a report of what others say.

Confidences of the first markers and of "chose … over … because" are seed 002's; the others were set beside them by the
labelled snippets in `tests/core/extract/corpus`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from cortex.core.extract.non_decisions import ACTIVITY_VERBS, SKIPPED_ACTIVITIES

HEDGED_CONFIDENCE = (
    0.3  # of what is asked, wished, denied or told of others; seed 002's for "decided to read"
)
LIST_ITEM_CONFIDENCE = 0.75  # of an item below a heading such as `Key decisions`
PARAGRAPH_CONFIDENCE = 0.7  # of the paragraph below a heading such as `DecisionItem`

# type and confidence -> the words before a colon or a dash.
_MARKER_TABLE = {
    (
        "decision",
        0.85,
    ): "decision|decided|decision made|final decision|key decision|design decision|architecture decision|agreed|entscheidung|decisión",
    (
        "rejection",
        0.85,
    ): "rejected|rejected approach|rejected alternative|rejected option|ruled out|not chosen|decided against|discarded",
    ("bugfix", 0.75): "fixed|bug fixed|bugfix",
    ("bugfix", 0.7): "error resolved|resolved|issue resolved|solved",
    ("bugfix", 0.6): "fix|the fix|solution",
    (
        "learning",
        0.7,
    ): "learned|learnt|lesson|lessons|lesson learned|lesson learnt|til|learning|takeaway|key takeaway|insight|key insight",
    ("preference", 0.8): "preference|user preference|user prefers|preferred style",
    ("gotcha", 0.75): "gotcha|caveat|pitfall|watch out|beware|trap",
    ("pattern", 0.75): "convention|code convention|naming convention|team convention|pattern",
    ("discovery", 0.75): "root cause|the root cause|cause",
    ("discovery", 0.7): "discovery|discovered|finding|key finding|turns out",
    ("architecture", 0.75): "architecture|architecture note",
    ("gotcha", 0.6): "important|remember|warning",
}
_SECTION_TABLE = {
    "decision": "decisions|key decisions|key design decisions|decisions made|design decisions|main decisions|architecture decisions|technical decisions|what we decided"
    "|what was decided|decisions taken",
    "rejection": "rejected|rejected approaches|rejected alternatives|rejected options|rejections|alternatives rejected|what we rejected",
    "learning": "lessons|lessons learned|lessons learnt|takeaways|key takeaways|what i learned|what we learned|insights|key insights",
    "gotcha": "gotchas|pitfalls|caveats|traps",
    "pattern": "conventions|patterns|conventions and patterns",
    "discovery": "root cause|root causes|findings|key findings|discoveries",
    "preference": "preferences|user preferences",
}
# Of which one paragraph tells it, below a heading in the singular.
_SINGULAR_SECTION_TABLE = {
    "decision": "decision|final decision|the decision|key decision|design decision|what we decided",
    "rejection": "rejected|rejected approach|rejected alternative|rejected option|ruled out|not chosen",
    "discovery": "root cause|the root cause|cause of the bug|key finding",
    "learning": "lesson|lesson learned|lesson learnt|the lesson|takeaway|key takeaway|key insight|til",
    "gotcha": "gotcha|caveat|pitfall|trap",
    "pattern": "convention|code convention|naming convention|team convention",
    "preference": "preference|user preference",
}
MARKERS = {word: what for what, words in _MARKER_TABLE.items() for word in words.split("|")}
SINGULAR_SECTIONS = {
    word: type_ for type_, words in _SINGULAR_SECTION_TABLE.items() for word in words.split("|")
}
SECTIONS = SINGULAR_SECTIONS | {
    word: type_ for type_, words in _SECTION_TABLE.items() for word in words.split("|")
}
DASH_MARKERS = frozenset(
    word
    for word in MARKERS
    if word
    not in (
        "fix",
        "the fix",
        "solution",
        "cause",
        "resolved",
        "solved",
        "pattern",
        "agreed",
        "insight",
    )
)

# Behind these words only a law tells a gotcha: `Important: never …`.
ALERT_MARKERS = frozenset(("important", "remember", "warning"))
ALWAYS_NEVER_RE = re.compile(r"[ \t*_]{0,6}(?:never (?!mind\b)|always )[a-z\x01`]{2}")

NO_CONTENT_RE = re.compile(
    r"[\W_]*(?:none|nothing(?: new| much| to report)?|n/a|na|tbd|tba|todo|pending|open|not yet|not decided(?: yet)?|to be (?:decided|done|determined)|undecided|unclear|unknown"
    r"|still open|needed|required|see (?:above|below)|yes|no|ok|done)?[\W_]*"
)


class PhraseRule(NamedTuple):
    """A phrase: a word without which it cannot stand in a sentence, what it tells, and how it reads in lower case."""

    keyword: str
    type: str
    confidence: float  # 0: it tells nothing unless a reason follows
    confidence_with_reason: float  # where a reason follows
    pattern: re.Pattern[str]
    is_first_person: bool  # who says it must be us, or nobody: "git chose" is told of another


REASON_RE = re.compile(
    r"\b(?:because|since|as it|as they|due to|given that|so that|in favou?r of)\b|[(–—] ?reason"
)
_CHOICE_VERBS = (
    r"(?:use|using|go with|going with|switch|adopt|keep|keeping|move|migrate|store|drop|replace|stick|standardi[sz]e|make|split|merge|remove|rename|deprecate"
    r"|support|ship|cache|pin|require|treat|return|default|rely|build on|write|put|leave|follow|avoid|skip|enforce|disallow|allow|wrap|introduce|reuse"
    r"|extract|inline|log|validate|separate|combine|disable|enable|host|deploy|represent|model|name|expose|hide)"
)
_NOT_PASSIVE = (
    r"(?<!was )(?<!is )(?<!were )(?<!are )(?<!been )(?<!be )(?<!get )(?<!got )(?<!/ )(?<!/)"
)
_RATHER_THAN = r"(?:over|instead of|rather than|in favou?r of)"
_KEEP_VERBS = r"(?:using|(?<!\bi )used|keeping|(?<!\bi )kept|stored|storing)"
_BY_DOING = r"by (?!hand\b|(?:re-?)?(?:running|formatting|installing|starting|generating)\b)"
_TEAM_OR_USER = r"(?:(?:the|our|your) (?:whole )?(?:user|team)|^(?:user|team))"
_WILL = r"(?:'ll| will|'re going to|'m going to| am going to| are going to)"
_WE_USE = (
    rf"(?:(?:we|i)(?:{_WILL}| now)? (?:use|using|store|keep)|we(?:{_WILL}| now)? (?:write|put))"
)
_FOR_PURPOSE = r"for (?!now\b|this\b|that\b|it\b|them\b|each\b|example\b|the (?:rest|moment|time being|search|rename|lookup|edits?|review|investigation|example|install(?:ation)?|run|check|comparison|demo|change|fix|patch|cleanup|summary|answer|commit)\b).{3}"


def _rule(
    word: str, type_: str, confidence: float, pattern: str, *, because: float = 0, ours: bool = True
) -> PhraseRule:
    return PhraseRule(
        word, type_, confidence, max(because, confidence), re.compile(rf"\b{pattern}"), ours
    )


PHRASE_RULES = (
    *(
        rule
        for word in ("chose", "picked", "selected", "opted for", "went with", "gone with", "going with", "settled on", "went for", "decided on")
        for rule in (
            _rule(word, "decision", 0.85, rf"{word}n? .{{1,200}}?\b{_RATHER_THAN} .{{2}}", because=0.95),
            _rule(word, "decision", 0, rf"{word}n? (?!to ).{{2}}", because=0.85),
        )
    ),
    _rule("opted for", "decision", 0.7, r"opted for .{3}"),
    _rule("settled on", "decision", 0.75, r"settled on .{3}"),
    _rule("decided on", "decision", 0.8, r"decided on .{3}"),
    _rule("went with", "decision", 0.7, r"went with .{3}"),
    _rule("going with", "decision", 0.7, r"(?:i'm|i am|we're|we are) going with .{3}", ours=False),
    _rule("go with", "decision", 0.65, rf"(?:we|i){_WILL} go with .{{3}}", ours=False),
    _rule("let's", "decision", 0.6, r"let's (?:just )?(?:go|stick) with .{1,120}?\b(?:for|as|because)\b.{3}", ours=False),
    *(
        _rule(word, "decision", 0.6, rf"we{_WILL} use .{{1,120}}?\b(?:{_FOR_PURPOSE}|as (?:the|a|an|our)\b)", ours=False)
        for word in ("ll use", "will use", "going to use")
    ),
    _rule("instead of", "decision", 0.65, rf"instead of .{{1,100}}? we{_WILL} use .{{3}}", ours=False, because=0.8),
    _rule("chosen", "decision", 0.75, r"(?:we|i)(?:'ve| have) chosen .{1,120}?\b(?:as|for|to be)\b.{3}", ours=False),
    _rule("going forward", "decision", 0.6, r"^going forward, (?:all|every|we|the|no|new)\b.{10}", ours=False),
    _rule("stick with", "decision", 0.6, rf"(?:we|i){_WILL} stick with .{{3}}", ours=False, because=0.7),
    _rule("sticking with", "decision", 0.6, r"(?:we're|we are|i'm|i am) sticking with .{3}", ours=False, because=0.7),
    _rule("went ahead and", "decision", 0.7, rf"went ahead and (?:used|kept|put|picked|made|stored|wrote) .{{1,200}}?\b{_RATHER_THAN} .{{2}}", because=0.85),
    *(
        _rule(word, "decision", 0.55, rf"(?:so|therefore) (?:we|i){_WILL} use .{{1,120}}?\b{_FOR_PURPOSE}", ours=False, because=0.65)
        for word in ("ll use", "will use", "going to use")
    ),
    *(
        _rule(word, "decision", 0.65, rf"let's (?:just )?(?:use|go with|keep|stick with|adopt|switch to) .{{1,200}}?\b{word} .{{2}}", ours=False, because=0.75)
        for word in ("over", "instead of", "rather than")
    ),
    _rule("chose to", "decision", 0.75, rf"chose to {_CHOICE_VERBS} .{{2}}"),
    _rule("chose to", "decision", HEDGED_CONFIDENCE, rf"chose to (?:first |just |quickly )?{ACTIVITY_VERBS}\b"),
    _rule("opted to", "decision", 0.7, rf"opted to {_CHOICE_VERBS} .{{2}}"),
    _rule("opted to", "decision", HEDGED_CONFIDENCE, rf"opted to (?:first |just |quickly )?{ACTIVITY_VERBS}\b"),
    _rule("decided", "rejection", 0.85, r"decided (?:against|not to)\b"),
    _rule("decided", "rejection", HEDGED_CONFIDENCE, rf"decided not to (?:just )?{SKIPPED_ACTIVITIES}\b"),
    _rule("decided", "decision", 0.9, rf"decided (?:together )?to {_CHOICE_VERBS}\b"),
    _rule("decided", "decision", HEDGED_CONFIDENCE, rf"decided (?:together )?to (?:first |just |quickly )?{ACTIVITY_VERBS}\b"),
    _rule("decided", "decision", 0.6, r"(?<!user )(?<!they )(?<!team )decided to [a-z]{3}"),
    _rule("decided", "decision", 0.75, r"decided that .{5}"),
    _rule("agreed", "decision", 0.8, rf"(?:we|all|everyone|both|{_TEAM_OR_USER}) (?:all |have |both )?agreed (?:to|on|that|upon)\b", ours=False),
    _rule("agreed to", "decision", 0.7, rf"agreed to {_CHOICE_VERBS}\b"),
    _rule("the decision", "decision", 0.85, r"the decision (?:is|was) (?:to|that|not)\b"),
    _rule("final decision", "decision", 0.85, r"final decision (?:is|was) (?:to|that|not)\b"),
    _rule("instead of", "decision", 0.75, rf"{_WE_USE}\b.{{1,200}}?\binstead of .{{2}}", ours=False),
    _rule("rather than", "decision", 0.75, rf"{_WE_USE}\b.{{1,200}}?\brather than .{{2}}", ours=False),
    _rule("instead of", "decision", 0, rf"{_KEEP_VERBS}\b.{{1,200}}?\binstead of .{{2}}", because=0.7),
    _rule("rather than", "decision", 0, rf"{_KEEP_VERBS}\b.{{1,200}}?\brather than .{{2}}", because=0.7),
    _rule("switched", "decision", 0.65, r"switched (?:over )?(?:from .{1,100}? )?to .{3}", because=0.8),
    _rule("switched", "decision", 0, r"switched .{1,200}?\b(?:from|to) .{3}", because=0.8),
    _rule("migrated", "decision", 0, r"migrated\b.{1,200}?\bto .{3}", because=0.75),
    _rule("replaced", "decision", 0, rf"{_NOT_PASSIVE}replaced\b.{{1,200}}?\b(?:with|by) .{{3}}", because=0.7),
    _rule("reject", "rejection", 0, rf"{_NOT_PASSIVE}reject(?:ed|ing)? .{{2}}", because=0.9),
    _rule("rejected", "rejection", 0.75, rf"{_NOT_PASSIVE}rejected .{{3}}"),
    _rule("was rejected", "rejection", 0, r"(?:^|the )(?:idea|option|approach|proposal|alternative|design|plan|\x01+|[a-z]+) was rejected\b", because=0.6),
    _rule("ruled out", "rejection", 0.8, r"(?<!i've )(?<!i have )ruled out .{3}"),  # these have so far: what may be the cause
    _rule("discarded", "rejection", 0, r"discarded .{3}", because=0.75),
    _rule("dropped", "rejection", 0, r"dropped .{3}", because=0.75),
    _rule("won't", "rejection", 0, r"won't (?:be )?us(?:e|ing) .{2}", because=0.85),
    _rule("will not", "rejection", 0, r"will not (?:be )?us(?:e|ing) .{2}", because=0.85),
    _rule("not using", "rejection", 0, r"not using .{2}", because=0.75),
    _rule("can't use", "rejection", 0, r"(?<!i )can't use .{2}", because=0.7),
    _rule("cannot use", "rejection", 0, r"(?<!i )cannot use .{2}", because=0.7),
    _rule(
        "prefer", "preference", 0.8,
        rf"(?:i|we|you|{_TEAM_OR_USER}|^always) (?:strongly |clearly |always |both )?prefers?\b(?! to (?:wait|ask|hold|stop|check|see|let)\b).{{1,200}}?\b(?:over|to|instead of|rather than) .{{2}}", ours=False,
    ),
    _rule("prefer", "preference", 0.65, rf"(?:you|{_TEAM_OR_USER}) (?:strongly |clearly |always )?prefers? .{{3}}", ours=False),
    _rule("always", "preference", 0.65, rf"(?:you|{_TEAM_OR_USER}) (?:wants?|insists?|asked (?:me|us))\b.{{0,40}}?\balways\b", ours=False),
    _rule("fix was", "bugfix", 0.75, r"fix (?:here )?was .{3}", ours=False),
    _rule("fix is", "bugfix", 0.6, r"the fix is .{3}", ours=False),
    _rule("fixed", "bugfix", 0.7, rf"fixed (?:the|a|an|this|that|it|both|all|by)\b.{{0,200}}?\b{_BY_DOING}[a-z\x01\"'(]{{2}}"),
    _rule("resolved", "bugfix", 0.65, rf"resolved (?:the|a|an|this|it|by)\b.{{0,200}}?\b{_BY_DOING}[a-z\x01]{{2}}"),
    _rule("root cause", "discovery", 0.8, r"root cause (?:of .{1,120}? )?(?:was|is|turned out|turns out|:)", ours=False),
    _rule("turns out", "discovery", 0.65, r"turns out .{5}", ours=False),
    _rule("turned out", "discovery", 0.65, r"(?:it turned out|turned out to be|turned out that) .{5}", ours=False),
    _rule("the actual", "discovery", 0.65, r"the actual (?:problem|issue|cause|culprit|reason|bug) (?:was|is)\b", ours=False),
    _rule("the real", "discovery", 0.65, r"the real (?:problem|issue|cause|culprit|reason|bug) (?:was|is)\b", ours=False),
    _rule("culprit", "discovery", 0.65, r"the culprit (?:was|is)\b", ours=False),
    _rule("learned", "learning", 0.7, r"(?:i|we)(?:'ve| have)? (?:just |also )?learned (?:that|the hard way)\b", ours=False),
    _rule("lesson", "learning", 0.65, r"the lesson (?:here )?(?:is|was)\b", ours=False),
    _rule("takeaway", "learning", 0.6, r"(?:the|key|main) takeaway (?:here )?(?:is|was)\b", ours=False),
    _rule("gotcha", "gotcha", 0.65, r"gotcha (?:here )?(?:is|was)\b", ours=False),
    _rule("the catch", "gotcha", 0.6, r"the catch (?:here )?(?:is|was)\b", ours=False),
    _rule("be careful", "gotcha", 0.55, r"be careful (?:with|that|not to|when)\b", ours=False),
    _rule("watch out", "gotcha", 0.6, r"watch out for\b", ours=False),
    _rule("convention", "pattern", 0.65, r"(?:by convention|(?:our|the) convention (?:here |in .{1,60}? )?(?:is|was))\b", ours=False),
    _rule("we always", "pattern", 0.6, r"we always (?:use|put|write|run|name|keep|add|wrap|return)\b", ours=False),
)  # fmt: skip
_ALL_KEYWORDS = dict.fromkeys(rule.keyword for rule in PHRASE_RULES)
# Of which one stands in every sentence that tells something: those that hold another one are found by it.
RULE_KEYWORDS = tuple(
    word
    for word in _ALL_KEYWORDS
    if not any(other in word for other in _ALL_KEYWORDS if other != word)
)

# What stands right before a phrase that we say of ourselves.
_OWN_SUBJECT_RE = re.compile(
    r"(?:^|[^\w'\s]\s*|\b(?:i|we|you|i've|we've|i'd|we'd|have|has|had|is|was|were|been|and|so|then|but|or|also|just|already|finally|ultimately"
    r"|eventually|instead|therefore|thus|hence|deliberately|consciously|initially|now|today|yesterday|jointly|together|explicitly|of course|simply"
    r"|user|team|all|that|here|i'm|we're|am|are|later|first|why|actually|basically|earlier|both|again|afterwards|only) )$"
)
_OTHER_TEAM_RE = re.compile(
    r"\b(?!the |our |your |whole |and |so |we, )[\w.-]{2,40} (?:team|user) $"
)
_CLAUSE_START_RE = re.compile(r"[,;:—(]|\b(?:and|but|so|then|because|since)\b")
_HYPOTHETICAL_RE = re.compile(
    r"\b(?:if|whether|unless|suppose|imagine|assuming|hypothetically|for example|for instance|e\.g|such as|let's say|had (?:we|i|you))\b"
)
_HEDGE_RE = re.compile(
    r"(?:\b(?:not|never|cannot|yet|should|could|might|may|would|can|must|need|needs|wants?|have to|has to|plan|planning|intend|let me|let's|lets|perhaps"
    r"|maybe|probably|until|once|considering|considered|thinking of|option|possibly|nobody|no one|without|shall|why|who|when you|when someone|ever)\b|n't\b)"
)
_REPORTED_RE = re.compile(
    r"\b(?:asked|asks|asking|wonders?|wondering|says|said|claims?|claimed|suggests?|suggested|propose[sd]?|recommends?|recommended|wrote|writes|mentions?"
    r"|mentioned|thinks?|thought|reads|according to|states|unclear|unknown|example)\b[^,;]*$"
)
_UNSETTLED_RE = re.compile(
    r"\b(?:i'd|i would|i (?:suggest|recommend|propose)|you (?:could|can|may|might)|we could|(?:need|needs|have) to (?:decide|choose|agree)|yet|unknown|unclear|undecided"
    r"|not (?:made|decided|clear|sure)|still (?:open|investigating|pending)|pending|depends on|waiting for|maybe|perhaps|probably|possibly|likely|might be|could be"
    r"|up to you|your call|let me know|what was|what else|why it)\b"
)
_FORMERLY_RE = re.compile(r"\b(?:initially|originally|at first|previously)\b")
_BUT_RE = re.compile(r"\b(?:but|however|until|then)\b")
_HEDGE_AFTER_RE = re.compile(
    r"\b(?:or not|not (?:yet )?(?:final|decided)|tentatively|tbd|no idea|(?:unless|until) (?:you|told|i hear|i know|we know)"
    r"|if (?:you (?:agree|prefer|like|want|don't mind|say)|that works|that's ok)|as you can see)\b"
)


def is_hedged(before: str, after: str, *, ours: bool) -> bool:
    """Whether a phrase is asked, wished, denied, supposed or told of others, by what stands before and behind it in its sentence."""
    if after.rstrip(" )*_\"'").endswith("?") or _HEDGE_AFTER_RE.search(after):
        return True
    if _FORMERLY_RE.search(before) and _BUT_RE.search(after):
        return True
    if _HYPOTHETICAL_RE.search(before) or _REPORTED_RE.search(before) or _is_quoted(before):
        return True
    clauses = [found.end() for found in _CLAUSE_START_RE.finditer(before)]
    if _HEDGE_RE.search(before, clauses[-1] if clauses else 0):
        return True
    if not ours:
        return False
    near = before[-60:]
    return bool(before.strip(" \t>*#_-")) and (
        not _OWN_SUBJECT_RE.search(near) or bool(_OTHER_TEAM_RE.search(near))
    )


def is_unsettled(paragraph: str) -> bool:
    """Whether the paragraph below a heading asks, offers or guesses."""
    return "?" in paragraph or bool(_UNSETTLED_RE.search(paragraph, 0, 160))


def _is_quoted(before: str) -> bool:
    return before.count('"') % 2 == 1 or before.count("“") > before.count("”")
