"""One command line: its verb, its values, the call and what is printed.

`main` runs it, and the watcher for others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TextIO

from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.interfaces.cli import arguments
from cortex.interfaces.declare import Declaration, convert, declaration_of, load_verb
from cortex.interfaces.escape_terminal import escape


class Command(NamedTuple):
    """A verb and the words that are given for its parameters."""

    function: Callable[..., Any]
    declared: Declaration
    given: dict[str, object]
    as_json: bool
    vault: str  # as `--vault` names it, or empty


def verb_position(words: Sequence[str]) -> int:
    """Where the verb stands: the first word that is no option; `--vault DIR` may come before it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] == "--vault" else 1
    return at


def asks_for_json(words: Sequence[str]) -> bool:
    """True if the answer, and an error, is to be JSON."""
    return "--json" in (words[: words.index("--")] if "--" in words else words)


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
    return Command(function, declared, given, as_json, str(vault or ""))


def run(command: Command, caller: Caller, supplied: Mapping[str, object], out: TextIO) -> int:
    """Call the verb and print its answer. Returns the exit code: 0 for yes, 1 for no."""
    values = convert(command.declared, command.given, caller.now)
    answer = command.function(caller=caller, **values, **supplied)
    # After the verb: an error needs no renderer.
    from cortex.interfaces.cli import render  # noqa: PLC0415

    name = command.declared.name
    if command.as_json:
        out.write(json_line(render.as_json(answer)))
    else:
        render.print_answer(name, answer, out)
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
