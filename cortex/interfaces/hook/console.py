"""Run a hook and end the process: what `cortex hook EVENT --host HOST` and `main.py` call."""

from __future__ import annotations

import gc
import os


def console(words: list[str]) -> None:
    """Run the hook and end the process, with 0 whatever happens: another code would stop the
    agent."""
    try:
        gc.disable()  # a hook ends before there is anything to collect
        # Here, since whatever goes wrong with an import must not end the hook either.
        from cortex.interfaces.hook.run import run  # noqa: PLC0415

        run(words)
    except BaseException as error:  # noqa: BLE001  the last line of defence
        _print_error(f"cortex hook: {type(error).__name__}")
    os._exit(0)  # everything is written; taking the interpreter apart costs half a hook


def _print_error(line: str) -> None:
    try:
        os.write(2, f"{line}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return  # nobody listens
