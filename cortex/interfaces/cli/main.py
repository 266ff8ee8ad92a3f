"""Parse the command line, call one verb, render what it answers, and say how it went by the exit code."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from cortex import __version__
from cortex.core.model.caller import Caller
from cortex.core.model.problem import CortexError, Invalid
from cortex.interfaces.cli import arguments, daemon_client, progress
from cortex.interfaces.declare import declaration_of
from cortex.operations import VERBS
from cortex.vault.git import checkout
from cortex.vault.locate import Vault, find_vault

OK, NO, ERROR, INTERRUPTED = 0, 1, 2, 130
_AS_IT_IS = (
    "doctor",
    "git",
    "merge",
    "history",
)  # verbs that look at the repository, or change its drivers themselves
_STDIN_LIMIT = 4_000_000  # bytes; a capture may hold a quarter of that and says so


def console() -> None:
    """The `cortex` command. A fault of the program itself shows its traceback and exits 2 as well: 1 means no."""
    try:
        code = main(sys.argv[1:])
    except Exception:  # noqa: BLE001
        import traceback  # noqa: PLC0415

        traceback.print_exc()
        code = ERROR
    sys.stderr.flush()
    os._exit(
        code
    )  # everything is written and closed; taking the interpreter apart would cost 10 ms more


def main(argv: Sequence[str]) -> int:
    """Run the command and answer its exit code: 0 yes, 1 no (no hits, problems found), 2 an error, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a terminal that knows no UTF-8 still gets an answer
    try:
        code = _run(list(argv))
        sys.stdout.flush()  # here, where a reader that went away is understood
    except CortexError as error:
        return _complain(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python must not complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:
        return _complain(
            CortexError(
                f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}",
                "cortex doctor",
            )
        )
    return code


def _run(argv: list[str]) -> int:
    # The verb is the first word that is no option; `--vault DIR`, which every verb has, may stand before it.
    at = 0
    while at < len(argv) and argv[at].startswith("-"):
        at += 2 if argv[at] == "--vault" else 1
    name = argv[at] if at < len(argv) else ""
    if name == "completion":
        from cortex.interfaces.cli.completion import completion  # noqa: PLC0415  a command of its own, rarely run

        return completion(argv[at + 1 :])
    if name not in VERBS:
        return _overview(argv, name)
    if name in daemon_client.CARRIED and (code := daemon_client.relay(argv)) is not None:
        return code
    function = verb(name)
    declared = declaration_of(function)
    values = arguments.read(name, declared, [*argv[:at], *argv[at + 1 :]])
    as_json, raw_vault = bool(values.pop("json")), str(values.pop("vault"))
    caller = Caller(
        os.getcwd(),
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        os.urandom,
        "cli",
        progress.bar(),
    )
    given = {key: _stdin() if value == "-" else value for key, value in values.items()}
    if "vault" in declared.supplied:
        given["vault"] = vault = find_vault(raw_vault, caller.cwd, os.environ)
        only_looks = name in _AS_IT_IS or values.get("check") or values.get("dry_run")
        if not only_looks and not checkout.has_drivers(vault.root):
            _complete(vault)
    if "answer" in declared.supplied:
        given |= {"answer": daemon_client.answer, "say": daemon_client.say}
    answer = function(caller=caller, **given)
    from cortex.interfaces.cli import render  # noqa: PLC0415  after the verb: an error needs no renderer

    if as_json:
        import json  # noqa: PLC0415  most answers are text, and a capture has no time to spare

        print(json.dumps(render.as_json(name, answer)))
    else:
        render.show(name, answer, sys.stdout)
    return render.exit_code(name, answer)


def _complete(vault: Vault) -> None:
    """Make a fresh clone whole: git copies no configuration, so it does not know our merge drivers yet."""
    from cortex.vault import agent_settings  # noqa: PLC0415  once for each clone
    from cortex.vault.git import drivers  # noqa: PLC0415  once for each clone

    with suppress(
        CortexError, OSError
    ):  # the command does its work without; `cortex doctor` names what is missing
        if drivers.register(vault.root):
            sys.stderr.write(
                "cortex: git merges records and briefings by Cortex's drivers in this clone from now on; cortex git remove undoes that\n"
            )
            if names := agent_settings.agent_settings(vault.root):
                sys.stderr.write(f"cortex: {agent_settings.notice(names)}\n")


def verb(name: str):  # type: ignore[no-untyped-def]  # noqa: ANN201  every verb has its own signature; see declaration.py
    """The function behind a verb; its module is imported now, not before."""
    module, function = VERBS[name]
    return getattr(import_module(f"cortex.{module}"), function)


def _stdin() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise Invalid(
            "- reads standard input, and nothing is piped into it",
            "cat notes.txt | cortex capture -",
        )
    data = sys.stdin.buffer.read(_STDIN_LIMIT + 1)
    if len(data) > _STDIN_LIMIT:
        raise Invalid(
            f"standard input holds more than {_STDIN_LIMIT:,} bytes",
            "pipe less into it; a note of that size is a file to copy into the vault",
        )
    return data.decode("utf-8", "surrogateescape")


def _overview(argv: list[str], name: str) -> int:
    if argv == ["--version"]:
        print(f"cortex {__version__}")
        return OK
    from cortex.interfaces.cli import overview  # noqa: PLC0415  it reads every verb's declaration

    if name:
        return _complain(Invalid(f"there is no verb {name!r}", overview.nearest(name)))
    asked = argv in ([], ["--help"], ["-h"])
    (sys.stdout if asked else sys.stderr).write("\n".join([*overview.lines(), ""]))
    return OK if asked else ERROR


def _complain(error: CortexError) -> int:
    from cortex.interfaces.escape_terminal import visible  # noqa: PLC0415  only when something went wrong

    sys.stderr.write(f"cortex: {visible(error.message)}\n")
    if error.hint:
        sys.stderr.write(f"        {visible(error.hint)}\n")
    return ERROR
