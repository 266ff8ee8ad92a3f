"""What a note says in an injected briefing: on one line, and as data. Standard library alone; no YAML is read for it.

The text of a note may come from a stranger, or from a model. Whatever stands in it, here it can neither begin a line nor
end the frame or the block that a briefing stands in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from cortex.core.text.agent_escape import neutral
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.value import NamedTuple

# Characters of a full text: what holds, which the title mostly says, and why; a text that does not say which; what is told of a
# session, and of a step.
WHAT, WHY, BOTH, SAID = 80, 120, 190, 150
TITLE = 140  # of a title, which elsewhere has at most 120
_MOST_LINES = 400  # of a body that are looked at: what a note says first is what it is about

_FRONTMATTER = re.compile(
    r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_LAYER = re.compile(r"^[ \t]+layer:[ \t]*[\"']?([a-z]{1,20})[\"']?[ \t]*\r?$", re.MULTILINE)
# As in the interfaces: what would act on a terminal, hide in a text, or turn its direction.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
_LINK = re.compile(r"!?\[\[(?:[^\[\]|\n]{1,400}\|)?([^\[\]|\n]{1,400})\]\]")
_ORNAMENT = re.compile(r"^[#>\s]+|^(?:[-*+]|\d{1,3}[.)])\s+|\*\*|__|`(?=`)")
_LABEL = re.compile(
    r"(?:[-*+]\s{1,4})?(?:\*\*|__|#{1,6}\s{1,4})?(what|why|because|reason|rationale)(?:[.:]|\*\*|__)[.:*_]{0,4}\s{0,4}(.*)",
    re.IGNORECASE,
)
_OTHER_LABEL = re.compile(
    r"(?:\*\*|__|#{1,6}\s{1,4})[^*_#\n]{1,60}?(?:[.:](?:\*\*|__)?|(?:\*\*|__)[.:]?)\s{1,4}"
)
_HEADING = re.compile(r" {0,3}#{1,6}\s")
_LABELS = ("what", "why", "because", "reason", "rationale")  # of `_LABEL`
# What can stand behind it: a mark, or the end of the line, since a heading gets its colon later.
_BEHIND_LABEL = re.compile(
    r"[.:*_#]|[^\S\n\r\v\f\x1c-\x1e\x85\u2028\u2029]*(?:[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|\Z)"
)
_LEAD = re.compile(r"[A-Za-z]{2,20}:\s+")
_SIGNS = "`'\"*_.,;:!?…()[]<>“”‘’„«»–—-"
_FROM = re.compile(r"From \[\[[^\[\]\n]{1,400}\]\]\.?")
_TASK = re.compile(r"[ \t>]{0,40}(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*)")
_FENCE = re.compile(r"[ \t>]{0,12}(```|~~~)")
_TURN = re.compile(r"- \d{4}-\d{2}-\d{2} \d{2}:\d{2} (\w{1,40}): (.*)")
_MARK = re.compile(r"<!-- summary ")
_JOINT, _CHANGED, _FAILED = (
    " · ",
    "changed ",
    " failed",
)  # as `core/model/session.py` writes the line of an event
# What begins with one of these became a record. A pattern would take longer to compile than all sessions to read.
_MARKERS = frozenset([
    "decision:", "decisions:", "decided:", "rejected:", "rejection:", "learned:", "learning:", "learnings:", "lesson:", "til:", "gotcha:", "pattern:",
    "convention:", "fix:", "fixed:", "bug:", "preference:", "question:", "todo:", "note:", "discovered:", "[memory", "[memory:",
])  # fmt: skip
_ASKED = (
    "prompt",
    "session_start",
    "session_end",
)  # lines that say what was wanted, or only that it ended
_UNSAID = "(no "  # how the events of a start and an end begin that said nothing


class Parts(NamedTuple):
    """A note's file taken apart: the layer that found it, empty for none, and its body."""

    layer: str
    body: str


class Step(NamedTuple):
    """One step of a plan, as a ticked or open task says it."""

    text: str
    done: bool


