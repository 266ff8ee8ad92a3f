"""The wheel, as a stranger installs it: in an environment of its own, away from the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent


def declared(dist: metadata.Distribution) -> set[str]:
    return {re.split(r"[^\w.-]", line)[0] for line in dist.requires or () if "extra ==" not in line}


def needed(dist: metadata.Distribution) -> set[str]:
    """The files and folders, here, of the packages that a package declares, and of those that they declare."""
    found: set[str] = set()
    waiting, seen = declared(dist), set[str]()
    while waiting - seen:
        name = (waiting - seen).pop()
        seen.add(name)
        one = metadata.distribution(name)
        waiting |= declared(one)
        found |= {
            str(one.locate_file(file.parts[0])) for file in one.files or () if file.parts[0] != ".."
        }
    return found


def test_the_installed_wheel_works_on_its_own(tmp_path) -> None:
    def run(*words: object, cwd: Path = tmp_path) -> str:
        environment = {
            key: value for key, value in os.environ.items() if not key.startswith("PYTHON")
        }
        environment["PATH"] = f"{tmp_path / 'env/bin'}:{environment['PATH']}"
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, cwd=ROOT)
    (wheel,) = tmp_path.glob("cortex_vault-*.whl")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "env")
    pip = [
        sys.executable, "-m", "pip", "--python", tmp_path / "env/bin/python", "--disable-pip-version-check",
    ]  # fmt: skip
    run(*pip, "install", "-q", "--no-deps", "--no-index", wheel)
    (site,) = tmp_path.glob("env/lib/python*/site-packages")
    (installed,) = metadata.distributions(name="cortex-vault", path=[str(site)])
    for path in needed(installed):
        os.symlink(path, site / os.path.basename(path))
    cortex = tmp_path / "env/bin/cortex"
    assert str(tmp_path / "env") in run(
        tmp_path / "env/bin/python", "-c", "import cortex; print(cortex.__file__)"
    )
    run(cortex, "init", tmp_path / "notes")
    home = tmp_path / "notes"
    run(cortex, "capture", "Decision: ship the templates in the wheel", cwd=home)
    assert "Ship the templates" in run(cortex, "search", "templates", "wheel", cwd=home)
    path = run(cortex, "new", "decision", "From a template", cwd=home).strip()
    assert "**Rejected.**" in (home / path).read_text()
    assert (home / ".gitattributes").read_text().startswith("# Patterns are relative")
    run(cortex, "doctor", cwd=home)
    run("git", "init", "-q", cwd=home)
    assert "-m cortex sync --vault" in run(cortex, "sync", "--every", "10m", cwd=home).replace(
        '"', ""
    )
    # What the README says next: no extra is there, and each host's server lists its tools.
    for scope in ((), ("--user",)):
        said = run(cortex, "mcp", "install", "claude", "codex", "gemini", *scope, cwd=home)
        assert len(re.findall(r"  answers in \d+ ms with \d+ tools", said)) == 3, said
    assert "it keeps a turn" in run(cortex, "hooks", "install", "claude", "gemini", cwd=home)


def test_readme_makefile_and_package_say_the_same_of_pythons() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")  # and no upper bound
    tested = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    assert tested[0] == oldest
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert f"with Python {', '.join(tested[:-1])} and {tested[-1]} (CPython)" in readme
    assert f"Python {oldest} or newer, make and git" in readme
    makefile = (ROOT / "Makefile").read_text()
    assert f"sys.version_info < ({oldest.replace('.', ', ')})" in makefile
    assert f"Cortex needs Python {oldest} or newer" in makefile


def test_make_takes_the_first_python_that_can_do_it(tmp_path: Path) -> None:
    """Passed over is one that is too old or has no `venv`, not one that is newer than any we have tried."""
    for name in ("sh", "make"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))

    def make(*words: str) -> subprocess.CompletedProcess[str]:
        command = ["make", "-f", str(ROOT / "Makefile"), *words, ".venv/bin/python"]
        return subprocess.run(
            command,
            cwd=tmp_path,
            env={"PATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )

    def python(name: str, does: str) -> None:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{does}\n")
        path.chmod(0o755)

    python("python3", "exit 1")  # as one that is too old answers
    none = make()
    assert none.returncode
    assert "needs Python 3.11 or newer with venv: make demo PYTHON=" in none.stderr
    for name in ("python3.12", "python3.17", "python3"):
        python(name, f'exec "{sys.executable}" "$@"')
        assert make("-n").stdout.endswith(f"\n{name} -m venv .venv\n")
