"""The application: its screens, and how it calls verbs, in threads: no screen waits for one."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar

from textual import actions
from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from cortex.core.model.note_status import SET_ASIDE_STATUSES
from cortex.core.model.problem import CortexError
from cortex.core.runs.run_note import REQUESTED, RUNNING, is_run_id
from cortex.core.text.tables import read_sections
from cortex.interfaces.call import Request, bind, error_of
from cortex.interfaces.cli.hint import HintedCall, read_calls
from cortex.interfaces.declare import declaration_of, load_verb
from cortex.interfaces.escape_terminal import escape
from cortex.interfaces.tui.rows import MOST, PAGES, Row, ScreenPage, page_of, rows_of, text_of
from cortex.vault.locate import Vault, find_vault
from cortex.vault.state.access_log import PREVIEW

_OPENED = "tui"  # the source of what a person opens: it counts as use of the note
_BEFORE_ALL = "enter", "ctrl+c"  # keys that no part of a screen takes before
_TYPING_SECONDS, _WATCH_SECONDS = 0.08, 1.0
_FIRST = 2  # screens: an empty one, and the first of ours
_KEYS = [[word.strip() for word in line.split("|")] for line in read_sections(__file__)["keys"]]
_PAGES = "  ".join(f"{number} {page.title}" for number, page in enumerate(PAGES, 1))
_HELP = "\n".join(f"{name:<5}{meaning}" for _, _, name, _, meaning in _KEYS if name)


class VaultApp(App[str]):
    """The view of a vault from a working directory. With `picks`, what a search is given, it is a search
    that ends with the file which the person chooses."""

    CSS_PATH = "look.tcss"
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, vault: Vault, cwd: str, query: str = "", picks: Any = None) -> None:
        super().__init__(ansi_color=True)
        self.theme = "ansi-dark"  # colours of the terminal, which may be light
        self.vault, self.cwd, self.picks, self._query = vault, cwd, picks, query
        self.undos: list[tuple[list[HintedCall], str]] = []  # calls, and the vault they are for
        # What writes has ended before the program does.
        self.readers, self.writer = ThreadPoolExecutor(2), ThreadPoolExecutor(1)

    def on_mount(self) -> None:
        if self.picks is None:
            self.push_screen(PageScreen(PAGES[0]))
        if self._query or self.picks is not None:
            self.search(self._query)

    def search(self, query: str = "") -> None:
        """Open a search that begins with these words."""
        given = {"number": MOST} | (self.picks or {}) | {"query": query}
        self.push_screen(PageScreen(ScreenPage("Search", "search", given)))

    async def action_go(self, number: int) -> None:
        while len(self.screen_stack) > _FIRST:
            await self.pop_screen()
        if number > 1:
            self.push_screen(PageScreen(PAGES[number - 1]))

    def call(self, verb: str, given: Any, root: str = "", source: str = PREVIEW) -> Any:
        """What a verb answers. Raises `CortexError`, `OSError`."""
        find = partial(find_vault, root, self.cwd, os.environ) if root else lambda: self.vault
        request, function = Request(self.cwd, source, find, say=None), load_verb(verb)
        return bind(function, declaration_of(function), given, request).answer()

    def write(self, verb: str, row: Row) -> list[Any]:
        """Change the note of a row; a pin that is there is taken out. Returns what was done."""
        given = {"ids": [row.name]} if verb == "restore" else {"id": row.name}
        answer = self.call(verb, given, row.root, _OPENED)
        if verb == "pin" and answer.outcome == "unchanged":
            answer = self.call(verb, given | {"remove": True}, row.root, _OPENED)
        done = answer.hits or [answer]
        self.undos += [(calls, row.root) for one in done if (calls := read_calls(one.undo))]
        return [answer]

    def undo(self) -> list[Any]:
        """Take the last change back. Returns what was done."""
        calls, root = self.undos[-1] if self.undos else ([], "")
        answers = [self.call(*call, root, _OPENED) for call in calls]
        del self.undos[-1:]
        return answers


class PageScreen(Screen[None]):
    """A screen that shows a page: rows, and a text beside or beneath them; without rows a text alone."""

    app: VaultApp
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (110, "-wide")]  # noqa: RUF012
    BINDINGS: ClassVar = [Binding(one[0], one[1], priority=one[0] in _BEFORE_ALL) for one in _KEYS]

    def __init__(self, page: ScreenPage) -> None:
        super().__init__(classes=f"-{page.verb or 'text'} {'-about' if page.of.name else ''}")
        self.page = page
        self._rows: list[Row] = []
        self._at = page.of.name  # of the row that the cursor is on
        self._waiting: dict[str, Future[Any]] = {}
        self._cursor = ""  # of the vault's changes that it shows
        self._source = _OPENED if page.of.name else PREVIEW

    @property
    def row(self) -> Row:
        """The one that the cursor is on; without rows the note that the page is about."""
        at = self.query_one(OptionList).highlighted or 0
        return self._rows[at] if self._rows else self.page.of

    def compose(self) -> ComposeResult:
        with Horizontal(id="top"):
            yield Static(Content(self.page.title), id="head")
            yield Static(_PAGES, id="nav")
        if "query" in self.page.given:
            # What is pasted may hold controls, and the field shows what it holds.
            hint, plain = "words, or type:decision after:3m …", "[^\x00-\x1f\x7f-\x9f]*"
            yield Input(str(self.page.given["query"]), hint, restrict=plain, select_on_focus=False)
        with Horizontal(id="body"):
            yield OptionList(id="rows", markup=False, compact=True)
            with VerticalScroll(id="pane"):
                yield Static("" if self.page.verb else _HELP, id="text")
        yield Static(id="said")
        yield Static(id="keys")

    def on_mount(self) -> None:
        self.set_interval(_WATCH_SECONDS, self._watch)

    def on_screen_resume(self) -> None:
        self._watch()
        self.load()

    def load(self, typed: str | None = None) -> None:
        """Ask the verb of the page, again where it has answered before; not if more was `typed` since."""
        page, given = self.page, self.page.given
        for field in self.query(Input):
            given = given | {"query": field.value or "*"}
            if typed not in (None, field.value):
                return
        if page.verb:
            self._ask("rows", self._show_rows, page.verb, given, page.of.root, self._source)
            self._source = PREVIEW
        if page.beside not in ("", page.verb):
            self._ask("text", partial(self._show_text, page.beside), page.beside, {})

    def _watch(self) -> None:
        if not (self.app.is_headless or os.isatty(0)):
            self.app.exit()  # a terminal that closes signals to those alone whose session it led
        shown = {one.get("status") for one in (*self._rows, self.page.of)}
        if self.is_current and "rows" not in self._waiting and shown & {REQUESTED, RUNNING}:
            self.load()
        if self.is_current and "changes" not in self._waiting:
            self._ask("changes", self._show_changes, "changes", {"since": self._cursor})

    def _ask(self, what: str, show: Callable[[Any], None], *given: Any, write: Any = None) -> None:
        """Have a verb's answer shown; where `what` is asked for again before, the last alone."""
        if (before := self._waiting.get(what)) and not write:
            before.cancel()
        pool = self.app.writer if write else self.app.readers
        self._waiting[what] = future = pool.submit(write or self.app.call, *given)
        future.add_done_callback(lambda _: self.call_later(self._show, what, show, future))

    def _show(self, what: str, show: Callable[[Any], None], future: Future[Any]) -> None:
        if self._waiting.get(what) is not future:
            return
        del self._waiting[what]
        try:
            show(future.result())
        except (CortexError, OSError) as error:
            known = error_of(error) if isinstance(error, OSError) else error
            self.say(known.message, known.hint, "$error")

    def _show_rows(self, answer: Any) -> None:
        rows, at = self.query_one(OptionList), self.query_one(OptionList).highlighted or 0
        hits, total = len(getattr(answer, "hits", ())), getattr(answer, "total", 0)
        count = f" ({hits:,} of {total:,})" if total > hits else f" ({hits:,})" * bool(hits)
        self.query_one("#head", Static).update(Content(f"{self.page.title}{count}"))
        self._rows = rows_of(self.page.verb, answer, self.size.width)
        self.set_class(not self._rows, "-text")
        rows.set_options(Option(row.shown, disabled=not row.name) for row in self._rows)
        notes = [number for number, row in enumerate(self._rows) if row.name]
        same = (number for number in notes if self._rows[number].name == self._at)
        later = (number for number in notes if number >= at)
        rows.highlighted = next(same, next(later, notes[-1] if notes else None))
        self._at = self.row.name
        if self.page.beside == self.page.verb or not (self._rows or self.page.beside):
            self._show_text(self.page.verb, answer)
        elif not self._rows:
            self.say(text_of(self.page.verb, answer, self.app.cwd, "").plain, style="")
        self._load_note()

    def _show_text(self, verb: str, answer: Any) -> None:
        snippet = self.row.get("snippet") if self._rows else None
        text = text_of(verb, answer, self.app.cwd, self.app.vault.root, snippet)
        self.query_one("#text", Static).update(text)

    def _show_changes(self, answer: Any) -> None:
        # What is shown may be older than the first cursor.
        is_changed = not self._cursor or answer.changes or answer.resync
        self._cursor = answer.cursor
        if is_changed:
            self.load()

    def _show_done(self, answers: list[Any]) -> None:
        for one in [one for answer in answers for one in answer.hits or [answer]]:
            undo = f"undo (u): {one.undo}" if one.undo else ""
            self.say(f"{one.outcome}: {one.path}", "\n".join(filter(None, (one.hint, undo))))
        self.load()

    def say(self, text: str, hint: str = "", style: str = "$success") -> None:
        """Show what was done, or went wrong, until the cursor moves."""
        said = self.query_one("#said", Static)
        hint = f"\n{escape(hint, lines=True)}" if hint else ""
        said.update(Content.assemble((escape(text, lines=True), style), (hint, "dim")))
        said.display = True

    def _show_keys(self) -> None:
        parts, is_typing = [], isinstance(self.focused, Input)
        for _, action, key, word, _ in _KEYS:
            takes = self.check_action(*actions.parse(action)[1:])
            if word and takes and (not is_typing or key in ("esc", "↵", "tab")):
                parts.append(Content.assemble((key, "bold $secondary"), f" {word}"))
        self.query_one("#keys", Static).update(Content("  ").join(parts))

    on_descendant_focus = _show_keys  # what is typed into a query is no key

    def check_action(self, action: str, given: tuple[object, ...]) -> bool:
        """Whether a key does something here."""
        row, is_aside = self.row, self.row.get("status") in SET_ASIDE_STATUSES
        fits = {
            "archive": not is_aside,
            "restore": is_aside,
            "done": row.get("type") in ("action", ""),
            "back": given == (len(self.app.screen_stack) <= _FIRST,),
            "undo": bool(self.app.undos),
            "open": bool(self._rows),
            "focus_next": bool(self._rows),
        }
        has_note = bool(row.name) or action not in ("open", "page", "write")
        has_note &= not is_run_id(row.name) or action not in ("page", "write")
        return has_note and fits.get(str(given[0]) if action == "write" else action, True)

    def on_option_list_option_highlighted(self) -> None:
        if self.row.name != self._at:  # else it was filled anew
            self._at = self.row.name
            self.query_one("#said").display = False
            self._load_note()

    def on_input_changed(self, typed: Input.Changed) -> None:
        self._at, self.query_one(OptionList).highlighted = "", None
        self.set_timer(_TYPING_SECONDS, partial(self.load, typed.value))

    def _load_note(self) -> None:
        self._show_keys()
        if self._rows and self.row.name and not self.page.beside:
            show, given = partial(self._show_text, "show"), {"note": self.row.name}
            self._ask("text", show, "show", given, self.row.root)

    def action_open(self) -> None:
        if self.app.picks is not None:
            self.app.exit(self.row.get("file"))
        elif self._rows:
            self.action_page("show")

    def action_page(self, verb: str) -> None:
        self.app.push_screen(PageScreen(page_of(verb, self.row)))

    def action_search(self) -> None:
        fields = self.query(Input)
        fields.focus() if fields else self.app.search()

    def action_write(self, verb: str) -> None:
        self._ask("done", self._show_done, verb, self.row, write=self.app.write)

    def action_undo(self) -> None:
        self._ask("done", self._show_done, write=self.app.undo)

    def action_back(self, is_out: bool) -> None:
        self.app.exit() if is_out else self.app.pop_screen()

    def action_help(self) -> None:
        self.app.push_screen(PageScreen(ScreenPage("Keys", "", {})))
