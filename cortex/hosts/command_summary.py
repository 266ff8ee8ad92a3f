"""Which of an agent's commands are worth telling, and why one failed, in a few words."""

from __future__ import annotations

from cortex.core.model.turn_summary import CommandRun
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.strings import shorten
from cortex.hosts.transcript_item import MAX_COMMAND_CHARS, MAX_REASON_CHARS, redacted_line

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
