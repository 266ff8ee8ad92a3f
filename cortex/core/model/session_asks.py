"""What a person asked in a session: the subjects of prompts, and the main one of them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from cortex.core.model.speaker import is_person, is_printed
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.tables import read_sections

MAX_TITLE_CHARS, _MAX_TOPICS_CHARS = 80, 30
# A title of fewer words than these gets one, two or three words more; in three texts they recur.
_TOPICS_BELOW_WORDS, _MIN_TOPIC_TEXTS, _MIN_TOPIC_CHARS, _SAME_WORD_CHARS = (8, 6, 4), 3, 3, 5
_MAX_ONE_CLAUSE_CHARS, _MIN_CLAUSE_WORDS = 60, 4  # of a title of several clauses
_CLAUSE_END_RE = lazy_re(r", | [-–—] | \(|[.;] ")
_MAX_READ_CHARS = 4000  # of a prompt
# Sessions are mostly about their first ask, or a plan; who states something asks elsewhere.
_FIRST_FACTOR, _PLAN_FACTOR, _STATEMENT_FACTOR = 1.3, 1.5, 0.6
_MAX_LEFT, _MAX_LEFT_CHARS = 6, 160  # of what a report says is still open
_ITEM_RE = lazy_re(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_REPORT_SENTENCE_RE = lazy_re(r"(?<=[.!?。！？])[\"”')*_]{0,3}\s+")
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
_COMMON_WORDS = frozenset(
    """the and for that this with from have has are was were will would can could should not but you your our what when
    where which why how does did there here into about than then them they its it's also just like make made use used
    using need want add new get all any one see let's please now some more out file files code""".split()  # noqa: SIM905
)


@cache
def _pattern(section: str) -> re.Pattern[str]:
    return re.compile("|".join(read_sections(__file__)[section]), re.IGNORECASE | re.DOTALL)


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
        return [plan_title(text, is_prompt=True) or one_line(text[plan.end() :])]
    text = _FILE_MENTION_RE.sub(lambda found: found[1] or found[2], text)
    lines = "\n".join(line for line in text.split("\n") if not is_printed(line))
    sentences = (one_line(_MARKUP_RE.sub(" ", part)) for part in _SENTENCE_END_RE.split(lines))
    return [line for line in map(_without_courtesy, sentences) if len(_words(line)) >= min_words]


def plan_title(text: str, *, is_prompt: bool = False) -> str:
    """The title of a plan in markdown, or in a prompt that says to carry one out; empty for other
    texts, and for a plan without a heading."""
    plan = _pattern("plan").match(text)
    if is_prompt and not plan:
        return ""
    found = _PLAN_TITLE_RE.search(text, max(0, plan.end() - 4) if plan else 0)
    line = one_line(_MARKUP_RE.sub(" ", found["title"])) if found else ""
    return _PLAN_WORD_RE.sub("", line, count=1)


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


def is_on_the_way(message: str) -> bool:
    """Whether an agent's message ends with what it does next."""
    return bool(_pattern("on the way").fullmatch(message.rstrip()[-300:].replace("’", "'").lower()))


def _without_courtesy(line: str) -> str:
    if _pattern("nothing asked").fullmatch(line.strip(" .!?,").lower()):
        return ""
    courtesy = _pattern("courtesy").match(line)
    return line[courtesy.end() :].strip() if courtesy else line


def _weight(ask: str, counts: Counter[str]) -> float:
    words = set(_words(ask))
    if not words:
        return 0.0
    return sum(math.log1p(counts[word]) for word in words) / math.sqrt(len(words))


def _words(text: str) -> list[str]:
    return [word for word in _WORD_RE.findall(text.lower()) if word not in _COMMON_WORDS]


def is_bookkeeping(line: str) -> bool:
    """Whether a line says nothing of what came of the work: courtesy, tests that pass, a commit's
    hash, the next step."""
    plain = line.strip(" *_#>-•✅✓☑🎉.!").lower().replace("’", "'")
    return not plain or bool(_pattern("bookkeeping").fullmatch(plain)) or is_on_the_way(plain)


def report_lines(text: str, most_words: int) -> list[str]:
    """The lines of a report that tell something, up to so many words, in markdown without headings,
    code, tables, questions and what is no news (`is_bookkeeping`)."""
    lines: list[str] = []
    words, is_code = 0, False
    for line in text.splitlines():
        plain = line.strip()
        if plain.startswith(("```", "~~~")):
            is_code = not is_code
            continue
        if is_code or not plain or plain.startswith(("#", "|", "---", "***", ">")):
            continue
        mark = _ITEM_RE.match(line)
        rest = line[mark.end() :] if mark else line
        said = [
            one
            for one in _REPORT_SENTENCE_RE.split(rest.strip())
            if not (is_bookkeeping(one) or one.rstrip("*_` ").endswith("?"))
        ]
        if not said:
            continue
        kept = " ".join(said)
        count = len(kept.split())
        if lines and words + count > most_words:
            break
        if count > most_words:
            kept = f"{' '.join(kept.split()[:most_words])}…"
        words += count
        lines.append(f"- {kept}" if mark else kept)
    # A line that leads to a list that was left out tells nothing.
    while lines and lines[-1].rstrip("*_ ").endswith(":"):
        lines.pop()
    return _with_breaks(lines)


def _with_breaks(lines: list[str]) -> list[str]:
    """The lines of paragraphs and items, with the empty lines that markdown needs between them."""
    found: list[str] = []
    for line in lines:
        if found and not (line.startswith("- ") and found[-1].startswith("- ")):
            found.append("")
        found.append(line)
    return found


def says_all_done(report: str) -> bool:
    """Whether a report says that all of the plan is done."""
    return bool(_pattern("all done").search(report.lower().replace("’", "'")))


def left_to_do(report: str) -> list[str]:
    """What a report says is still open, in the line that says so or the list below it."""
    found: list[str] = []
    is_list = False
    for line in report.splitlines():
        item, head = (
            _ITEM_RE.match(line),
            _pattern("left to do").match(line.strip(" *_#-•").lower()),
        )
        if head:
            rest = line.strip(" *_#-•")[head.end() :].strip(" *_:")
            is_list = not rest
            found += [shorten(rest, _MAX_LEFT_CHARS)] if rest else []
        elif is_list and item:
            found.append(shorten(line[item.end() :].replace("**", ""), _MAX_LEFT_CHARS))
        elif line.strip():
            is_list = False
    return found[:_MAX_LEFT]
