"""Items of a transcript, in their order, the same for every host: which are worth telling, and in how
many words."""

from __future__ import annotations

import os
from _collections_abc import Iterable

from cortex.core.model import turn_summary
from cortex.core.model.turn_summary import (
    CommandRun,
    Commit,
    PlannedStep,
    TurnSummary,
    Utterance,
)
from cortex.core.redact.person_words import keep_of_prompt, keep_of_reply, unquoted_lines
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import format_time, one_line, parse_time, shorten
from cortex.core.text.value import NamedTuple

AGENT_TEXT, PROMPT, SUMMARY = "said", "prompt", "summary"
REPLY = "reply"  # of the person within a turn: an answer, a refusal, what was typed meanwhile
FILE_CHANGE, COMMAND_RUN, PLAN = "changed", "ran", "plan"
TOOL_CALL = "called"  # of a reader with `calls`, where `id` finds the call
COMMIT, PULL_REQUEST = "committed", "proposed"
AMENDED = "amended"  # the text of such a commit
NO_HASH = "commit"  # in the place of a hash that was not printed
MAX_COMMITS, MAX_PULL_REQUESTS = 20, 5  # of one turn
MAX_COMMANDS, MAX_COMMAND_CHARS, MAX_REASON_CHARS = 30, 140, 60  # of one turn
MAX_CHANGED_FILES, MAX_PATH_CHARS = 300, 300
MAX_PLAN_STEPS, MAX_STEP_CHARS = 50, 200
MAX_TAGGED_LINE_CHARS = 2000
_MAX_TIME_CHARS = 40
_DIGITS_TO_ZERO = dict.fromkeys(range(49, 58), "0")
# Programs whose success says something about the work: tests, linters, builds.
_CHECK_PROGRAMS = frozenset([
    "pytest", "tox", "nox", "ruff", "mypy", "pyright", "flake8", "pylint", "black", "isort",
    "bandit", "pre-commit", "eslint", "prettier", "tsc", "jest", "vitest", "mocha", "playwright",
    "cypress", "make", "ninja", "cmake", "ctest", "bazel", "gradle", "gradlew", "mvn", "mvnw",
    "ant", "sbt", "tsan", "rspec", "rubocop", "rake", "phpunit", "phpstan", "golangci-lint",
    "staticcheck", "clippy", "swiftlint", "xcodebuild", "shellcheck", "hadolint", "terraform",
    "ansible-lint", "biome", "webpack", "vite", "rollup", "esbuild", "just", "task", "unittest",
    "lint-imports",
])  # fmt: skip
_CHECK_SUBCOMMANDS = {
    "git": "commit merge rebase revert cherry-pick tag push", "npm": "test t build ci publish",
    "yarn": "test build lint publish", "pnpm": "test build lint publish", "bun": "test build",
    "cargo": "test build check clippy fmt bench publish nextest", "go": "test build vet generate",
    "dotnet": "test build publish", "swift": "test build", "mix": "test compile", "docker": "build",
    "deno": "test lint check", "zig": "build test", "flutter": "test build", "rails": "test",
    "django": "test", "poetry": "build", "hatch": "build test", "uv": "build",
    "dart": "test analyze", "lein": "test", "stack": "build test", "cabal": "build test",
    "composer": "test", "helm": "lint",
}  # fmt: skip
# Words that only stand before the program.
_WRAPPER_COMMANDS = (
    "sudo", "time", "env", "nohup", "exec", "command", "npx", "bunx", "pnpx", "timeout", "nice",
    "xvfb-run", "bundle", "poetry", "pipenv", "uv", "pdm", "hatch", "rye", "run", "-m", "python",
    "python3", "py",
)  # fmt: skip
_MAX_SCANNED_CHARS = 4000  # characters of a command that are looked at for programs
_ERROR_WORDS = (
    "error", "fail", "not found", "no such", "denied", "cannot", "unknown", "invalid", "fatal",
    "panic", "exception",
)  # fmt: skip
_REFUSAL_STARTS = (
    "the user doesn't want to", "[request interrupted", "requested permissions", "user rejected",
    "permission to use",
)  # fmt: skip
_MAX_OUTPUT_LINES, _MAX_OUTPUT_CHARS = 200, 20_000  # of what a command printed, for the reason


