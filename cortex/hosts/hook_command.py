"""What a hook runs, as it stands in a host's settings: written in three forms, and recognised in these alone.

Exactly ours, so that a command of somebody else which runs or mentions Cortex among other things stays theirs. On this machine
alone: this Python and the program, as words or as a line. In a file that git shares: a line that takes this Python where it is,
else `cortex` from the path, else does nothing. By hand: `cortex hook EVENT --host HOST`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence

from cortex.core.text.value import NamedTuple

SCRIPT = "interfaces/hook/main.py"  # below the package
_PROGRAM = re.compile(r"(?:[^\0]*/)?cortex/interfaces/hook/main\.py")
_FLAG = re.compile(
    r"-[A-Zabd-ln-z]{1,8}"
)  # of Python, but for -c and -m, which would run something else
_PLAIN = re.compile(r"cortex hook ([A-Za-z-]{1,40}) --host ([a-z]{1,20})")
_SILENCES = ("", "{}")  # what a host may have to read where there is no Cortex to answer
_COMMANDS = ("command", "bash", "powershell")  # what a handler of any host may run
_LONGEST = 10_000  # characters of a line of ours


class Line(NamedTuple):
    """A command of ours."""

    event: str  # as `cortex hook` calls it
    host: str
    interpreter: str = ""  # absolute; empty where it is `cortex` from the path alone
    script: str = ""
    path: bool = (
        False  # whether it takes `cortex` from the path, where the interpreter is not there
    )
    text: str = ""  # the whole, where it is a line for a file that git shares


def words(interpreter: str, script: str, event: str, host: str) -> list[str]:
    """What runs on this machine."""
    return [interpreter, "-I", "-S", script, event, "--host", host]


def shared(exact: Sequence[str], silence: str) -> str:
    """A line for a file that git shares. Where there is no Cortex it does nothing, and says only what the host must read."""
    here = f"if [ -x {shlex.quote(exact[0])} ] && [ -f {shlex.quote(exact[-4])} ]; then exec {shlex.join(exact)}; fi; "
    return here + _from_path(exact[-3], exact[-1], silence)


def read(handler: Mapping[str, object]) -> Line | None:
    """What a handler runs; None unless every command in it is ours."""
    found: Line | None = None
    for key in _COMMANDS:
        if (command := handler.get(key)) is None:
            continue
        args = handler.get("args") if key == "command" else None
        found = _exact([command, *args]) if isinstance(args, list) else _line(command)
        if found is None:
            return None
    return found


def way(line: Line) -> str:
    """What it runs on this machine: its interpreter, `cortex`, or nothing."""
    if line.interpreter and (
        not line.path or (os.access(line.interpreter, os.X_OK) and os.path.isfile(line.script))
    ):
        return line.interpreter
    import shutil  # noqa: PLC0415  only where a hook is looked up on the path

    return "cortex" if line.path and shutil.which("cortex") else ""


def runs_as_shared(line: Line, event: str, host: str, silence: str) -> bool:
    """Whether it is a line for a file that git shares, says what this event should, and can run here."""
    return line.text.endswith(_from_path(event, host, silence)) and bool(way(line))


def _from_path(event: str, host: str, silence: str) -> str:
    missing = f"{{ echo '{silence}'; exit 0; }}" if silence else "exit 0"
    return f"command -v cortex >/dev/null 2>&1 || {missing}; exec cortex hook {event} --host {host}"


def _line(command: object) -> Line | None:
    """A line for a shell: one of ours when it is what we would write."""
    if not isinstance(command, str) or len(command) > _LONGEST:
        return None
    if plain := _PLAIN.fullmatch(command):
        return Line(plain[1], plain[2], path=True)
    if SCRIPT not in command:
        plain = _PLAIN.fullmatch(command.rpartition("; exec ")[2])
        anywhere = plain and command in [
            _from_path(plain[1], plain[2], silence) for silence in _SILENCES
        ]
        return Line(plain[1], plain[2], path=True, text=command) if plain and anywhere else None
    before, guarded, _ = command.rpartition("; fi; ")
    said = _joined(before.rpartition("; then exec ")[2] if guarded else command)
    if not said or not guarded:
        return _exact(said)
    found = _exact(said)
    return (
        found._replace(path=True, text=command)
        if found and command in [shared(said, silence) for silence in _SILENCES]
        else None
    )


def _joined(command: str) -> list[str]:
    """Words as we quote them; none where anything else is in them that a shell understands."""
    try:
        said = shlex.split(command)
    except ValueError:
        return []
    return said if shlex.join(said) == command else []


def _exact(said: Sequence[object]) -> Line | None:
    """The words of one command."""
    texts = [one for one in said if isinstance(one, str)]
    if (
        len(texts) != len(said)
        or len(texts) < 5
        or not (plain := _PLAIN.fullmatch(f"cortex hook {texts[-3]} {texts[-2]} {texts[-1]}"))
    ):
        return None
    if texts[:-3] == ["cortex", "hook"]:
        return Line(plain[1], plain[2], path=True)
    interpreter, *flags, script = texts[:-3]
    ours = (
        interpreter
        and not interpreter.startswith("-")
        and _PROGRAM.fullmatch(script)
        and all(map(_FLAG.fullmatch, flags))
    )
    return Line(plain[1], plain[2], interpreter, script) if ours else None
