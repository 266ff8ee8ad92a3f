"""The command reference is what the declarations say, and each command of the capability table works."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from cortex import hosts, importers
from cortex.core.runs import agent_note
from cortex.core.text.tables import parse_toml
from cortex.hosts.hook_settings import wanted_entries
from cortex.interfaces.cli import arguments, command as command_line, help_text
from cortex.interfaces.declare import convert, declaration_of, load_verb
from cortex.interfaces.hook import payloads
from cortex.operations import ALIASES, HOOK_ALIASES, OFFICIAL_ALIASES, VERBS
from cortex.vault import settings, user_settings
from cortex.vault.agent_settings import AgentSettings
from tests.conftest import NOW, Shell
from tests.interfaces.listing import make_listings

ROOT = Path(__file__).parent.parent
COMMANDS = ROOT / "docs/dev/commands.md"
HIDDEN = ("hook", "help", "version")  # words that are no verbs
FOR_USERS = sorted(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))
PAGES = (
    "README.md",
    *FOR_USERS,
    *sorted(f"docs/dev/{path.name}" for path in ROOT.glob("docs/dev/*.md")),
)
MARK = "<!-- From here on the declarations of the verbs speak: CORTEX_UPDATE=1 make test writes it anew. -->\n"


def test_the_reference_is_what_the_declarations_say() -> None:
    written, found, held = COMMANDS.read_text().partition(MARK)
    assert found
    wanted = "\n".join(reference())
    if os.environ.get("CORTEX_UPDATE") == "1" and held != wanted:
        COMMANDS.write_text(f"{written}{MARK}{wanted}")
    else:
        assert held == wanted


@pytest.mark.parametrize("name", ["listing.json", "outlines.json"])
def test_the_listing_made_like_the_reference_is_what_the_declarations_say(name) -> None:
    """What the server shows as it starts, before it imports a verb."""
    wanted, path = make_listings()[name], ROOT / "templates" / "agent" / name
    if os.environ.get("CORTEX_UPDATE") == "1":
        path.write_text(wanted)
    else:
        assert path.read_text() == wanted, "CORTEX_UPDATE=1 writes it anew"


def test_the_tour_is_what_the_commands_say(tmp_path) -> None:
    """Every block of the tour is run, in order, in one new vault. `…` stands for lines that are left out."""
    run = shell(tmp_path)
    shown, wanted = [], []
    text = COMMANDS.read_text()
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        steps = [step.split("\n") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
        said = [(command, run(command)) for command, *_ in steps]
        if os.environ.get("CORTEX_UPDATE") == "1":
            text = text.replace(
                f"```console\n{block}```",
                "```console\n"
                + "\n".join(f"$ {command}\n{output}" for command, output in said)
                + "```",
                1,
            )
        for (command, output), (_, *lines) in zip(said, steps, strict=True):
            shown.append(f"$ {command}\n{steady(output)}")
            wanted.append(f"$ {command}\n" + steady("\n".join(lines)))
    if os.environ.get("CORTEX_UPDATE") == "1":
        COMMANDS.write_text(text)
    else:
        for here, there in zip(shown, wanted, strict=True):
            assert here == there


def shell(folder: Path) -> Callable[[str], str]:
    home = folder / "shop"
    home.mkdir()
    shell = Shell(folder, home)

    def run(command: str) -> str:
        done = shell.run(command)
        assert done.returncode in (0, 1), (command, done.stderr)
        return (
            (done.stdout + done.stderr)
            .replace(str(home), "~/shop")
            .replace(os.environ["HOME"], "~")
        )

    return run


def steady(text: str) -> str:
    """The text without what differs from run to run; of notes made within one second the order does, and so do the five that
    status shows."""
    text = re.sub(r"(?s)\nrecent\n.*", "\nrecent", text)
    # 1,200 characters, which a page leaves out
    text = re.sub(r'\{"hooks":\{.*', '{"hooks": …}', text)
    text = re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{10}\b", "COMMIT", text)
    text = re.sub(r"\d{8}t\d{6}z-[a-z2-7]{10}", "EVENT", text)
    text = re.sub(r"\d{4}-\d{2}-\d{2}(T[0-9:]{8}Z| \d{2}:\d{2}(:\d{2})?)?", "DATE", text)
    text = text.replace("overdue since DATE", "due DATE")  # whatever day it is
    text = re.sub(r"'s of (?:DATE|\d{2}:\d{2})", "'s of DATE", text)
    text = re.sub(r"\b\d{4}/\d{2}/", "MONTH/", text)
    # A record that is changed within the second in which it was made has no line that says so.
    text = re.sub(r"\.md:\d+", ".md:LINE", text)
    text = re.sub(r"(?m)\^\d{14,22}-[a-z2-7]{8}$", "^KEY", text)
    text = re.sub(r"\d{20,}|(?<=rank  )( +\d\.\d{3})", "N", text)
    text = re.sub(
        r"[\d,]+ of 1,500 tokens", "N tokens", text
    )  # ids are made by chance, and more or less of them are letters
    # In a briefing a hash that might be a word has words before it.
    handle = r"(?:\[|  )(?:[a-z0-9-]+-)?[a-z2-7]{6}\]?$"
    text = re.sub(handle, "  HASH", text, flags=re.MULTILINE)
    return "\n".join(sorted(re.sub(r"-[a-z2-7]{6}\b", "-HASH", text).strip("\n").splitlines()))


def test_the_tour_shows_every_verb() -> None:
    text = COMMANDS.read_text().partition(MARK)[0]
    assert {name for name in VERBS if not re.search(rf"cortex {name}\b", text)} == set()


def reference() -> Iterator[str]:
    for heading, names in help_text.GROUPS.items():
        yield from ("", f"## {heading}", "")
        for name in names:
            yield from _of(name)
    yield from ("## Other names", "", "| name | is |", "|---|---|")
    for name in OFFICIAL_ALIASES:
        yield f"| `cortex {name}` | `cortex {' '.join(ALIASES[name])}` |"
    for name in HOOK_ALIASES:
        yield f"| `cortex {name}` | `cortex hook {name} --host claude` |"
    yield ""


def _of(name: str) -> Iterator[str]:
    declared = declaration_of(load_verb(name))
    words = map(help_text.usage_of, declared.arguments)
    yield from (
        f"### cortex {name}",
        "",
        f"`{' '.join(['cortex', name, *words, '[options]'])}`",
        "",
    )
    yield from (declared.summary, "")
    if declared.description:
        yield from (declared.description, "")
    options = [one for one in arguments.options_of(declared) if one not in arguments.GLOBAL_OPTIONS]
    for one in (*declared.arguments, *options):
        yield f"- `{help_text.usage_of(one).strip('[]')}`: {one.meaning}"
    if declared.parameters or options:
        yield ""
    yield from ("```sh", *declared.examples, "```", "")


def test_the_list_of_importers_is_that_of_the_table_and_each_has_a_test() -> None:
    """docs/import.md; CORTEX_UPDATE=1 writes it."""
    page, head = ROOT / "docs/import.md", "| --- | --- | --- |\n"
    hosts_rows = [
        (host, "transcripts → sessions", "its own folder") for host in hosts.TRANSCRIPT_HOSTS
    ]
    rows = [
        *hosts_rows,
        *(
            (name, one.what, ", ".join(f"`{place}`" for place in one.places) or "name it")
            for name, one in sorted(importers.SOURCES.items())
        ),
    ]
    before, _, rest = page.read_text().partition(head)
    table = "".join(f"| `{name}` | {what} | {where} |\n" for name, what, where in rows)
    text = f"{before}{head}{table}\n{rest.partition(chr(10) * 2)[2] if rest.startswith('|') else rest.lstrip()}"
    if os.environ.get("CORTEX_UPDATE") == "1":
        page.write_text(text)
    assert page.read_text() == text
    tests = "".join(path.read_text() for path in ROOT.glob("tests/importers/*/test_*.py"))
    assert {
        name
        for name, one in importers.SOURCES.items()
        if f'"{name}"' not in tests and one.module.rpartition(".")[2] not in tests
    } == set()


def test_every_place_that_the_map_names_is_there() -> None:
    """`path` and `path:name` in docs/dev/architecture.md are files, folders and names of the code."""
    root = ROOT
    text = (root / "docs/dev/architecture.md").read_text()
    assert len(text.splitlines()) <= 200
    rooms = {
        f"{path.parent.relative_to(root / 'cortex')}/"
        for path in root.glob("cortex/*/**/__init__.py")
    }
    cells = re.findall(r"^\| (`[a-z/]+/`(?:, `[a-z/]+/`)*) \|", text, re.MULTILINE)
    named = {room for cell in cells for room in re.findall(r"`([a-z/]+/)`", cell)}
    assert named == rooms - {"core/"}
    assert len(check_places(text)) > 60


def check_places(text: str) -> list[tuple[str, str]]:
    """The places that a text names, each of which is there."""
    root = ROOT
    places = re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.py)?)(?::(\w+))?`", text)
    for path, name in places:
        place = next(
            (base / path for base in (root / "cortex", root) if (base / path).exists()), None
        )
        assert place, path
        if name:
            assert re.search(rf"^(?: *def |class )?{name}\b", place.read_text(), re.MULTILINE), (
                f"{path}:{name}"
            )
    return places


def test_the_host_that_is_shown_is_one(monkeypatch) -> None:
    """The example of docs/dev/hosts.md is run: its entries, its payload, its transcript."""
    text = (COMMANDS.parent / "hosts.md").read_text()
    assert len(check_places(text)) > 6
    assert "hosts.md" in (COMMANDS.parent / "architecture.md").read_text()
    blocks = dict(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL))
    module = ModuleType("cortex.hosts.acme")
    exec(compile(blocks["python"], "acme.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(hosts, "HOST_NAMES", (*hosts.HOST_NAMES, "acme"))
    for want, on in zip(
        wanted_entries(module.HOST, "/usr/bin/python3"), module.HOST.events, strict=True
    ):
        assert want.event == on.name
        assert f"{on.event} --host acme" in want.entry["command"]
        assert payloads.canonical_event("acme", on.name) == on.event
    told = payloads.parse_payload("acme", "stop", json.loads(blocks["json"]))
    assert (told.session, told.cwd, told.message) == ("c1", "/work/shop", "Decision: SQLite.")
    assert payloads.render_answer("acme", "session-start", "Hello") == b'{"context": "Hello"}\n'
    parsed = hosts.new_reader("acme").parse(blocks["jsonl"].encode().splitlines())
    told = parsed.turn_summary("/work/shop", "none")
    assert told.message == "Decision: SQLite."
    assert told.changed_files == ("src/cart.py",)


# A page's transcripts. `<!-- in PLACE: COMMANDS -->` above a block says in which folder it and those below it run, and
# what made the folder. `ana$` in place of `$` is another person, in the same place of a home of their own.
BLOCK = re.compile(
    r"(?:^<!-- in ([\w/]+)(?:: (.*?))? -->\n+)?^```(console|sh)\n(.*?)^```",
    re.DOTALL | re.MULTILINE,
)


@pytest.mark.parametrize("page", [page for page in PAGES if page != "docs/dev/commands.md"])
def test_what_a_page_shows_is_what_the_commands_say(page, tmp_path, monkeypatch) -> None:
    path, told, place = ROOT / page, Told(tmp_path, monkeypatch), "notes"
    text, shown, wanted = path.read_text(), [], []
    for found in list(BLOCK.finditer(text)):
        where, setup, kind, block = found.groups()
        if where:
            place = where
            told.prepare(place, setup or "")
        if kind == "sh":
            continue
        said = [
            (line, told.run(place, person, command), output)
            for line, person, command, output in steps_of(block)
        ]
        if os.environ.get("CORTEX_UPDATE") == "1":
            if all(steady(output) == steady(before) for _, output, before in said):
                continue
            made = "\n".join(f"{line}\n{output}" for line, output, _ in said)
            text = text.replace(f"```console\n{block}```", f"```console\n{made}```", 1)
        for line, output, before in said:
            shown.append(f"{line}\n{steady(output)}")
            wanted.append(f"{line}\n{steady(before)}")
    if os.environ.get("CORTEX_UPDATE") == "1":
        path.write_text(text)
    else:
        for here, there in zip(shown, wanted, strict=True):
            assert here == there


def steps_of(block: str) -> Iterator[tuple[str, str, str, str]]:
    """Each command of a transcript: its line, whose it is, the command, what it answered."""
    for step in re.split(r"^(?=\w*\$ )", block, flags=re.MULTILINE)[1:]:
        line, _, output = step.partition("\n")
        person, _, command = line.partition("$ ")
        yield line, person, command, output


class Told:
    """Runs what pages tell, each person in a home of their own below one folder."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch = folder, monkeypatch
        self.shell = Shell(folder, folder)

    def prepare(self, place: str, setup: str) -> None:
        """Make the place, and run there what the page does not show. `project` is this project's vault."""
        (self.folder / place).mkdir(parents=True, exist_ok=True)
        if place == "cortex":
            shutil.copytree(ROOT / "vault", self.folder / place / "vault")
            shutil.copy(ROOT / ".cortex-project", self.folder / place)
        environment = os.environ | {
            "PATH": f"{self.shell.tools}:{os.environ['PATH']}",
            "PAGES": str(ROOT / "tests/pages"),
            "LC_ALL": "C.UTF-8",
        }
        subprocess.run(
            setup,
            shell=True,
            check=True,
            cwd=self.folder / place,
            env=environment,
            capture_output=True,
        )

    def run(self, place: str, person: str, command: str) -> str:
        home = self.folder / person
        for who in ("AUTHOR", "COMMITTER") if person else ():
            self.patch.setenv(f"GIT_{who}_NAME", person.title())
            self.patch.setenv(f"GIT_{who}_EMAIL", f"{person}@example.org")
        self.shell.cwd = home / place
        done = self.shell.run(command)
        assert done.returncode in (0, 1, 2), (command, done.stderr)
        said = done.stdout + done.stderr
        for path in (home, self.folder, os.environ["HOME"]):
            said = said.replace(f"{path}/", "~/").replace(str(path), "~")
        return "".join(f"{line}\n" for line in said.splitlines())


