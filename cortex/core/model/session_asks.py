"""What a person asked in a session: the subjects of prompts, the main one of them, and plans."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from cortex.core.model.speaker import is_person, is_printed
from cortex.core.model.turn_summary import AGENT, PLAN_APPROVAL, USER, Utterance
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.tables import patterns_of, read_sections
from cortex.core.text.value import NamedTuple

MAX_TITLE_CHARS, _MAX_TOPICS_CHARS = 80, 30
# A title of fewer words than these gets one, two or three words more; in three texts they recur.
_TOPICS_BELOW_WORDS, _MIN_TOPIC_TEXTS, _MIN_TOPIC_CHARS, _SAME_WORD_CHARS = (8, 6, 4), 3, 3, 5
_MAX_ONE_CLAUSE_CHARS, _MIN_CLAUSE_WORDS = 60, 4  # of a title of several clauses
_CLAUSE_END_RE = lazy_re(r", | [-–—] | \(|[.;] ")
_MAX_READ_CHARS = 4000  # of a prompt
# Sessions are mostly about their first ask, or a plan; who states something asks elsewhere.
_FIRST_FACTOR, _PLAN_FACTOR, _STATEMENT_FACTOR = 1.3, 1.5, 0.6
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?])\s+|(?<!\s)\s+-{2,}\s+|\n")
_MARKUP_RE = lazy_re(
    r"^[A-Z0-9][):.] |<[^<>]{1,80}>|https?://\S+|\[(?:Image|Pasted text)[^\]]*\]|\*\*|`{3}\w*|^[#>\s]+"
)
# A file that a person mentions, or names by its whole path: what tells is its name.
_FILE_MENTION_RE = lazy_re(
    r"(?<!\w)@[^\s@]{0,300}/([^\s/:@]{1,99}\.\w{1,9})[^\s@]{0,20}|(?<![\w:/.])(?:/[\w.~@+-]{1,100}){1,20}/([\w.-]{1,100})"
)
_WORD_RE = lazy_re(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\d_][\w-]{2,}")  # of CJK each sign
_PLAN_TITLE_RE = lazy_re(r"#{1,3} +(?P<title>.+?)(?=(?<! ) +#{1,6} |\n|$)")
_PLAN_WORD_RE = lazy_re(r"(?:implementation )?plan\b\s*[:—–-]?\s*", re.IGNORECASE)
_pattern = patterns_of(__file__, "(?is)")
_COMMON_WORDS = frozenset(
    """the and for that this with from have has are was were will would can could should not but you your our what when
    where which why how does did there here into about than then them they its it's also just like make made use used
    using need want add new get all any one see let's please now some more out file files code""".split()  # noqa: SIM905
)


@cache
def _any_work() -> frozenset[str]:
    return frozenset(" ".join(read_sections(__file__)["of any work"]).split())


def subjects_of(prompt: str, min_words: int = 2) -> list[str]:
    """What a prompt asks for: its sentences that name something with so many words, without
    courtesies; none when it names nothing. Of a plan that was pasted its title."""
    text = prompt.strip()[:_MAX_READ_CHARS]
    if not is_person(text):
        return []
    if plan := _pattern("plan").match(text):
        return [_plan_title(text, is_prompt=True) or one_line(text[plan.end() :])]
    text = _FILE_MENTION_RE.sub(lambda found: found[1] or found[2], text)
    lines = "\n".join(line for line in text.split("\n") if not is_printed(line))
    sentences = (one_line(_MARKUP_RE.sub(" ", part)) for part in _SENTENCE_END_RE.split(lines))
    return [line for line in map(_without_courtesy, sentences) if len(_words(line)) >= min_words]


class Plan(NamedTuple):
    """A plan that a person approved, or gave in a prompt."""

    title: str
    text: str  # below its title
    is_approved: bool


def find_plans(said: Sequence[Utterance]) -> Iterator[Plan]:
    """The plans in what was said, if they have a heading."""
    before = Utterance("", "")
    for one in said:
        is_approved = one == PLAN_APPROVAL and before.role == AGENT
        text = before.text if is_approved else one.text
        is_prompt = one.role == USER and not one.about
        if (is_approved or is_prompt) and (title := _plan_title(text, is_prompt=is_prompt)):
            yield Plan(title, text.partition(title)[2].removeprefix(" Plan"), is_approved)
        before = one


