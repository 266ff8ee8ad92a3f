"""Print the test files that concern what is changed: since the last commit, or if nothing is, since the branch left main.

A test file concerns a module if it is one of the changed files or imports the module. Slow ones are left to `make test`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
SLOW = {
    "tests/operations/test_sync.py", "tests/operations/test_import.py", "tests/interfaces/test_escape_terminal.py",
    "tests/interfaces/test_hostile_frames.py",
}  # fmt: skip
SLOW_FOLDERS = ("tests/reliability/", "tests/watcher/")
ALWAYS = ["tests/test_house.py", "tests/interfaces/test_declare.py"]
MAX_FILES = (
    12  # that import what is changed; of a module that everything imports the first are enough
)


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def changed_files() -> list[str]:
    now = [*git("diff", "--name-only", "HEAD"), *git("ls-files", "--others", "--exclude-standard")]
    return now or git("diff", "--name-only", "main...HEAD")


def imports(text: str, module: str) -> bool:
    """Whether a test names a module, given as `cortex.room.name`, in one of its imports."""
    package, _, name = module.rpartition(".")
    line = rf"^ *from {re.escape(package)} import [^\n]*\b{name}\b|^ *(?:from|import) {re.escape(module)}\b"
    return bool(re.search(line, text, re.MULTILINE))


def concerned(changed: list[str]) -> list[str]:
    modules = [
        path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in changed
        if path.startswith("cortex/") and path.endswith(".py")
    ]
    tests = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/**/test_*.py"))]
    texts = {path: (ROOT / path).read_text() for path in tests}
    chosen = [path for path in tests if path in changed]
    chosen += [path for path in tests if any(imports(texts[path], module) for module in modules)][
        :MAX_FILES
    ]
    quick = [path for path in chosen if path not in SLOW and not path.startswith(SLOW_FOLDERS)]
    return list(dict.fromkeys([*quick, *ALWAYS]))


if __name__ == "__main__":
    print("\n".join(concerned(changed_files())))
