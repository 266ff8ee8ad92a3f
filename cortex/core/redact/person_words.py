"""What is kept of a person's prompt: nothing, a short part of it, or all; always without secrets."""

from __future__ import annotations

from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import one_line, shorten
from cortex.core.text.tables import patterns_of

NONE, SHORT, FULL = "none", "short", "full"
PROMPT_POLICIES = (NONE, SHORT, FULL)
MAX_REPLY_CHARS = 600  # of an answer or a refusal
_WHOLE_CHARS = 300  # of a prompt that is short as it is
_MAX_ASK_CHARS, _MAX_SENTENCE_CHARS, _MAX_CHARS = 200, 300, 900
_PASTE_CHARS = 1500  # from which only the ends of a prompt are taken for a person's own words
_END_LINES = 6  # at either end of a long prompt, among which its ask is looked for
_MAX_READ_CHARS = 200_000
_WHY = "**Why.** "
_FENCE_RE = lazy_re(r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)")
SPEAKER_RE = lazy_re(  # how a line of a pasted talk begins
    r"(?i:\W{0,4}(?:user|human|assistant|claude|codex|agent|ai)\W{0,3}:|[⏺❯●])"
)
_SUBHEADING_RE = lazy_re(r"(?im)^#{3,5} +(?:(?:step|phase|task) )?(?:\d+[.:)]? *)?(.+)$")
_pattern = patterns_of(__file__, "(?i)")
_SENTENCE_END_RE = lazy_re(r"(?<=[.!?])\s+|\n+")


def keep_of_prompt(text: str, policy: str) -> str:
    """What `policy` keeps of a prompt. Of `short` the sentence that asks and those that decide,
    prefer or correct, a line each; what is pasted is left out."""
    if policy == NONE:
        return ""
    if len(text) > _MAX_READ_CHARS:
        half = _MAX_READ_CHARS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    clean = sanitize_text(text).strip()
    if policy == FULL:
        return clean
    whole = one_line(clean)
    if len(whole) <= _WHOLE_CHARS:
        return sanitize_text(whole)
    if plan := _pattern("plan").match(clean):
        title = sanitize_text(one_line(f"{plan[1]} {plan[2]}"))[:_WHOLE_CHARS]
        return f"{title}\n{shorten_plan(clean[plan.end() :])}".strip()
    return sanitize_text("\n".join(_choose_sentences(_unpasted_lines(clean))))


def keep_of_reply(text: str, policy: str) -> str:
    """What `policy` keeps of an answer, or of what somebody says to a call that they refuse."""
    if policy == NONE:
        return ""
    clean = sanitize_text(text).strip()
    return clean if policy == FULL else sanitize_text(one_line(clean))[:MAX_REPLY_CHARS]


def shorten_plan(text: str) -> str:
    """What is to be done by a plan, and why: the lines below such headings, else its first ones. The
    problem that it solves is told as the reason, since it is no problem afterwards."""
    if f"\n{_WHY}" in f"\n{text}":
        return text.strip()
    answer, purpose = (_pattern(name).search(text) for name in ("answer", "purpose"))
    if not (answer or purpose):
        return _lines_from(text, 0, _MAX_CHARS)
    room = _MAX_CHARS // 2 if answer and purpose else _MAX_CHARS
    parts = [_lines_from(text, answer.end(), room)] if answer else []
    if parts == [""] and answer:  # steps stand right below it, each with a heading of its own
        steps = _SUBHEADING_RE.findall(text, answer.end(), answer.end() + 8 * _MAX_CHARS)
        parts = [shorten("; ".join(map(one_line, steps)), room)]
    if purpose and (why := _lines_from(text, purpose.end(), room)):
        parts.append(f"{_WHY}{why}")
    return "\n\n".join(filter(None, parts))


def _lines_from(text: str, start: int, most: int) -> str:
    """The lines of a text from a place to the next heading, block or table, `most` characters."""
    lines: list[str] = []
    for line in text[start : start + 4 * most].strip().splitlines():
        if line.lstrip().startswith(("#", "```", "---", "|")):
            break
        lines.append(line.rstrip())
    while lines and (not lines[-1] or lines[-1].rstrip("* ").endswith(":")):
        lines.pop()  # it leads to what is left out
    said = "\n".join(lines)
    if len(said) > most:
        ends = [one.start() for one in _SENTENCE_END_RE.finditer(said, 0, most)]
        said = said[: ends[-1] if ends else most]
    return said.strip()


def unquoted_lines(text: str) -> list[str]:
    """The lines of a prompt before a pasted talk, without quotes and blocks of code."""
    lines = _FENCE_RE.sub("", text).splitlines()
    end = next((n for n, line in enumerate(lines) if SPEAKER_RE.match(line.lstrip())), len(lines))
    return [line for line in lines[:end] if not line.lstrip().startswith(">")]


def at_ends(lines: list[str], chars: int, count: int) -> list[str]:
    """Of the lines of a prompt of so many characters `count` at either end, if it is a long one:
    its middle is mostly pasted."""
    is_long = chars > _PASTE_CHARS and len(lines) > 2 * count
    return lines[:count] + lines[-count:] if is_long else lines


def _unpasted_lines(clean: str) -> list[str]:
    """The lines of a prompt that no program has written; at least one."""
    pasted = _pattern("pasted")
    lines = [line for line in _FENCE_RE.sub("", clean).splitlines() if line.strip()]
    lines = at_ends(lines, len(clean), _END_LINES)
    return [line for line in lines if not pasted.match(line)] or lines[:1]


def _choose_sentences(lines: list[str]) -> list[str]:
    sentences = [
        sentence
        for line in lines
        for part in _SENTENCE_END_RE.split(line)
        if (sentence := one_line(part).strip("-*• "))
    ]
    questions = [sentence for sentence in sentences if sentence.endswith("?")]
    ask = (questions or sentences or [""])[0]
    chosen, chars = [], 0
    for sentence in dict.fromkeys(sentences):
        limit = _MAX_ASK_CHARS if sentence == ask else _MAX_SENTENCE_CHARS
        if sentence != ask and not _pattern("deciding").search(sentence):
            continue
        left = _MAX_CHARS if sentence == ask else _MAX_CHARS - chars
        if min(limit, left) > 0:
            chosen.append(shorten(sentence, min(limit, left)))
            chars += len(chosen[-1])
    return chosen