def _plan_title(text: str, *, is_prompt: bool = False) -> str:
    """The title of a plan in markdown, or in a prompt that says to carry one out; empty for other
    texts, and for a plan without a heading."""
    plan = _pattern("plan").match(text)
    if is_prompt and not plan:
        return ""
    found = _PLAN_TITLE_RE.search(text, max(0, plan.end() - 4) if plan else 0)
    line = one_line(_MARKUP_RE.sub(" ", found["title"])) if found else ""
    return _PLAN_WORD_RE.sub("", line, count=1).strip()


def is_own_prompt(prompt: str) -> bool:
    """Whether a prompt is a person's own words: no pasted plan, and not what a host says."""
    text = prompt.lstrip()[:_MAX_READ_CHARS]
    return is_person(text) and not _pattern("plan").match(text)


def choose_title(prompts: Sequence[str], said: Iterable[str]) -> str:
    """What the prompts ask for, as a title: the sentence whose words recur most in what was said
    and done. What was asked first weighs more, and so does a plan. Empty when nothing was asked."""
    texts = list(said)
    counts = Counter(word for text in texts for word in set(_words(text)))
    best, most, is_first = "", 0.0, True
    for prompt in prompts:
        subjects = subjects_of(prompt)
        factor = _FIRST_FACTOR if is_first else 1.0
        if _pattern("plan").match(prompt.strip()):
            factor *= _PLAN_FACTOR
        for subject in subjects:
            weight = factor * _weight(subject[:MAX_TITLE_CHARS], counts)
            weight *= _STATEMENT_FACTOR if _pattern("statement").match(subject) else 1.0
            if weight > most or not best:
                best, most = subject, weight
        is_first = is_first and not subjects
    return with_topics(as_title(_first_clauses(best)), [*prompts, *texts])


def with_topics(title: str, texts: Sequence[str]) -> str:
    """A title; behind a short one up to three words of the session that it lacks."""
    topics = _topic_words(title, texts) if title else []
    return f"{title} ({', '.join(topics)})" if topics else title


def _topic_words(title: str, texts: Sequence[str]) -> list[str]:
    """Words of the session that a short title lacks: those that most texts hold, apart from what is
    said of any work; as they are written first."""
    known = {word[:_SAME_WORD_CHARS] for word in _words(title)}
    left = _MAX_TOPICS_CHARS
    wanted = sum(len(known) < most for most in _TOPICS_BELOW_WORDS)
    counts = Counter(word for text in texts for word in set(_words(text)))
    found: list[str] = []
    for word, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        if len(found) == wanted or count < _MIN_TOPIC_TEXTS:
            break
        is_new = len(word) >= _MIN_TOPIC_CHARS and word[:_SAME_WORD_CHARS] not in known
        if is_new and word not in _any_work() and len(word) + 2 <= left:
            # A word of `x1word` stands nowhere by itself.
            written = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
            as_written = next((one[0] for text in texts if (one := written.search(text))), "")
            if not as_written:
                continue
            found.append(as_written)
            known.add(word[:_SAME_WORD_CHARS])
            left -= len(word) + 2
    return found


def _first_clauses(line: str) -> str:
    """The line; a long one is cut at the first end of a clause with `_MIN_CLAUSE_WORDS` words
    before it."""
    if len(line) > _MAX_ONE_CLAUSE_CHARS:
        for end in _CLAUSE_END_RE.finditer(line):
            if len(_words(line[: end.start()])) >= _MIN_CLAUSE_WORDS:
                return line[: end.start()]
    return line


def as_title(text: str) -> str:
    """A text as a title: one line, the first letter large, no stop."""
    line = shorten(one_line(text).strip(" .:;,-*#`\"'?!"), MAX_TITLE_CHARS)
    line = line if line.count("`") % 2 == 0 else line.replace("`", "")
    return line[:1].upper() + line[1:]


def _without_courtesy(line: str) -> str:
    if _pattern("nothing asked").fullmatch(line.strip(" .!?,").lower()):
        return ""
    courtesy = _pattern("courtesy").match(line)
    return line[courtesy.end() :].strip() if courtesy else line


def _weight(ask: str, counts: Counter[str]) -> float:
    words = set(_words(ask))
    if not words:
        return 0.0
    # fsum: the order of a set must not tell.
    return math.fsum(math.log1p(counts[word]) for word in words) / math.sqrt(len(words))


def _words(text: str) -> list[str]:
    return [word for word in _WORD_RE.findall(text.lower()) if word not in _COMMON_WORDS]
