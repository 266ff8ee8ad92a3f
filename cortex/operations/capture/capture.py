"""Write an event into the inbox. Standard library only: hooks load it."""

from __future__ import annotations

from _collections_abc import Iterable

from cortex.core.model import event as events
from cortex.core.model.caller import Caller
from cortex.core.model.event import Event
from cortex.core.model.problem import ConflictError, CortexError, NotFoundError
from cortex.core.redact.secrets import sanitize_text
from cortex.core.text.days import clock
from cortex.core.text.strings import shell_quote
from cortex.core.text.value import NamedTuple
from cortex.vault import files
from cortex.vault.layout import known_layout
from cortex.vault.locate import Vault

_MAX_ATTEMPTS = 5  # at ids that nobody has; with 50 random bits a second one is already unheard of


class CaptureResult(NamedTuple):
    """The acknowledgement: the event is on disk under this id."""

    id: str
    path: str  # relative to the vault
    file: str  # absolute path


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """The tags without secrets and the # before them, each once."""
    plain = (sanitize_text(tag.strip()).lstrip("#") for tag in tags if tag.strip("# "))
    return tuple(dict.fromkeys(plain))


def publish_event(
    vault: Vault, caller: Caller, event: Event, *, is_retry: bool = False, retry_hint: str = ""
) -> CaptureResult:
    """Write the event into the inbox, durably, over nothing that is there. `retry_hint` says how to
    repeat what failed, where that is no capture.

    A new id replaces one that is taken, unless `is_retry`: an earlier attempt may have written it.
    """
    events.check_field_sizes(event)
    for _ in range(_MAX_ATTEMPTS):
        event = with_time(caller, event)
        try:
            path = vault.layout().pending(event.id)
            if is_retry and (earlier := _find_earlier_capture(vault, event)):
                return earlier
            files.create(vault.root, path, events.compose(event).encode())
        except FileExistsError:
            if not is_retry:
                event = event._replace(id=new_event_id(caller))
        except NotFoundError:
            continue  # normalized while we looked for it: look again
        except OSError as error:
            folder = vault.file(known_layout(vault.root).pending())
            again = f"run the same capture with --id {event.id}, which never makes a second event"
            message = f"nothing was captured: {error.strerror or error} ({folder})"
            hint = f"look with ls -ld {shell_quote(folder)} and df; then {retry_hint or again}"
            raise CortexError(message, hint) from error
        else:
            return CaptureResult(event.id, path, vault.file(path))
    raise ConflictError(f"no free event id in {_MAX_ATTEMPTS} attempts", "capture again")


def with_time(caller: Caller, event: Event) -> Event:
    """The event with the time of its id, and with the day where it is captured now if that is another.
    What is made of a source or by rules is the same on all clones."""
    at = events.time_of_id(event.id)
    day = "" if event.source in ("import", "rules") else clock(at, caller.zone)[:10]
    return event._replace(at=at, day="" if day == at[:10] else day)


def new_event_id(caller: Caller, last: str = "") -> str:
    """An event id of this moment that sorts behind `last`, which may be of the same second, or of a
    clock that is ahead."""
    stamp = caller.now.replace("-", "").replace(":", "").lower()
    id_ = events.make_id(stamp, caller.random(7))
    # Behind a person's edit, too, that is kept as an event a little behind the last one.
    return id_ if id_ > last else events.id_after(last, b"\1" + caller.random(4))


def _find_earlier_capture(vault: Vault, event: Event) -> CaptureResult | None:
    """The result of an earlier attempt under this id; `ConflictError` if its text differs."""
    id_, layout = event.id, vault.layout()
    for path in (layout.pending(id_), layout.event(id_), layout.failed(id_)):
        if files.exists(vault.root, path):
            data = files.read(vault.root, path)
            # No field of an event spans lines: the first such heading is the event's own.
            text = data.partition(f"\n---\n\n{events.RAW_HEADING}\n\n".encode())[2]
            if text != f"{event.text}\n".encode():
                hint = "capture without --id for a new event"
                raise ConflictError(f"{id_} was captured with other content", hint)
            # The earlier attempt may have failed right here.
            files.sync_folder(vault.root, path.rpartition("/")[0])
            return CaptureResult(id_, path, vault.file(path))
    return None
