"""One command line: its verb, its words and what is printed; the watcher answers it for others."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from cortex.core.model.problem import AmbiguousNameError, CortexError, InvalidInputError
from cortex.core.runs.run_event import event_line
from cortex.core.text.value import NamedTuple
from cortex.interfaces.call import Request, bind
from cortex.interfaces.cli import arguments, render
from cortex.interfaces.cli.daemon_client import DAEMON_VERBS, asks_for_json, verb_position
from cortex.interfaces.cli.text import READER
from cortex.interfaces.cli.view import View, decode
from cortex.interfaces.declare import Declaration, declaration_of, load_verb
from cortex.interfaces.escape_terminal import escape
from cortex.vault import zones
from cortex.vault.locate import Vault
from cortex.watcher.protocol import CommandReply, CommandRequest


class Command(NamedTuple):
    """A verb and the words that are given for its parameters."""

    function: Callable[..., Any]
    declared: Declaration
    given: dict[str, object]
    as_json: bool
    vault: str  # as `--vault` names it, or empty
    paths: bool = False  # print only the paths of the notes
    pick: bool = False  # have the person choose one


def parse(words: Sequence[str]) -> Command | None:
    """Read a line that names a verb. Returns None if it asks for help.

    Raises `InvalidInputError` for a mistake.
    """
    at = verb_position(words)
    function = load_verb(words[at])
    declared = declaration_of(function)
    given = arguments.parse(declared, [*words[:at], *words[at + 1 :]])
    if given is None:
        return None
    as_json, vault = bool(given.pop("json", False)), given.pop("vault", None)
    if vault == "":
        raise InvalidInputError("--vault is empty", "give a folder: --vault DIR, or leave it out")
    paths, pick = bool(given.pop("paths", False)), bool(given.pop("pick", False))
    return Command(function, declared, given, as_json, str(vault or ""), paths, pick)


def print_answer(command: Command, answer: Any, out: TextIO, view: View) -> int:
    """Print the answer. Returns the exit code: 0 for yes, 1 for no."""
    name = command.declared.name
    if command.as_json:
        out.write(json_line(render.as_json(answer)))
    elif command.paths:
        render.print_paths(answer, out, view)
    else:
        render.print_answer(name, answer, out, view)
    return render.exit_code(name, answer)


def json_line(value: object) -> str:
    """The value as one line of JSON in ASCII. Bytes that are no UTF-8, of the names of files above all, become U+FFFD."""
    import json  # noqa: PLC0415  most answers are text, and a capture has no time to spare

    text = json.dumps(value)
    if "\\ud" in text:  # half of a character outside the first 65,536, or a byte that is no UTF-8
        data = json.dumps(value, ensure_ascii=False).encode("utf-16", "surrogatepass")
        text = json.dumps(json.loads(data.decode("utf-16", "replace")))
    return f"{text}\n"


def error_text(error: CortexError, *, as_json: bool) -> str:
    """An error as lines for standard error, or as one JSON object for standard output."""
    if as_json:
        return json_line({"error": {"message": error.message, "hint": error.hint}})
    hint = f"        {escape(error.hint)}\n" if error.hint else ""
    return f"cortex: {escape(error.message)}\n{hint}"


def answer_command(vault: Vault, asked: CommandRequest) -> CommandReply | None:
    """Answer a command line as the command itself would. None if it must do that itself. The watcher calls
    it in several threads at once."""
    words, at, here = asked.words, verb_position(asked.words), zones.local()
    reader = zones.find(asked.zone) or (here if asked.zone in ("", here.name) else None)
    if at >= len(words) or words[at] not in DAEMON_VERBS or reader is None:
        return None
    output, complaint, code = io.StringIO(), io.StringIO(), 2
    try:
        parsed = parse(words)
        if parsed is None or "-" in parsed.given.values() or parsed.given.get("into"):
            return None  # help, standard input to read, or files to write in somebody's folder
        vault = vault._replace(is_explicit=bool(parsed.vault), default_root=asked.default_root)
        request = Request(asked.cwd, "cli", lambda: vault, say=None, zone=reader)
        READER.set(reader)  # of this thread alone
        answer = bind(parsed.function, parsed.declared, parsed.given, request).answer()
        code = print_answer(parsed, answer, output, decode(asked.terminal, asked.cwd, vault.root))
    except CortexError as error:
        if asked.terminal and isinstance(error, AmbiguousNameError):
            return None  # the person is asked
        as_json = asks_for_json(words)
        (output if as_json else complaint).write(error_text(error, as_json=as_json))
    except OSError:
        return None  # perhaps the command has better luck: it has descriptors and rights of its own
    stderr = complaint.getvalue().encode("utf-8", "backslashreplace")
    return CommandReply(_encode_output(output.getvalue()), stderr, code)


def _encode_output(text: str) -> bytes:
    try:
        # A note that is shown as it stands need not be UTF-8.
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def print_message(line: str, *, as_json: bool) -> None:
    """What the watcher has to tell while it runs. A reader that went away does not end it."""
    with suppress(OSError, ValueError):
        print(json_line({"message": line}) if as_json else f"{escape(line)}\n", end="", flush=True)


def print_event(event: dict[str, Any], *, as_json: bool) -> None:
    """An event of a run, as soon as it comes. Raises `BrokenPipeError` where nobody reads any more."""
    shown = json_line(event) if as_json else f"{escape(event_line(event))}\n"
    print(shown, end="", flush=True)


def print_bytes(data: bytes) -> None:
    """Write to standard output; on a terminal what would act on it is shown."""
    if sys.stdout.isatty():
        shown = data.decode("utf-8", "replace").replace("\r\n", "\n")
        sys.stdout.write(escape(shown, lines=True))
    else:
        sys.stdout.buffer.write(data)
