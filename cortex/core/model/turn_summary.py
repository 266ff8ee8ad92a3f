"""What an agent said and did between two captures, and the text of the event that holds it.

The text is markdown: what was said, the person's words as callouts, then, below a mark that is
escaped in what was said, lists of what was done. `parse_turn_summary` and `utterances` read it back,
so that every clone extracts the same.
"""

from __future__ import annotations

from _collections_abc import Iterable

from cortex.core.text.strings import one_line
from cortex.core.text.value import NamedTuple

ACTIVITY_MARK = "<!-- cortex: what was done -->"
MEMORY_TAG_START = "[memory"  # how a memory tag begins, in lower case
USER, AGENT = "user", "agent"
MESSAGE_BREAK = "* * *"  # a line between two messages of the agent
PROMPT_START, _ANSWER_START = "> [!user]", "> [!answer]"
CALLOUT_STARTS = PROMPT_START, _ANSWER_START  # of the person's words
_HEADINGS = (
    "Asked to remember:", "Files changed:", "Commands:", "Plan:", "Title:", "Commits:",
    "Pull requests:",
)  # fmt: skip
_ESCAPED_MARK = ACTIVITY_MARK.replace("<!--", "<!- -")


class Utterance(NamedTuple):
    """What somebody said in one go."""

    role: str  # USER or AGENT
    text: str
    about: str = ""  # of a person's answer: the question, or what it rejects


PLAN_APPROVAL = Utterance(USER, "approved", "the plan")


class CommandRun(NamedTuple):
    """A command that was run. `outcome` is `ok`, or `failed: ` and a reason."""

    line: str
    outcome: str = "ok"


class PlannedStep(NamedTuple):
    """A step of the agent's plan."""

    text: str
    done: bool


class Commit(NamedTuple):
    """A commit, or a pull request, with what it says."""

    ref: str  # the short hash, or the address of a pull request
    subject: str  # one line
    body: str = ""  # may have lines


class TurnSummary(NamedTuple):
    """What was said and done. Texts but `message` are one line; files are project-relative."""

    message: str = ""  # in its order; the person's words are callouts (`utterances`)
    tagged_lines: tuple[str, ...] = ()  # lines of the user's own that hold a memory tag
    changed_files: tuple[str, ...] = ()
    commands: tuple[CommandRun, ...] = ()
    plan: tuple[PlannedStep, ...] = ()  # the latest
    title: str = ""  # the host's own of the session
    commits: tuple[Commit, ...] = ()
    pull_requests: tuple[Commit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.message.strip() or any(self[1:]))


def may_hold_memory_tag(text: str) -> bool:
    """Whether a memory tag may stand in a text; what is one, `core/extract/memory_tags.py` says."""
    return MEMORY_TAG_START in text.lower()


def compose_text(turn: TurnSummary) -> str:
    """The text of an event. `parse_turn_summary` reads it back, but for blanks around the message
    and backticks in commands."""
    items = (
        turn.tagged_lines,
        turn.changed_files,
        ["`{}` {}".format(run.line.replace("`", "'"), run.outcome) for run in turn.commands],
        [f"[{'x' if step.done else ' '}] {step.text}" for step in turn.plan],
        [turn.title] if turn.title else [],
    )
    listed = [
        *([one_line(line) for line in lines] for lines in items),
        *([_format_commit(one) for one in some] for some in (turn.commits, turn.pull_requests)),
    ]
    done = [
        f"{heading}\n\n" + "\n".join(f"- {line}" for line in lines)
        for heading, lines in zip(_HEADINGS, listed, strict=True)
        if lines
    ]
    said = turn.message.strip().replace(ACTIVITY_MARK, _ESCAPED_MARK)
    return "\n\n".join([*([said] if said else []), *([ACTIVITY_MARK, *done] if done else [])])


def _format_commit(one: Commit) -> str:
    """An item of a list: reference and subject, the body indented below them."""
    lines = (f"  {line}".rstrip() for line in one.body.splitlines())
    return "\n".join([f"{one.ref} {one_line(one.subject)}", *lines])


def _read_commit(item: str) -> Commit:
    head, _, body = item.partition("\n")
    ref, _, subject = head.partition(" ")
    lines = (line.removeprefix("  ") for line in body.split("\n"))
    return Commit(ref, subject, "\n".join(lines).strip())