class TranscriptItem(NamedTuple):
    """One thing that a transcript tells."""

    kind: str
    id: str = ""  # the host's own for a message; may be empty
    at: str = (
        ""  # UTC with milliseconds, `2026-06-15T10:00:01.000Z`; empty if the host has no times
    )
    text: str = ""  # what was said or asked; the path that was changed, absolute
    cwd: str = ""
    branch: str = ""
    command: CommandRun | None = None
    plan: tuple[PlannedStep, ...] = ()
    sidechain: str = ""  # its side chain, if a session's file holds the work of subagents too
    about: str = ""  # of a reply: the question, or what it refuses
    commit: Commit | None = None  # or the pull request


def summarize_items(items: Iterable[TranscriptItem], root: str, prompts: str) -> TurnSummary:
    """What was said, each change and command once, the last plan. Summaries are left out;
    `prompts` says what is kept of a person's words (`core/redact/person_words.py`)."""
    utterances: list[Utterance] = []
    tagged: dict[str, None] = {}
    changed: dict[str, None] = {}
    commands: dict[CommandRun, None] = {}
    plan: tuple[PlannedStep, ...] = ()
    commits: dict[str, Commit] = {}
    requests: dict[str, Commit] = {}
    for item in items:
        if item.commit:
            there = requests if item.kind == PULL_REQUEST else commits
            _add_commit(there, item.commit, is_amended=item.text == AMENDED)
        elif item.kind == AGENT_TEXT:
            utterances.append(Utterance(turn_summary.AGENT, item.text))
        elif item.kind in (PROMPT, REPLY):
            keep = keep_of_prompt if item.kind == PROMPT else keep_of_reply
            if words := keep(item.text, prompts):
                utterances.append(Utterance(turn_summary.USER, words, item.about))
            tagged.update(dict.fromkeys(tagged_lines(item.text)))
        elif item.kind == FILE_CHANGE:
            changed[project_relative_path(item.text, item.cwd, root)] = None
        elif item.command:
            commands.pop(item.command, None)
            commands[item.command] = None
        elif item.kind == PLAN:
            plan = item.plan
    text = turn_summary.format_utterances(utterances)
    files = tuple(path for path in changed if path)[:MAX_CHANGED_FILES]
    return TurnSummary(
        text, tuple(tagged), files, tuple(commands)[-MAX_COMMANDS:], plan, "",
        tuple(commits.values())[-MAX_COMMITS:], tuple(requests.values())[-MAX_PULL_REQUESTS:],
    )  # fmt: skip


def _add_commit(there: dict[str, Commit], commit: Commit, *, is_amended: bool) -> None:
    """Add a commit, or a pull request, each once; an amended commit takes the place of the last."""
    if is_amended and there:
        there.popitem()
    before = there.get(commit.ref)
    # A hash that was not printed says nothing.
    key = commit.ref if commit.ref != NO_HASH else commit.subject
    if not (before and before.subject):
        there[key] = commit


def tagged_lines(prompt: str) -> list[str]:
    """The lines of a person's own words with a memory tag: no quotes, code, or pasted talk."""
    if not turn_summary.may_hold_memory_tag(prompt):
        return []
    return [
        redacted_line(line)[:MAX_TAGGED_LINE_CHARS]
        for line in unquoted_lines(sanitize_text(prompt))
        if turn_summary.may_hold_memory_tag(line)
    ]


def redacted_line(text: str) -> str:
    """A text on one line, without secrets. Redacted before and after joining the lines: some are
    known by their line ends, others span them. Cut it only afterwards: half a token is missed."""
    return sanitize_text(one_line(sanitize_text(text)))


def summarize_command(
    command: str, failed: bool, output: str = "", code: str = ""
) -> CommandRun | None:
    """The command and its outcome; None for one that succeeded and is no check, or was refused."""
    if not command.strip() or (is_refusal(output) if failed else not is_noteworthy(command)):
        return None
    outcome = f"failed: {failure_reason(output, code)}".rstrip(": ") if failed else "ok"
    return CommandRun(shorten(redacted_line(command), MAX_COMMAND_CHARS), outcome)


def is_refusal(output: str) -> bool:
    """Whether an answer of a tool says that the person did not let it run."""
    return output[:400].lower().lstrip().startswith(_REFUSAL_STARTS)


