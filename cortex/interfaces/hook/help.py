"""What `cortex hook --help` says."""

from __future__ import annotations

from cortex.hosts import HOST_NAMES
from cortex.hosts.host import EVENTS

HELP_TEXT = f"""usage: cortex hook EVENT --host HOST

What an agent's host calls on an event of a session; cortex hooks install HOST wires it. It reads the host's JSON from
standard input, captures what is new of the session, and prints what the host hands on to the agent, which is nothing for
most events. It always ends with 0 and never keeps the agent waiting for long.

  EVENT  {", ".join(EVENTS)}; the host's own names are understood too
  --host HOST  {", ".join(HOST_NAMES)}

It does nothing where there is no vault, with CORTEX_OFF=1, in and below a folder with a file .cortex-off, and with
enabled = false below [hooks] in cortex.toml.

Example: echo '{{"session_id": "s1", "cwd": "'$PWD'", "last_assistant_message": "Decision: use SQLite."}}' | cortex hook stop --host claude
"""
