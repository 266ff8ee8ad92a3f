"""The command line: what it accepts, what it explains, how it ends."""

from __future__ import annotations

import inspect
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.interfaces.cli import arguments, help_text, render, text
from cortex.interfaces.cli.command import answer_command
from cortex.interfaces.cli.main import main
from cortex.interfaces.declare import convert, declaration_of, load_verb
from cortex.interfaces.schema import answer_type
from cortex.operations import ALIASES, HOOK_ALIASES, OFFICIAL_ALIASES, VERBS
from cortex.watcher.protocol import CommandRequest
from tests.conftest import Shell

SEARCH, SHOW = (declaration_of(load_verb(name)) for name in ("search", "show"))
CAPTURE = declaration_of(load_verb("capture"))
NEW = declaration_of(load_verb("new"))
NOW = "2026-11-22T12:00:00Z"


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_says_what_it_does_what_its_parameters_mean_and_shows_an_example(name):
    declared = declaration_of(load_verb(name))
    assert declared.summary.endswith(".")
    assert declared.examples
    assert all(example.partition("cortex ")[1] for example in declared.examples)
    assert [one.name for one in declared.parameters if not one.meaning] == []
    if render._text_renderer(name) is text.change_lines:
        answer = answer_type(load_verb(name))
        for one in get_args(answer) or [answer]:
            assert {"outcome", "path", "id", "undo", "problems"} <= set(one._fields)


def test_the_overview_names_every_verb_once():
    named = [name for names in help_text.GROUPS.values() for name in names]
    assert sorted(named) == sorted(VERBS)
    assert len(help_text.GROUPS["For people"]) == 15


