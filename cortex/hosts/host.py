"""What the module of a host describes: events, settings, payloads, transcripts.

Standard library only: hooks load it.
"""

from __future__ import annotations

import os
from _collections_abc import Callable, Mapping

from cortex.core.text.value import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from cortex.hosts.transcript_reader import TranscriptReader

SESSION_START, PROMPT, SESSION_END = "session-start", "user-prompt-submit", "session-end"
STOP, SUBAGENT_STOP = "stop", "subagent-stop"
PRE_COMPACT, POST_COMPACT = "pre-compact", "post-compact"
EVENTS = (SESSION_START, PROMPT, PRE_COMPACT, POST_COMPACT, STOP, SUBAGENT_STOP, SESSION_END)

HOOKS_KEY = "hooks"
START_SOURCES = "startup|resume|clear|compact"
NESTED_CONTEXT = "hookSpecificOutput"  # the text stands in an object that names the event

# What Claude Code sends; others took it over.
FIELDS: dict[str, tuple[str, ...]] = {
    "session": ("session_id",), "cwd": ("cwd",), "transcript": ("transcript_path",),
    "prompt": ("prompt",), "message": ("last_assistant_message",), "source": ("source",),
    "summary": ("compact_summary",), "agent": ("agent_id",),
    "agent_transcript": ("agent_transcript_path",), "turn": ("prompt_id",),
}  # fmt: skip


class HostEvent(NamedTuple):
    """One event of a host that Cortex uses."""

    name: str  # as the host calls it
    event: str  # as `cortex hook` does
    timeout_seconds: int = 10
    matcher: str = ""  # of the sources of a start, where the host matches them; empty: all
    is_background: bool = False  # the host need not wait


class McpSettings(NamedTuple):
    """Where a host keeps the MCP servers of a project and those of a person, and how it starts them."""

    project: str  # below a project; empty where it has none
    key: str  # of the table of servers
    # Below the home folder, if it is not as in a project; in the folder of `Host.home_variable` if that is set.
    user: str = ""
    next_step: str = "start it anew"
    asks: str = ""  # what it asks the person before it starts one
    fields: tuple[tuple[str, object], ...] = ()  # of an entry, beside what it runs
    is_one_list: bool = False  # the command and its arguments are one list
    workspace: str = ""  # how the person's own settings name the folder that is open
    starts_elsewhere: bool = False  # the person's own servers, and not in the folder that is open
    variable: str = "${%s}"  # how a header names one of the environment


class Host(NamedTuple):
    """One host of agents. Without `events` it has no hooks."""

    name: str
    title: str
    mcp: McpSettings
    events: tuple[HostEvent, ...] = ()
    make_entry: Callable[[HostEvent, str, list[str]], dict[str, object]] = (
        lambda _on, line, _words: {"command": line}  # see `claude.make_entry`
    )
    next_step: str = ""  # what the person has to do after an install of hooks
    # Settings of hooks
    settings_folder: str = ""  # below a project
    settings_file: str = ""
    home_folder: str = ""  # below the home folder, where it is not called like `settings_folder`
    home_variable: str = ""  # the variable of the environment that names another folder instead
    hooks_subfolder: str = ""  # of the home folder, where the settings lie
    local_file: str = ""  # the project's file that git does not share; empty if there is none
    is_own_file: bool = False  # the file is ours alone
    required_fields: tuple[tuple[str, object], ...] = ()  # what the file must say besides
    # Payloads: our name of a field -> the host's; the first with a text counts; `a.b` is nested
    fields: dict[str, tuple[str, ...]] = FIELDS
    # of the environment, that name the project's folder
    project_variables: tuple[str, ...] = ("CLAUDE_PROJECT_DIR",)
    other_events: tuple[tuple[str, str], ...] = ()  # its names of events that it is not wired to
    context_key: str = ""  # under which it takes a text; `NESTED_CONTEXT`, or a key of its own
    context_events: tuple[str, ...] = (SESSION_START,)  # on which it takes one
    json_events: tuple[str, ...] = ()  # on which it wants JSON even for nothing
    is_briefed_once: bool = False  # it may start one session many times
    # Transcripts
    reader: type[TranscriptReader] | None = None  # None: it has none that Cortex can read
    transcript_folders: tuple[str, ...] = ()  # below its home folder; none: cannot be imported
    resume_command: tuple[str, ...] = ()  # goes on with the session whose id stands behind it

    # Its own program, if it answers a prompt on standard input without tools and our hooks.
    model_command: tuple[str, ...] = ()

    def user_folder(self, environ: Mapping[str, str]) -> str:
        """The person's folder of it."""
        named = environ.get(self.home_variable, "") if self.home_variable else ""
        if named:
            return os.path.abspath(os.path.expanduser(named))
        return os.path.join(os.path.expanduser("~"), self.home_folder or self.settings_folder)

    def user_settings_folder(self, environ: Mapping[str, str]) -> str:
        """The folder of the person's own settings of it."""
        return os.path.join(self.user_folder(environ), self.hooks_subfolder).rstrip(os.sep)

    def takes_context(self, event: str) -> bool:
        """Whether it hands a text on to the agent on this event."""
        return bool(self.context_key) and event in self.context_events

    def empty_answer(self, event: str) -> str:
        """What a hook prints if it has nothing to say; `event` is empty for an unknown one."""
        return "{}" if event in self.json_events or self.json_events == EVENTS else ""


def matcher_group(on: HostEvent, handler: dict[str, object]) -> dict[str, object]:
    """A handler in a group with the matcher of its event, as Claude Code and others have it."""
    return {**({"matcher": on.matcher} if on.matcher else {}), HOOKS_KEY: [handler]}
