"""A vault's few settings, from its committed `cortex.toml`. None names a program or outer path."""

from __future__ import annotations

import os
import re
from _collections_abc import Callable

from cortex.core.model.note_form import FLAT_FORMAT, NESTED_FORMAT, NoteForm
from cortex.core.model.problem import CortexError, InvalidInputError, NotFoundError, Problem
from cortex.core.redact.person_words import FULL, NONE, PROMPT_POLICIES, SHORT
from cortex.core.text.days import UTC, Zone
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import cache, suppress
from cortex.core.text.strings import did_you_mean
from cortex.core.text.tables import parse_toml
from cortex.core.text.value import Any, NamedTuple
from cortex.vault import files, overrides, zones
from cortex.vault.layout import SETTINGS_FILE, folder_problem, keep_sound, layout_of, sound_settings

_ENGINES = ("auto", "whoosh", "tantivy")  # as in index/engines
_EMBEDDERS = ("auto", "off", "minilm")
_MAX_ALIAS_STEPS = 20  # from one alias to the next
_BRANCH_RE = lazy_re(r"(?!-)[^\s~^:?*\[\\\x00-\x1f\x7f]{0,200}")
_PROJECT_RE = lazy_re(r"[a-z0-9][a-z0-9._-]{0,63}")  # as in core/model/event.py
_MAX_BYTES = 64 * 1024
_MAX_PHRASES, _MAX_PHRASE_CHARS = 50, 60  # for one type; characters
# Of settings that cannot be parsed: what switches hooks off, and may keep notes private.
_HOOKS_OFF_RE = lazy_re(rb"^[ \t]*(?:hooks\.)?enabled[ \t]*=[ \t]*false\b", re.MULTILINE)
_EARLIER_PROMPTS = {"true": FULL, "false": NONE}  # as settings said it before
_EXCLUDE_RE = lazy_re(rb"^[^#\n]*exclude(?![ \t]*=[ \t]*\[[ \t]*\])[\"']?[ \t]*=", re.MULTILINE)


class Settings(NamedTuple):
    """What a team agrees on for a vault."""

    exclude: tuple[str, ...] = ()  # path patterns of notes that are not indexed: `private/*`
    problems: tuple[Problem, ...] = ()
    engine: str = "auto"  # of search: auto, whoosh or tantivy
    # None: only where the vault is a repository of its own.
    autocommit: bool | None = None  # whether the watcher commits
    push: bool | None = None  # whether `cortex sync` pushes
    notes: bool | None = None  # whether it takes people's own notes and attachments along
    obsidian: bool = False  # and with them the settings of Obsidian
    # Projects that were merged, each with the one that it is part of now.
    aliases: tuple[tuple[str, str], ...] = ()
    hooks_enabled: bool = True  # whether the hooks of agent hosts capture and answer here
    prompts: str = SHORT  # what they keep of what the user asks: none, short or full
    tells_contract: bool = True  # whether they say at a start how to mark what is to be kept
    # Record type -> words at the beginning of a line that say so, the team's own.
    phrases: tuple[tuple[str, tuple[str, ...]], ...] = ()
    reminder_lines: int = 5  # with a prompt, at the most; 0 for none
    reminder_threshold: float = 0.55  # share of what a prompt's words tell that a line has to cover
    embedder: str = "auto"  # of vectors: the person's, off, or the model that a package brings
    archives_faded: bool = False  # whether sync and the watcher archive what lost its importance
    # Ids of events that are gone, and do not come back; None: nobody knows which.
    erased: frozenset[str] | None = frozenset()
    briefings_branch: str = ""  # on which shared pages are written; empty: it is not said
    daily: str = ""  # path of a day's note; empty: as Obsidian has it
    zone: Zone = UTC  # of the days in committed pages
    refusal: Problem | None = None  # why this program must not write into the vault
    is_readable: bool = True
    may_exclude: bool = False  # not readable, and they may name patterns of excluded notes
    format: int = NESTED_FORMAT  # of records and pages
    project: str = ""  # of flat records that name none

    @property
    def form(self) -> NoteForm:
        """The form in which records and pages are written."""
        is_flat = self.format == FLAT_FORMAT
        return NoteForm(is_flat, self.project, self.briefings_branch) if is_flat else NoteForm()

    def resolve_project(self, name: str) -> str:
        """The project that a name stands for: itself, unless it was merged into another."""
        return dict(self.aliases).get(name, name)


