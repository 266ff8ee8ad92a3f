"""The commands that hooks run, as they stand in a host's settings, written and recognised.

There are three forms. For this machine alone: this Python and the script, as words or as a line.
In a file that git shares: a line that runs this Python if it exists, else `cortex` from the path,
else nothing. By hand: `cortex hook EVENT --host HOST`. Only an exact match is recognised as ours:
other commands that run or mention Cortex belong to the user.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence

from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.value import NamedTuple

HOOK_SCRIPT = "interfaces/hook/main.py"  # below the package
_HOOK_SCRIPT_RE = lazy_re(r"(?:[^\0]*/)?cortex/interfaces/hook/main\.py")
# Of Python, but for -c and -m, which would run something else.
_PYTHON_FLAG_RE = lazy_re(r"-[A-Zabd-ln-z]{1,8}")
_PLAIN_COMMAND_RE = lazy_re(r"cortex hook ([A-Za-z-]{1,40}) --host ([a-z]{1,20})")
_EMPTY_ANSWERS = ("", "{}")  # what a host may have to read where there is no Cortex to answer
_COMMAND_KEYS = ("command", "bash", "powershell")  # what a handler of any host may run
_MAX_LINE_CHARS = 10_000  # characters of a line of ours


class HookCommand(NamedTuple):
    """A command of ours."""

    event: str  # as `cortex hook` calls it
    host: str
    interpreter: str = ""  # absolute; empty where it is `cortex` from the path alone
    script: str = ""
    uses_path: bool = False  # takes `cortex` from the path, where the interpreter is not there
    argv: tuple[str, ...] = ()  # what the host starts
    shared_line: str = ""  # the whole, where it is a line for a file that git shares


def build_shared_line(exact: Sequence[str], silence: str) -> str:
    """A line for a file that git shares. Without Cortex it only prints `silence`."""
    python, script = shlex.quote(exact[0]), shlex.quote(exact[-4])
    here = f"if [ -x {python} ] && [ -f {script} ]; then exec {shlex.join(exact)}; fi; "
    return here + _line_from_path(exact[-3], exact[-1], silence)


def parse_handler(handler: Mapping[str, object]) -> HookCommand | None:
    """What a handler runs; None unless every command in it is ours."""
    parsed: HookCommand | None = None
    for key in _COMMAND_KEYS:
        if (command := handler.get(key)) is None:
            continue
        args = handler.get("args") if key == "command" else None
        parsed = _parse_words([command, *args]) if isinstance(args, list) else _parse_line(command)
        if parsed is None:
            return None
        words = (command, *args) if isinstance(args, list) else ("/bin/sh", "-c", command)
        parsed = parsed._replace(argv=words)
    return parsed


def resolve_program(line: HookCommand) -> str:
    """What it runs on this machine: its interpreter, `cortex`, or nothing."""
    if line.interpreter:
        is_here = os.access(line.interpreter, os.X_OK) and os.path.isfile(line.script)
        if is_here or not line.uses_path:
            return line.interpreter
    return "cortex" if line.uses_path and shutil.which("cortex") else ""


def is_usable_shared_line(line: HookCommand, event: str, host: str, silence: str) -> bool:
    """True for a line in a file that git shares that is right for this event and can run here."""
    is_right = line.shared_line.endswith(_line_from_path(event, host, silence))
    return is_right and bool(resolve_program(line))


def _line_from_path(event: str, host: str, silence: str) -> str:
    missing = f"{{ echo '{silence}'; exit 0; }}" if silence else "exit 0"
    return f"command -v cortex >/dev/null 2>&1 || {missing}; exec cortex hook {event} --host {host}"


def _parse_line(command: object) -> HookCommand | None:
    """A line for a shell: one of ours when it is what we would write."""
    if not isinstance(command, str) or len(command) > _MAX_LINE_CHARS:
        return None
    line = command
    guarded_part, is_guarded, _ = command.rpartition("; fi; ")
    if is_guarded:
        line = guarded_part.rpartition("; then exec ")[2]
    elif HOOK_SCRIPT not in command:
        line = command.rpartition("; exec ")[2]
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    parsed = _parse_words(words)
    if parsed is None or shlex.join(words) != line:
        return None
    if line == command:
        return parsed
    for empty_answer in _EMPTY_ANSWERS:
        if command == (
            build_shared_line(words, empty_answer)
            if is_guarded
            else _line_from_path(parsed.event, parsed.host, empty_answer)
        ):
            return parsed._replace(uses_path=True, shared_line=command)
    return None


def _parse_words(words: Sequence[object]) -> HookCommand | None:
    """The words of one command."""
    texts = [word for word in words if isinstance(word, str)]
    if len(texts) != len(words) or len(texts) < 5:
        return None
    plain = _PLAIN_COMMAND_RE.fullmatch(" ".join(("cortex hook", *texts[-3:])))
    if plain is None:
        return None
    if texts[:-3] == ["cortex", "hook"]:
        return HookCommand(plain[1], plain[2], uses_path=True)
    interpreter, *flags, script = texts[:-3]
    if not interpreter or interpreter.startswith("-") or not _HOOK_SCRIPT_RE.fullmatch(script):
        return None
    is_ours = all(map(_PYTHON_FLAG_RE.fullmatch, flags))
    return HookCommand(plain[1], plain[2], interpreter, script) if is_ours else None