@pytest.mark.parametrize("columns", [40, 63, 64, 80, 200])
@pytest.mark.parametrize("words", [["--help"], ["--help", "--all"], ["brief", "--help"]])
def test_help_fits_the_terminal(cortex, monkeypatch, words, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = cortex(*words).stdout.partition("\nexample")[0].splitlines()
    assert max(map(len, lines)) <= min(columns, 100), max(lines, key=len)
    if columns >= 80 and words == ["--help"]:
        assert len(lines) <= 24  # one screen
        assert all(re.match("usage|cortex|$|.{7}[a-z]+ ", line) for line in lines)
        assert len([line for line in lines if re.match("[A-Z ].{6}[a-z]+ ", line)]) == 15


@pytest.mark.parametrize("name", VERBS)
def test_a_summary_stands_in_one_line_of_the_overview(name):
    assert len(declaration_of(load_verb(name)).summary) <= help_text.SUMMARY_CHARS


@pytest.mark.parametrize(("declared", "words", "values"), [
    (SEARCH, ["merge", "driver"], {"query": "merge driver", "number": 10, "json": False, "vault": ""}),
    (SEARCH, ["-n", "3", "merge"], {"query": "merge", "number": 3}),
    (SEARCH, ["merge", "-n3", "--json"], {"query": "merge", "number": 3, "json": True}),
    (SEARCH, ["merge", "--number=3"], {"query": "merge", "number": 3}),
    (SEARCH, ["merge", "-windows", "--vault", "/v"], {"query": "merge -windows", "vault": "/v"}),
    (SEARCH, ["--", "-n", "merge"], {"query": "-n merge"}),
    (CAPTURE, [], {"text": ""}),
    (CAPTURE, ["-", "--type", "stop"], {"text": "-", "type": "stop"}),
    (NEW, ["decision", "a", "b", "--body", "-"], {"type": "decision", "title": "a b", "body": "-"}),
])  # fmt: skip
def test_reads_a_line(declared, words, values):
    given = {"json": False, "vault": ""} | (arguments.parse(declared, words) or {})
    chosen = {key: given.pop(key) for key in ("json", "vault")}
    given = chosen | convert(declared, given, NOW)
    assert {key: given[key] for key in values} == values


@pytest.mark.parametrize(("declared", "words", "message"), [
    (SHOW, [], "NOTE is missing"),
    (SEARCH, ["-n"], "--number needs a value"),
    (SEARCH, ["-n", "x", "a"], "--number 'x' is not a whole number"),
    (SEARCH, ["foo", "-n-5x"], "--number '-5x' is not a whole number"),
    (SEARCH, ["--nope", "a"], "cortex search has no option --nope"),
    (SEARCH, ["a", "--json=1"], "--json takes no value"),
    (SEARCH, ["a", "--vault"], "--vault needs a value"),
    (CAPTURE, ["Use SQLite", "-typ", "decision"], "cortex capture has no option -typ"),
    (NEW, ["decision", "a", "-x"], "cortex new has no option -x"),
])  # fmt: skip
def test_a_mistake_names_the_option(declared, words, message):
    with pytest.raises(InvalidInputError, match=re.escape(message)) as raised:
        convert(declared, arguments.parse(declared, words), NOW)
    assert raised.value.hint


def test_a_mistyped_option_is_suggested_and_nothing_is_saved(vault_from, cortex):
    vault = vault_from("=== a.md\nzebra\n")
    done = cortex("save", "Use SQLite", "-typ", "decision", cwd=vault.root)
    assert (done.returncode, "did you mean --type?" in done.stderr) == (2, True)
    done = cortex("search", "a", "--nmber", "3", "--json", cwd=vault.root)
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["message"] == "cortex search has no option --nmber"


@pytest.mark.parametrize("name", VERBS)
def test_the_help_of_a_verb_is_its_docstring(cortex, name):
    """All its paragraphs, the meaning of every parameter and every example, in their order."""
    done = cortex(name, "--help")
    declared = declaration_of(load_verb(name))
    shown = {one.name: one for one in declared.parameters}
    docstring = inspect.getdoc(load_verb(name))
    assert (done.returncode, bool(docstring)) == (0, True)
    rest = " ".join(done.stdout.partition("\n\n")[2].split())  # without the usage
    for paragraph in str(docstring).split("\n\n"):
        lines = [paragraph]
        if paragraph.partition(": ")[0] in (*shown, "Example"):
            lines = re.split(r"\n(?=[a-zE]\w*: )", paragraph)
        for line in lines:
            begin, _, end = line.partition(": ")
            if one := shown.get(begin):
                line = f"{help_text.usage_of(one) if one.is_option else one.metavar} {end}"
            words = " ".join(line.removeprefix("Example: ").split())
            assert words in rest
            rest = rest.replace(words, "", 1)
    for one in arguments.options_of(declared)[len(declared.options) :]:
        rest = rest.replace(f"{help_text.usage_of(one)} {one.meaning}", "", 1)
    choices = r"( *\([a-z, -]+\))*"  # of arguments
    assert re.fullmatch(rf" *(arguments:{choices})? *options: *examples?: *", rest), rest


@pytest.mark.parametrize("words", ["--version", "-V", "version"])
def test_the_version_is_told(cortex, words):
    version = re.fullmatch(r"cortex (\d+\.\d+\.\d+)\n", cortex(words).stdout)
    assert version
    assert json.loads(cortex(words, "--json").stdout) == {"version": version[1]}


@pytest.mark.parametrize(("words", "message"), [
    (["--vault", "x"], "cortex --vault x names no verb"),
    (["help", "serch"], "there is no verb 'serch'"),
    (["completion", "tcsh"], "SHELL 'tcsh' is not bash, zsh or fish"),
    (["completion", "bash", "extra"], "SHELL 'bash extra' is not bash, zsh or fish"),
    (["status", "--vault", ""], "--vault is empty"),
    (["init", ""], "DIRECTORY is empty"),
    (["recall", "--since", ""], "--since '' is not a date or a span"),
    (["import", "winamp"], "'winamp' is no source, and no file or folder"),
    (["recall", "-n", "-5"], "--number '-5' is not a whole number from 1 to 200"),
    (["project", "list", "extra"], "project list takes no words: 'extra'"),
    (["session", "list", "extra"], "session list takes no words: 'extra'"),
], ids=lambda words: " ".join(words) if isinstance(words, list) else "")  # fmt: skip
def test_a_line_that_is_refused_says_why_and_what_next(cortex, vault, words, message):
    done = cortex(*words, cwd=vault.root)
    assert (done.returncode, done.stderr.startswith(f"cortex: {message}")) == (2, True), done.stderr
    assert done.stderr.count("\n") == 2
    error = json.loads(cortex(*words, "--json", cwd=vault.root).stdout)["error"]
    assert error["message"].startswith(message)
    assert error["hint"]


def test_a_folder_that_is_no_utf8_is_valid_json(cortex, tmp_path):
    done = cortex("init", os.fsdecode(b"%s/v\xff" % os.fsencode(tmp_path)), "--json")
    assert json.loads(done.stdout)["root"] == f"{os.path.realpath(tmp_path)}/v\ufffd"


@pytest.mark.parametrize(("torn", "named"), [(3, 3), (5, 1)])
def test_below_an_answer_about_something_else_stand_few_problems(cortex, vault, torn, named):
    for number in range(torn):
        Path(vault.root, f"torn {number}.md").write_text("---\ntags: [pears\n---\n\n# Torn\n")
    done = cortex("search", "torn", cwd=vault.root)
    answer = done.stdout + done.stderr
    assert answer.count("the frontmatter cannot be read") == named
    assert (f"{torn - named} more problems: cortex doctor" in answer) == (named < torn)


@pytest.mark.parametrize(
    "words", [["actions"], ["meetings"], ["topic"], ["session", "list"], ["project", "list"], ["recall"], ["search", "x"]]
)  # fmt: skip
def test_a_list_without_hits_ends_with_one(cortex, vault, words):
    assert cortex(*words, cwd=vault.root).returncode == 1


@pytest.mark.parametrize(
    ("word", "verb"),
    [("seach", "search"), ("unpn", "pin --remove"), ("lst", "search"), ("hlep", "help")],
)
def test_an_unknown_verb_suggests_one(cortex, word, verb):
    done = cortex(word, "x")
    assert (done.returncode, f"did you mean cortex {verb}?" in done.stderr) == (2, True)


@pytest.mark.parametrize("alias", ALIASES)
def test_a_word_that_is_no_verb_means_one_and_says_so_unless_it_stays(cortex, alias):
    verb, *words = ALIASES[alias]
    assert alias not in VERBS
    flags = {one.flag for one in declaration_of(load_verb(verb)).parameters if one.is_option}
    assert {word for word in words if word.startswith("-")} <= flags
    line = (
        ""
        if alias in OFFICIAL_ALIASES
        else f"cortex: {alias} is cortex {' '.join(ALIASES[alias])}\n"
    )
    asked = cortex(alias, "--help")
    assert (asked.stdout, asked.stderr) == (cortex(verb, "--help").stdout, line)
    explained = cortex("help", alias)
    assert (explained.stdout, explained.stderr) == (asked.stdout, line)
    assert [*json.loads(cortex("schema", alias, "--json").stdout)["verbs"]] == [verb]


@pytest.mark.parametrize(("alias", "merged"), [
    (["score", "a"], ["show", "--why", "a"]),
    (["find", "zebra"], ["search", "zebra"]),
    (["ls", "zebra"], ["search", "zebra"]),
    (["list", "zebra"], ["search", "zebra"]),
    (["inspect", "a"], ["show", "a"]),
    (["stats"], ["status"]),
    (["log", "a"], ["history", "a"]),
    (["log"], ["history"]),
    (["unpin", "a"], ["pin", "a", "--remove"]),
    (["unrelate", "a", "any", "b"], ["relate", "--remove", "a", "any", "b"]),
    (["forget", "nothing", "-such"], ["archive", "--words", "nothing", "-such"]),
], ids=" ".join)  # fmt: skip
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_an_alias_answers_as_its_verb_does(vault_from, cortex, alias, merged, form):
    vault = vault_from("=== a.md\nzebra\n")
    one, other = (cortex(*words, *form, cwd=vault.root) for words in (alias, merged))
    said = f"cortex: {alias[0]} is cortex {' '.join(ALIASES[alias[0]])}\n"
    assert (one.returncode, one.stderr) == (other.returncode, said + other.stderr)
    steady = re.compile(r'"\w*size": \d+|"uses": \d+|used \d+ times?|"last_use": "[^"]*"|, last .*')
    assert steady.sub("", one.stdout) == steady.sub("", other.stdout)


def test_an_option_that_became_a_verb_is_understood(vault_from, cortex):
    vault = vault_from("=== a.md\n---\nid: a\n---\nzebra\n")
    for form in ([], ["--json"]):
        said = cortex("brief", "--context", "-n1", *form, cwd=vault.root)
        assert (said.returncode, said.stderr) == (0, "")
        assert said.stdout == cortex("context", "-n", "1", *form, cwd=vault.root).stdout


def test_aliases_that_write_write_as_their_verbs(cortex, vault):
    for name in ("add", "remember"):
        done = cortex(name, "Use SQLite", "--json", cwd=vault.root)
        assert (done.returncode, done.stderr.count("\n")) == (0, 1)
        assert json.loads(done.stdout)["path"].startswith(
            {"add": "events/", "remember": "records/"}[name]
        )
    text = "## Learnings\n\n- Retries must carry the idempotency key\n"
    done = cortex("passive", "-", "--source", "ci", "--json", cwd=vault.root, stdin=text)
    (learned,) = json.loads(done.stdout)["hits"]
    assert learned["type"] == "learning"
    done = cortex("forget", "idempotency", "key", "--json", cwd=vault.root)
    assert (json.loads(done.stdout)["id"], done.returncode) == (learned["id"], 0)


@pytest.mark.parametrize("event", HOOK_ALIASES)
def test_what_a_host_called_in_earlier_memories_is_the_hook(cortex_process, cortex, vault, event):
    payload = json.dumps(
        {"session_id": "s1", "cwd": vault.root, "last_assistant_message": "Decision: use SQLite."}
    )
    done = cortex_process(event, cwd=vault.root, stdin=payload)
    assert (done.returncode, done.stderr) == (0, "")
    if event == "stop":
        assert "use SQLite" in cortex("search", "SQLite", cwd=vault.root).stdout


@pytest.mark.parametrize("event", HOOK_ALIASES)
@pytest.mark.parametrize("stdin", ["nothing", "no input", "garbage", "a terminal"])
def test_a_hook_of_earlier_memories_never_stops_an_agent(tmp_path_factory, event, stdin):
    """Outside a vault and with whatever comes in, with 0; to a person on a terminal it says what it is."""
    outside = tmp_path_factory.mktemp("outside")
    master, terminal = os.openpty()
    given = {"no input": subprocess.DEVNULL, "a terminal": terminal}.get(stdin, subprocess.PIPE)
    options = ["--regenerate-projections"] if event == "stop" else []
    process = subprocess.Popen(
        [sys.executable, "-m", "cortex", event, *options],
        cwd=outside, stdin=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    said, errors = process.communicate("{]\0" if stdin == "garbage" else None, timeout=60)
    os.close(master)
    os.close(terminal)
    assert (process.returncode, errors) == (0, "")
    assert ("cortex hooks install" in said) == (stdin == "a terminal")


def test_a_reader_that_goes_away_is_no_error(vault_from):
    vault = vault_from("".join(f"=== n{number}.md\nzebra {number}\n" for number in range(300)))
    line = f"{sys.executable} -m cortex search zebra -n 300 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=vault.root, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("words", ["status", "--help", "search zebra", "capture said"])
def test_a_caller_that_closed_its_output_is_no_error(vault_from, words):
    vault = vault_from("=== n.md\nzebra\n")
    # Faketime's library would open the memory that all processes under it share as the closed
    # descriptor, and the command would write its answer there: later processes get a wrong clock.
    line = f"unset FAKETIME_SHARED; {sys.executable} -m cortex {words} >&-"
    done = subprocess.run(
        ["bash", "-c", line], cwd=vault.root, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_terminal_gets_colour_unless_it_asks_for_none(vault_from):
    vault = vault_from("=== a.md\nzebra\n")

    def on_a_terminal(**extra: str) -> str:
        master, slave = pty.openpty()
        subprocess.run(
            [sys.executable, "-m", "cortex", "search", "zebra"],
            cwd=vault.root,
            stdout=slave,
            env=os.environ | extra,
            check=True,
        )
        os.close(slave)
        shown = os.read(master, 10_000).decode()
        os.close(master)
        return shown

    assert "\x1b[33mzebra\x1b[0m" in on_a_terminal()
    assert "\x1b" not in on_a_terminal(NO_COLOR="1")


def test_an_interface_that_knows_no_unicode_still_answers(vault_from, cortex_process, monkeypatch):
    vault_from("=== a.md\nzebra… é\n")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = cortex_process("search", "zebra")
    assert (done.returncode, "zebra... \\xe9" in done.stdout) == (0, True)


# -- transcripts: sessions as a person sees them; CORTEX_UPDATE=1 writes them anew

SESSIONS = sorted(Path(__file__).parent.parent.joinpath("transcripts").glob("*.txt"))
VOLATILE = [
    (re.compile(r"\d{8}t\d{6}z-[a-z2-7]{10}"), "EVENT"),
    (re.compile(r"\d{4}-\d{2}-\d{2}(T[0-9:]{8}Z| \d{2}:\d{2})?"), "DATE"),
    (re.compile(r"(?<='s of )\d{2}:\d{2}"), "DATE"),
    (re.compile(r"-[a-z2-7]{6}(?=\.md|\]\]|\||$)", re.MULTILINE), "-HASH6"),
    (re.compile(r"-[a-z2-7]{6}(?= (?:--at|\d{14}))"), "-HASH6"),
    (re.compile(r"\^(?:\d{14,22}|([a-z0-9-]+))-[a-z2-7]{8}$", re.MULTILINE), r"^\1-KEY"),
    (re.compile(r"\b[0-9a-f]{10}\b"), "COMMIT"),
    (re.compile(r"v-[a-z2-7]{4}\b"), "v-HASH"),
    (re.compile("values are not allowed here"), "values are not allowed in this context"),  # as PyYAML says it where libyaml is missing
    (re.compile(r"(?<=the search index was )(current|brought up to date)"), "FRESH"),  # by the age of files, to the clock's tick
]  # fmt: skip


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_transcript(path, tmp_path):
    lines = path.read_text().splitlines()
    commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    shown = []
    home = tmp_path / "v"
    home.mkdir()
    shell = Shell(tmp_path, home)
    for command in commands:
        done = shell.run(command)
        output = (
            done.stdout + "".join(f"2> {line}\n" for line in done.stderr.splitlines())
        ).replace(str(home), "/v")
        for pattern, word in VOLATILE:
            output = pattern.sub(word, output)
        shown += [
            f"$ {command}",
            *output.splitlines(),
            *([f"[{done.returncode}]"] if done.returncode else []),
        ]
    if os.environ.get("CORTEX_UPDATE"):
        path.write_text("\n".join(shown) + "\n")
    assert shown == lines


def test_a_watcher_with_json_prints_json_lines_alone(vault, capsys, monkeypatch):
    def messages(vault, caller, answer, say, **_) -> str:
        say("watching \udcff")
        return "ended"

    monkeypatch.setattr("cortex.watcher.daemon.run_daemon", messages)
    assert main(["watch", "--json", "--vault", vault.root]) == 1
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"message": "watching \ufffd"}
    assert last["text"] == "ended"


@pytest.mark.parametrize("words", [("show", "twin"), ("show", "twin", "--json")])
def test_a_watcher_answers_for_an_ambiguous_name_as_the_command_does(vault, cortex, words):
    for folder in ("a", "b"):
        Path(vault.root, folder).mkdir()
        Path(vault.root, folder, "twin.md").write_text("# One of two\n")
    itself = cortex(*words)
    asked = CommandRequest(vault.root, vault.root, "", "", "", words)
    reply = answer_command(vault, asked)
    assert (reply.stdout.decode(), reply.stderr.decode()) == (itself.stdout, itself.stderr)
    assert reply.exit_code == itself.returncode == 2
    assert answer_command(vault, asked._replace(terminal="80,24,0,0")) is None
