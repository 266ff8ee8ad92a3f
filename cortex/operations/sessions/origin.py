"""Where a note came from: the events of its provenance, and the sentences in the sessions' transcripts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress

from cortex.core.extract import evidence
from cortex.core.extract.candidate import LeadingPhrases
from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.distillation import parse_distillation
from cortex.core.model.event import DISTILLED, Event
from cortex.core.model.parameters import NoteName, Time
from cortex.core.model.problem import InvalidInputError, Problem
from cortex.core.normalize.handlers import records_from_event
from cortex.core.notes.note import Note
from cortex.core.redact.secrets import sanitize_text
from cortex.core.runs.run_note import is_run_id
from cortex.core.text.strings import parse_time
from cortex.core.text.value import NamedTuple
from cortex.hosts.transcript_turns import ASSISTANT, USER, SessionTurn
from cortex.index.catalogue import NoteRow
from cortex.operations.find.show import find_in_vaults, read_note
from cortex.operations.sessions.transcript import (
    NO_TRANSCRIPT,
    FoundTranscript,
    captured_turns,
    find_transcript,
)
from cortex.operations.upkeep.preserve_text import find_event
from cortex.vault import settings
from cortex.vault.locate import Vault

_AROUND_CHARS = 300  # before and after the sentence


class OriginSource(NamedTuple):
    """An event of a note's provenance, and the sentence that the note was made of."""

    event: str
    at: Time
    type: str = ""  # empty, as all below, for an event that is gone
    path: str = ""  # of the event
    session: str = ""  # by this name `transcript` shows the turn, of a subagent too
    host: str = ""
    sentence: str = ""
    turn: int = -1  # its number in the transcript; -1 where it was not found
    who: str = ""  # user, assistant, agent, host or capture, as of a turn
    transcript: str = NO_TRANSCRIPT  # or here, or gone: it was, and is not any more
    before: str = ""  # the text around it, in the transcript, else in the event
    after: str = ""
    run: str = ""  # of an agent that it came of: cortex run show


class Origin(NamedTuple):
    """Where a note came from."""

    id: str
    title: str
    path: str
    file: str  # absolute path
    sources: tuple[OriginSource, ...]  # newest last
    problems: tuple[Problem, ...]


class _Text(NamedTuple):
    """A text that may hold a phrase: of a turn, or of a tool that it called."""

    agent: str
    turn: SessionTurn
    is_of_tool: bool
    text: str
    words: str


def origin(vault: Vault, caller: Caller, note: NoteName) -> Origin:
    """Show where a note came from, down to the sentence.

    For each event of its provenance: when and in which session, the sentence that the note was made of,
    the number of the turn in the session's transcript, and the text around it. Transcripts are those
    that hooks or an import read on this machine; without one the event's own sentence is shown.

    note: an id or path, as search shows it, or a title

    Example: cortex origin decision-save-lookup
    """
    vault, row = find_in_vaults(vault, caller, note)
    known, phrases = read_note(vault, row.path), settings.load(vault.root).phrases
    ids = sorted(set(filter(events.is_event_id, row.events)))
    read = {id_: find_event(vault, id_) for id_ in ids}
    quotes = defaultdict[str, list[str]](list)
    for _, event in read.values():
        if event and event.type == DISTILLED:
            for id_, quote in _quotes(event, row):
                quotes[id_].append(quote)
    heard = dict[str, tuple[FoundTranscript, list[_Text]]]()
    sources = list[OriginSource]()
    for id_, (path, event) in read.items():
        if event is None:
            sources.append(OriginSource(id_, events.time_of_id(id_)))
            continue
        session = event.run or event.session
        if session not in heard:
            found = find_transcript(vault, session, event.host)
            heard[session] = found, _texts(found.turns)
        wanted = [*quotes[id_], *_wanted(row, known, event, phrases)]
        source = _source(event, path, wanted, *heard[session])
        is_of_agent = is_run_id(event.run)  # it names no session
        sources.append(source._replace(session="", run=session) if is_of_agent else source)
    message, hint = "the event is not in the vault", "cortex sync brings what others have"
    gone = tuple(Problem(one.event, message, hint) for one in sources if not one.path)
    return Origin(row.id, row.title, row.path, vault.file(row.path), tuple(sources), gone)