def parse_turn_summary(text: str) -> TurnSummary:
    """The turn of an event's text. A text without the mark is all message."""
    said, _, done = text.partition(ACTIVITY_MARK)
    items: dict[str, list[str]] = {heading: [] for heading in _HEADINGS}
    current: list[str] = []
    for line in done.splitlines():
        if line in items:
            current = items[line]
        elif line.startswith("- "):
            current.append(line[2:])
        elif current:
            current[-1] += f"\n{line}"  # of a commit
    *lists, commits, requests = items.values()
    tagged_lines, changed, ran, plan, titles = ([one.rstrip() for one in some] for some in lists)
    runs = (item.removeprefix("`").partition("` ") for item in ran)
    commands = tuple(CommandRun(line, outcome) for line, _, outcome in runs)
    steps = tuple(PlannedStep(item[4:], item.startswith("[x]")) for item in plan)
    title = titles[-1] if titles else ""
    made, asked = (tuple(map(_read_commit, some)) for some in (commits, requests))
    return TurnSummary(
        said.strip(), tuple(tagged_lines), tuple(changed), commands, steps, title, made, asked
    )


def format_utterances(said: Iterable[Utterance]) -> str:
    """What was said as markdown, for `utterances`. Open code blocks and `<private>` are closed."""
    parts: list[str] = []
    before = ""
    for one in said:
        if one.role == USER:
            parts.append(_format_callout(one))
        else:
            parts += [MESSAGE_BREAK] if before == AGENT else []
            parts.append(_close_open_blocks(_escape_agent_text(one.text)))
        before = one.role
    return "\n\n".join(parts)


def _format_callout(one: Utterance) -> str:
    """`> [!user] words`, or `> [!answer] what is answered` with the words below."""
    words = one.text.strip().splitlines()
    head = f"{_ANSWER_START} {one_line(one.about)}" if one.about else PROMPT_START
    if not one.about and words:
        head = f"{head} {words.pop(0)}"
    return "\n".join([head, *(f"> {line}".rstrip() for line in words)])


def utterances(message: str) -> list[Utterance]:
    """What was said, in its order, of an event's text above the mark."""
    said: list[Utterance] = []
    lines: list[str] = []
    in_callout = False
    for line in (*message.splitlines(), MESSAGE_BREAK):
        begins = line.startswith(CALLOUT_STARTS)
        if begins or line == MESSAGE_BREAK or (in_callout and not line.startswith(">")):
            if "".join(lines).strip():
                agent = Utterance(AGENT, "\n".join(lines).strip())
                said.append(_read_callout(lines) if in_callout else agent)
            lines, in_callout = [], begins
        if line != MESSAGE_BREAK:
            lines.append(line)
    return said


def _read_callout(lines: list[str]) -> Utterance:
    below = [line[1:].removeprefix(" ") for line in lines[1:]]
    if lines[0].startswith(_ANSWER_START):
        return Utterance(USER, "\n".join(below).strip(), lines[0][len(_ANSWER_START) :].strip())
    return Utterance(USER, "\n".join([lines[0][len(PROMPT_START) :].strip(), *below]).strip())


def append_message(said: str, message: str) -> str:
    """What was said, with one more message of the agent."""
    before = utterances(said)[-1:]
    text = format_utterances([Utterance(AGENT, message)])
    parts = [said, MESSAGE_BREAK, text] if before and before[0].role == AGENT else [said, text]
    return "\n\n".join(part for part in parts if part.strip())


def _escape_agent_text(text: str) -> str:
    """An agent's text in which no line reads as a callout of the person's, or as a break."""
    if "> [!" not in text and MESSAGE_BREAK not in text:
        return text
    lines = ("***" if line == MESSAGE_BREAK else line for line in text.splitlines())
    return "\n".join(
        line.replace("[!", "[! ", 1) if line.startswith(CALLOUT_STARTS) else line for line in lines
    )


def _close_open_blocks(message: str) -> str:
    fence = ""
    for line in message.splitlines() if "```" in message or "~~~" in message else ():
        mark = line.lstrip(" ")
        if not fence and mark.startswith(("```", "~~~")) and len(line) - len(mark) <= 3:
            fence = mark[: len(mark) - len(mark.lstrip(mark[0]))]
        elif fence and mark.startswith(fence) and not mark.strip(f"{fence[0]} \t"):
            fence = ""
    low = message.lower() if "<" in message else ""
    open_ = low.count("<private>") + low.count("<private ") - low.count("</private")
    return message + (f"\n{fence}" if fence else "") + "</private>" * max(0, open_)
