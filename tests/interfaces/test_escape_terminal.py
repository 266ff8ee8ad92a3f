"""Nothing that a note, a file name or a folder holds acts on the terminal: every verb, on a vault full of control characters."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from cortex.core.model.problem import CortexError
from cortex.interfaces.call import Request
from cortex.interfaces.cli.command import parse
from cortex.interfaces.cli.main import main
from cortex.interfaces.cli.view import BOLD, DIM, OFF, YELLOW
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.mcp.call import call_tool
from cortex.interfaces.mcp.resources import fill_prompt, read_resource
from cortex.interfaces.mcp.server import explain
from cortex.interfaces.mcp.tools import VERBS_WITHOUT_TOOL, select_tools
from cortex.operations import ALIASES, VERBS
from cortex.vault.locate import Vault
from tests.conftest import run_git

ESC = "\x1bc"  # resets a terminal; nothing of it stops a link
EVIL = f"x{ESC}\x1b[31m\x1b]0;x\x07\x08\x7f\x9b31m\u202e\u2066\U000e0041"
ID = f"an-{ESC}id\x07"
FILE = f"records/decision/a{ESC}path\x07.md"
PROJECT = f"a{ESC}project"
EVENT = f"20261120t164512z-{ESC}"
COMMIT = "{commit}"  # of the vault
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)
_RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


def quoted(text: str) -> str:
    def sign(one: str) -> str:
        return (f"\\{one}" if one in '"\\' else one) if one.isprintable() else f"\\U{ord(one):08x}"

    return f'"{"".join(map(sign, text))}"'


def note(id_: str, body: str = "", **fields: str) -> str:
    """A note in which every field holds control characters, except those that are given."""
    names = "title status scope branch topic owner due created updated merged_from"
    evil = dict.fromkeys(names.split(), EVIL)
    lines = [
        f"{key}: {quoted(value)}"
        for key, value in ({"id": id_} | evil | {"project": PROJECT} | fields).items()
        if value
    ]
    relations = [
        "relations:",
        f"  - {{kind: {quoted(EVIL)}, to: {quoted(f'[[no{ESC}where]]')}}}",
        f"  - {{kind: refines, to: {quoted(f'[[{ID}]]')}}}",
    ]
    told = ["provenance:", f"  session: {quoted(EVIL)}", "  events:", f"    - {quoted(EVENT)}", "    - 20261120t164512z-aaaaaaaaaa"]  # fmt: skip
    return "\n".join(
        [
            "---",
            *lines,
            f"tags: [{quoted(EVIL)}]",
            *relations,
            *told,
            "---",
            "",
            f"zebra {EVIL} `src/{ESC}app.py` [[no{ESC}where]] {body}",
            "",
        ]
    )


NOTES = {
    FILE: note(ID, type="decision", status="active", topic="decision/a"),
    "records/decision/b.md": note(f"two-{ESC}id", type="decision", status="active", topic="decision/a"),
    "records/decision/c.md": note(f"three-{ESC}", type="decision", status="superseded", superseded_by=f"[[{ID}]]", superseded_because=EVIL),
    "records/decision/d.md": note(f"four-{ESC}", type="decision", status="archived", archived_at="2020-01-01T00:00:00Z", status_before=EVIL),
    "records/learning/e.md": note(f"five-{ESC}", type=EVIL, status=EVIL),
    "records/learning/f.md": note(f"faded-{ESC}", type="gotcha", status="active", confidence="0.1", updated="2020-01-01T00:00:00Z"),
    "records/action/g.md": note(f"todo-{ESC}", type="action", status="open", project=f"{PROJECT}.git"),
    "records/action/h.md": note(f"late-{ESC}", type="action", status="open", due=f"2020-01-01T{ESC}", owner=EVIL),
    "records/action/i.md": note(f"closed-{ESC}", type="action", status="closed"),
    "records/meeting/j.md": note(f"meet-{ESC}", type="meeting", status="active"),
    "sessions/2026/11/k.md": note(
        f"session-{ESC}", f"\n\n## Summary\n\n{EVIL}\n\n## Events\n\n- 2026-11-20 16:45 prompt: {EVIL} [[20261120t164512z-aaaaaaaaaa]]",
        type="session", status="open", started=EVIL, ended=EVIL, closed=EVIL,
    ),
    f"events/2026/11/{ESC}.md": note(EVENT, f"\n\n## Raw Content\n\n{EVIL}", type="prompt", session=EVIL, at=EVIL),
    "events/2026/11/20261120t164512z-aaaaaaaaaa.md": note("20261120t164512z-aaaaaaaaaa", type="prompt", session=EVIL, at=EVIL),
    f"inbox/failed/20261120t164513z-{ESC}.md": note("20261120t164513z-bbbbbbbbbb", type="stop"),
    "inbox/pending/20261120t164514z-bbbbbbbbbb.md": note(EVIL, type="stop"),
    f"own {ESC}note.md": f"# {EVIL}\n\n[[{ID}]] zebra {EVIL}\n\n<<<<<<< {EVIL}\n=======\n>>>>>>>\n",
    "broken.md": f"---\n{ESC}: [\n---\n",
}  # fmt: skip

# What is asked of a verb; of one that does not stand here, with the id for each of its arguments.
ASKED: dict[str, list[list[str]]] = {
    "init": [[f"{{new}}{ESC}"]],
    "capture": [[EVIL], [EVIL, "--type", EVIL]],
    "save": [[EVIL, "--topic", "decision/a", "--project", "p"], [EVIL, "--type", EVIL], [EVIL, "--supersedes", ID], ["zebra", "--project", EVIL]],
    "topic": [[], [EVIL], ["--project", EVIL]],
    "passive": [[f"## Key learnings\n\n1. That this {EVIL} is a thing to be remembered by all of us, always\n"]],
    "search": [["zebra"], ["zebra", "--all"], [f"type:{ESC}x"], [f"nothing{ESC}"]],
    "recall": [[], ["zebra"], ["zebra", "--all"], ["--project", PROJECT], [f"none{ESC}"], ["--scope", EVIL], ["--scope", "open"], ["--scope", f"meeting:meet-{ESC}"]],
    "timeline": [[ID], ["--all", FILE], [EVIL]],
    "open": [[ID], [FILE], [EVIL]],
    "edit": [[ID], [f"own {ESC}note.md"], [EVIL]],
    "context": [[], ["--project", PROJECT], ["--project", PROJECT, "--branch", EVIL]],
    "session": [
        ["start", EVIL], ["start", EVIL], ["end", EVIL], ["list"], ["list", "--project", EVIL], ["show", EVIL], ["show", f"session-{ESC}"], ["end"],
        ["end", "--orphans"], [EVIL], ["end", f"no{ESC}ne"],
    ],
    "actions": [[], ["--done"], ["--overdue"], ["--owner", EVIL], ["--project", EVIL]],
    "meetings": [[], ["--since", EVIL]],
    "new": [["decision", EVIL], [EVIL, EVIL]],
    "normalize": [["--dry-run"], []],
    "retry": [[f"20261120t164513z-{ESC}"], [EVIL]],
    "heal": [["--check"], []],
    "sync": [[]],
    "serve": [["--print-unit", "systemd"], ["--print-unit", "launchd", "--host", EVIL], ["--host", EVIL], ["--token-file", EVIL, "--print-token"]],
    "web": [["--print", "--port", "1"], ["--print", "--token-file", EVIL]],
    "watch": [["--status"], ["--status", "--unit", EVIL]],
    "calendar": [[], ["--project", EVIL]],
    "review": [[]],
    "history": [[], ["--since", "2000-01-01"], [ID], [FILE], [ID, "--at", COMMIT], [ID, "--at", EVIL], [EVIL]],
    "merge": [["broken.md", FILE, f"own {ESC}note.md"], ["--explain", FILE, "records/decision/b.md", "records/decision/c.md"], [EVIL, EVIL, EVIL]],
    "git": [["status"], [EVIL]],
    "relate": [[ID, "refines", f"two-{ESC}id"], [ID, "supersedes", f"two-{ESC}id"], [f"two-{ESC}id", "supersedes", ID], [ID, EVIL, ID]],
    "unrelate": [[ID, "any", f"no{ESC}where"], [ID, EVIL, ID], [f"two-{ESC}id", "supersedes", ID], [f"two-{ESC}id", "any", EVIL]],
    "graph": [[ID], [ID, "--mermaid"], [ID, "--to", f"five-{ESC}"], [ID, "--to", FILE], [ID, "--kind", EVIL]],
    "backlinks": [[ID], [FILE], [EVIL]],
    "mv": [[ID, EVIL], [ID, f"new {ESC}name"], [FILE, "plain", "--dry-run"], [FILE, "plain"], [EVIL, EVIL]],
    "entities": [[], ["--note", ID], [f"src/{ESC}app.py"], ["app.py"], [EVIL]],
    "score": [[ID], [f"own {ESC}note.md"], [EVIL]],
    "lifecycle": [["--dry-run"], []],
    "prune": [["--dry-run"], [], ["--yes"]],
    "revise": [[ID, "--title", EVIL], [ID, "--body", EVIL], [ID, "--status", EVIL], [ID, "--project", EVIL], [EVIL]],
    "done": [[f"todo-{ESC}"], [f"late-{ESC}"], [ID]],
    "supersede": [[ID, "--by", f"two-{ESC}id", "--reason", EVIL], [f"three-{ESC}"], [EVIL]],
    "archive": [[ID], [ID, "--reason", EVIL]],
    "delete": [[ID], [f"two-{ESC}id", "--hard"], [f"two-{ESC}id", "--hard", "--yes"]],
    "forget": [["zebra"], [EVIL]],
    "restore": [[ID, "--at", COMMIT], [ID, "--at", EVIL], [f"three-{ESC}"], [f"four-{ESC}"], [EVIL]],
    "consolidate": [[], ["--least", "0.1"], [ID, f"two-{ESC}id"], [EVIL]],
    "doctor": [[], ["--fix"]],
    "export": [["--to", form] for form in ("jsonl", "html", "ics")],
    "promote": [[ID], [ID], [EVIL]],
    "project": [["list"], ["show", PROJECT], ["show"], ["merge", PROJECT, "shop"], ["merge", PROJECT, "shop", "--yes"], ["unmerge", PROJECT, "shop"], [EVIL]],
}  # fmt: skip

# Those that are known to say something that notes hold.
SAYING = frozenset(
    "search recall timeline show open edit context session actions meetings retry history relate unrelate graph entities score update done pin supersede archive"
    " restore consolidate status doctor project calendar review export".split()
)


# Those that only look, whose forms share a vault and its index.
LOOKING = frozenset(
    "search recall timeline show open edit context topic meetings actions history graph entities score status brief remind calendar review".split()
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The vault, in a repository with one commit by somebody with such a name, and that commit."""
    root = tmp_path_factory.mktemp("hostile") / f"va{ESC}ult"
    for path, text in NOTES.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    for folder in ("inbox/pending", "inbox/failed", "events", "records", "sessions", "briefings"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "cortex.toml").write_text(
        'format = 1\n\n[projects.aliases]\n"old\\u001bc" = "a"\n"bad\\u001bc" = 3\n'
    )
    who = f"A{ESC}B"
    about = {"GIT_AUTHOR_NAME": who, "GIT_COMMITTER_NAME": who, "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip

    def git(*words: str) -> str:
        return run_git(root, *words, **about).strip()

    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", f"A subject {EVIL}")
    return root, git("rev-parse", "HEAD")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def output_of(
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    painted: bool,
) -> str:
    """What the command prints to both streams, without the codes with which the program itself paints."""
    with monkeypatch.context() as patched:
        terminal = Terminal()
        if painted:
            patched.setattr(sys, "stdout", terminal)
        main(words)
    text = "".join(capsys.readouterr()) + terminal.getvalue()
    for code in (BOLD, DIM, YELLOW, OFF) if painted else ():
        text = text.replace(code, "")
    return text


def request_in(root: Path) -> Request:
    return Request(str(root), "mcp", lambda: Vault(str(root)))


def strings(value: object) -> list[str]:
    """All texts in a JSON value, keys too."""
    if isinstance(value, dict):
        return [one for pair in value.items() for part in pair for one in strings(part)]
    return (
        [one for part in value for one in strings(part)]
        if isinstance(value, list)
        else [str(value)]
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(VERBS.keys() - VERBS_WITHOUT_TOOL.keys()))
def test_no_tool_hands_a_control_character_to_an_agent(
    name, hostile, tmp_path, caller, monkeypatch
) -> None:
    root, commit = hostile
    vault = tmp_path / f"va{ESC}ult"
    shutil.copytree(root, vault, symlinks=True)
    monkeypatch.chdir(vault)
    tool = select_tools([name])[name]
    declared = declaration_of(load_verb(tool.verb))
    required = [ID for one in declared.parameters if one.required and not one.is_option]
    given = [parse([name, *words, "--json"]) for words in ASKED.get(name, [required])]
    for one in filter(None, given):
        arguments = json.loads(json.dumps(one.given).replace(COMMIT, commit))
        try:
            answer = call_tool(name, tool, arguments, request_in(vault))
            texts = [answer.text, *strings(answer.content)]
        except CortexError as error:
            texts = [explain(error, "; ")]
        for text in texts:
            assert not (found := _CONTROL.search(text)), (arguments, text, found)


def test_no_resource_or_prompt_hands_one_to_an_agent(hostile, caller, monkeypatch) -> None:
    monkeypatch.chdir(hostile[0])
    for uri in ("cortex://status", "cortex://decisions", "cortex://plan", f"cortex://record/{ID}"):
        text = read_resource(uri, request_in(hostile[0]), {})["text"]
        assert not _CONTROL.search(text)
        assert "\\u001b" not in text
    assert not _CONTROL.search(str(fill_prompt("recall", {"words": EVIL}, {})))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*VERBS, *(alias for alias in ALIASES if alias in ASKED)])
