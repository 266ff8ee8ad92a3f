"""Which of an agent's commands are worth telling, and why one failed, in a few words."""

from __future__ import annotations

from cortex.core.model.turn_summary import Command
from cortex.core.redact.secrets import clean
from cortex.core.text.strings import shorten
from cortex.hosts.transcript_item import LONGEST_COMMAND, LONGEST_WHY, one_clean_line

# Programs whose success says something about the work: tests, linters, builds.
_PROGRAMS = (
    "pytest tox nox ruff mypy pyright flake8 pylint black isort bandit pre-commit eslint prettier tsc jest vitest mocha playwright cypress "
    "make ninja cmake ctest bazel gradle gradlew mvn mvnw ant sbt tsan rspec rubocop rake phpunit phpstan golangci-lint staticcheck clippy "
    "swiftlint xcodebuild shellcheck hadolint terraform ansible-lint biome webpack vite rollup esbuild just task unittest lint-imports"
)
_ALONE = frozenset(_PROGRAMS.split())
_PAIRS = {
    "git": "commit merge rebase revert cherry-pick tag push",
    "npm": "test t build ci publish", "yarn": "test build lint publish", "pnpm": "test build lint publish", "bun": "test build",
    "cargo": "test build check clippy fmt bench publish nextest", "go": "test build vet generate", "dotnet": "test build publish",
    "swift": "test build", "mix": "test compile", "docker": "build", "deno": "test lint check", "zig": "build test", "flutter": "test build",
    "rails": "test", "django": "test", "poetry": "build", "hatch": "build test", "uv": "build", "dart": "test analyze", "lein": "test",
    "stack": "build test", "cabal": "build test", "composer": "test", "helm": "lint",
}  # fmt: skip
_SECOND = {program: frozenset(words.split()) for program, words in _PAIRS.items()}
# Words that only stand before the program.
_WRAPPERS = "sudo time env nohup exec command npx bunx pnpx timeout nice xvfb-run bundle poetry pipenv uv pdm hatch rye run -m"
_BEFORE = frozenset(_WRAPPERS.split())
_PYTHON = ("python", "python3", "py")
_MOST = 4000  # characters of a command that are looked at for programs
_TELLING = (
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
_REFUSED = (
    "the user doesn't want to",
    "[request interrupted",
    "requested permissions",
    "user rejected",
    "permission to use",
)
_LINES, _LOOKED_AT = 200, 20_000  # of what a command printed, for the reason


def command_of(command: str, failed: bool, output: str = "", code: str = "") -> Command | None:
    """The command as one that is worth telling; None when it is not. Failures always are, unless nobody let it run."""
    if (
        not command.strip()
        or (not failed and not noteworthy(command))
        or (failed and refused(output))
    ):
        return None
    line = shorten(one_clean_line(command), LONGEST_COMMAND)
    return Command(line, f"failed: {why(output, code)}".rstrip(": ") if failed else "ok")


def refused(output: str) -> bool:
    """Whether an answer of a tool says that the person did not let it run."""
    return output[:400].lower().lstrip().startswith(_REFUSED)


def noteworthy(command: str) -> bool:
    """Whether a command that succeeded is a test, a linter, a build, or a change of the git history."""
    text = command[:_MOST]
    for sign in ("&&", "||", ";", "|", "(", ")"):
        text = text.replace(sign, "\n")
    return any(_says(line.split()) for line in text.splitlines())


def _says(words: list[str]) -> bool:
    while words:
        name = words[0].rpartition("/")[2]
        assigned = "=" in name and not name.startswith("-")
        if name in _ALONE or (
            name in _SECOND and any(word in _SECOND[name] for word in words[1:4])
        ):
            return True
        if name in ("npm", "yarn", "pnpm", "bun", "deno") and "run" in words[1:3]:
            return any(
                part in word for word in words[2:4] for part in ("test", "lint", "build", "check")
            )
        if not (
            assigned
            or name in _BEFORE
            or name in _PYTHON
            or name.rstrip("smh").isdigit()
            or (name.startswith("python3.") and len(name) < 12)
        ):
            return False
        words = words[1:]
    return False


def why(output: str, code: str = "") -> str:
    """The first words of the line that says most about a failure, with the exit code where one is known."""
    lines = [line.strip() for line in clean(output)[:_LOOKED_AT].splitlines()[:_LINES]]
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
        (one for one in telling if any(word in one.lower() for word in _TELLING)),
        telling[0] if telling else "",
    )
    exit_ = f"exit code {code[:8]}" if code else ""
    return shorten(", ".join(part for part in (exit_, one_clean_line(line)) if part), LONGEST_WHY)
