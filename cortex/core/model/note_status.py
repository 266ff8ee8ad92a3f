"""What hot paths know of notes: statuses and tiers, limits and marks of search, names and headings."""

TIER_CURRENT = 0
TIER_SET_ASIDE = 1  # superseded, archived, pruned or deleted; of a type of `CODE_TYPES`
TIER_TRAIL = 2  # events and briefings: what records came from, and what is made of them

TEMPLATE = "template"  # status of a note that a template of Obsidian is: no note of its own

PRUNED = "pruned"  # archived for long, and hidden by `prune`
WITHDRAWN_STATUSES = (PRUNED, "deleted")  # on no page, not even that of the archive
# Statuses of what is set aside.
SET_ASIDE_STATUSES = ("superseded", "archived", *WITHDRAWN_STATUSES)
DONE_STATUSES = ("done", "closed", "cancelled")  # of an action that needs nothing more
HIDDEN_STATUSES = ("superseded", *WITHDRAWN_STATUSES)  # shown only to those who ask for them

MAX_NOTE_BYTES = 1024 * 1024  # of a note that are read; the rest is not searched, and that is said

# With these begins the line that ends a text of Cortex in a session's note (`generated_text.py`).
SUMMARY_MARK, OVERVIEW_MARK = "<!-- summary ", "<!-- overview "

# The order of a note's fields: as a new one has them, and where edits and merges put others. The id
# of a flat record comes last (`note_form.py`).
KEY_ORDER = (
    "id", "type", "title", "status", "scope", "project", "branch", "topic", "tags", "aliases",
    "date", "attendees", "owner", "due", "created", "updated", "line_digest", "started", "ended",
    "closed", "confidence", "priority", "pinned", "supersedes", "superseded_by", "contradicts",
    "refines", "derived_from", "source_of", "relations", "imported_from", "provenance", "events",
    "session", "layer",
)  # fmt: skip

# Types of records about source code. Of raw code no vector is made, and no model is told it.
CODE_TYPES = RAW_CODE, CODE_DESCRIPTION = ("code", "code-description")

# A file that begins so is UTF-16: no note, but its words can be found.
UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def is_named_after(stem: str, id_: str) -> bool:
    """Whether a file has the name that Cortex gives to the note with this id: the id, or of a
    session a day, the words of its title, and the end of the id."""
    is_dated = stem[:4].isdecimal() and stem[4:5] == "-"
    return stem == id_ or (id_.startswith("session-") and is_dated and stem.endswith(id_[-7:]))


def decode_text(data: bytes) -> str:
    """The text of a file for reading and finding; bytes that mean nothing become U+FFFD."""
    if data.startswith(UTF16_BOMS):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


def split_heading(text: str) -> tuple[str, str]:
    """The heading that is the first line of a text, and what stands below it, without the blank
    lines around them; ("", text) where no such heading begins it."""
    line, _, rest = text.lstrip("\r\n").partition("\n")
    title = line[2:].strip() if line.startswith("# ") else ""
    return (title, rest.lstrip("\r\n")) if title else ("", text)


def join_heading(title: str, text: str) -> str:
    """A text below its title."""
    return f"# {title}\n\n{text}" if text else f"# {title}"


# Around each match in a snippet; an interface turns them into its own emphasis. Private-use
# characters, which are removed from the note's text, so that no note forges them.
MATCH_START, MATCH_END = "\ue000", "\ue001"
