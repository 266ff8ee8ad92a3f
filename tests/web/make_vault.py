"""A vault for the tests of the page: sessions with transcripts, one of 5 MB, and notes that would do harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SESSION, LONG_SESSION = (f"{digit * 8}-2222-4333-8444-555555555555" for digit in "13")
CHOICE = "we keep the index in SQLite, because people know it"
LONG_TURNS = 1200
# Each sets window.harmed where it is taken for more than text.
HARMS = (
    "<script>window.harmed=1</script>",
    "<img src=x onerror=window.harmed=1>",
    "[a link](javascript:window.harmed=1)",
    "[another](data:text/html,<script>window.harmed=1</script>)",
    "![a picture](https://elsewhere.example/spy.png)",
    "<svg onload=window.harmed=1>",
    "[[x|<img src=x onerror=window.harmed=1>]]",
    "`</code><script>window.harmed=1</script>`",
    '"onmouseover="window.harmed=1',
    "\u202egnp.exe \x1b[31mred",
)


def make_vault(folder: Path, harms: tuple[str, ...] = HARMS) -> dict[str, str]:
    """Makes the vault in `folder/vault`, with notes that hold these harms; answers the environment in which it is
    the person's own."""
    names = {
        "HOME": "home",
        "XDG_STATE_HOME": "state",
        "XDG_CACHE_HOME": "cache",
        "CLAUDE_CONFIG_DIR": "claude",
    }
    given = {name: str(folder / one) for name, one in names.items()}
    given |= {
        "XDG_CONFIG_HOME": str(folder / "home/.config"),
        "GIT_CONFIG_GLOBAL": str(folder / "gitconfig"),
    }
    work, vault = folder / "work", folder / "vault"
    for one in (work, folder / "home"):
        one.mkdir(parents=True)
    (folder / "gitconfig").write_text("[user]\n\tname = Test\n\temail = test@example.org\n")
    environment = os.environ | given

    def cortex(*words: str, text: str = "") -> str:
        line = [sys.executable, "-m", "cortex", *words, "--vault", str(vault)]
        ran = subprocess.run(
            line, cwd=work, env=environment, input=text, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, (words, ran.stderr)
        return ran.stdout

    subprocess.run(
        [sys.executable, "-m", "cortex", "init", str(vault)],
        env=environment,
        check=True,
        capture_output=True,
    )
    (work / ".cortex-project").write_text("cache\n")
    _write_transcript(folder, SESSION, _lines(work, harms or ("", "ok", "")))
    if harms:
        _write_transcript(folder, LONG_SESSION, _long_lines(work))
    cortex("import", "claude", "--all")
    for title, type_, body in _NOTES if harms else _NOTES[:4]:
        cortex(
            "save",
            title,
            "--type",
            type_,
            "--body",
            body,
            "--project",
            "cache",
            "--tags",
            "index,speed",
        )
    for number, harm in enumerate(harms):
        plain = harm.replace("\x1b", "")
        cortex(
            "save",
            f"harm {number} {plain}",
            "--body",
            f"{plain}\n\nA text with harm in it: {plain}",
            "--project",
            "cache",
        )
    own = "".join(
        f"## {one}\n\n- {one}\n\n| {one.replace('|', ' ')} | b |\n| --- | --- |\n| {one.replace('|', ' ')} | d |\n\n"
        for one in harms
    )
    properties = json.dumps([one for one in harms if one.isprintable()])
    if harms:
        text = f"---\ntags: {properties}\nowner: {properties}\n---\n# Harm {harms[0]}\n\n{own}"
        (vault / "Own note with harm.md").write_text(text)
    cortex("normalize")
    subprocess.run(["git", "init", "-q"], cwd=vault, env=environment, check=False)
    subprocess.run(["git", "add", "-A"], cwd=vault, env=environment, check=True)
    subprocess.run(["git", "commit", "-qm", "all of it"], cwd=vault, env=environment, check=True)
    return given


_NOTES = (
    ("Pages are cut at 4 KB", "decision", "Larger ones made the disk wait, as the benchmark of May shows."),
    ("The cache is warmed at start", "decision", "**What.** It reads the hot keys.\n\n**Why.** The first request took a second."),
    ("Timeouts below 50 ms trip on CI", "gotcha", "Its machines are slower by ten."),
    ("Write the benchmark of the index", "action", "With ten thousand notes."),
    ("To be edited and taken back", "decision", "It says one thing now."),
    ("To be archived and restored", "pattern", "One table for each kind."),
)  # fmt: skip


def _write_transcript(folder: Path, session: str, lines: list[dict[str, Any]]) -> None:
    path = folder / "claude/projects/-any" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _lines(work: Path, harms: tuple[str, ...]) -> list[dict[str, Any]]:
    """A prompt, an answer with two tools, a choice of the person's, and what was decided."""
    said: list[tuple[str, Any]] = [
        ("user", "Where do we keep the index?"),
        ("assistant", [
            {"type": "text", "text": "I look at how it is done now."},
            {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "src/index.py"}},
            {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": f"grep -rn Index src {harms[0]}"}},
        ]),
        ("user", [
            {"type": "tool_result", "tool_use_id": "t1", "content": "class Index:\n" + "    pass\n" * 500},
            {"type": "tool_result", "tool_use_id": "t2", "content": harms[1], "is_error": bool(harms[0])},
        ]),
        ("assistant", f"It is a file now; a database would be faster. {harms[0]} {harms[2]}"),
        ("user", "Then SQLite, if people know it."),
        ("assistant", f"Decision: {CHOICE}. I write it down."),
    ]  # fmt: skip
    return [_line(work, SESSION, number, *one) for number, one in enumerate(said)]


def _long_lines(work: Path) -> list[dict[str, Any]]:
    """A session of 5 MB: each turn of the agent reads a file."""
    lines = []
    for number in range(LONG_TURNS):
        if number % 20 == 0:
            lines.append(
                _line(
                    work,
                    LONG_SESSION,
                    len(lines),
                    "user",
                    f"Question {number}: what of part {number}?",
                )
            )
        text = f"Part {number} is read. " + f"The word of turn {number} is zebra{number}. " * 60
        content = [
            {"type": "text", "text": text},
            {
                "type": "tool_use",
                "id": f"u{number}",
                "name": "Read",
                "input": {"file_path": f"src/part_{number}.py"},
            },
        ]
        lines.append(_line(work, LONG_SESSION, len(lines), "assistant", content))
        output = f"def part_{number}():\n" + "    return 'a line of the file'\n" * 55
        result = [{"type": "tool_result", "tool_use_id": f"u{number}", "content": output}]
        lines.append(_line(work, LONG_SESSION, len(lines), "user", result))
    return lines


def _line(work: Path, session: str, number: int, role: str, content: Any) -> dict[str, Any]:
    second = f"{number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"
    day = "2026-10-01" if session == SESSION else "2026-10-02"
    key = f"m{session[0]}{number}"
    return {
        "type": role, "uuid": key, "cwd": str(work), "sessionId": session, "timestamp": f"{day}T{second}Z",
        "gitBranch": "main", "isSidechain": False, "message": {"role": role, "id": key, "content": content},
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(make_vault(Path(sys.argv[1]))))
