"""What a command does on the terminal besides printing its answer: ask questions, open programs,
summarize captured minutes."""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from cortex.core.model.event import MAX_CONTENT_BYTES
from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.core.text.strings import format_count
from cortex.hosts import HOST_NAMES, load_host
from cortex.interfaces.escape_terminal import escape
from cortex.operations.care.obsidian_settings import plan_exclusion
from cortex.operations.find.open import editor_words
from cortex.vault import private, user_folders, user_settings
from cortex.vault.locate import real_folder

_DECLINED_FILE = "distill-declined"  # in the folder of all states
_AGENT_TERMS = (
    "The agent of your next session does it: its start names one session, of which it reads up to 20,000"
    " tokens, or several times so many of a long one. No program is run."
)
_TERMS = (
    "It is sent what was said and done in a session, without secrets, after its end: up to"
    " 60,000 tokens, three times for a long one, at most 20 times and 2 dollars a day."
)


def has_terminal() -> bool:
    """Whether a person can be asked and sees the answer."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty())


def is_piped() -> bool:
    """True if standard input is a file or a pipe with data. Waits at most a second for a writer."""
    if not sys.stdin or sys.stdin.isatty():
        return False
    with suppress(OSError, ValueError):  # no file
        return bool(select.select([sys.stdin], [], [], 1.0)[0])
    return True


def confirm_erasure(files: int) -> bool:
    """Ask, on the terminal or by a pipe, whether to erase from so many files. True for yes."""
    sys.stderr.write(f"Found in {format_count(files, 'file')} of the vault. Erase it? [y/N] ")
    sys.stderr.flush()
    has_answer = bool(sys.stdin) and (sys.stdin.isatty() or is_piped())
    said = sys.stdin.readline() if has_answer else ""
    return _is_yes(said)


def confirm_replay(replay: Any) -> bool:
    """Ask whether records go that teammates may use. True for yes, and where none go."""
    count = sum(note.change == "goes" for note in replay.notes)
    return not replay.shared or bool(
        _answer(f"Archive {format_count(count, 'record')} that teammates may use? [y/N] ")
    )


def ask_obsidian(given: Mapping[str, object], cwd: str) -> dict[str, object]:
    """The option of `cortex init` that the person chooses, where the folder lies in an Obsidian
    vault that does not leave ours out yet. Nothing is asked without a terminal."""
    if given.get("obsidian") or given.get("no_obsidian") or not has_terminal():
        return {}
    root = real_folder(cwd, str(given.get("directory") or "."))
    try:
        change = plan_exclusion(root, exclude=True)
    except (CortexError, OSError):  # what is wrong there, --obsidian says
        return {}
    if change is None:
        return {}
    print(f"{escape(change.top)} is an Obsidian vault.")
    said = _answer(
        f"Leave {' and '.join(change.entries)} out of its search and graph? [Y/n] ", usual=True
    )
    return {} if said is None else {"obsidian": said}


def _answer(question: str, *, usual: bool = False) -> bool | None:
    """Whether the person says yes on the terminal, `usual` for a mere return; None where they end
    the input instead."""
    try:
        said = input(question)
        return _is_yes(said) if said.strip() else usual
    except EOFError:
        return None


def _is_yes(said: str) -> bool:
    return said.strip().lower() in ("y", "yes")


def resolve_text_or_file(text: str, verb: str, parameter: str, *, must_read: bool) -> str:
    """The content of the file that `text` names, or `text` itself. With `must_read` the file is always
    read; else a person on the terminal decides, and without a terminal the text is kept and a line on
    standard error says so.

    Raises `InvalidInputError` for a file that cannot be captured.
    """
    if not must_read:
        if not os.path.isfile(text):
            return text
        option = "" if parameter == "text" else f"--{parameter} "
        if not has_terminal():
            way = f"cortex {verb} {option}- < {shlex.quote(text)}"
            kept = f"{escape(text)} is kept as a text"
            sys.stderr.write(f"cortex: {kept}; {escape(way)} reads the file\n")
            return text
        if not _answer(f"{escape(text)} is a file. Take what it holds? [y/N] "):
            return text
    if not os.path.isfile(text):
        raise InvalidInputError(f"{text} is no file that could be read", "name a file of text")
    try:
        with open(text, "rb") as file:
            data = file.read(MAX_CONTENT_BYTES + 1)
        if len(data) <= MAX_CONTENT_BYTES:
            return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        hint = f"iconv -f latin1 -t utf-8 {shlex.quote(text)} | cortex {verb} …"
        raise InvalidInputError(f"{text} is not UTF-8", hint) from None
    message = f"{text} holds more than {MAX_CONTENT_BYTES:,} bytes"
    raise InvalidInputError(message, "take a part of it, and keep the whole as a note of its own")


def launch(words: Sequence[str]) -> int:
    """Run a program in the foreground, without a shell. Returns its exit code. Raises `OSError`."""
    sys.stdout.flush()
    return subprocess.run(list(words), check=False).returncode


def write_draft() -> str:
    """What a person writes in their editor. `InvalidInputError` for nothing."""
    private.append(draft_path(), b"", MAX_CONTENT_BYTES)
    launch([*editor_words(), draft_path()])
    if text := private.read(draft_path(), MAX_CONTENT_BYTES + 1).decode("utf-8", "replace").strip():
        return text
    raise InvalidInputError("nothing was written, so nothing is captured", "cortex capture TEXT")


def draft_path() -> str:
    """Where that lies until it is captured, to be there again if it cannot be."""
    return os.path.join(user_folders.user_folder("state"), "capture.md")


def minutes_summary(text: str) -> str:
    """A line such as `2 decisions, 3 actions (1 without a date)`; empty where reading fails."""
    try:
        # markdown-it-py takes 40 ms to import; no other capture is kept waiting for it.
        from cortex.core.minutes.meeting import parse_meeting  # noqa: PLC0415

        meeting = parse_meeting(text)
    except Exception:  # noqa: BLE001  the capture counts, and normalizing names what is wrong
        return ""
    undated = sum(not action.due for action in meeting.actions if not action.done)
    parts = [format_count(len(meeting.decisions), "decision")]
    more = f" ({undated} without a date)" if undated else ""
    parts.append(format_count(len(meeting.actions), "action") + more)
    if meeting.questions:
        parts.append(format_count(len(meeting.questions), "question"))
    day = "" if meeting.date else "; no date of the meeting"
    return f"{', '.join(parts)}{day}\n"


def ask_for_model(hosts: Sequence[str]) -> None:
    """Ask whether the first of these hosts whose program is on the PATH may distill sessions, and
    write it into the user's own settings. Nothing is asked without a terminal, or where the user
    has answered before."""
    command = _find_command(hosts)
    if not command or not has_terminal():
        return
    print(f"\nMay {command[0]} say of each session what is worth knowing?")
    print(f"  y  {_TERMS}\n     It would run: {escape(shlex.join(command))}")
    print(f"  a  {_AGENT_TERMS}")
    try:
        said = input("[y/a/N] ").strip().lower()[:1]
    except EOFError:
        return
    choices: dict[str, tuple[str, str | Sequence[str]]] = {
        "y": ("command", command),
        "a": ("by", user_settings.AGENT),
    }
    chosen = choices.get(said)
    try:
        path = user_settings.add_distill_setting(*chosen) if chosen else _decline()
    except (CortexError, OSError) as error:
        print(f"not written: {escape(str(error))}")
        return
    after = "auto = false below [distill] leaves it to cortex distill"
    after = "from the next session on" if said == "a" else after
    later = "no; cortex distill --help says how to begin later"
    print(f"{escape(path)}: {after}" if chosen else later)


def _find_command(hosts: Sequence[str]) -> tuple[str, ...]:
    settings, problems = user_settings.load_distill()
    has_chosen = settings != user_settings.DistillSettings()
    if has_chosen or problems or os.path.lexists(_declined_path()):
        return ()
    commands = (load_host(name).model_command for name in hosts if name in HOST_NAMES)
    return next((command for command in commands if command and shutil.which(command[0])), ())


def _decline() -> str:
    """Remember that the user wants none; the path of the file that says so."""
    os.makedirs(os.path.dirname(_declined_path()), mode=0o700, exist_ok=True)
    private.replace(_declined_path(), b"")
    return _declined_path()


def _declined_path() -> str:
    return os.path.join(user_folders.user_folder("state"), _DECLINED_FILE)


def ask_which(candidates: Sequence[tuple[str, str]]) -> str:
    """Have the person choose one of some paths with titles, by number. Empty if they choose none."""
    for number, (path, title) in enumerate(candidates, 1):
        print(f"{number:3}  {escape(title)}  {escape(path)}", file=sys.stderr)
    print(f"which one? [1-{len(candidates)}] ", end="", file=sys.stderr, flush=True)
    said = (sys.stdin.readline() if sys.stdin else "").strip()
    is_one = said.isascii() and said.isdecimal() and 0 < int(said) <= len(candidates)
    return candidates[int(said) - 1][0] if is_one else ""


def pick(candidates: Sequence[tuple[str, str]]) -> str:
    """As `ask_which`, with fzf where it is installed."""
    if not shutil.which("fzf"):
        return ask_which(candidates)
    lines = "".join(f"{title}\t{path}\n" for path, title in candidates)
    words = ["fzf", "--delimiter=\t", "--preview=cat {2}"]
    done = subprocess.run(words, input=lines, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.rstrip("\n").rpartition("\t")[2]
