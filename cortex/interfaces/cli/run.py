"""Run a command line in this process: parse it, call one verb, print the answer."""

from __future__ import annotations

import io
import os
import sys
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import Any

from cortex.core import __version__
from cortex.core.model.problem import AmbiguousNameError, InvalidInputError
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.strings import shell_quote
from cortex.interfaces.call import Call, Request, bind
from cortex.interfaces.cli import command, daemon_client, view
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.escape_terminal import escape
from cortex.operations import ALIASES, HOOK_ALIASES, VERBS
from cortex.vault.locate import find_vault, nearest_vault_root

_EXIT_OK = 0
# Parameters that are texts, but in which people write the name of a file.
_FILE_OR_TEXT = {"capture": "text", "save": "body", "new": "body", "revise": "body"}
_FILE_NAME_RE = lazy_re(r"[^\s]+\.(?:md|markdown|txt|org|html?)")
_MAX_STDIN_BYTES = 4_000_000  # bytes; a capture may hold a quarter of that and says so


def run_command(argv: list[str]) -> int:
    """Run a command line. Returns the exit code."""
    at = daemon_client.verb_position(argv)
    name = argv[at] if at < len(argv) else ""
    if name not in VERBS:
        return _run_without_verb(argv, name)
    parsed = command.parse(argv)
    if parsed is None:
        return _print_help(name)
    cwd, given = os.getcwd(), _read_given(name, parsed.given)
    if name == "init":
        given |= _steps().ask_obsidian(given, cwd)
    is_asked = "launch" in parsed.declared.supplied and not parsed.as_json
    supplied: dict[str, object] = {
        "vault_name": parsed.vault,
        "answer_command": command.answer_command,
        "say": partial(command.print_message, as_json=parsed.as_json),
        "emit": partial(command.print_event, as_json=parsed.as_json),
        "write": None if parsed.as_json else command.print_bytes,
        "launch": _steps().launch if is_asked and _steps().has_terminal() else None,
    }
    request = Request(
        cwd, "cli", lambda: find_vault(parsed.vault, cwd, os.environ), progress=view.progress_bar(),
        wants_outcome=parsed.as_json or sys.stdout.isatty(), say=lambda line: print(f"cortex: {line}", file=sys.stderr),
    )  # fmt: skip
    call = bind(parsed.function, parsed.declared, given, request, supplied)
    code = _call_and_print(parsed, call)
    if (
        name == "capture"
        and not code
        and "text" in given.keys() - parsed.given.keys()
        and _steps().has_terminal()
    ):
        os.truncate(_steps().draft_path(), 0)
    if name == "capture" and given.get("type") == "meeting" and not request.wants_outcome:
        sys.stdout.flush()  # the acknowledgement comes first, whatever the minutes hold
        sys.stderr.write(_steps().minutes_summary(str(given.get("text", ""))))
    if name == "hooks" and given.get("action") == "install" and not given.get("dry_run"):
        hosts = given.get("hosts")
        _steps().ask_for_model(hosts if isinstance(hosts, list) else [])
    return code


def _call_and_print(parsed: command.Command, call: Call) -> int:
    """Call the verb, ask which note is meant where a name is ambiguous, and print the answer."""
    if parsed.pick and parsed.declared.name == "search":
        tui = import_module(f"cortex.{VERBS['tui'][0]}")  # an interface beside this one
        if call.vault and tui.is_usable():
            query = str(call.given.get("query", ""))
            chosen = tui.view(call.vault, call.caller.cwd, query, call.given).file
            return _open_chosen(chosen, view.view_of(sys.stdout, call.caller.cwd, os.environ))
    begun = call.given
    asks = parsed.declared.name == "extract" and begun.get("replay") and begun.get("apply")
    asks = asks and _steps().has_terminal() and not parsed.as_json
    try:
        answer = (call._replace(given={**begun, "apply": False}) if asks else call).answer()
        if asks and _steps().confirm_replay(answer.replay):
            answer = call.answer()
    except AmbiguousNameError as error:
        is_asked = _steps().has_terminal() and not parsed.as_json
        chosen = _steps().ask_which(error.candidates) if is_asked else ""
        if not chosen:
            raise
        given = call.given.copy()
        for key, value in given.items():
            if isinstance(value, list):
                given[key] = [chosen if word == error.name else word for word in value]
            elif value == error.name:
                given[key] = chosen
        answer = call._replace(given=given).answer()
    if getattr(answer, "files", 0) and answer.confirm and _steps().confirm_erasure(answer.files):
        answer = call._replace(given={**call.given, "yes": True}).answer()
    root = call.vault.root if call.vault else ""
    reader = view.view_of(sys.stdout, call.caller.cwd, os.environ)._replace(root=root)
    if parsed.pick:
        return _pick(view.note_paths(answer, reader.cwd), reader)
    if parsed.declared.name == "capture" and not call.caller.wants_outcome and answer.note:
        print(f"cortex: {escape(answer.note)}", file=sys.stderr)
        answer = answer._replace(note="")  # into the pipe goes the id alone
    if not reader.width:
        return command.print_answer(parsed, answer, sys.stdout, reader)
    shown = io.StringIO()
    code = command.print_answer(parsed, answer, shown, reader)
    view.print_paged(shown.getvalue(), reader, sys.stdout)
    return code


