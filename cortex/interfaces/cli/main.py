"""The `cortex` command: let the watcher answer, else run the verb here; end with its exit code.

A forwarded command is as quick as what this module imports.
"""

from __future__ import annotations

import codecs
import gc
import os
import sys
from collections.abc import Sequence

from cortex.core.model.problem import CortexError
from cortex.interfaces.cli import daemon_client

_OBJECTS_BEFORE_COLLECTION = 100_000
EXIT_OK, EXIT_ERROR, EXIT_INTERRUPTED = 0, 2, 130
_PLAIN_SIGNS = {"…": "...", "–": "-", "—": "-", "→": "->", "⚠": "!"}


def console() -> None:
    """The `cortex` command. A fault of the program shows its traceback and exits 2 as well."""
    # Most commands end before there is garbage; looking for it takes a twentieth of a search.
    gc.set_threshold(_OBJECTS_BEFORE_COLLECTION)
    try:
        code = main(sys.argv[1:])
    except Exception:  # noqa: BLE001
        import traceback  # noqa: PLC0415  after a fault alone

        traceback.print_exc()
        code = EXIT_ERROR
    sys.stderr.flush()
    # Everything is written and closed; taking the interpreter apart would cost 10 ms more.
    os._exit(code)


def main(argv: Sequence[str]) -> int:
    """Run the command. Returns its exit code.

    0 yes, 1 no (no hits, problems found), 2 an error, 130 interrupted.
    """
    # Closed by the caller, as by `>&-`: output goes nowhere, and no other file takes their number.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that knows no UTF-8 still gets an answer.
            stream.reconfigure(errors="backslashreplace")
            if stream.encoding.lower() not in ("utf-8", "utf8"):
                codecs.register_error("cortex", _replace_character)
                stream.reconfigure(errors="cortex")
    try:
        code = _run_command(list(argv))
        sys.stdout.flush()  # here, where a reader that went away is understood
    except CortexError as error:
        return _print_error(error, argv)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python must not complain as it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        from cortex.interfaces.call import error_of  # noqa: PLC0415  after an error alone

        return _print_error(error_of(error), argv)
    return code


def _replace_character(error: UnicodeError) -> tuple[str | bytes, int]:
    """What stands for a sign of ours that an encoding lacks; for others their numbers."""
    if isinstance(error, UnicodeEncodeError) and error.object[error.start] in _PLAIN_SIGNS:
        return _PLAIN_SIGNS[error.object[error.start]], error.start + 1
    return codecs.backslashreplace_errors(error)


def _run_command(argv: list[str]) -> int:
    at = daemon_client.verb_position(argv)
    if at < len(argv):
        argv = [*argv[:at], *daemon_client.expand_alias(argv[at]), *argv[at + 1 :]]
        argv = daemon_client.move_options(argv, at)
    if at < len(argv) and argv[at] in daemon_client.DAEMON_VERBS:
        code = daemon_client.forward_command(argv)
        if code is not None:
            return code
    # 10 ms of parser and declarations that a watcher's answer does without.
    from cortex.interfaces.cli.run import run_command  # noqa: PLC0415

    return run_command(argv)


def _print_error(error: CortexError, argv: Sequence[str]) -> int:
    from cortex.interfaces.cli import command  # noqa: PLC0415  as above

    as_json = daemon_client.asks_for_json(argv)
    try:
        stream = sys.stdout if as_json else sys.stderr
        stream.write(command.error_text(error, as_json=as_json))
        stream.flush()
    except OSError:  # the full disk that the error is about
        sys.stderr.write(command.error_text(error, as_json=False))
    return EXIT_ERROR
