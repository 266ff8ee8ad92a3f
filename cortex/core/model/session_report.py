"""What an agent's report says came of its work: the lines that tell something, and what is left."""

from __future__ import annotations

from cortex.core.model.turn_summary import AGENT, PLAN_APPROVAL, TurnSummary, utterances
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shorten
from cortex.core.text.tables import patterns_of

_MAX_LEFT, _MAX_LEFT_CHARS = 6, 160  # of what a report says is still open
_pattern = patterns_of(__file__, "(?is)")
_ITEM_RE = lazy_re(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_TAG_RE = lazy_re(r"(?im)^[ \t]*\[memory:?[^\]\n]{0,60}\]:?[ \t]*")
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?。！？])[\"”')*_]{0,3}\s+")


def is_on_the_way(message: str) -> bool:
    """Whether an agent's message ends with what it does next."""
    return bool(_pattern("on the way").fullmatch(message.rstrip()[-300:].replace("’", "'").lower()))


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
    for line in _TAG_RE.sub("", text).splitlines():
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
            for one in _SENTENCE_END_RE.split(rest.strip())
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


def is_plan_done(turn: TurnSummary) -> bool:
    """Whether all steps of a turn's plan are ticked, or its report says that all is done; or the person
    approved it in that turn, and an agent that ticks nothing carried it out and tells of nothing left."""
    spoken = utterances(turn.message)
    is_approved = PLAN_APPROVAL in spoken
    after = spoken[spoken.index(PLAN_APPROVAL) :] if is_approved else spoken
    report = next((one.text for one in reversed(after) if one.role == AGENT), "")
    ticked = [step.done for step in turn.plan]
    is_worked_on = is_approved and bool(turn.changed_files) and bool(report) and not any(ticked)
    is_going_on = (
        left_to_do(report) or is_on_the_way(report) or _pattern("unfinished").search(report)
    )
    return all(ticked) or says_all_done(report) or (is_worked_on and not is_going_on)


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
