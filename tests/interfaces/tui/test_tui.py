"""`cortex tui`: each screen at three sizes, its keys, what a write changes, and what acts in a hostile note."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from textual.events import Key
from textual.widgets import Input, OptionList, Static

from cortex.core.runs.run_note import RunRequest
from cortex.interfaces.tui import app
from cortex.interfaces.tui.app import PageScreen, VaultApp
from cortex.interfaces.tui.rows import PAGES
from cortex.operations import VERBS
from cortex.vault.locate import Vault
from cortex.vault.runs import run_files
from cortex.vault.state import access_log
from tests.conftest import run_cortex

SIZES = [(40, 10), (80, 24), (120, 40)]
EVIL = "bad \x1b[31mred\x1b]0;t\x07 [bold]x[/] [/nope] [@click=app.exit]y[/] \u202egnp.exe"
NOTES = """
=== cortex.toml
format = 1
=== .cortex-project
shop
=== records/decision/cart-in-sqlite-aaaaaa.md
---
id: cart-in-sqlite-aaaaaa
type: decision
title: The cart lives in SQLite
project: shop
status: active
created: 2026-11-20T10:00:00Z
---
# The cart lives in SQLite

**Why.** One file, no server, see [[retries-bbbbbb]].
=== records/gotcha/retries-bbbbbb.md
---
id: retries-bbbbbb
type: gotcha
title: Retries carry the idempotency key
project: shop
status: active
created: 2026-11-21T10:00:00Z
---
# Retries carry the idempotency key

