"""All hosts, and the entries that belong into the settings of one."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping

from cortex.hosts import HOST_NAMES, hook_command, load_host
from cortex.hosts.hook_command import HOOK_SCRIPT, HookCommand
from cortex.hosts.host import Host
from cortex.hosts.settings_edit import WantedEntry

HOSTS: dict[str, Host] = {name: load_host(name) for name in HOST_NAMES}
_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def home_folder(host: Host, environ: Mapping[str, str]) -> str:
    """The person's folder of a host."""
    named = environ.get(host.home_variable, "") if host.home_variable else ""
    if named:
        return os.path.abspath(os.path.expanduser(named))
    return os.path.join(os.path.expanduser("~"), host.home_folder or host.settings_folder)


def user_settings_folder(host: Host, environ: Mapping[str, str]) -> str:
    """The folder of the person's own settings of a host."""
    return os.path.join(home_folder(host, environ), host.hooks_subfolder).rstrip(os.sep)


def transcript_folders(name: str, environ: Mapping[str, str]) -> list[str]:
    """Where a host keeps its transcripts."""
    home = home_folder(HOSTS[name], environ)
    return [os.path.join(home, folder) for folder in HOSTS[name].transcript_folders]


def hook_script() -> str:
    """The program that a hook runs."""
    return os.path.join(_PACKAGE_FOLDER, HOOK_SCRIPT)


def wanted_entries(
    host: Host,
    interpreter: str,
    *,
    shared: bool = False,
    standing: Mapping[str, HookCommand] | None = None,
) -> list[WantedEntry]:
    """The entries of a host's settings, for this machine alone or (`shared`) for a file that git
    shares. `standing` are the commands already in that file, by the host's name of the event:
    those that can run here are kept, so that machines do not rewrite each other's lines."""
    entries = []
    for on in host.events:
        words = [interpreter, "-I", "-S", hook_script(), on.event, "--host", host.name]
        silence, line = host.empty_answer(on.event), ""
        present = (standing or {}).get(on.name)
        if present and hook_command.is_usable_shared_line(present, on.event, host.name, silence):
            line = present.shared_line
        elif shared:
            line = hook_command.build_shared_line(words, silence)
        entry = host.make_entry(on, line or shlex.join(words), [] if line else words)
        entries.append(WantedEntry(on.name, entry))
    return entries
