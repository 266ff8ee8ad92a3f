"""In which form a vault's records and pages are written: `format` in its settings."""

from __future__ import annotations

from _collections_abc import Iterable

from cortex.core.text.value import NamedTuple

PROVENANCE = "provenance"  # in format 1 it holds the three
EVENTS, SESSION, LAYER = "events", "session", "layer"
NESTED_FORMAT, FLAT_FORMAT = 1, 2
_MAX_EVENT_LINKS = 100


class NoteForm(NamedTuple):
    """What holds for the records of one vault. Both forms are read in every vault.

    Flat records (format 2) have properties that an editor of properties can edit: events, session
    and layer are fields of their own, the id comes last, and what goes without saying is left out:
    the title beside the heading, and this project and branch.
    """

    is_flat: bool = False
    project: str = ""  # of flat records that name none
    branch: str = ""

    def stated(self, *, project: str, branch: str) -> dict[str, str | bool | None]:
        """What a record of this project and branch says of them: nothing where they are those of the
        vault, `project: false` of no project."""
        if not self.is_flat:
            return {"project": project, "branch": branch}
        said = None if project == self.project else project or False
        return {"project": said, "branch": None if branch in ("", self.branch) else branch}


NESTED = NoteForm()


def event_links(events: Iterable[str]) -> list[str]:
    """The events of a record as links, oldest first; so many that they would be too many brackets
    for a reader of YAML stand without."""
    ids = sorted(set(events))
    return [f"[[{id_}]]" for id_ in ids] if len(ids) <= _MAX_EVENT_LINKS else ids