The payment API repeats a charge without it.
=== records/action/call-the-printer-cccccc.md
---
id: call-the-printer-cccccc
type: action
title: Call the printer
project: shop
status: open
owner: Ben
due: 2026-12-01
created: 2026-11-22T10:00:00Z
---
# Call the printer
=== records/decision/old-dddddd.md
---
id: old-dddddd
type: decision
title: The cart lives in Redis
project: shop
status: archived
archived_at: 2026-11-22T10:00:00Z
created: 2026-11-19T10:00:00Z
---
# The cart lives in Redis
=== records/gotcha/cjk-eeeeee.md
---
id: cjk-eeeeee
type: gotcha
title: 決済の再試行は冪等キーを運ぶこと決済の再試行は冪等キーを運ぶこと決済の再試行 🛒
project: shop
status: active
created: 2026-11-18T10:00:00Z
---
# 決済
"""


@pytest.fixture
def shop(vault_from) -> Vault:
    """A small vault, whose folder is its project."""
    return vault_from(NOTES)


class Seen:
    """A running view, as a person sees it."""

    def __init__(self, view: VaultApp, pilot: Any) -> None:
        self.app, self.pilot = view, pilot

    @property
    def screen(self) -> PageScreen:
        assert isinstance(self.app.screen, PageScreen)
        return self.app.screen

    async def settle(self) -> None:
        """Wait until each verb that was asked has answered, also of what was typed a moment ago."""
        calm = 0
        while calm < 3:
            await asyncio.sleep(0.01)
            screen = self.app.screen if self.app.is_running else None
            is_busy = isinstance(screen, PageScreen) and {*screen._waiting} - {"changes"}
            calm = 0 if is_busy or (screen and not screen._message_queue.empty()) else calm + 1

    async def press(self, *keys: str) -> None:
        for key in keys:
            self.app.post_message(Key(key, key if len(key) == 1 else None))
            await self.settle()

    async def write(self, words: str) -> None:
        whole = self.screen.query_one(Input).value + words
        for one in words:
            self.app.post_message(Key("space" if one == " " else one, one))
        while self.screen.query_one(Input).value != whole:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await asyncio.sleep(app._TYPING_SECONDS + 0.03)
        await self.settle()

    def text(self, id_: str = "") -> str:
        """The text of a part of the screen, else of all that is drawn."""
        if id_ == "rows":
            return "\n".join(str(one.prompt) for one in self.screen.query_one(OptionList).options)
        if id_:
            part = self.screen.query_one(f"#{id_}", Static)
            return str(part.visual) if part.display else ""
        svg = self.app.export_screenshot()
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
        return "\n".join(texts).replace("&#160;", " ").replace("&lt;", "<").replace("&gt;", ">")


def look(
    vault: Vault,
    steps: Callable[[Seen], Awaitable[None]],
    size: tuple[int, int] = (80, 24),
    **how: Any,
) -> VaultApp:
    """Run the view of a vault through these steps."""

    async def run() -> VaultApp:
        view = VaultApp(vault, vault.root, **how)
        async with view.run_test(size=size) as pilot:
            seen = Seen(view, pilot)
            await seen.settle()
            await steps(seen)
        view.readers.shutdown()
        view.writer.shutdown()
        return view

    return asyncio.run(run())


# Keys from the first screen -> how the head of the screen begins, and what stands below it.
SCREENS = {
    (): ("Home", "Retries carry the"),
    ("2",): ("Recent (", "Call the printer"),
    ("slash",): ("Search (", "Call the printer"),
    ("slash", "tab"): ("Search (", "Call the printer"),
    ("enter",): ("Call the printer", "Properties"),
    ("t",): ("Timeline: Call", "The cart lives in SQLite"),
    ("g",): ("Graph: Call", "Call the printer"),
    ("3",): ("Sessions (1)", "Make the checkout"),
    ("3", "enter"): ("Make the checkout", "Why is it charged"),
    ("4",): ("Archive (1)", "The cart lives in Redis"),
    ("5",): ("Health", "no problems"),
    ("6",): ("Runs", "no runs"),
    ("question_mark",): ("Keys", "these keys"),
}


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_each_screen_is_two_keys_away_at_any_size_and_each_leads_back(shop, size) -> None:
    run_cortex(
        "session",
        "start",
        "s1",
        "--goal",
        "Make the checkout safe",
        "--project",
        "shop",
        cwd=shop.root,
    )
    run_cortex(
        "capture", "--type", "prompt", "--session", "s1", "Why is it charged twice?", cwd=shop.root
    )

    async def steps(seen: Seen) -> None:
        for keys, (head, part) in SCREENS.items():
            await seen.press(*keys)
            assert seen.text("head").startswith(head), keys
            assert part in f"{seen.text('rows')}\n{seen.text('text')}", keys
            assert head[:30] in seen.text(), keys
            assert "? help" in seen.text("keys") or keys[0] == "slash"
            if "slash" in keys:
                await seen.press("escape")
            elif keys:  # to the list of sessions with q, on with the figure
                await seen.press("1" if len(keys) == 2 else "q")
            assert seen.text("head").startswith("Home"), keys
        await seen.press("escape")
        assert seen.app.is_running  # Esc never leaves
        await seen.press("q")
        assert not seen.app.is_running

    look(shop, steps, size)


def test_an_empty_vault_says_what_to_do(vault) -> None:
    async def steps(seen: Seen) -> None:
        assert "cortex save" in seen.text("said")
        assert "0 notes" in seen.text("text")
        for key in "tgdparu":  # there is no note that they could be about
            seen.app.post_message(Key(key, key))
        await seen.press("2")
        assert "cortex capture" in seen.text("text")
        await seen.press("slash")
        await seen.write("cart")
        assert "no hits for cart" in seen.text("text")

    for size in SIZES:
        look(vault, steps, size)


def test_search_finds_as_one_types_with_the_note_beside(shop) -> None:
    async def steps(seen: Seen) -> None:
        await seen.press("slash")
        await seen.write("cart")
        assert seen.text("rows").splitlines()[0].rstrip().endswith("The cart lives in SQLite")
        assert "One file, no server" in seen.text("text")
        await seen.write(" redis")
        assert "Redis" in seen.text("rows")
        await seen.press("down")
        await seen.press("down" if "SQLite" not in seen.screen.row.title else "tab")
        assert "SQLite" in seen.screen.row.title
        assert "One file, no server" in seen.text("text")
        await seen.press("enter")
        assert seen.text("head") == "The cart lives in SQLite"
        assert "id: cart-in-sqlite-aaaaaa" in seen.text("text")
        await seen.press("escape", "slash")
        assert seen.screen.query_one(Input).value == "cart redis"
        await seen.write(" type:")  # an error stays beside what was typed
        assert seen.screen.query_one(Input).value == "cart redis type:"
        seen.screen.query_one(Input).insert_text_at_cursor("\x1b")
        assert "\x1b" not in seen.screen.query_one(Input).value

    look(shop, steps)


def test_what_is_opened_counts_as_use_and_what_stands_beside_a_list_does_not(shop) -> None:
    async def steps(seen: Seen) -> None:
        await seen.press("slash")
        await seen.write("cart")
        await seen.press("tab", "down", "up")
        assert access_log.read_counts(shop) == {}
        await seen.press("enter", "escape")

    look(shop, steps)
    assert {name: one.count for name, one in access_log.read_counts(shop).items()} == {
        "cart-in-sqlite-aaaaaa": 1
    }


def field(vault: Vault, path: str, name: str) -> str:
    found = re.search(
        rf"^{name}: (.*)$", Path(vault.root, "records", path).read_text(), re.MULTILINE
    )
    return found[1] if found else ""


def test_a_key_finishes_pins_archives_and_restores_and_u_takes_it_back(shop) -> None:
    action, cart = "action/call-the-printer-cccccc.md", "decision/cart-in-sqlite-aaaaaa.md"

    async def steps(seen: Seen) -> None:
        await seen.press("2", "d")  # the action is the newest
        assert field(shop, action, "status") == "done"
        assert seen.text("said").startswith(f"done: records/{action}\nundo (u): cortex revise")
        await seen.press("u")
        assert field(shop, action, "status") == "open"
        await seen.press("p")
        assert field(shop, action, "pinned") == "true"
        await seen.press("p")
        assert field(shop, action, "pinned") == ""
        await seen.press("escape", "slash")
        await seen.write("sqlite")
        await seen.press("tab", "d")  # it is no action: the key does nothing
        assert field(shop, cart, "status") == "active"
        await seen.press("a")
        assert field(shop, cart, "status") == "archived"
        assert "undo (u): cortex restore" in seen.text("said")
        await seen.press("4")
        assert "The cart lives in SQLite" in seen.text("rows")
        await seen.press(*(("j",) if "Redis" in seen.screen.row.title else ()), "r")
        assert field(shop, cart, "status") == "active"
        assert "SQLite" not in seen.text("rows")
        await seen.press("u")
        assert field(shop, cart, "status") == "archived"
        await seen.press("u", "u", "u", "u", "u")  # to the first change, and no further
        assert field(shop, cart, "status") == "active"
        assert seen.app.undos == []

    look(shop, steps)


def test_an_error_stands_on_the_screen_with_its_hint_and_loses_nothing(shop) -> None:
    async def steps(seen: Seen) -> None:
        await seen.press("2")
        Path(shop.root, "records/action/call-the-printer-cccccc.md").write_text("---\nid: [\n---\n")
        await seen.press("d")
        assert seen.text("said").count("\n") >= 1
        assert seen.text("rows")
        await seen.press("j")
        assert seen.text("said") == ""
        Path(shop.root, "cortex.toml").unlink()
        await seen.press("slash")
        assert seen.app.is_running

    look(shop, steps)


def test_what_changes_on_the_disk_is_shown_and_the_cursor_stays(shop, monkeypatch) -> None:
    monkeypatch.setattr(app, "_WATCH_SECONDS", 0.05)

    async def steps(seen: Seen) -> None:
        await seen.press("2", "j")
        before = seen.screen.row.name
        text = NOTES.partition("=== records/gotcha/retries-bbbbbb.md\n")[2].partition("\n===")[0]
        new = text.replace("bbbbbb", "ffffff").replace("Retries carry", "Webhooks carry")
        Path(shop.root, "records/gotcha/webhooks-ffffff.md").write_text(
            new.replace("11-21", "11-23")
        )
        for _ in range(3_000):
            await asyncio.sleep(0.02)
            if "Webhooks" in seen.text("rows"):
                break
        assert "Webhooks carry" in seen.text("rows")
        assert seen.screen.row.name == before
        await seen.pilot.resize_terminal(40, 10)
        await seen.settle()
        assert seen.screen.row.name == before
        await seen.pilot.resize_terminal(120, 40)
        await seen.settle()
        assert "Webhooks carry" in seen.text()

    look(shop, steps)


def test_each_screen_is_told_of_a_change_whichever_screen_asked_first(shop, monkeypatch) -> None:
    call, held, freed = VaultApp.call, threading.Event(), threading.Event()

    def slow(self: VaultApp, verb: str, *given: Any) -> Any:
        if verb == "changes" and not held.is_set():
            held.set()
            assert freed.wait(60)
        return call(self, verb, *given)

    monkeypatch.setattr(app, "_WATCH_SECONDS", 3600)

    async def steps(seen: Seen) -> None:
        first = seen.screen
        await asyncio.sleep(0.1)
        first._watch()  # it has a cursor
        monkeypatch.setattr(VaultApp, "call", slow)
        while first._waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        first._watch()
        await asyncio.to_thread(held.wait)
        await seen.press("2")
        while seen.screen._waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        file = Path(shop.root, "records/gotcha/retries-bbbbbb.md")
        file.write_text(file.read_text().replace("Retries carry", "Webhooks carry"))
        freed.set()
        while first._waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        seen.screen._watch()
        while seen.screen._waiting:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        await seen.settle()
        assert "Webhooks carry" in seen.text("rows")

    look(shop, steps)


def test_nothing_of_a_hostile_note_acts(vault_from) -> None:
    title = EVIL.encode("unicode_escape").decode().replace("\\x", "\\u00")
    vault = vault_from(
        f"""
