"""The wheel, as a stranger installs it: in an environment of its own, away from the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_installed_wheel_works_on_its_own(tmp_path) -> None:
    def run(*words: object, cwd: Path = tmp_path) -> str:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, cwd=ROOT)
    (wheel,) = tmp_path.glob("cortex_vault-*.whl")
    run(sys.executable, "-m", "venv", tmp_path / "env")
    run(tmp_path / "env/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel)
    cortex = tmp_path / "env/bin/cortex"
    assert str(tmp_path / "env") in run(tmp_path / "env/bin/python", "-c", "import cortex; print(cortex.__file__)")
    run(cortex, "init", tmp_path / "notes")
    home = tmp_path / "notes"
    run(cortex, "capture", "Decision: ship the templates in the wheel", cwd=home)
    assert "Ship the templates" in run(cortex, "search", "templates", "wheel", cwd=home)
    path = run(cortex, "new", "decision", "From a template", cwd=home).strip()
    assert "**Rejected.**" in (home / path).read_text()
    assert (home / ".gitattributes").read_text().startswith("# Patterns are relative")
    run(cortex, "doctor", cwd=home)
