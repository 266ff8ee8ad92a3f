"""The verb `capture`, which also reports the records that it made. For a pipe, which needs only the id,
the modules for that are not imported."""

from __future__ import annotations

from cortex.core.model import event as events, record
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import CortexError, InvalidInputError, Problem
from cortex.core.model.record import MadeRecord
from cortex.core.redact.secrets import redact, sanitize_text
from cortex.core.text.strings import one_of
from cortex.core.text.value import NamedTuple
from cortex.operations.capture.capture import clean_tags, new_event_id, publish_event
from cortex.vault import files
from cortex.vault.git import checkout
from cortex.vault.locate import Vault


class CaptureAnswer(NamedTuple):
    """The acknowledgement: the event is on disk under this id; and what came of it."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path
    records: tuple[MadeRecord, ...] = ()  # none where only the id is asked for
    note: str = ""  # what else there is to know; mostly nothing
    hint: str = ""
    problems: tuple[Problem, ...] = ()


def capture(
    vault: Vault, caller: Caller, text: str = "", *, type: str = "manual", content: str = "", session: str = "",
    project: str = "", branch: str = "", tags: tuple[str, ...] = (), id: str = "",
) -> CaptureAnswer:  # fmt: skip
    """Keep a text as an event in the inbox and print its id.

    The id is printed only when the event is on disk and would survive a power cut. On a terminal, with
    --json, over MCP and in Python the answer also names each record made of the text, similar records
    and those that it contradicts; a pipe gets only the id. Text inside <private>…</private> and
    well-known secrets are never written: they become [REDACTED:kind].

    text: what to keep; - or a pipe reads standard input; with --type meeting the name of a file reads the file
    type: a type of record, such as decision, gotcha, preference or action, or of event, such as meeting or prompt
    content: the text, in place of TEXT
    session: the session that this belongs to
    project: the project; by default what the working directory's .cortex-project or git remote says
    branch: the branch; by default the one checked out in the working directory
    tags: comma-separated; a record type among them decides the type
    id: the event id of an earlier attempt, which then never makes a second event

    Example: cortex capture "Decision: use SQLite, because it is one file" --tags storage
    Example: cortex capture --type action "Send the offer (Ana, 1 December)"
    Example: cortex capture --type meeting minutes.md
    Example: pbpaste | cortex capture --type meeting -
    """
    if text.strip() and content.strip() and text != content:
        raise InvalidInputError("TEXT and --content are two texts", "give one of them")
    if type in events.MADE_TYPES:
        hint = "cortex distill SESSION --answer FILE; cortex run start"
        raise InvalidInputError("what a model says is checked first", hint)
    text = text if text.strip() else content
    events.check_size(text)  # redacting takes seconds for megabytes
    kind = "" if type in events.EVENT_TYPES else _record_type(type)
    named = sanitize_text(project)
    event = Event(
        id=id or new_event_id(caller),
        type="manual" if kind else type,
        at="",
        text=sanitize_text(text) if text.strip() else events.PLACEHOLDER_TEXTS.get(type, ""),
        session=sanitize_text(session),
        project=events.project_slug(named) or checkout.project_of(caller.cwd),
        branch=sanitize_text(branch or checkout.branch_of(caller.cwd)),
        tags=clean_tags(tags),
        source=caller.source,
        record=kind,
    )
    events.validate(event)
    done = publish_event(vault, caller, event, is_retry=bool(id))
    remarks = [events.slug_remark(named, event.project)]
    if caller.wants_outcome and (kinds := redact(text)[1]):
        number = "1 secret was" if len(kinds) == 1 else f"{len(kinds)} secrets were"
        remarks.append(f"{number} left out: {', '.join(dict.fromkeys(kinds))}")
    answer = CaptureAnswer(*done, note="; ".join(filter(None, remarks)))
    return _with_outcome(vault, caller, answer) if caller.wants_outcome else answer


def _record_type(word: str) -> str:
    """The type of record that a word names. `InvalidInputError` where it names none."""
    type_ = record.canonical_type(word.strip().lower())
    if type_ in record.RECORD_TYPES:
        return type_
    known = [one for one in events.EVENT_TYPES if one not in events.MADE_TYPES]
    hint = one_of(word, [*dict.fromkeys((*record.RECORD_TYPES, *known))])
    raise InvalidInputError(f"unknown type {word!r}", hint)


def _with_outcome(vault: Vault, caller: Caller, answer: CaptureAnswer) -> CaptureAnswer:
    """The answer with the records that its event became. Never fails: the text is captured already, so an
    error becomes a note in the answer."""
    # They import the index, 60 ms, for which a pipe does not wait.
    from cortex.core.normalize.handlers import parse_event  # noqa: PLC0415
    from cortex.core.notes import note as notes  # noqa: PLC0415
    from cortex.operations.records.similar import made_record  # noqa: PLC0415
    from cortex.operations.upkeep.normalize_now import normalize_now  # noqa: PLC0415

    layout, id_, made, apart = vault.layout(), answer.id, [], list[Problem]()
    try:
        data = files.read(vault.root, answer.path)
        done = normalize_now(vault, caller, event := parse_event(data, answer.path))
        if event.type == "meeting" and "created" not in dict(done.records).values():
            from cortex.operations.upkeep.bring_up_to_date import (  # noqa: PLC0415
                read_edited_minutes,
            )

            read_edited_minutes(vault, caller)
        for place, outcome in dict(done.records).items():
            note = notes.read(files.read(vault.root, place), place)
            if note.get("type") != "session" and not note.get("superseded_by"):
                made.append(made_record(vault, note, place, outcome))
            if f"text: [[{id_}]]" in note.get_list("merge_conflicts"):
                message = "was edited since, so its text stays, and yours is beside it"
                hint = f"cortex history {note.get('id')} shows both"
                apart.append(Problem(place, message, hint))
        answer = answer._replace(problems=(*apart, *done.problems))
    except Exception as error:  # noqa: BLE001  the capture counts, and what is wrong is said
        why, hint = f"kept as event {id_}, which is no record yet: {error}", "cortex normalize"
        if isinstance(error, CortexError):
            why, hint = error.message, error.hint
        answer = answer._replace(note="; ".join(filter(None, (answer.note, why))), hint=hint)
    places = (layout.event(id_), layout.failed(id_))
    path = next((place for place in places if files.exists(vault.root, place)), answer.path)
    return answer._replace(path=path, file=vault.file(path), records=tuple(made))