=== .cortex-project
shop
=== records/action/evil-aaaaaa.md
---
id: evil-aaaaaa
type: action
title: "{title}"
project: shop
status: open
owner: "{title}"
created: 2026-11-22T10:00:00Z
---
# {EVIL}

zebra {EVIL} **{EVIL}** [[other-bbbbbb]]
=== records/decision/other-bbbbbb.md
---
id: other-bbbbbb
type: decision
title: Other
project: shop
created: 2026-11-20T10:00:00Z
---
See [[evil-aaaaaa]].
=== records/decision/broken [bold].md
---
id: "x
---
{EVIL}
"""
    )
    drawn: list[str] = []

    async def steps(seen: Seen) -> None:
        for keys in ((), ("2",), ("enter",), ("t",), ("g",), ("5",), ("2", "p"), ("a",), ("4",)):
            await seen.press("1", *keys)
            drawn.extend(map(seen.text, ("head", "rows", "text", "said")))
        await seen.press("slash")
        await seen.write("zebra")
        drawn.extend((seen.text("text"), seen.text()))

    look(vault, steps, (100, 30))
    for one in drawn:
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", one)
    assert "<U+001B>[31mred" in "".join(drawn)
    assert "[bold]x[/] [/nope] [@click=app.exit]y[/]" in "".join(drawn)


def test_a_long_note_is_cut_and_says_so(vault_from) -> None:
    vault = vault_from("=== long.md\n# Long\n" + "word " * 20_000)

    async def steps(seen: Seen) -> None:
        await seen.press("2", "enter")
        assert "only the beginning: the rest is in" in seen.text("text")

    look(vault, steps)


def test_a_search_to_choose_by_ends_with_the_file(shop) -> None:
    async def choose(seen: Seen) -> None:
        assert seen.text("head") == "Search (1)"  # of the one type that was asked for
        await seen.press("enter")

    async def leave(seen: Seen) -> None:
        await seen.press("escape", "tab", "q")

    picks = {"type": ["gotcha"], "query": "retries"}
    view = look(shop, choose, query="retries", picks=picks)
    assert view.return_value == f"{shop.root}/records/gotcha/retries-bbbbbb.md"
    assert look(shop, leave, query="retries", picks=picks).return_value is None


def test_no_other_command_imports_textual_or_starlette(shop) -> None:
    code = (
        "import sys; from importlib import import_module; from cortex.operations import VERBS;"
        "[import_module(f'cortex.{module}') for module, _ in VERBS.values()];"
        "[import_module(f'cortex.interfaces.cli.{one}') for one in ('run', 'steps', 'render_care', 'render_find',"
        " 'render_records', 'render_sessions')];"
        "print({'textual', 'rich', 'starlette', 'uvicorn'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_without_the_extra_or_a_terminal_it_says_what_is_needed(cortex, monkeypatch) -> None:
    done = cortex("tui")
    assert done.returncode == 2
    assert "needs a terminal in which a cursor moves" in done.stderr
    monkeypatch.setitem(sys.modules, "textual", None)
    done = cortex("tui")
    assert done.returncode == 2
    assert "cortex tui needs the package textual" in done.stderr
    assert "install 'textual>=8.2,<9'" in done.stderr


class RealTerminal:
    """The real command on a terminal of its own."""

    def __init__(self, vault: Vault, *words: str, stdout: Any = None, **environment: str) -> None:
        self.ours, theirs = pty.openpty()
        termios.tcsetwinsize(self.ours, (24, 80))
        environment = os.environ | {"TERM": "xterm-256color"} | environment
        self.process = subprocess.Popen(
            [sys.executable, "-m", "cortex", *words],
            cwd=vault.root, env=environment, stdin=theirs, stdout=stdout or theirs, stderr=theirs,
        )  # fmt: skip
        os.close(theirs)
        self.written = ""

    def wait_for(self, text: str, seconds: float = 20.0) -> None:
        """Read until the text was written."""
        end = time.monotonic() + seconds
        while text not in self.written:
            assert time.monotonic() < end, self.written[-2000:]
            if select.select([self.ours], [], [], 0.1)[0]:
                self.written += os.read(self.ours, 65536).decode("utf-8", "replace")

    def press(self, keys: str) -> None:
        self.written = ""
        os.write(self.ours, keys.encode())

    def end(self) -> int:
        """Read what is left; the exit code."""
        try:
            while piece := os.read(self.ours, 65536):
                self.written += piece.decode("utf-8", "replace")
        except OSError:  # how a terminal ends whose other side is closed
            pass
        os.close(self.ours)
        return self.process.wait(20)


def test_the_real_command_draws_searches_and_leaves_the_terminal_as_it_was(shop) -> None:
    terminal = RealTerminal(shop, "tui", NO_COLOR="1")
    terminal.wait_for("Retries carry")
    assert "\x1b[?1049h" in terminal.written  # another screen
    assert not re.search(r"\x1b\[[0-9;]*(?:3[1-7]|38|48)[;m]", terminal.written)  # no colour
    terminal.press("/")
    terminal.wait_for("Search")
    terminal.press("redis")
    terminal.wait_for("Redis")
    terminal.press("\x03")
    assert terminal.end() == 0
    assert "\x1b[?1049l" in terminal.written


def test_search_pick_chooses_in_the_view_and_prints_the_path_into_a_pipe(shop) -> None:
    ours, theirs = os.pipe()
    terminal = RealTerminal(shop, "search", "retries", "--pick", stdout=theirs)
    os.close(theirs)
    terminal.wait_for("Retries carry")
    terminal.press("\r")
    assert terminal.end() == 0
    with os.fdopen(ours) as file:
        assert file.read() == "records/gotcha/retries-bbbbbb.md\n"


def test_runs_are_listed_with_their_costs_and_one_is_shown_with_its_log(vault) -> None:
    id_, now = "run-20261120t171643z-0193ee", "2026-11-20T17:16:43Z"
    run_files.add_request(vault, id_, RunRequest("default", f"Say {EVIL}", facet="shop"), now)

    async def steps(seen: Seen) -> None:
        await seen.press("6")
        assert "2026-11-20 17:16  default  requested  shop" in seen.text("rows")
        assert "no runs" in seen.text("text")  # none has cost anything
        for key in "tgdpar":  # it is no note
            await seen.press(key)
        await seen.press("enter")
        assert seen.text("head") == "default"
        assert "Say bad" in seen.text("text")
        assert "17:16:43  request by somebody" in seen.text("text")
        assert "\x1b" not in seen.text("text")
        with closing(run_files.claim(vault, id_)) as active:
            active.append({"event": "finish", "result": "All is said."}, now, str)
        for _ in range(300):  # it is looked at as long as it runs
            await asyncio.sleep(0.02)
            if "All is said." in seen.text("text"):
                break
        assert "All is said." in seen.text("text")
        await seen.press("escape")
        assert seen.text("head") == "Runs"

    look(vault, steps)


def test_keys_name_actions_and_pages_name_verbs() -> None:
    for page in PAGES:
        assert page.verb in VERBS
    bound = {binding.action for binding in PageScreen.BINDINGS}
    for action in bound:
        owner = VaultApp if action.startswith("app.") else PageScreen
        name = action.removeprefix("app.").partition("(")[0]
        assert hasattr(owner, f"action_{name}"), action
