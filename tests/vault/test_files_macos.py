"""What macOS lacks or says differently, shown on Linux by the calls of the system that the code makes."""

from __future__ import annotations

import errno
import fcntl
import os
import socket

import pytest

from cortex.core.model.problem import CortexError, InvalidInputError
from cortex.operations.records.capture import capture
from cortex.vault import files

FULL_SYNC = 51  # the number of F_FULLFSYNC, which Linux refuses as a file system of macOS does that lacks it


def test_a_file_system_without_the_full_flush_of_macos_is_synced_as_well_as_it_can_be(
    vault, caller, monkeypatch
):
    monkeypatch.setattr(files, "_F_FULLFSYNC", FULL_SYNC)
    synced = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(fd), real(fd)))
    event = capture(vault, caller, "Gotcha: a network drive")
    assert files.read(vault.root, f"inbox/pending/{event.id}.md")
    assert len(synced) >= 2  # the note and its folder


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
def test_a_full_flush_that_fails_is_no_capture(vault, caller, monkeypatch, number):
    """After a failed flush the next one says that all is well, so it must not be asked."""

    def refuse(_fd, command, *_rest):
        assert command == FULL_SYNC
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files, "_F_FULLFSYNC", FULL_SYNC)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    with pytest.raises(CortexError, match=os.strerror(number)):
        capture(vault, caller, "Gotcha: a failing disk")
    assert files.list_notes(vault.root, "inbox/pending") == []


@pytest.mark.parametrize("number", [errno.ENXIO, errno.EOPNOTSUPP])  # Linux and macOS
def test_a_socket_in_the_vault_is_named_as_what_it_is(vault, monkeypatch, number):
    with socket.socket(socket.AF_UNIX) as one:
        with files.open_folder(vault.root, "") as root:
            monkeypatch.chdir(root.fd)
            one.bind("talk.md")
        real = os.open

        def as_there(path, *rest, **options):
            try:
                return real(path, *rest, **options)
            except OSError as error:
                raise (
                    OSError(number, os.strerror(number)) if error.errno == errno.ENXIO else error
                ) from None

        monkeypatch.setattr(os, "open", as_there)
        with pytest.raises(InvalidInputError, match="is a socket"):
            files.read(vault.root, "talk.md")