def parts_of(text: str) -> Parts:
    """The parts of a note's text."""
    found = _FRONTMATTER.match(text)
    layer = _LAYER.search(found[1]) if found else None
    return Parts(layer[1] if layer else "", text[found.end() :] if found else text)


def harmless(text: str, limit: int = 1000) -> str:
    """A note's text as data on one line: no control or invisible character, nothing that reads like a frame of ours or of a host, and no
    comment that could end a block. What is changed for that makes it longer than the limit."""
    line = shorten(_UNSEEN.sub("", text[: limit * 4]), limit)
    if "<" in line or "-->" in line:
        line = line.replace("<!--", "<!- -").replace("-->", "-- >")
    return neutral(line)


def told(title: str, body: str) -> str:
    """What a body says beyond its title: what holds and why where it says so under these names, else its first paragraphs."""
    labelled: dict[str, str] = {}
    plain: list[str] = []
    others: list[str] = []
    room = 4 * (WHAT + WHY)  # characters that `harmless` looks at
    last = _last_label(body)
    # What stands behind the last label counts only until there is enough of it, and then no more is read.
    for line, paragraph in _paragraphs(body):
        if len(labelled) == 2 or (line > last and (others or room <= 0)):
            break
        found = _LABEL.match(paragraph)
        if found:
            if said := _beyond(title, _plain(found[2])):
                labelled.setdefault("what" if found[1].lower() == "what" else "why", said)
        elif _is_empty(paragraph):
            continue  # a part of a template that nobody filled
        elif other := _OTHER_LABEL.match(paragraph):
            others.append(_plain(paragraph[other.end() :]))
        elif (
            not labelled
            and not others
            and room > 0
            and not _FROM.fullmatch(paragraph)
            and (part := _beyond(title, _plain(paragraph)))
        ):
            plain.append(part)
            room -= len(part)
    rest = " ".join(plain) or ("" if labelled else next(iter(others), ""))
    what, why = labelled.get("what", "") or rest, labelled.get("why", "")
    if not why:
        return harmless(what, BOTH)
    return " ".join(part for part in (harmless(what, WHAT), f"Why: {harmless(why, WHY)}") if part)


def _last_label(body: str) -> int:
    """The number of the last line in which one of our labels can stand, rather too high; 0 for none. Searched by words: the pattern of
    the labels, tried at each character of a long note, takes longer than all that is saved by knowing."""
    folded, last = body.casefold(), -1
    for word in _LABELS:
        at = folded.rfind(word)
        while at > last and not _BEHIND_LABEL.match(folded, at + len(word)):
            at = folded.rfind(word, 0, at)
        last = max(last, at)
    return len(folded[: last + 1].splitlines())


def steps(body: str) -> list[Step]:
    """The tasks of a plan, in their order; what stands in fences is an example."""
    found, fenced = [], False
    for line in body.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (task := _TASK.match(line)):
            found.append(Step(harmless(_plain(task[2]), SAID), task[1] != " "))
    return found


def session_told(body: str, titles: Collection[str] = ()) -> str:
    """What a session's note says of it: its summary, else what was said last, and what was done. Sentences that became records of
    their own, by the word that they begin with or because they are one of `titles` (as `folded`), are told there and not again."""
    summary: list[str] = []
    changed: dict[str, None] = {}
    failed: dict[str, None] = {}
    last = asked = section = ""
    for line in body.splitlines():
        if line.startswith("## "):
            section = line.strip()
        elif section == "## Summary" and not _MARK.match(line) and not line.startswith("#"):
            summary.append(line)
        elif section == "## Events" and (turn := _TURN.match(line)):
            said = turn[2].rpartition(" [[")[0] or turn[2]
            if said.startswith(_UNSAID):
                continue
            if turn[1] in _ASKED:
                asked = said
                continue
            parts = said.split(_JOINT)
            for part in parts:
                if part.startswith(_CHANGED):
                    changed.update(dict.fromkeys(_names(part.removeprefix(_CHANGED))))
                elif part.endswith(_FAILED):
                    failed[part] = None
            last = (
                _untold(
                    _JOINT.join(
                        part
                        for part in parts
                        if not part.startswith(_CHANGED) and not part.endswith(_FAILED)
                    ),
                    titles,
                )
                or last
            )
    wrote = _untold(" · ".join(_plain(one) for _, one in _paragraphs("\n".join(summary))), titles)
    done = [f"{_CHANGED}{', '.join(changed)}"] if changed else []
    rest = shorten(_JOINT.join((*done, *failed)), SAID)
    text = harmless(wrote or _plain(last) or ("" if rest else _plain(asked)), SAID)
    return harmless(_JOINT.join(part for part in (text, rest) if part), 2 * SAID)


