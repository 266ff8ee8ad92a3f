"""How search answers: in which order, up to which size, with which marks. Little and light: the hot paths import it."""

CURRENT = 0
SET_ASIDE = 1  # superseded, archived or deleted
TRAIL = 2  # events and briefings: the trail that records came from, and what is made of them

ASIDE = ("superseded", "archived", "deleted")  # statuses of what is set aside
DONE = ("done", "closed", "cancelled")  # what people write when an action needs nothing more
DROPPED = ("superseded", "deleted")  # and of what only answers those who ask for it

MAX_NOTE_BYTES = (
    1024 * 1024
)  # of a note that are read; the rest of a larger one is not searched, and that is said

UTF16_MARKS = (
    b"\xff\xfe",
    b"\xfe\xff",
)  # a file that begins so is UTF-16: no note, but its words can be found


def decoded(data: bytes) -> str:
    """The text of a file for reading and finding; bytes that mean nothing become U+FFFD."""
    if data.startswith(UTF16_MARKS):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace").removeprefix("\ufeff")


# Around each match in a snippet. Private-use characters, taken out of the note's own text, so that no note forges them;
# an interface turns them into its own emphasis.
MARK, UNMARK = "\ue000", "\ue001"
