"""How search answers: in which order, up to which size, with which marks. Constants alone: the hot paths import it."""

CURRENT = 0
SET_ASIDE = 1  # superseded or archived
TRAIL = 2  # events and briefings: the trail that records came from, and what is made of them

MAX_NOTE_BYTES = 1024 * 1024  # of a note that are read; the rest of a larger one is not searched, and that is said

# Around each match in a snippet. Private-use characters, taken out of the note's own text, so that no note forges them;
# an interface turns them into its own emphasis.
MARK, UNMARK = "\ue000", "\ue001"