def test_no_verb_sends_a_control_character_of_a_note_to_the_terminal(
    name, hostile, tmp_path, capsys, monkeypatch
) -> None:
    root, commit = hostile
    own = tmp_path / f"own{ESC}"
    work = tmp_path / f"wo{ESC}rk"
    (work / ".git").mkdir(parents=True)
    (work / ".git/HEAD").write_text(f"ref: refs/heads/a{ESC}branch\n")
    monkeypatch.chdir(work)
    assert main(["init", str(own), "--default"]) == 0
    capsys.readouterr()
    declared = declaration_of(load_verb(ALIASES.get(name, (name,))[0]))
    required = [ID for one in declared.parameters if one.required and not one.is_option]
    everything = ""
    for form in ("plain", "painted", "json"):
        vault = tmp_path / ("shared" if name in LOOKING else form) / f"va{ESC}ult"
        if not vault.exists():
            shutil.copytree(root, vault, symlinks=True)
            if name == "calendar":  # which names what was used
                output_of(["show", "--vault", str(vault), ID], capsys, monkeypatch, painted=True)
        for words in ASKED.get(name, [required]):
            given = [
                word.replace(COMMIT, commit).replace("{new}", str(tmp_path / f"new-{form}"))
                for word in words
            ]
            if name == "merge":
                monkeypatch.chdir(vault)
            if form == "plain" and (name in ("show", "export") or "--at" in words):
                continue  # a text that was asked for goes into a pipe as it stands
            where = ["--vault", str(vault)] if "vault" in declared.supplied else []
            text = output_of(
                [name, *where, *given, *(["--json"] if form == "json" else [])],
                capsys,
                monkeypatch,
                painted=form == "painted",
            )
            assert not (found := _RAW.search(text)), (
                form,
                words,
                text[max(0, found.start() - 80) : found.end() + 40],
            )
            everything += text
    shown = "<U+001B>" in everything or "\\033" in everything
    assert shown or name not in SAYING, everything
