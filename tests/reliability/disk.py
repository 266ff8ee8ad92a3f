"""A disk whose power can be cut: a small ext4 on a loop device, shut down without flushing its journal."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2  # FS_IOC_SHUTDOWN, FS_SHUTDOWN_FLAGS_NOLOGFLUSH


class Disk:
    """A small ext4 on a loop device of our own."""

    def __init__(self, folder: Path, tool: Callable[[str], str]) -> None:
        self.tool = tool
        self.device = ""
        self.at = folder / "disk"
        self.at.mkdir()
        image = folder / "image"
        with image.open("wb") as file:
            file.truncate(64 << 20)
        self._run("mkfs.ext4", "-qF", str(image))
        self.device = self._run("losetup", "--find", "--show", str(image)).strip()
        self.mount()

    def _run(self, name: str, *words: str) -> str:
        done = subprocess.run(
            [self.tool(name), *words], capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode:
            self.remove()
            pytest.skip(f"not run: {name} was refused: {done.stderr.strip()}")
        return done.stdout

    def mount(self) -> None:
        self._run("mount", "-t", "ext4", self.device, str(self.at))

    def cut(self) -> None:
        """The power goes: from now on nothing reaches the disk, and what had not, never will."""
        fd = os.open(self.at, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, SHUTDOWN, struct.pack("I", WITHOUT_FLUSH))
        except OSError as error:
            self.remove()
            pytest.skip(f"not run: this kernel cannot shut a file system down: {error.strerror}")
        finally:
            os.close(fd)

    def unmount(self) -> None:
        """Wait until nothing holds the file system: neither a descriptor that the worker has left
        open, nor another test's mount namespace, in which it would live on, shut down."""
        done = None
        for _ in range(3_000):
            if done is None or done.returncode:
                words = [self.tool("umount"), str(self.at)]
                done = subprocess.run(
                    words, capture_output=True, text=True, timeout=60, check=False
                )
            if not done.returncode and self._is_free():
                return
            time.sleep(0.02)
        raise OSError(errno.EBUSY, f"cannot unmount: {done and done.stderr.strip()}")

    def _is_free(self) -> bool:
        try:
            os.close(os.open(self.device, os.O_RDWR | os.O_EXCL))
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    def restart(self) -> None:
        self.unmount()
        self.mount()

    def remove(self) -> None:
        if os.path.ismount(self.at):
            subprocess.run(
                [self.tool("umount"), "-l", str(self.at)],
                capture_output=True,
                timeout=60,
                check=False,
            )
        if self.device:
            subprocess.run(
                [self.tool("losetup"), "--detach", self.device],
                capture_output=True,
                timeout=60,
                check=False,
            )
            self.device = ""
