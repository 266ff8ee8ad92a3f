"""The hot path: validate, redact, publish, acknowledge. The standard library alone; no git, no YAML, no index."""

from __future__ import annotations

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import Conflict, CortexError, NotFound
from cortex.core.redact.secrets import clean
from cortex.core.text.value import NamedTuple
from cortex.vault import files, layout
from cortex.vault.git import checkout
from cortex.vault.locate import Vault

_ATTEMPTS = 5  # at ids that nobody has; with 50 random bits a second one is already unheard of


class Captured(NamedTuple):
    """The acknowledgement: the event is on disk under this id."""

    id: str
    path: str


def capture(
    vault: Vault,
    caller: Caller,
    text: str = "",
    *,
    type: str = "manual",
    session: str = "",
    project: str = "",
    branch: str = "",
    tags: str = "",
    id: str = "",
) -> Captured:
    """Keep a text as an event in the inbox and print the event's id.

    The id is printed only when the event is on disk and would survive a power cut. Text inside <private>…</private>
    and well-known secrets never get there: they become [REDACTED:kind].

    text: what to keep; a single - reads standard input
    type: manual, meeting, prompt, session_start, session_end, stop, pre_compact, subagent_stop or passive
    session: the session that this belongs to
    project: the project; by default what the working directory's .cortex-project or git remote says
    branch: the branch; by default the one checked out in the working directory
    tags: comma-separated; a record type among them decides the type
    id: the event id of an earlier attempt; repeating a capture with its id never makes a second event

    Example: cortex capture "Decision: use SQLite, because it is one file" --tags storage
    Example: pbpaste | cortex capture --type meeting -
    Example: cortex capture --type prompt --session s1 "Why is the build slow?"
    """
    event = Event(
        id=id or new_id(caller),
        type=type,
        at="",
        text=clean(text) if text.strip() else events.UNSAID.get(type, ""),
        session=clean(session),
        project=clean(project).lower() or checkout.project_of(caller.cwd),
        branch=clean(branch or checkout.branch_of(caller.cwd)),
        tags=tuple(dict.fromkeys(clean(tag.strip()) for tag in tags.split(",") if tag.strip())),
        source=caller.source,
    )
    events.check(event)
    return publish(vault, caller, event, fixed=bool(id))


def publish(vault: Vault, caller: Caller, event: Event, *, fixed: bool = False) -> Captured:
    """Write the event. An id that is taken is replaced by a new one, unless it is `fixed`: then it is an earlier attempt."""
    for _ in range(_ATTEMPTS):
        event = event._replace(at=events.time_of(event.id))
        path = layout.pending(event.id)
        try:
            if fixed and (held := _held(vault, event)):
                return held
            files.publish(vault.root, path, events.compose(event).encode())
        except FileExistsError:
            if not fixed:
                event = event._replace(id=new_id(caller))
        except NotFound:
            continue  # it was normalized while we looked: look again
        except OSError as error:
            raise CortexError(
                f"nothing was captured: {error.strerror or error} ({vault.root})",
                f"mend that and capture again; with --id {event.id} no attempt can make a second event",
            ) from error
        else:
            return Captured(event.id, path)
    raise Conflict(f"no free event id in {_ATTEMPTS} attempts", "capture again")


def new_id(caller: Caller) -> str:
    """An event id of this moment."""
    stamp = caller.now.replace("-", "").replace(":", "").lower()
    return events.event_id(stamp, caller.random(7))


def _held(vault: Vault, event: Event) -> Captured | None:
    """The acknowledgement of an earlier attempt under this id; `Conflict` when it captured something else."""
    for path in (layout.pending(event.id), events.path_of(event.id), layout.failed(event.id)):
        if files.exists(vault.root, path):
            held = files.read(vault.root, path)
            # No field of an event spans lines, so the first such place is where its own text begins.
            if (
                held.partition(f"\n---\n\n{events.RAW_HEADING}\n\n".encode())[2]
                != f"{event.text}\n".encode()
            ):
                raise Conflict(
                    f"{event.id} was captured with other content",
                    "capture without --id for a new event",
                )
            with files.folder(vault.root, path.rpartition("/")[0]) as place:
                place.sync()  # the earlier attempt may have failed right here
            return Captured(event.id, path)
    return None
