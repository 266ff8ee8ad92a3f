"""Whether a text in a person's name was typed by a person: hosts, programs and other agents write there
too. Standard library alone: hooks ask this."""

from __future__ import annotations

from cortex.core.text.lazy_re import lazy_re

_MAX_READ_CHARS, _MAX_ELEMENTS = 200_000, 50
# Elements in which hosts put what is no word of the person's.
_HOST_TAGS = frozenset((
    "system-reminder", "system_reminder", "task-notification", "teammate-message", "agent-message",
    "cross-session-message", "local-command-caveat", "local-command-stdout", "local-command-stderr",
    "bash-stdout", "bash-stderr", "user-memory-input", "user-prompt-submit-hook", "ide_opened_file",
    "ide_selection", "ide_diagnostics", "environment_context", "user_instructions", "INSTRUCTIONS",
    "permissions", "turn_aborted", "skill", "subagent_notification", "user_shell_command",
    "collaboration_mode", "personality", "recommended_plugins", "apps_instructions",
    "current_datetime", "reminder", "context_summary", "tool_use_error", "persisted-output",
))  # fmt: skip
_ELEMENT_RE = lazy_re(r"(?m)^[ \t]*<([A-Za-z][\w-]{1,40})(?: [^>\n]{0,400})?>")
# How texts begin that hosts write, in lower case.
_HOST_STARTS = (
    "[request interrupted", "caveat: the messages below", "# agents.md instructions",
    "this session is being continued from a previous conversation", "stop hook feedback",
    "operation stopped by", "base directory for this skill:", "summarize the task tool output above",
    "if you need specific details from before exiting plan mode", "another session is active:",
    "[[ ## ", "unknown slash command", "unknown skill", "your task has been", "api error:",
    "read the output file to retrieve the result", "continue from where you left off", "[image: source:", "<permissions",
)  # fmt: skip
# What a program asks an agent that it has started.
_ORDER_RE = lazy_re(
    r"you are (?:an? |the )?[\w ,/'-]{3,80}\.\s+(?:your|you (?:will|must|are)|analy[sz]e|given|review)\b"
    r"|(?:your (?:job|task|role) is to|act as an? )\b[^\n]{0,400}\n\s*\n",
)

# Lines that a program has printed, in lower case.
_PRINTED_RE = lazy_re(
    r"\s*(?:[➜❯⏺●│├└>|]|[{}\[\]],?$|\"[\w-]+\":|\$ |error\b|warning\b|fatal\b|traceback\b|at [\w.$]+\(|file \"|"
    r"\d{4}-\d\d-\d\d[t ]|\[?\d\d:\d\d:\d\d|[-=*_]{3,}$|$)"
)
_NUMBER_RE, _MANY_NUMBERS = lazy_re(r"\d[\d.,:]*"), 5


def own_words(text: str) -> str:
    """A text of the user's role without what the host has put there; empty if that is all of it."""
    text = text.strip()
    if text[:60].lower().startswith(_HOST_STARTS):
        return ""
    if "<" not in text:
        return text
    parts, at = [], 0
    for _ in range(_MAX_ELEMENTS):
        found = _ELEMENT_RE.search(text, at)
        if not found:
            break
        if found[1] not in _HOST_TAGS:
            parts.append(text[at : found.end()])
            at = found.end()
            continue
        parts.append(text[at : found.start()])
        close = f"</{found[1]}>"
        end = text.find(close, found.end())
        at = len(text) if end < 0 else end + len(close)
    left = "".join((*parts, text[at:])).strip()
    return "" if left[:60].lower().startswith(_HOST_STARTS) else left


def is_person(text: str) -> bool:
    """Whether a person typed a text, or a part of it: no message of a host or of another agent, no
    order of a program, no object of JSON, no expanded command in XML, and not only what was printed."""
    words = own_words(text[:_MAX_READ_CHARS])
    if not words or words.startswith('{"') or _ORDER_RE.match(words[:1000].lower()):
        return False
    first, *below = words.lower().split("\n", 100)
    is_element = _ELEMENT_RE.fullmatch(first) or (words[-1] == ">" and _ELEMENT_RE.match(words))
    return not (is_element or all(map(is_printed, (first, *below))))


def is_printed(line: str) -> bool:
    """Whether a program has printed a line of a prompt, or it is empty."""
    return bool(_PRINTED_RE.match(line.lower())) or len(_NUMBER_RE.findall(line)) >= _MANY_NUMBERS
