"""Help: the verbs on one screen, those that people use or all of them; and what one verb takes."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator

from cortex.core.text.strings import close_matches
from cortex.interfaces.cli.arguments import flags_of, options_of
from cortex.interfaces.declare import Declaration, Parameter, choices_of, declaration_of, load_verb
from cortex.operations import ALIASES, VERBS

# What a person needs, on one screen; each has a page of the manual.
PEOPLE = {
    "Keep": ("capture", "save"),
    "Find": ("search", "show", "open", "edit", "tui"),
    "Work": ("actions", "done", "meetings", "brief"),
    "Vault": ("sync", "status", "web", "init"),
}
# The rest, in the order of the reference: what is looked for most comes first.
GROUPS = {
    "For people": tuple(name for names in PEOPLE.values() for name in names),
    "For agents, and who sets them up": (
        "hooks", "mcp", "serve", "import", "session", "transcript", "context", "plan", "recall", "remind", "timeline", "topic", "graph", "backlinks", "entities",
        "reflect", "extract", "distill", "index-code", "run", "agents", "trust", "tick", "costs",
    ),
    "To look after records and the vault": (
        "doctor", "review", "history", "origin", "revise", "new", "mv", "supersede", "archive", "restore", "delete", "erase", "pin", "relate",
        "consolidate", "promote", "project", "export", "lifecycle", "prune", "normalize", "retry", "heal", "watch", "calendar", "changes", "git", "merge",
        "embed", "rebuild", "upgrade", "reset", "schema", "completion",
    ),
}  # fmt: skip
SUMMARY_CHARS = 61  # of a verb, so that it stands in one line of 80 columns
_HOOK_SUMMARY = "Called by an agent's host; cortex hooks install wires it."
_NARROW = 64  # columns, below which headings get a line of their own
_LEAD, _NAME = 7, 12  # columns of a heading beside its verbs, and of a verb
_OPTION = 26  # columns of an option, with the blanks around it


def overview_lines(*, all_verbs: bool = False) -> Iterator[str]:
    """The verbs, each with its first sentence, as wide as the terminal."""
    width = terminal_width()
    is_beside = not all_verbs and width >= _NARROW
    yield from textwrap.wrap("usage: cortex VERB ...   a memory you can read, diff and push", width)
    if is_beside:
        yield ""
    for heading, names in (GROUPS if all_verbs else PEOPLE).items():
        if not is_beside:
            yield from ("", heading)
        for name in names:
            lead = f"{heading if name == names[0] else '':<{_LEAD}}" if is_beside else "  "
            yield from _entry_lines(lead, name, declaration_of(load_verb(name)).summary, width)
            if name == "hooks":
                yield from _entry_lines(lead, "hook", _HOOK_SUMMARY, width)
    more = "" if all_verbs else "; cortex help --all lists the rest"
    yield from ("", *textwrap.wrap(f"cortex VERB --help explains a verb{more}.", width))


def verb_lines(declared: Declaration) -> Iterator[str]:
    """What `cortex VERB --help` prints: all of the verb's docstring, as wide as the terminal."""
    width = terminal_width()
    usage = map(usage_of, declared.arguments)
    yield from _wrap(" ".join(["usage: cortex", declared.name, *usage, "[options]"]), width, 4)
    for paragraph in filter(None, (declared.summary, *declared.description.split("\n\n"))):
        yield from ("", *_wrap(paragraph, width))
    options = [(usage_of(parameter), parameter) for parameter in options_of(declared)]
    arguments = [(parameter.name.upper(), parameter) for parameter in declared.arguments]
    indent = _OPTION if width >= _NARROW else 6
    for heading, section in (("arguments", arguments), ("options", options)):
        if section:
            yield from ("", f"{heading}:")
        for written, parameter in section:
            choices = [] if parameter.is_option else choices_of(parameter.type)
            is_named = all(choice in parameter.meaning for choice in choices)
            meaning = (
                parameter.meaning if is_named else f"{parameter.meaning} ({', '.join(choices)})"
            )
            is_long = len(written) > indent - 4
            if is_long:
                yield f"  {written}"
            start = f"  {'' if is_long else written:<{indent - 4}}  "
            yield from _wrap(meaning, width, indent, start)
    yield from ("", "examples:" if len(declared.examples) > 1 else "example:")
    yield from (f"  {example}" for example in declared.examples)


def usage_of(parameter: Parameter) -> str:
    """A parameter as a usage line has it: `NOTE`, `[TEXT]`, `-n, --number NUMBER`, `--all`."""
    if parameter.is_option:
        flags = ", ".join(flags_of(parameter))
        return flags if parameter.type is bool else f"{flags} {parameter.metavar}"
    return parameter.metavar if parameter.required else f"[{parameter.metavar}]"


def terminal_width() -> int:
    """The columns of the terminal, from 40 to 100; 80 where there is none."""
    return min(max(shutil.get_terminal_size().columns, 40), 100)


def suggest_verb(name: str) -> str:
    """What somebody may have meant who typed a verb that there is not."""
    close = close_matches(name, [*VERBS, *ALIASES, "hook", "help", "version"], 1, 0.7)
    close = close or [verb for verb in VERBS if len(name) > 2 and verb.startswith(name)]
    if not close:
        return "cortex help --all lists the verbs"
    return f"did you mean cortex {' '.join(ALIASES.get(close[0], close))}?"


def _entry_lines(lead: str, name: str, summary: str, width: int) -> Iterator[str]:
    """The name and beside it its summary, wrapped."""
    start = f"{lead}{name:<{_NAME}}"
    yield from _wrap(summary, width, len(start), start)


def _wrap(text: str, width: int, indent: int = 0, start: str = "") -> list[str]:
    """The text in lines, behind `start`; those after the first are indented."""
    return textwrap.wrap(
        text, width, initial_indent=start, subsequent_indent=" " * indent, break_on_hyphens=False
    )
