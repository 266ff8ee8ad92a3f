"""Whether the kernel reports file events for a vault: its file system, and the limits of
inotify."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import sys

from cortex.vault import files

# Other machines may change files there without events on this one.
_REMOTE_FILE_SYSTEMS = frozenset({
    "9p", "acfs", "afpfs", "afs", "ceph", "cifs", "coda", "davfs", "drvfs", "gfs", "gfs2", "lustre",
    "ncpfs", "nfs", "nfs4", "osxfs", "prl_fs", "smb2", "smb3", "smbfs", "vboxsf", "virtiofs",
    "vmhgfs", "webdav", "fuse.gcsfuse", "fuse.glusterfs", "fuse.grpcfuse", "fuse.gvfsd-fuse",
    "fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse",
})  # fmt: skip
# Where every change by a process on this machine makes an event. Not overlays, where a file may be
# another one once it is written to.
_LOCAL_FILE_SYSTEMS = frozenset({
    "bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "tmpfs", "xfs", "zfs",
})  # fmt: skip
_MOUNTINFO_FILE = "/proc/self/mountinfo"
_IN_DELETE_SELF, _IN_CLOEXEC = 0x400, 0x80000  # of inotify


def remote_file_system(root: str, mounts: str = _MOUNTINFO_FILE) -> str:
    """The type of the file system of `root` if changes there may go unnoticed; else empty."""
    kind = _mounted_type(root, mounts)
    return kind if kind in _REMOTE_FILE_SYSTEMS else ""


def is_local(root: str, mounts: str = _MOUNTINFO_FILE) -> bool:
    """Whether no change below `root` goes unnoticed, as far as its file system is known for it."""
    return _mounted_type(root, mounts) in _LOCAL_FILE_SYSTEMS


def _mounted_type(root: str, mounts: str) -> str:
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            return file_system_type(root, file.read())
    except OSError:
        return ""  # no Linux


def file_system_type(path: str, mountinfo: str) -> str:
    """The file system type of the last mount on the nearest folder above `path`."""
    best, kind = "", ""
    for line in mountinfo.splitlines():
        mounted, dash, kind_and_more = line.partition(" - ")
        fields = mounted.split(" ")
        if not dash or len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), fields[4])
        if (path == point or path.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, kind_and_more.split(" ")[0]
    return kind


def exhausted_limit(root: str) -> str:
    """Why the kernel gives no more watches; empty if it does, or has no inotify. Watchdog does not
    report this for subfolders."""
    if sys.platform != "linux":
        return ""
    library = ctypes.CDLL(None, use_errno=True)
    fd = library.inotify_init1(_IN_CLOEXEC)
    if fd < 0:
        return describe_limit(ctypes.get_errno())
    with files.closing(fd):
        watch = library.inotify_add_watch(fd, os.fsencode(root), _IN_DELETE_SELF)
        return describe_limit(ctypes.get_errno()) if watch < 0 else ""


def describe_limit(number: int) -> str:
    """The message for an error of inotify about a limit; empty for other errors."""
    if number == errno.ENOSPC:
        return "the limit of watched folders is reached (sysctl fs.inotify.max_user_watches)"
    if number in (errno.EMFILE, errno.ENFILE):
        return "the limit of watching programs is reached (sysctl fs.inotify.max_user_instances)"
    return ""