def test_what_the_readme_says_of_import_works_on_a_new_machine(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    section = (ROOT / "README.md").read_text().partition("## Bring what you have\n")[2]
    block = BLOCK.search(section)
    assert block
    run = Shell(tmp_path, tmp_path).run
    for line in block[4].splitlines():
        done = run(line)
        assert "there is no vault" not in done.stderr, line
        assert done.returncode == 0 or " init " not in line, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_a_command_that_a_page_tells_is_one(page) -> None:
    """In blocks, whole lines; in sentences the verb and its options."""
    text = (ROOT / page).read_text()
    for found in BLOCK.finditer(text):
        for words in command_lines(found[3], found[4]):
            assert words[0] in (*VERBS, *OFFICIAL_ALIASES, *HIDDEN), words
            if words[0] in VERBS:
                parsed = command_line.parse(words)
                if parsed:
                    convert(parsed.declared, parsed.given, NOW)
    for line in re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        for verb, rest in re.findall(r"`cortex ([a-z][a-z-]*)([^`]*)`", line):
            assert verb in (*VERBS, *OFFICIAL_ALIASES, *HOOK_ALIASES, *HIDDEN), line
            if verb not in VERBS:
                continue
            declared = declaration_of(load_verb(verb))
            known = {one.flag for one in arguments.options_of(declared)}
            assert set(re.findall(r"(?<!\S)--[a-z-]+", rest)) <= known | {"--help"}, line


def command_lines(kind: str, block: str) -> Iterator[list[str]]:
    """The words of each `cortex` in a block, without comments, pipes and redirections."""
    lines = [step[2] for step in steps_of(block)] if kind == "console" else block.splitlines()
    for line in lines:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|;&<>")
        lexer.whitespace_split = True
        words: list[list[str]] = [[]]
        for word in lexer:
            if set(word) <= set("|;&"):
                words.append([])
            else:
                words[-1].append(word)
        for one in words:
            one = one[
                : next((at for at, word in enumerate(one) if set(word) <= set("<>")), len(one))
            ]
            while one and re.fullmatch(r"\w+=\S*|sudo", one[0]):
                one = one[1:]
            if one[:1] == ["cortex"] and one[1:] and not one[1].startswith("-"):
                yield one[1:]


def test_what_a_user_reads_is_ten_pages_of_twelve_thousand_words() -> None:
    assert len(FOR_USERS) <= 10
    assert sum(len((ROOT / page).read_text().split()) for page in FOR_USERS) <= 12_000


def test_links_between_pages_lead_somewhere() -> None:
    for page in (*PAGES, "CONTRIBUTING.md"):
        text = (ROOT / page).read_text()
        for path, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
            place = (ROOT / page).parent / path if path else ROOT / page
            assert place.exists(), (page, path)
            if anchor and place.suffix == ".md":
                heads = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}
                assert anchor in anchors, (page, path, anchor)