def _quotes(event: Event, row: NoteRow) -> Iterator[tuple[str, str]]:
    """What a distillation quotes for a record, or for the note of its session, by events."""
    with suppress(InvalidInputError):
        made = parse_distillation(event.text).records
        for one, record in zip(made, records_from_event(event), strict=False):
            if row.id == record.id or row.type == "session":
                # Rules put the two together as `answer (question)`.
                answer, _, question = one.quote.removesuffix(")").partition(" (")
                for quote in (one.quote, f"{question} {answer}" if question else "", one.statement):
                    yield from ((id_, quote) for id_ in {one.event, event.id} if quote)


def _wanted(
    row: NoteRow, known: Note | None, event: Event, phrases: LeadingPhrases
) -> Iterator[str]:
    """What to look for, the surest first: the record that the event makes, the note. Of a session,
    which is about all of its events, what was asked in each."""
    if row.type == "session":
        said = captured_turns([event])
        yield from [one.text for one in (*(one for one in said if one.who == USER), *said)][:1]
        return
    made = records_from_event(event, phrases) if event.type != DISTILLED else ()
    texts = [(one.title, one.body) for one in made if row.id == one.id]
    for title, text in (*texts, (row.title, known.text_below_title if known else "")):
        lines = (line.lstrip("-*> \t").removeprefix("[ ]") for line in text.splitlines())
        first = next(filter(None, lines), "").removeprefix("[x]")
        yield from filter(None, (first, title))


def _texts(turns: dict[str, list[SessionTurn]]) -> list[_Text]:
    texts = []
    for agent, turn in ((agent, turn) for agent, said in turns.items() for turn in said):
        said = f"{turn.about}\n{turn.text}".strip()
        for number, text in enumerate((said, *(one.input for one in turn.tools))):
            texts.append(_Text(agent, turn, number > 0, text, evidence.word_line(text)))
    return texts


def _find(texts: Sequence[_Text], phrases: Sequence[str], at: str) -> tuple[_Text, str] | None:
    """The text that holds the first phrase that any does, and that phrase; of several texts what was
    said rather than what a tool was given, and the nearest in time."""
    moment = parse_time(at) or 0

    def distance(one: _Text) -> tuple[bool, int]:
        return one.is_of_tool, abs((parse_time(f"{one.turn.at[:19]}Z") or 0) - moment)

    for phrase in phrases:
        if holding := [one for one in texts if phrase in one.words]:
            return min(holding, key=distance), phrase
    return None


def _source(
    event: Event, path: str, wanted: Sequence[str], found: FoundTranscript, texts: Sequence[_Text]
) -> OriginSource:
    """The source that an event is: `wanted` is looked for in it, and in the texts of its session."""
    whole = wanted[0] if event.type == DISTILLED and wanted else event.text
    own = _texts({"": [*captured_turns([event]), SessionTurn(0, event.at, ASSISTANT, whole)]})
    phrases, first = evidence.phrases_of(wanted), evidence.phrases_of([own[0].text[:_AROUND_CHARS]])
    place, turn = _find(own, [*phrases, *first], event.at), -1
    session = event.run or event.session
    if heard := _find(texts, phrases, event.at):
        place, turn = heard, heard[0].turn.number
        session = f"{session}/{heard[0].agent}".rstrip("/")
    text, phrase = sanitize_text(place[0].text if place else whole), place[1] if place else ""
    start, end = evidence.find_sentence(text, phrase)
    return OriginSource(
        event.id, event.at, event.type, path, session, event.host, text[start:end], turn,
        place[0].turn.who if place else "", found.state,
        text[max(0, start - _AROUND_CHARS) : start], text[end : end + _AROUND_CHARS],
    )  # fmt: skip
