"""The command reference is what the declarations say, and each command of the capability table works."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from cortex import hosts
from cortex.hosts.table import wanted_entries
from cortex.interfaces.cli import arguments, overview
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.hook import payloads
from cortex.operations import ALIASES, VERBS
from tests.conftest import Shell

COMMANDS = Path(__file__).parent.parent / "docs/commands.md"
MARK = "<!-- From here on the declarations of the verbs speak: CORTEX_UPDATE=1 make test writes it anew. -->\n"


def test_the_reference_is_what_the_declarations_say() -> None:
    written, found, held = COMMANDS.read_text().partition(MARK)
    assert found
    wanted = "\n".join(reference())
    if os.environ.get("CORTEX_UPDATE") == "1" and held != wanted:
        COMMANDS.write_text(f"{written}{MARK}{wanted}")
    else:
        assert held == wanted


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
    text = re.sub(r"\d{8}t\d{6}z-[a-z2-7]{10}", "EVENT", text)
    text = re.sub(r"\d{4}-\d{2}-\d{2}(T[0-9:]{8}Z| \d{2}:\d{2}(:\d{2})?)?", "DATE", text)
    text = re.sub(r"\b\d{4}/\d{2}/", "MONTH/", text)
    # A record that is changed within the second in which it was made has no line that says so.
    text = re.sub(r"\.md:\d+", ".md:LINE", text)
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
    for heading, names in overview.VERB_GROUPS.items():
        yield from ("", f"## {heading}", "")
        for name in names:
            yield from _of(name)
    yield from ("## Other names", "", "| name | is |", "|---|---|")
    for alias, words in ALIASES.items():
        yield f"| `cortex {alias}` | `cortex {' '.join(words)}` |"
    yield ""


def _of(name: str) -> Iterator[str]:
    declared = declaration_of(load_verb(name))
    given = [one for one in declared.parameters if not one.is_option]
    words = map(arguments.usage_of, given)
    yield from (
        f"### cortex {name}",
        "",
        f"`{' '.join(['cortex', name, *words, '[options]'])}`",
        "",
    )
    yield from (declared.summary, "")
    if declared.description:
        yield from (declared.description, "")
    for one in declared.parameters:
        yield f"- `{arguments.usage_of(one).strip('[]')}`: {one.meaning}"
    if declared.parameters:
        yield ""
    yield from ("```sh", *declared.examples, "```", "")


def test_every_place_that_the_map_names_is_there() -> None:
    """`path` and `path:name` in docs/architecture.md are files, folders and names of the code."""
    root = COMMANDS.parent.parent
    text = (root / "docs/architecture.md").read_text()
    assert len(text.splitlines()) <= 200
    rooms = {
        f"{path.parent.relative_to(root / 'cortex')}/"
        for path in root.glob("cortex/*/**/__init__.py")
    }
    assert {
        f"{room}/" for room in re.findall(r"^\| `([a-z/]+)/` \|", text, re.MULTILINE)
    } == rooms - {"core/"}
    assert len(check_places(text)) > 60


def check_places(text: str) -> list[tuple[str, str]]:
    """The places that a text names, each of which is there."""
    root = COMMANDS.parent.parent
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
    """The example of docs/hosts.md is run: its entries, its payload, its transcript."""
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