_DEFAULTS = Settings()
_FLAG = (lambda said: isinstance(said, bool), False, "true or false")
# Tables of people's own words, and tables whose problems others tell.
_OTHER_TABLES = {"projects", "extract", "distill", "semantic"}
# Field -> its place (section and key), whether a value fits, what holds else, and what fits.
_FORMS: dict[str, tuple[str, Callable[[Any], bool], object, str]] = {
    "engine": ("index engine", _ENGINES.__contains__, "auto", "auto, whoosh or tantivy"),
    "autocommit": ("sync autocommit", *_FLAG),
    "push": ("sync push", *_FLAG),
    "notes": ("sync notes", *_FLAG),
    "obsidian": ("sync obsidian", *_FLAG),
    "hooks_enabled": ("hooks enabled", *_FLAG),
    "prompts": (
        "hooks prompts", lambda said: type(said) is bool or str(said).lower() in PROMPT_POLICIES,
        NONE, "one of none, short, full; none are kept now",
    ),
    "tells_contract": ("hooks contract", *_FLAG),
    "reminder_lines": (
        "remind lines", lambda said: type(said) is int and 0 <= said <= 20,
        _DEFAULTS.reminder_lines, "a number from 0 to 20",
    ),
    "reminder_threshold": (
        "remind threshold", lambda said: type(said) in (int, float) and 0 <= said <= 1,
        _DEFAULTS.reminder_threshold, "a number from 0 to 1",
    ),
    "embedder": ("semantic embedder", _EMBEDDERS.__contains__, "off", "auto, off or minilm"),
    "erased": (
        "events erased", lambda said: type(said) is list and all(type(one) is str for one in said),
        None, "a list of ids",
    ),
    "archives_faded": ("lifecycle auto", *_FLAG),
    "briefings_branch": (
        "briefings branch", lambda said: type(said) is str and bool(_BRANCH_RE.fullmatch(said)),
        "", 'a valid branch name, such as "main"',
    ),
    "daily": ("notes daily", lambda said: type(said) is str and "{date}" in said and ".." not in said, "", 'a path such as "daily/{date}"'),
}  # fmt: skip


def load(root: str) -> Settings:
    """The settings, with a problem for each that cannot be read: there the last sound ones hold, of
    which this user has a copy, else the strict side of what guards something, else defaults. Raises
    `InvalidInputError` for a variable that is wrong (`overrides.py`)."""
    try:
        text = read_text(root)
        table = parse_toml(text)
    except (FileNotFoundError, NotFoundError) as error:
        hint = "mend it; defaults are used meanwhile"
        return Settings(problems=(Problem(SETTINGS_FILE, f"cannot be read: {error}", hint),))
    except (CortexError, OSError, ValueError) as error:
        return _unreadable(root, f"cannot be read: {str(error).splitlines()[0]}")
    said = _read_table(table)
    said = said._replace(problems=(*said.problems, *_layout_problems(root, table)))
    if not said.problems:
        keep_sound(root, text.encode())
    elif not said.refusal and (sound := _sound_table(root)):
        wrong = [name for name, value in table.items() if _read_table({name: value}).problems]
        table |= {name: sound.get(name, {}) for name in wrong}
        return _read_table(table)._replace(problems=said.problems)
    return said


def unknown_settings(root: str) -> list[Problem]:
    """A problem for each setting in the vault's file that nothing reads, as a misspelled one."""
    known = {"format", "name", "project", "timezone", "index.exclude", "layout.folder"}
    known |= {place.replace(" ", ".") for place, *_ in _FORMS.values()}
    try:
        table = parse_toml(read_text(root))
    except (CortexError, OSError, ValueError):
        return []  # `load` says so
    said: list[str] = []
    for name in table.keys() - _OTHER_TABLES:
        value = table[name]
        said += [f"{name}.{key}" for key in value] if isinstance(value, dict) else [name]
    hint = "take it out; docs/settings.md has them all"
    return [
        Problem(SETTINGS_FILE, f"{one} is no setting", did_you_mean(one, known, hint))
        for one in sorted({*said} - known)
    ]


def load_cached(root: str) -> Settings:
    """The settings, for what is asked with each note that is read."""
    with suppress(OSError):
        status = os.stat(f"{root}/{SETTINGS_FILE}")
        return _load_at(root, (status.st_mtime_ns, status.st_ctime_ns))
    return Settings()


