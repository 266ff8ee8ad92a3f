"""Files that git refuses, as where a filter is missing or a hook declines a size or a name: found by
halving, so that one of them keeps nothing else back, and remembered until git takes them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from cortex.core.model.problem import CortexError, Problem
from cortex.core.text.strings import shell_quote
from cortex.vault import private
from cortex.vault.git import changes, objects
from cortex.vault.git.changes import read_if_there
from cortex.vault.locate import Vault

_FILE, _MAX_BYTES = "refused.json", 4_000_000  # in the state folder: path -> why
HOOKS = ".git/hooks"  # in the place of a path, for what declines every commit
_MAX_VAIN_ATTEMPTS = 12  # one after the other; what is left then is refused with the rest


class DeclinedError(CortexError):
    """Git, or a hook of a person's, did not take what it was given."""


def take_all_but_refused(
    root: str, paths: Sequence[str], take: Callable[[list[str]], None]
) -> dict[str, Problem]:
    """Have git take these paths but for those that it refuses by themselves. Returns these.

    `take` takes all that it is given, or raises `DeclinedError`. A path that is gone stays where git
    refuses its new name. Raises what git says if it takes none, and names none: that is no file's.
    """
    before = _read(root)
    known = [path for path in paths if path in before]
    gone = [path for path in paths if not os.path.lexists(os.path.join(root, path))]
    if gone and not known:
        with suppress(DeclinedError):
            take([*paths])
            return {}
    here = [path for path in paths if path not in {*known, *gone}]
    refused = _halve([here, [path for path in known if path not in gone]], take)
    names = {os.path.basename(path): path for path in refused}
    texts = {tuple((read_if_there(root, path) or b"").split()): path for path in refused}
    for path, text in objects.read_committed(root, gone).items() if refused else ():
        if other := names.get(os.path.basename(path)) or texts.get(tuple(text.split())):
            refused[path] = DeclinedError(f"waits for {other}, which is its new name")
    refused |= _halve([[path for path in gone if path not in refused]], take)
    if len(refused) == len(paths) and not any(
        path in known or os.path.basename(path) in why.message for path, why in refused.items()
    ):
        raise next(iter(refused.values()))
    return {path: problem_of_file(path, why.message) for path, why in refused.items()}


def _halve(stack: list[list[str]], take: Callable[[list[str]], None]) -> dict[str, DeclinedError]:
    refused: dict[str, DeclinedError] = {}
    vain = 0
    while stack:
        some = stack.pop(0)
        try:
            if some:
                take(some)
            vain = 0
        except DeclinedError as error:
            vain += 1
            named = [path for path in some if os.path.basename(path) in error.message]
            if len(some) == 1 or vain > _MAX_VAIN_ATTEMPTS:
                refused |= dict.fromkeys(some, error)
            elif vain == 1 and 0 < len(named) < len(some):
                stack[:0] = [path for path in some if path not in set(named)], named
            else:  # files of one kind are refused together
                some.sort(key=lambda path: (os.path.splitext(path)[1], path))
                stack[:0] = some[: len(some) // 2], some[len(some) // 2 :]
    return refused


def problem_of_file(path: str, why: str) -> Problem:
    """What is said of a file that git refuses."""
    hint = "mend that, then cortex sync"
    if path != HOOKS:
        hint += f"; git add -- {shell_quote(path)} tries it"
    return Problem(path, why, hint)


def remember(root: str, refused: Iterable[Problem]) -> None:
    """Remember what git refused when it was last asked for all. Raises `OSError`, `CortexError`."""
    found = {one.where: one.message for one in refused}
    path = os.path.join(Vault(root).state_folder(), _FILE)
    if not found:
        private.remove(path)
    elif found != _read(root):
        private.replace(path, json.dumps(found).encode())


def _read(root: str) -> dict[str, str]:
    with suppress(CortexError, OSError, ValueError, TypeError):
        path = os.path.join(Vault(root).state_folder(), _FILE)
        return {**json.loads(private.read(path, _MAX_BYTES))}
    return {}


def list_refused(root: str) -> list[Problem]:
    """What git refused of the vault, and has not taken since."""
    known = _read(root)
    left = {one.path for one in changes.list_status(root, (".",))} if known else set()
    left |= {HOOKS} if left else set()
    return [problem_of_file(path, why) for path, why in sorted(known.items()) if path in left]