def is_noteworthy(command: str) -> bool:
    """True for a test, a linter, a build, or a change of the git history."""
    text = command[:_MAX_SCANNED_CHARS]
    for sign in ("&&", "||", ";", "|", "(", ")"):
        text = text.replace(sign, "\n")
    return any(_is_check_command(line.split()) for line in text.splitlines())


def _is_check_command(words: list[str]) -> bool:
    """True if one simple command, after wrappers such as `uv run`, is a test, linter, build or git."""
    for at, word in enumerate(words):
        name, rest = word.rpartition("/")[2], words[at + 1 :]
        subcommands = _CHECK_SUBCOMMANDS.get(name, "").split()
        if name in _CHECK_PROGRAMS or any(one in subcommands for one in rest[:3]):
            return True
        if name in ("npm", "yarn", "pnpm", "bun", "deno") and "run" in rest[:2]:
            checks = ("test", "lint", "build", "check")
            return any(check in one for one in rest[1:3] for check in checks)
        is_assignment = "=" in name and not name.startswith("-")
        is_python = name.startswith("python3.") and len(name) < 12
        is_duration = name.rstrip("smh").isdigit()
        if not (is_assignment or is_python or is_duration or name in _WRAPPER_COMMANDS):
            return False
    return False


def failure_reason(output: str, code: str = "") -> str:
    """The exit code, if known, and the line that says most about a failure, shortened."""
    shown = sanitize_text(output)[:_MAX_OUTPUT_CHARS].splitlines()
    lines = [line.strip() for line in shown[:_MAX_OUTPUT_LINES]]
    first = lines[0].lower().removeprefix("error: ") if lines else ""
    if first.startswith("exit code "):
        number = first.split()[2]
        code, lines = code or (number if number.isalnum() else ""), lines[1:]
    lines = [
        line.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
        for line in lines
        if line.strip("=-_* ")
    ]
    lines = [line for line in lines if not line.startswith(("Traceback (", "$ ", "> "))]
    errors = (line for line in lines if any(word in line.lower() for word in _ERROR_WORDS))
    reason = redacted_line(next(errors, lines[0] if lines else ""))
    exit_code = f"exit code {code[:8]}" if code else ""
    return shorten(", ".join(part for part in (exit_code, reason) if part), MAX_REASON_CHARS)


def project_relative_path(path: str, cwd: str, root: str) -> str:
    """A path relative to the project, with `/`; empty when it lies outside, or is the project."""
    if not path or not root or "\0" in path or "\0" in cwd:
        return ""
    root = root.rstrip("/") or "/"
    full = os.path.normpath(os.path.join(cwd or root, path))
    below = _path_below(full, root)
    if not below and cwd and (rest := _path_below(full, os.path.normpath(cwd))):
        # The project was entered through a link: `/tmp` on a Mac, a home directory on a network.
        below = _path_below(os.path.join(os.path.realpath(cwd), rest), os.path.realpath(root))
    line = one_line(below) if len(below) <= MAX_PATH_CHARS else redacted_line(below)
    return line[:MAX_PATH_CHARS]


def _path_below(path: str, root: str) -> str:
    start = root if root == "/" else f"{root}/"
    return path[len(start) :] if path.startswith(start) else ""


def normalize_timestamp(value: object) -> str:
    """A host's time as UTC with milliseconds; empty if it is none. Numbers are ms since 1970."""
    if isinstance(value, str) and len(value) <= _MAX_TIME_CHARS:
        digits = value.translate(_DIGITS_TO_ZERO)
        if digits == "0000-00-00T00:00:00.000Z" and parse_time(value) is not None:
            return value
        # Other forms alone; `datetime` would cost a hook 2 ms.
        from _datetime import datetime, timezone  # type: ignore[import-not-found]  # noqa: PLC0415

        try:
            moment = datetime.fromisoformat(value)
            moment = moment.astimezone(timezone.utc) if moment.tzinfo else moment
        except (ValueError, OverflowError):
            return ""
        return f"{moment.isoformat(timespec='milliseconds')[:23]}Z"
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e14:
        return f"{format_time(value // 1000)[:-1]}.{int(value) % 1000:03}Z"
    return ""