@cache
def _load_at(root: str, _stamp: tuple[int, int]) -> Settings:
    return load(root)


def _sound_table(root: str) -> dict[str, object]:
    """What the last sound settings say; empty where there is no copy of them, or it is damaged."""
    try:
        return parse_toml(sound_settings(root).decode())
    except ValueError:
        return {}


def _read_table(table: dict[str, object]) -> Settings:
    """The settings that a table holds, with defaults and a problem for each that cannot be read."""
    problems: list[Problem] = []
    version, refusal = table.get("format", NESTED_FORMAT), None
    if type(version) is not int or version not in (NESTED_FORMAT, FLAT_FORMAT):
        message = f"format {version!r} is none of the formats 1 and 2 that this program knows"
        if type(version) is int and version > FLAT_FORMAT:
            hint = "update cortex: this one reads the vault and keeps captures, but changes nothing"
            refusal = Problem(SETTINGS_FILE, message, hint)
            problems.append(refusal)
        else:
            _add(problems, message, f"write format = {FLAT_FORMAT}")
    zone = zones.find(str(named)) if (named := table.get("timezone", "")) else UTC
    if zone is None:  # two clones would write pages with different days
        hint = 'write a name of IANA, as timezone = "Europe/Berlin"; or install the package tzdata'
        _add(problems, f"timezone {named!r} is no zone that this machine knows", hint)
        refusal = refusal or problems[-1]
    index = table.get("index", {})
    said = index.get("exclude", []) if isinstance(index, dict) else None
    listed = [said] if isinstance(said, str) else said if isinstance(said, list) else []
    exclude = [one for one in listed if isinstance(one, str)]
    if exclude != said:
        hint = 'write exclude = ["private/*"]'
        _add(problems, "[index] exclude is not a list of patterns", hint)
    if "distill" in table:
        hint = "take [distill] out; what runs stands in your own settings: cortex distill --help"
        _add(problems, "[distill] is not read: no vault can name a program", hint)
    semantic = table.get("semantic", {})
    if isinstance(semantic, dict) and semantic.keys() - {"embedder"}:
        hint = "take out all but its embedder, and write the rest into your own settings"
        _add(problems, "[semantic] says more than a vault may", hint)
    return Settings(
        tuple(exclude),
        **_read_forms(table, problems),
        zone=zone or UTC,
        format=version if version == FLAT_FORMAT else NESTED_FORMAT,
        project=_read_project(table, problems),
        aliases=_parse_aliases(table.get("projects", {}), problems),
        phrases=_parse_phrases(table.get("extract", {}), problems),
        refusal=refusal,
        problems=tuple(problems),  # last: the others add to them
    )


def _read_project(table: dict[str, object], problems: list[Problem]) -> str:
    """The project of flat records that name none."""
    project = table.get("project", "")
    if isinstance(project, str) and (not project or _PROJECT_RE.fullmatch(project)):
        return project
    _add(problems, "project is no name of a project", 'write project = "shop"')
    return ""


def _read_forms(table: dict[str, object], problems: list[Problem]) -> dict[str, Any]:
    """The fields that `_FORMS` names, the usual value where nothing is said."""
    values: dict[str, Any] = {}
    for field, (place, fits, strict, form) in _FORMS.items():
        section, key = place.split()
        held = table.get(section, {})
        # What a vault says of vectors no person overrules.
        told = overrides.said(section) if field != "embedder" else {}
        held = {**held, **told} if told and isinstance(held, dict) else held
        said = held.get(key, getattr(_DEFAULTS, field)) if isinstance(held, dict) else None
        values[field] = said
        if not isinstance(held, dict) or (key in held and not fits(said)):
            if key in told:
                raise overrides.wrong(section, key, form)
            values[field] = strict
            _add(problems, f"[{section}] {key} is not {form}", f"mend {key}, or take it out")
    policy, erased = str(values["prompts"]).lower(), values["erased"]
    values["prompts"] = _EARLIER_PROMPTS.get(policy, policy)
    return {**values, "erased": None if erased is None else frozenset(erased)}


