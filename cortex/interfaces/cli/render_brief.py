"""What `cortex brief` answers, as lines for a person."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from cortex.core.text.shell_command import cortex_command, option_words
from cortex.interfaces.cli.style import BOLD, DIM, OFF, YELLOW, problem_lines
from cortex.interfaces.escape_terminal import escape

_MAX_PROBLEMS, _MAX_OTHER_PROJECTS = 3, 5


def _brief_lines(answer: Any) -> Iterable[str]:
    if answer.print:
        if answer.text:
            yield escape(answer.text, lines=True)
        return
    if answer.into:
        yield from _written_file_lines(answer)
        return
    yield from _header_lines(answer)
    for section in answer.sections:
        yield ""
        yield f"{BOLD}{escape(section.title)}{OFF}"
        for one in section.lines:
            yield _format_item(one)
        if section.more:
            yield f"  {DIM}{section.more:,} {'more' if section.lines else 'in all'}{': ' if section.command else ''}{escape(section.command)}{OFF}"
    if answer.left_out:
        yield ""
        yield f"{answer.left_out:,} of other branches left out: cortex brief --all-branches"
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _written_file_lines(answer: Any) -> Iterable[str]:
    gone = answer.into == "none"
    for path in answer.written:
        yield f"{'taken away' if gone else 'written'}: {escape(path)}"
    if not answer.written:
        yield (
            "nothing of cortex was there"
            if gone
            else "nothing written: the briefing is there as it is now"
        )
    yield from problem_lines(answer.problems, _MAX_PROBLEMS)


def _header_lines(answer: Any) -> Iterable[str]:
    where = f" on {escape(answer.branch)}" if answer.branch else ""
    yield f"{BOLD}{escape(answer.project) or 'no project'}{OFF}{where}"
    if answer.others:
        named = [escape(name) for name in answer.others[:_MAX_OTHER_PROJECTS]]
        yield f"this vault has records of {', '.join(named)}{' and others' if len(answer.others) > len(named) else ''}, and none of"
        yield f"{'this project' if answer.project else 'no project'}: cortex project list"
    elif not answer.text:
        yield f"nothing is kept here yet: {cortex_command('save', *option_words('project', answer.project))} keeps something"
    if not answer.text:
        return
    newest = f", newest of {escape(answer.newest)}" if answer.newest else ""
    doubts = f", {len(answer.doubts)} in doubt" if answer.doubts else ""
    yield f"{DIM}{answer.tokens:,} of {answer.budget:,} tokens{newest}{doubts}; cortex show ID prints a note{OFF}"


def _format_item(one: Any) -> str:
    """A line with its id behind it, and what speaks against it in front, as an agent is given it."""
    text = escape(one.text)
    indent = "    " if text.startswith("  ") else "  "
    text = text.lstrip().removeprefix("- ")
    end = f" [{escape(one.id)}]"
    if text.endswith(end):
        text = f"{text.removesuffix(end)}  {DIM}{escape(one.id)}{OFF}"
    if one.doubt and text.startswith("⚠"):
        text = f"{YELLOW}⚠{OFF}{text[1:]}"
    return indent + text


TEXT: dict[str, Callable[[Any], Iterable[str]]] = {"brief": _brief_lines}
NO: dict[str, Callable[[Any], bool]] = {}
