"""Which of an agent's commands are worth telling, and why one failed, in a few words."""

from __future__ import annotations

from cortex.core.model.turn_summary import CommandRun
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import shorten
from cortex.hosts.transcript_item import MAX_COMMAND_CHARS, MAX_REASON_CHARS, redacted_line

# Programs whose success says something about the work: tests, linters, builds.
_CHECK_PROGRAM_WORDS = (
    "pytest tox nox ruff mypy pyright flake8 pylint black isort bandit pre-commit eslint prettier tsc jest vitest mocha playwright cypress "
    "make ninja cmake ctest bazel gradle gradlew mvn mvnw ant sbt tsan rspec rubocop rake phpunit phpstan golangci-lint staticcheck clippy "
    "swiftlint xcodebuild shellcheck hadolint terraform ansible-lint biome webpack vite rollup esbuild just task unittest lint-imports"
)
_CHECK_PROGRAMS = frozenset(_CHECK_PROGRAM_WORDS.split())
_SUBCOMMAND_WORDS = {
    "git": "commit merge rebase revert cherry-pick tag push",
    "npm": "test t build ci publish", "yarn": "test build lint publish", "pnpm": "test build lint publish", "bun": "test build",
    "cargo": "test build check clippy fmt bench publish nextest", "go": "test build vet generate", "dotnet": "test build publish",
    "swift": "test build", "mix": "test compile", "docker": "build", "deno": "test lint check", "zig": "build test", "flutter": "test build",
    "rails": "test", "django": "test", "poetry": "build", "hatch": "build test", "uv": "build", "dart": "test analyze", "lein": "test",
    "stack": "build test", "cabal": "build test", "composer": "test", "helm": "lint",
}  # fmt: skip
_CHECK_SUBCOMMANDS = {
    program: frozenset(words.split()) for program, words in _SUBCOMMAND_WORDS.items()
}
# Words that only stand before the program.
_WRAPPER_WORDS = "sudo time env nohup exec command npx bunx pnpx timeout nice xvfb-run bundle poetry pipenv uv pdm hatch rye run -m"
_WRAPPER_COMMANDS = frozenset(_WRAPPER_WORDS.split())
_PYTHON_NAMES = ("python", "python3", "py")
_MAX_SCANNED_CHARS = 4000  # characters of a command that are looked at for programs
_ERROR_WORDS = (
    "error",
    "fail",
    "not found",
    "no such",
    "denied",
    "cannot",
    "unknown",
    "invalid",
    "fatal",
    "panic",
    "exception",
)
_REFUSAL_STARTS = (
    "the user doesn't want to",
    "[request interrupted",
    "requested permissions",
    "user rejected",
    "permission to use",
)
_MAX_OUTPUT_LINES, _MAX_OUTPUT_CHARS = 200, 20_000  # of what a command printed, for the reason


def summarize_command(
    command: str, failed: bool, output: str = "", code: str = ""
) -> CommandRun | None:
    """The command as one that is worth telling; None when it is not. Failures always are, unless nobody let it run."""
    if (
        not command.strip()
        or (not failed and not is_noteworthy(command))
        or (failed and is_refusal(output))
    ):
        return None
    line = shorten(redacted_line(command), MAX_COMMAND_CHARS)
    return CommandRun(
        line, f"failed: {failure_reason(output, code)}".rstrip(": ") if failed else "ok"
    )


def is_refusal(output: str) -> bool:
    """Whether an answer of a tool says that the person did not let it run."""
    return output[:400].lower().lstrip().startswith(_REFUSAL_STARTS)


def is_noteworthy(command: str) -> bool:
    """Whether a command that succeeded is a test, a linter, a build, or a change of the git history."""
    text = command[:_MAX_SCANNED_CHARS]
    for sign in ("&&", "||", ";", "|", "(", ")"):
        text = text.replace(sign, "\n")
    return any(_is_check_command(line.split()) for line in text.splitlines())


def _is_check_command(words: list[str]) -> bool:
    while words:
        name = words[0].rpartition("/")[2]
        assigned = "=" in name and not name.startswith("-")
        if name in _CHECK_PROGRAMS or (
            name in _CHECK_SUBCOMMANDS
            and any(word in _CHECK_SUBCOMMANDS[name] for word in words[1:4])
        ):
            return True
        if name in ("npm", "yarn", "pnpm", "bun", "deno") and "run" in words[1:3]:
            return any(
                part in word for word in words[2:4] for part in ("test", "lint", "build", "check")
            )
        if not (
            assigned
            or name in _WRAPPER_COMMANDS
            or name in _PYTHON_NAMES
            or name.rstrip("smh").isdigit()
            or (name.startswith("python3.") and len(name) < 12)
        ):
            return False
        words = words[1:]
    return False


def failure_reason(output: str, code: str = "") -> str:
    """The first words of the line that says most about a failure, with the exit code where one is known."""
    lines = [
        line.strip()
        for line in sanitize_text(output)[:_MAX_OUTPUT_CHARS].splitlines()[:_MAX_OUTPUT_LINES]
    ]
    if lines and lines[0].lower().removeprefix("error: ").startswith("exit code "):
        said = lines[0].lower().removeprefix("error: ").split()[2]
        code, lines = code or (said if said.isalnum() else ""), lines[1:]
    lines = [
        line.replace("<tool_use_error>", "").replace("</tool_use_error>", "")
        for line in lines
        if line.strip("=-_* ")
    ]
    telling = [line for line in lines if not line.startswith(("Traceback (", "$ ", "> "))]
    line = next(
        (one for one in telling if any(word in one.lower() for word in _ERROR_WORDS)),
        telling[0] if telling else "",
    )
    exit_ = f"exit code {code[:8]}" if code else ""
    return shorten(
        ", ".join(part for part in (exit_, redacted_line(line)) if part), MAX_REASON_CHARS
    )