def _layout_problems(root: str, table: dict[str, object]) -> list[Problem]:
    """A problem if `[layout] folder` is not where Cortex writes."""
    section = table.get("layout", {})
    folder = section.get("folder", "") if isinstance(section, dict) else None
    if isinstance(folder, str) and folder.strip("/") == layout_of(root).folder:
        return []
    why = folder_problem(folder) if isinstance(folder, str) else "is no text"
    hint = 'write [layout] and below it folder = "cortex"'
    message = f"[layout] folder {why or 'is written in a way that is not read'}"
    return [Problem(SETTINGS_FILE, message, hint)]


def check_writable(root: str) -> None:
    """Raise `InvalidInputError` if records must not be written, nor anything shared: the format is
    newer than this program."""
    if refusal := load(root).refusal:
        raise InvalidInputError(f"{root}/{SETTINGS_FILE}: {refusal.message}", refusal.hint)


def _unreadable(root: str, message: str) -> Settings:
    """The settings while nobody can parse them: the last sound ones; where there is no copy of any,
    the strict side of each."""
    sound = _sound_table(root)
    until_then = "the last sound settings hold" if sound else "nothing is pushed"
    hint = f"mend that line of {root}/{SETTINGS_FILE}; until then {until_then}"
    problems = (Problem(SETTINGS_FILE, message, hint),)
    if sound:
        return _read_table(sound)._replace(problems=problems)
    try:
        data = files.read(root, SETTINGS_FILE, _MAX_BYTES + 1)
    except (CortexError, OSError):
        data = b"exclude ="
    return Settings(
        problems=problems,
        autocommit=False,
        push=False,
        notes=False,
        hooks_enabled=not _HOOKS_OFF_RE.search(data),
        prompts=NONE,
        tells_contract=False,
        is_readable=False,
        embedder="off",
        erased=None,
        may_exclude=bool(_EXCLUDE_RE.search(data)),
    )


def read_text(root: str) -> str:
    """The text of the settings. Raises `CortexError`, `OSError`, `ValueError`."""
    data = files.read(root, SETTINGS_FILE, _MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"it is not UTF-8 (at line {line})") from None


def _add(problems: list[Problem], message: str, hint: str) -> None:
    problems.append(Problem(SETTINGS_FILE, message, hint))


def is_project_name(name: str) -> bool:
    """Whether a capture can have this as its project."""
    return bool(_PROJECT_RE.fullmatch(name))


def _parse_aliases(section: object, problems: list[Problem]) -> tuple[tuple[str, str], ...]:
    """The pairs of `[projects.aliases]`, each with its last target, without circular ones."""
    table = section.get("aliases", {}) if isinstance(section, dict) else None
    if not isinstance(table, dict):
        hint = 'write [projects.aliases] and below it "old" = "new"'
        _add(problems, "[projects] aliases is no table of names", hint)
        return ()
    good = {
        old: new
        for old, new in table.items()
        if isinstance(new, str) and new and old and old != new and is_project_name(new)
    }
    found = []
    for old in table:
        new, seen = good.get(old, ""), {old}
        while new in good and new not in seen and len(seen) < _MAX_ALIAS_STEPS:
            seen.add(new)
            new = good[new]
        if not new or new in good:
            why = "leads back to itself" if new else "is no other project"
            hint = 'write "old" = "new" with a project of [a-z0-9._-], or take the line out'
            _add(problems, f"the alias of {old[:100]!r} {why}", hint)
        else:
            found.append((old, new))
    return tuple(found)


def _parse_phrases(
    table: object, problems: list[Problem]
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The pairs of `[extract]`: a record type and the words that say it."""
    if not isinstance(table, dict):
        hint = 'write [extract] and below it decision = ["we agreed to"]'
        _add(problems, "[extract] is no table", hint)
        return ()
    found = []
    for type_, words in table.items():
        listed = words if isinstance(words, list) else []
        listed = [word.strip() for word in listed if isinstance(word, str)]
        good = tuple(word for word in listed if 0 < len(word) <= _MAX_PHRASE_CHARS)[:_MAX_PHRASES]
        if not is_project_name(type_) or not isinstance(words, list) or len(good) < len(words):
            wanted = f"at most {_MAX_PHRASES} phrases of at most {_MAX_PHRASE_CHARS} characters"
            message = f"[extract] {type_[:40]} is no list of {wanted}"
            _add(problems, message, 'write decision = ["we agreed to"]')
        if is_project_name(type_) and good:
            found.append((type_, good))
    return tuple(found)
