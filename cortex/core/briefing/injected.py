"""What an agent is given: the answers of the briefing and the reminder, their limits, and the contract.

Hooks import it, so it needs no `typing`."""

from __future__ import annotations

from cortex.core.text.context_markers import CONTRACT as _KIND
from cortex.core.text.value import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cortex.core.briefing.compose import BriefingSection
    from cortex.core.model.problem import Problem

DEFAULT_BUDGET_TOKENS, SURFACE_TOKENS = 1500, 500  # tokens; seed 003: 300 to 500
SURFACE_FILE = ".claude/cortex-memory.local.md"  # of a project, as seed 003 has it
MAX_INJECTED_CHARS = 9_500  # of a briefing; hosts cut at 10,000, and the contract comes below it
# A briefing of a budget up to this is cut to that however it is asked for, so that all share one kept
# text. Most have so many tokens in less.
ALWAYS_CUT_TOKENS = 2_000
MAX_REMINDER_CHARS = 2_000  # of a reminder with its frame, whatever the number of lines
# How to mark what later sessions should know: what every session is asked for at its start.
# At most 60 tokens with its frame. The example is a tag that says nothing, on a line of its own, so
# that whoever quotes it makes no record; in code an agent would write its own tags as code.
CONTRACT = f"""<cortex-{_KIND}>
Tell later sessions what, why and where, on one line that is clear alone:

[MEMORY: decision] …

Or rejected, learned, gotcha, pattern, preference. To correct a note, name its id.
</cortex-{_KIND}>"""


class BriefResult(NamedTuple):
    """The injected text with its frame, and its parts; all empty in a vault without notes.

    One from the cache has its text alone, without `sections` and what follows from them.
    """

    text: str = ""
    project: str = ""
    branch: str = ""
    tokens: int = 0  # of the text, counted rather too high
    budget: int = DEFAULT_BUDGET_TOKENS
    cached: bool = False
    sections: tuple[BriefingSection, ...] = ()
    doubts: tuple[tuple[str, str], ...] = ()  # id, and what reality says against that note
    left_out: int = 0  # records of other branches
    newest: str = ""  # the day of the newest note that counts
    written: tuple[str, ...] = ()  # files that `into` wrote or took away
    problems: tuple[Problem, ...] = ()
    others: tuple[str, ...] = ()  # projects that have records, where this one has none
    print: bool = False  # whether the text alone is to be shown
    into: str = ""  # the way that was asked for
    contract: str = ""  # what stands below `text` where that is printed or written into files


class ReminderLine(NamedTuple):
    """A record that bears on the prompt, or a turn of a session that does. `text` is one line, the
    title not in it."""

    id: str
    title: str
    text: str
    type: str
    date: str
    doubt: str = ""  # what the project's files or git say against it
    path: str = ""  # relative to its vault
    file: str = ""  # absolute path


class Reminder(NamedTuple):
    """What bears on a prompt, and the same as the text that an agent is given; both empty when
    nothing does."""

    hits: tuple[ReminderLine, ...]
    total: int  # records and turns that bear on it
    text: str
    problems: tuple[Problem, ...]
