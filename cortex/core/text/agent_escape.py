"""Escape text for agents: a note can neither open nor close a frame of a host or a chat format.

Everything that Cortex hands to an agent goes through `escape_for_agent`. It changes one character
of what looks like framing (`<` to `&lt;`, `[` to `&#91;`), or quotes a line that looks like a
speaker's turn; an answer goes through `show_controls`, too. Patterns are compiled only for a text
that may hold a frame, for the hooks' sake.
"""

from __future__ import annotations

import re

# Tags that are common words too. After blanks they count only if the tag is complete.
_AMBIGUOUS_TAGS = frozenset((
    "system", "user", "assistant", "human", "developer", "instruction", "instructions", "invoke",
    "parameter", "parameters", "think", "thinking", "document", "documents", "important",
))  # fmt: skip
_TAGS_IF_CLOSED = frozenset(("bos", "eos"))  # only as `<bos>`: `<<EOS` begins a text in a shell
# Tags of Claude Code, Codex, Gemini CLI, Cursor, Copilot CLI, Cline and opencode, and tokens of
# models' chat formats, without hyphens and underscores.
_FRAME_TAGS = frozenset(
    """
    systemreminder systemprompt systemmessage systeminstruction systeminstructions
    systemnotification systeminfo systemwarning userinstructions userprompt usermessage userquery
    userqueries userinfo usershellcommand userpromptsubmithook assistantmessage assistantresponse
    developerinstructions developermessage humanmessage functioncall functioncalls functionresult
    functionresults functionresponse tooluse tooluseerror toolresult toolresults toolcall toolcalls
    toolresponse toolresponses tooloutput tooloutputs toolcode toolinput toolinputs mcpresult
    mcpresults mcptoolresult mcptoolcall mcpinstructions documentcontent documentcontents
    extremelyimportant environmentcontext environmentdetails permissionsinstructions
    appsinstructions skillsinstructions collaborationmode turnaborted subagentnotification
    tasknotification backgroundtask backgroundtaskcompleted persistedoutput hookcontext
    additionalcontext additionaldata sessioncontext sessionstarthook loadedcontext globalcontext
    extensioncontext projectcontext statesnapshot attachedfiles openandrecentlyviewedfiles
    importantinstructions commandname commandmessage commandargs commandcontents localcommandstdout
    localcommandstderr localcommandcaveat bashinput bashstdout bashstderr ideopenedfile ideselection
    idediagnostics newdiagnostics startofturn endofturn startheaderid endheaderid beginoftext
    endoftext beginofsentence endofsentence imstart imend eotid eomid
    """.split()  # noqa: SIM905  a table
)
_FRAME_TAG_PREFIXES = ("cortex-", "cortex_", "antml:")  # ours or Claude's, whatever follows
_MAX_TYPE_NAME_CHARS = 60
# A token such as `<|im_start|>`; `<<SYS>>`; the opening of a tag: what is before its name, the
# name.
_ANGLE_TAG_PATTERN = (
    r"<(?:(?=\s{0,8}\|\s{0,8}[\w/][\w /-]{0,38}\w\s{0,8}\|\s{0,8}>)"
    r"|(?=<?\s{0,3}/?\s{0,3}sys\s{0,3}>\s{0,3}>)"
    r"|(?=(\s{0,8}(?:\\?/)?\s{0,8})([a-z][\w:.-]{0,60}(?:\s{1,4}[\w:.-]{1,30}){0,5})))"
)
_TAG_END_PATTERN = r"(?:\s[^<>\n]{0,100}=[^<>\n]{0,100})?\s{0,8}/?\s{0,8}>"
_SQUARE_TAG_PATTERN = (
    "inst|system[-_ ]?prompt|available[-_ ]?tools|tool[-_ ]?calls|tool[-_ ]?results?"
    "|tool[-_ ]?content|model[-_ ]?settings"
)
_SQUARE_TAG_HINTS = ("inst", "system", "tool", "model")
_SPEAKER_PATTERN = "human|assistant|user|system"