def folded(text: str) -> str:
    """A title or sentence as it is compared: its words without marks, case or leading word."""
    return " ".join(bare for word in text[_lead(text) :].split() if (bare := _bare(word)))


def _names(text: str) -> list[str]:
    names, _, more = text.rpartition(" and ")
    return (names if more.endswith(" more") else text).split(", ")


def _untold(text: str, titles: Collection[str]) -> str:
    """The sentences that no record tells."""
    said: list[list[str]] = [[]]
    for word in text.split():
        if said[-1] and (said[-1][-1][-1] in ".!?…" or word.lower() in _MARKERS):
            said.append([])
        said[-1].append(word)
    told = (" ".join(words) for words in said if words and words[0].lower() not in _MARKERS)
    return " ".join(one for one in told if folded(one) not in titles)


def _is_empty(paragraph: str) -> bool:
    """Whether it is a heading or label without a text, as a template has it that nobody filled."""
    mark = paragraph[:2]
    if mark in ("**", "__"):
        return paragraph.rstrip(".:").endswith(mark) and paragraph.count(mark) == 2
    return paragraph.startswith("#") and paragraph.endswith(":")


def _paragraphs(body: str) -> Iterator[tuple[int, str]]:
    """The paragraphs of a text on one line each, with the numbers of their first lines, what is fenced left out; a heading belongs to
    the text below it."""
    held: list[str] = []
    first = 0
    fenced = False
    for number, line in enumerate(body.splitlines()[:_MOST_LINES], 1):
        if _FENCE.match(line):
            fenced = not fenced
        elif fenced:
            continue
        elif line.strip():
            if held and (_LABEL.match(line) or _OTHER_LABEL.match(line) or _HEADING.match(line)):
                yield first, one_line(" ".join(held))
                held = []
            first = first if held else number
            held.append(f"{line.rstrip().rstrip('.:#')}:" if _HEADING.match(line) else line)
        elif held and not (len(held) == 1 and _HEADING.match(held[0])):
            yield first, one_line(" ".join(held))
            held = []
    if held:
        yield first, one_line(" ".join(held))


def _plain(text: str) -> str:
    return one_line(_ORNAMENT.sub("", _LINK.sub(r"\1", text)))


def _beyond(title: str, text: str) -> str:
    """A paragraph without the title that it repeats, whatever marks, case or leading word either has; nothing when the title says
    all of it."""
    cut = title.endswith("…")
    words = text[_lead(text) :].split()
    opening = [bare for word in title[_lead(title) :].rstrip("…").split() if (bare := _bare(word))]
    at = 0
    for number, wanted in enumerate(opening):
        while at < len(words) and not _bare(words[at]):
            at += 1
        if at == len(words):
            return ""
        said = _bare(words[at])
        if said != wanted:
            within = cut and number == len(opening) - 1 and said.startswith(wanted)
            if not within:
                return text
            break
        at += 1
    if not opening:
        return text
    rest = " ".join(words[at:]).lstrip(" .:,;–—")
    return f"…{rest}" if rest and cut else rest


def _lead(text: str) -> int:
    """Where a text begins behind a leading word such as `Decision:`."""
    found = _LEAD.match(text)
    return found.end() if found else 0


def _bare(word: str) -> str:
    return word.strip(_SIGNS).casefold()
