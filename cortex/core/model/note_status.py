"""How search answers: in which order, up to which size, with which marks. Little and light: the hot paths import it."""

TIER_CURRENT = 0
TIER_SET_ASIDE = 1  # superseded, archived or deleted
TIER_TRAIL = 2  # events and briefings: the trail that records came from, and what is made of them

SET_ASIDE_STATUSES = ("superseded", "archived", "deleted")  # statuses of what is set aside
DONE_STATUSES = (
    "done",
    "closed",
    "cancelled",
)  # what people write when an action needs nothing more
HIDDEN_STATUSES = ("superseded", "deleted")  # and of what only answers those who ask for it

MAX_NOTE_BYTES = (
    1024 * 1024
)  # of a note that are read; the rest of a larger one is not searched, and that is said

UTF16_BOMS = (
    b"\xff\xfe",
    b"\xfe\xff",
)  # a file that begins so is UTF-16: no note, but its words can be found


def decode_text(data: bytes) -> str:
    """The text of a file for reading and finding; bytes that mean nothing become U+FFFD."""
    if data.startswith(UTF16_BOMS):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


# Around each match in a snippet. Private-use characters, taken out of the note's own text, so that no note forges them;
# an interface turns them into its own emphasis.
MATCH_START, MATCH_END = "\ue000", "\ue001"