# Look-alikes and what they are read as: angle brackets of other scripts, full-width ASCII,
# characters of DeepSeek's tokens. Invisible characters are skipped.
_READ_AS: dict[int, int | str | None] = {
    **dict.fromkeys(map(ord, "\u02c2\u1438\u2039\u2329\u276c\u276e\u27e8\u29fc\u3008\ufe64"), "<"),
    **dict.fromkeys(map(ord, "\u02c3\u1433\u203a\u232a\u276d\u276f\u27e9\u29fd\u3009\ufe65"), ">"),
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)},
    **str.maketrans("\u2581\u2010\u2011\u2012\u2013\u2223\u2502\u00a0\u3000", "_----||  "),
    **dict.fromkeys(
        [0xAD, 0x34F, 0x61C, 0x180E, 0xFEFF, *range(0x200B, 0x2010), *range(0x202A, 0x202F)]
    ),
    **dict.fromkeys([*range(0x2060, 0x2070), *range(0xFE00, 0xFE10), *range(0xE0000, 0xE0080)]),
}
_READ_AS_SIGNS = frozenset(map(chr, _READ_AS))
# Controls but the line end and the tab; marks and overrides of direction; tag characters. Joiners,
# which Persian and emoji need, stay.
CONTROL_PATTERN = (
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


def show_controls(text: str) -> str:
    """`text` with `<U+202E>` for each character that acts on a terminal, turns what is read round
    or is read by models alone, and with line ends of one form."""
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return re.sub(CONTROL_PATTERN, lambda found: f"<U+{ord(found[0]):04X}>", text)


def escape_for_agent(text: str) -> str:
    """`text` changed so that it opens and closes no frame; the same object if nothing has to
    change.

    Case, blanks, invisible characters and look-alikes of the brackets make no difference. Text with
    entities (`&lt;system>`) is neutral already. Linear.
    """
    seen, places = text, None
    if not (text.isascii() or _READ_AS_SIGNS.isdisjoint(text)):
        seen = text.translate(_READ_AS)
        if len(seen) < len(text):
            places = [at for at, sign in enumerate(text) if _READ_AS.get(ord(sign), "") is not None]
    low = seen.lower()
    changes: list[tuple[int, int, str]] = []
    if "<" in seen:
        changes += _find_angle_tags(seen)
    if "[" in seen and any(hint in low for hint in _SQUARE_TAG_HINTS):
        pattern = rf"\[(?=\s{{0,8}}/?\s{{0,8}}(?:{_SQUARE_TAG_PATTERN})\s{{0,8}}\])"
        changes += _find_replacements(pattern, seen, "&#91;")
    if "\n" in seen and any(speaker in low for speaker in _SPEAKER_PATTERN.split("|")):
        pattern = rf"\n[^\S\n]{{0,8}}(?=(?:{_SPEAKER_PATTERN})\s{{0,8}}:)"
        changes += _find_replacements(pattern, seen, "\n> ")
    if not changes:
        return text
    parts: list[str] = []
    at = 0
    for start, end, instead in sorted(changes):
        first, last = (places[start], places[end - 1] + 1) if places else (start, end)
        parts += (text[at:first], instead)
        at = last
    return "".join((*parts, text[at:]))


def _find_replacements(pattern: str, text: str, instead: str) -> list[tuple[int, int, str]]:
    return [(*match.span(), instead) for match in re.finditer(pattern, text, re.IGNORECASE)]


def _find_angle_tags(text: str) -> list[tuple[int, int, str]]:
    """The start, end and replacement of each `<` that opens a tag of a frame."""
    tag_end_re = re.compile(_TAG_END_PATTERN)
    return [
        (*match.span(), "&lt;")
        for match in re.finditer(_ANGLE_TAG_PATTERN, text, re.IGNORECASE)
        if match[2] is None or _is_frame_tag(match, tag_end_re)
    ]


def _is_frame_tag(match: re.Match[str], end: re.Pattern[str]) -> bool:
    """True if the name of the tag is that of a frame."""
    words = match[2].lower().split()
    name = words[0]
    first = 1 if "-" in name or "_" in name else 2  # `<commandname>` is somebody's placeholder
    if name.startswith(_FRAME_TAG_PREFIXES) or any(
        "".join(words[:last]).translate(_WITHOUT_HYPHENS) in _FRAME_TAGS
        for last in range(first, len(words) + 1)
    ):
        return True
    at = match.end(1) + len(name)
    if name in _AMBIGUOUS_TAGS:
        return _is_tag_in_context(match, at, end)
    return (name == "function" and match.string[at : at + 1] == "=") or (
        name in _TAGS_IF_CLOSED and end.match(match.string, at) is not None
    )


def _is_tag_in_context(match: re.Match[str], at: int, end: re.Pattern[str]) -> bool:
    """True if an ambiguous name that ends at `at` is a tag here, not an operand or a type."""
    text, before = match.string, match[1]
    may_be_type = (
        not before and text[at : at + 1] in (">", ",") and text[match.end() : at].istitle()
    )
    if may_be_type and _ends_with_type_name(text, match.start()):
        return False  # `List<User>`
    return not any(sign.isspace() for sign in before) or end.match(text, at) is not None


def _ends_with_type_name(text: str, end: int) -> bool:
    """True if a capitalized word, such as the name of a type, ends at `end`."""
    word = re.search(r"\w*\Z", text[max(0, end - _MAX_TYPE_NAME_CHARS) : end])
    return word is not None and word[0][:1].isupper()


_WITHOUT_HYPHENS = str.maketrans("", "", "-_")