class Asked(dict):
    """Settings that say nothing, and remember what they were asked for."""

    def __init__(self, asked: set[str], section: str = "") -> None:
        super().__init__()
        self.asked, self.section = asked, section

    def get(self, key, default=None):
        if isinstance(default, dict):
            place = f"{self.section.strip('[] ')}.{key}".strip(".")
            self.asked.add(f"[{place}]")
            return Asked(self.asked, f"[{place}] ")
        self.asked.add(f"{self.section}{key}")
        return default


def test_the_page_of_settings_names_each_and_no_other(monkeypatch) -> None:
    asked = set[str]()
    monkeypatch.setattr(settings, "read_text", lambda root: "")
    monkeypatch.setattr(settings, "parse_toml", lambda text: Asked(asked))
    settings.load("/")
    monkeypatch.undo()
    leaves = {key for key in asked if not key.endswith("]")}
    tables = {
        key
        for key in asked
        if key.endswith("]") and not any(key[:-1] in one for one in asked - {key})
    }
    template = parse_toml((ROOT / "templates/cortex.toml").read_text().replace("{{cursor}}", ""))
    wanted = (
        leaves | tables | {key for key, value in template.items() if not isinstance(value, dict)}
    )
    team, own, environment = (
        set(re.findall(r"^\| `([^`]+)` \|(?!.*<!-- new -->)", part, re.MULTILINE))
        for part in (ROOT / "docs/settings.md").read_text().split("\n## ")[1:4]
    )
    assert {re.sub(r"(\[(?:extract|projects\.aliases)\]).*", r"\1", key) for key in team} == wanted
    distill = {f"[distill] {key}" for key in user_settings.DistillSettings._fields}
    semantic = {f"[semantic] {key}" for key in user_settings.SemanticSettings._fields}
    tables = {"[agents]", "[tiers]", "[providers]", "[prices]"}
    assert own == distill | semantic | tables | {"[serve] hard_delete", "[person] aliases"}
    runs = (ROOT / "docs/dev/runs.md").read_text()
    assert {one for one in AgentSettings._fields if f"`{one}`" not in runs} == set()
    assert {one for one in agent_note._FORMS if f"`{one}`" not in runs} == set()
    source = "\n".join(path.read_text() for path in ROOT.glob("cortex/**/*.py"))
    marks = {"CORTEX_MEMORY_START", "CORTEX_MEMORY_END"}  # of the surface's block
    marks |= set(re.findall(r"\bCORTEX_[A-Z_]+", runs))
    assert set(re.findall(r"\bCORTEX_[A-Z_]+", source)) - marks <= environment
    assert {name for name in environment if not re.search(rf"\b{name}\b", source)} == set()


def test_the_pictures_are_what_a_session_shows() -> None:
    """`python docs/dev/pictures.py` draws them anew; look at them."""
    made = runpy.run_path(str(ROOT / "docs/dev/pictures.py"))["draw"]()
    for name, picture in made.items():
        if os.environ.get("CORTEX_UPDATE") == "1":
            (ROOT / "docs" / name).write_text(picture)
        assert (ROOT / "docs" / name).read_text() == picture, name
