"""The hosts of agents, each in a module of its name, those without hooks in `without_hooks.py`. Standard library only: hooks load it."""

from __future__ import annotations

from cortex.core.text.value import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex.hosts.host import Host
    from cortex.hosts.transcript_reader import TranscriptReader

HOST_NAMES = ("claude", "codex", "gemini", "cursor", "copilot", "windsurf")
TRANSCRIPT_HOSTS = ("claude", "codex", "copilot")  # of which the transcripts can be read


def load_host(name: str) -> Host:
    """The host of one of the `HOST_NAMES`; no other module is loaded."""
    # `importlib` would cost a hook a millisecond.
    host: Host = __import__(f"cortex.hosts.{name}", fromlist=["HOST"]).HOST
    return host


def has_transcripts(name: str) -> bool:
    """Whether this is a host whose transcripts Cortex can read."""
    return name in HOST_NAMES and load_host(name).reader is not None


def new_reader(name: str) -> TranscriptReader:
    """A reader for one transcript. `KeyError` if `has_transcripts` is not true."""
    reader = load_host(name).reader if name in HOST_NAMES else None
    if reader is None:
        raise KeyError(name)
    return reader()
