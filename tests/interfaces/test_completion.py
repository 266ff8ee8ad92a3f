"""Completion: what is offered for each word, and that bash, zsh and fish put it into the line."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import pytest

from cortex.core.model.parameters import QueryText
from cortex.interfaces.cli import completion
from cortex.interfaces.declare import choices_of, declaration_of, is_note_name, load_verb
from cortex.operations import VERBS
from cortex.operations.records.relate import RelationKind
from cortex.vault.locate import Vault

NOTES = """=== records/decision/keep-the-index-outside-k3f7q2.md
---
id: keep-the-index-outside-k3f7q2
type: decision
title: Keep the index outside
status: active
project: shop
topic: decision/index
branch: main
tags: [storage, cache]
---
# Keep the index outside

It is a cache.
=== records/gotcha/staging-drops-m5d2xa.md
---
id: staging-drops-m5d2xa
type: gotcha
title: "Staging drops: $HOME"
status: open
project: checkout
owner: anna
---
It pings.
=== mine/Album.md
An own note.
- [ ] glue the cover
- [x] buy paper
"""
# A text that people write themselves, or a value of which the vault knows nothing.
FREE = {
    "after", "answer_text", "at", "attendees", "body", "every", "find", "from_", "content", "discoveries", "accomplished", "due", "event", "files", "goal", "instructions", "language", "learned",
    "model", "name", "names", "new", "next_steps", "prompt", "query", "reason", "scope", "source", "summary", "text", "title", "what", "where", "why",
    "confidence", "priority", "number", "allow", "http", "save", "tools", "since", "version", "words", "host", "port", "allow_host",
    "provider", "facet", "day", "segment", "span", "output_path", "max_output_tokens", "thinking_budget", "env", "session_id", "chat_id", "status",
}  # fmt: skip


@pytest.fixture
def indexed_vault(vault_from, cortex) -> Vault:
    vault = vault_from(NOTES)
    cortex("search", "cache", cwd=vault.root)
    return vault


def offered(words: list[str], root: str, monkeypatch) -> list[str]:
    monkeypatch.chdir(root)
    return [word for word, _ in completion.answers(words)]


@pytest.mark.parametrize(("words", "wanted"), [
    (["sea"], ["search"]),
    (["unp"], []),
    (["hooks", "in"], ["install"]),
    (["hook", "sto"], ["stop"]),
    (["hook", "stop", "--host", "cl"], ["claude"]),
    (["help", "capt"], ["capture"]),
    (["completion", "z"], ["zsh"]),
    (["capture", "--ta"], ["--tags"]),
    (["capture", "--type", "mee"], ["meeting"]),
    (["capture", "--type", "meeting", "x"], [":files"]),
    (["capture", "x"], []),
    (["revise", "x", "--status", "act"], ["active"]),
    (["revise", "x", "--status=act"], ["--status=active"]),
    (["save", "x", "--type", "got"], ["gotcha"]),
    (["save", "x", "--tags", "cache,st"], ["cache,storage"]),
    (["save", "x", "--topic", "dec"], ["decision/index"]),
    (["show", "keep"], ["keep-the-index-outside-k3f7q2"]),
    (["show", "k3f"], ["k3f7q2"]),
    (["show", "Keep"], ["Keep the index outside"]),
    (["show", "mine/"], ["mine/Album.md"]),
    (["show", "alb"], ["Album"]),
    (["unpin", "keep"], ["keep-the-index-outside-k3f7q2"]),
    (["score", "--branch", "ma"], ["main"]),
    (["relate", "keep-the", "ref"], ["references", "refines", "referenced_by", "refined_by"]),
    (["relate", "keep-the", "refines", "stag"], ["staging-drops-m5d2xa"]),
    (["search", "ty"], ["type:"]),
    (["search", "-type:decision,gotc"], ["-type:decision,gotcha"]),
    (["search", "project:s"], ["project:shop"]),
    (["search", "after:7"], ["after:7d"]),
    (["search", "zz"], []),
    (["actions", "--owner", "a"], ["anna"]),
    (["recall", "--since", "3"], ["3m"]),
    (["done", ""], ["mine/Album.md:2"]),
    (["done", "glue"], ["glue the cover"]),
    (["project", "merge", "sh"], ["shop"]),
    (["project", "merge", "shop", "che"], ["checkout"]),
    (["init", "x"], [":files"]),
    (["--vault", "y"], [":files"]),
    (["merge", ""], [":files"]),
    (["nosuchverb", "x"], []),
], ids=lambda words: " ".join(words))  # fmt: skip
def test_what_is_offered(indexed_vault, monkeypatch, words, wanted):
    assert offered(words, indexed_vault.root, monkeypatch) == wanted


def test_every_parameter_has_values_or_is_known_to_have_none():
    for name in VERBS:
        declared = declaration_of(load_verb(name))
        for one in declared.parameters:
            written = f"{name} {one.flag if one.is_option else one.metavar}"
            members = (one.type, *get_args(one.type))
            plain = (
                one.type is str
                or str in members
                or any(get_origin(m) in (list, tuple) for m in members)
            )
            is_known = is_note_name(one.type) or one.type in (QueryText, RelationKind)
            if plain and not choices_of(one.type) and not is_known:
                assert (
                    one.name in completion.SOURCES
                    or written in completion.SOURCES
                    or one.name in FREE
                ), written


def complete_process(words: list[str], cwd: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cortex", "__complete", *words],
        cwd=cwd, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_it_is_silent_without_a_vault_and_with_a_broken_index(indexed_vault, tmp_path_factory):
    nowhere = tmp_path_factory.mktemp("nowhere")
    for words in (["fish", "show", "keep"], ["fish"], [], ["bash", "cortex show 'a \"b", ":"], ["fish", "\udcff"]):  # fmt: skip
        done = complete_process(words, str(nowhere))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), words
    assert os.listdir(nowhere) == []
    catalogue = Path(indexed_vault.cache_folder(), "catalogue.sqlite")
    for break_it in (lambda: catalogue.write_bytes(b"x" * 5000), catalogue.unlink):
        break_it()
        done = complete_process(["fish", "show", "keep"], indexed_vault.root)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not catalogue.exists()  # it never builds the index


def test_what_stands_in_a_note_neither_runs_nor_reaches_the_terminal(vault_from, cortex):
    title = "Evil \\e[31m $(touch gone) `id` ! ' \x7f"
    vault = vault_from(
        f'=== a.md\n---\ntitle: "{title}"\n---\nzebra\n=== b.md\n---\ntitle: Bad $(id) `x` \\ "q"\n---\nx\n'
    )
    cortex("search", "zebra", cwd=vault.root)
    for words in (["fish", "show", "Evil"], ["zsh", "show", "Evil"], ["bash", "cortex show Evil", ":"]):  # fmt: skip
        assert complete_process(words, vault.root).stdout == ""
    assert "\x1b" not in complete_process(["fish", "show", "a"], vault.root).stdout
    for typed, wanted in {
        "Bad": 'Bad\\ \\$\\(id\\)\\ \\`x\\`\\ \\\\\\ \\"q\\" \n', '"Bad': 'Bad \\$(id) \\`x\\` \\\\ \\"q\\"\n', "'Bad": 'Bad $(id) `x` \\ "q"\n',
    }.items():  # fmt: skip
        done = complete_process(["bash", f"cortex show {typed}", " :="], vault.root)
        assert done.stdout == wanted


def test_answers_are_bounded_and_come_from_the_index_alone(vault_from, cortex, monkeypatch):
    vault = vault_from("".join(f"=== n{number}.md\nzebra\n" for number in range(300)))
    assert offered(["show", "n"], vault.root, monkeypatch) == []  # no index yet
    cortex("search", "zebra", cwd=vault.root)
    assert len(offered(["show", "n"], vault.root, monkeypatch)) == 100


# -- in the shells


class Terminal:
    """A shell on a terminal of its own, in which words are completed."""

    def __init__(self, words: list[str], cwd: str, environment: dict[str, str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(words[0], words, environment)
        self.text = ""

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def read_until(self, pattern: str) -> str:
        """What came up to and with the pattern."""
        deadline = time.monotonic() + 20
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, self.text
            if select.select([self.fd], [], [], 0.1)[0]:
                self.text += os.read(self.fd, 65536).decode("utf-8", "replace")
        shown, self.text = self.text[: found.end()], self.text[found.end() :]
        return shown

    def settle(self) -> None:
        """Wait until nothing comes any more."""
        while select.select([self.fd], [], [], 0.4)[0]:
            self.text += os.read(self.fd, 65536).decode("utf-8", "replace")

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


SHELLS = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "bash as on macOS": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
PREPARE = {
    "bash": "bind 'set enable-bracketed-paste off'; source {script}",
    "bash as on macOS": "enable -n compopt; bind 'set enable-bracketed-paste off'; source {script}",
    "zsh": "unset zle_bracketed_paste; autoload -Uz compinit; compinit -u -d {dump}; source {script}",
    "fish": "source {script}",
}


@pytest.fixture(params=SHELLS)
def terminal(request, indexed_vault, cortex, tmp_path) -> Iterator[tuple[str, Terminal]]:
    program = SHELLS[request.param]
    if not shutil.which(program[0]):
        pytest.skip(f"not run: there is no {program[0]} here")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin/cortex"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m cortex "$@"\n')
    command.chmod(0o755)
    script = tmp_path / "script"
    script.write_text(cortex("completion", program[0]).stdout)
    Path(indexed_vault.root, "minutes of may.md").write_text("x")
    environment = os.environ | {
        "PATH": f"{command.parent}:{os.environ['PATH']}", "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8", "PROMPT_EOL_MARK": "",
    }  # fmt: skip
    one = Terminal(program, indexed_vault.root, environment)
    one.send(
        PREPARE[request.param].format(script=script, dump=tmp_path / "dump") + "; echo re''ady\n"
    )
    one.read_until("ready")
    one.settle()
    yield program[0], one
    one.close()


def test_a_shell_puts_what_is_offered_into_the_line(terminal):
    shell, one = terminal
    cases = {
        "cortex sea\t": "cortex|search",
        "cortex hooks in\t": "cortex|hooks|install",
        "cortex hist\t": "cortex|history",
        "cortex capture --ta\t": "cortex|capture|--tags",
        "cortex revise x --status act\t": "cortex|revise|x|--status|active",
        "cortex revise x --status=act\t": "cortex|revise|x|--status=active",
        "cortex show keep-the\t": "cortex|show|keep-the-index-outside-k3f7q2",
        "cortex search type:gotc\t": "cortex|search|type:gotcha",
        "cortex search project:sh\t": "cortex|search|project:shop",
        "cortex show Keep\\ the\\ i\t": "cortex|show|Keep the index outside",
        "cortex show 'Keep the i\t": "cortex|show|Keep the index outside",
        "cortex show Staging\\ dr\t": "cortex|show|Staging drops: $HOME",
        'cortex show "Staging dr\t': "cortex|show|Staging drops: $HOME",
        "cortex pin keep-the\t": "cortex|pin|keep-the-index-outside-k3f7q2",
        "cortex capture --type meeting minutes\t": "cortex|capture|--type|meeting|minutes of may.md",
        "cortex capture minutes\t": "cortex|capture|minutes",
        "cortex search typ\tgotc\t": "cortex|search|type:gotcha",
    }  # fmt: skip
    for typed, wanted in cases.items():
        one.send(f"{typed}\x01printf '<%s>' \x05 :end\n")
        shown = one.read_until(r"<cortex>[^\r\n]*<:end>")
        found = "|".join(re.findall(r"<([^<>]*)>", shown.rpartition("<cortex>")[2]))
        assert f"cortex|{found}" == f"{wanted}|:end", (shell, typed, shown)


def test_the_scripts_are_json_too_and_name_no_verb(cortex):
    for shell in ("bash", "zsh", "fish"):
        script = cortex("completion", shell).stdout
        assert json.loads(cortex("completion", shell, "--json").stdout)["script"] == script
        assert "__complete" in script