def _pick(notes: dict[str, Any], reader: view.View) -> int:
    """Have the person choose one of some notes by path, and open it; into a pipe print its path."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        hint = "-l prints the paths of the notes"
        raise InvalidInputError("--pick asks a person, and there is no terminal", hint)
    paths = [(path, note.title) for path, note in notes.items()]
    if not paths:
        print("no hits", file=sys.stderr)
        return 1
    chosen = _steps().pick(paths)
    return _open_chosen(notes[chosen].file if chosen else "", reader)


def _open_chosen(file: str, reader: view.View) -> int:
    """Open a note by its absolute path; into a pipe print its path. Returns the exit code."""
    if not file:
        print("nothing is chosen", file=sys.stderr)
        return 1
    if not reader.width:
        print(view.readable_path(file, reader.cwd))
        return _EXIT_OK
    return run_command(["open", f"--vault={nearest_vault_root(os.path.dirname(file))}", file])


def _steps() -> ModuleType:
    """What is asked on a terminal, and what is told there beside an answer: few commands need it."""
    from cortex.interfaces.cli import steps  # noqa: PLC0415

    return steps


def _read_given(name: str, words: dict[str, object]) -> dict[str, object]:
    """The words with what is piped in for a `-`, and with a file's text where its name is one."""
    is_piped = {key for key, word in words.items() if word == "-" and key != "output"}
    given = {key: _read_stdin() if key in is_piped else word for key, word in words.items()}
    needs_text = not str(given.get("type", "")).startswith("session_")
    if name == "capture" and needs_text and not given.keys() & {"text", "content"}:
        given |= {"text": _read_stdin()} if _steps().is_piped() else {}
        if _steps().has_terminal() and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
            given["text"] = _steps().write_draft()
    text = words.get(key := _FILE_OR_TEXT.get(name, ""))
    is_minutes = name == "capture" and given.get("type") == "meeting"
    if is_minutes and _FILE_NAME_RE.fullmatch(str(text)) and not os.path.lexists(str(text)):
        hint = "cortex capture --type meeting - < FILE"
        raise InvalidInputError(f"there is no file {text}", hint)
    if isinstance(text, str) and text != "-" and os.path.lexists(text):
        given[key] = _steps().resolve_text_or_file(text, name, key, must_read=is_minutes)
    return given


def _read_stdin() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        hint = "cat notes.txt | cortex capture -"
        raise InvalidInputError("- reads standard input, and nothing is piped into it", hint)
    data = sys.stdin.buffer.read(_MAX_STDIN_BYTES + 1)
    if len(data) > _MAX_STDIN_BYTES:
        hint = "pipe less into it; a note of that size is a file to copy into the vault"
        raise InvalidInputError(f"standard input holds more than {_MAX_STDIN_BYTES:,} bytes", hint)
    return data.decode("utf-8", "surrogateescape")


def _run_without_verb(argv: list[str], name: str) -> int:
    """The version, the overview, or the help of a verb that is named behind `help`."""
    if name == "__complete":
        from cortex.interfaces.cli import completion  # noqa: PLC0415  at a press of Tab alone

        return completion.run(argv[1:])
    as_json = daemon_client.asks_for_json(argv)
    words = [word for word in argv if word != "--json"]
    if words in (["--version"], ["-V"], ["version"]):
        line = f"cortex {__version__}\n"
        sys.stdout.write(command.json_line({"version": __version__}) if as_json else line)
        return _EXIT_OK
    if words[:1] == ["help"] and len(words) == 2:
        name = words[1]
        if name in (*VERBS, *ALIASES):
            return run_command([*daemon_client.expand_alias(name), "--help"])
        if name == "version":
            return _run_without_verb(["--version"], name)
    wanted = {*words} - {"--all"}
    if wanted in ({"help"}, {"--help"}, {"-h"}) or not argv:
        return _print_help("", all_verbs="--all" in words)
    if words[:1] == ["help"]:
        name = " ".join(words[1:])
    if name in HOOK_ALIASES or name == "hook":
        message = f"cortex {name} is for an agent's host, which pipes JSON into it"
        hint = f"cortex {name} --help; cortex hooks install wires an agent"
        raise InvalidInputError(message, hint)
    if name:
        raise InvalidInputError(f"there is no verb {name!r}", _load_help_text().suggest_verb(name))
    named = [] if words else ["--json"]
    given = " ".join(shell_quote(word) for word in words or named)
    raise InvalidInputError(f"cortex {given} names no verb", "cortex help --all lists the verbs")


def _print_help(name: str, *, all_verbs: bool = False) -> int:
    """Print what a verb takes; without a name the verbs. Returns the exit code."""
    if name:
        lines = _load_help_text().verb_lines(declaration_of(load_verb(name)))
    else:
        lines = _load_help_text().overview_lines(all_verbs=all_verbs)
    print("\n".join(lines))
    return _EXIT_OK


def _load_help_text() -> ModuleType:
    """Import the module that prints help: it reads every verb's declaration, so other commands avoid it."""
    from cortex.interfaces.cli import help_text  # noqa: PLC0415

    return help_text
