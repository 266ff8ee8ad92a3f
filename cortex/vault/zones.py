"""The zones that this machine knows. Hooks import it: what reads their files waits until it is needed."""

from __future__ import annotations

import os
import time

from cortex.core.text.days import Zone
from cortex.core.text.lazy_re import lazy_re
from cortex.core.text.light import suppress

_NAME_RE = lazy_re(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}")
_FOLDER = "/usr/share/zoneinfo"  # where systems keep them; zoneinfo knows other places, too
_ERRORS = (KeyError, ValueError, OverflowError, OSError)


def local() -> Zone:
    """The zone of this process: $TZ, else what the machine is set to; its name may not be known."""
    said = os.environ.get("TZ")
    if said is None:
        with suppress(OSError):
            said = os.readlink("/etc/localtime").partition("zoneinfo/")[2]
    return Zone("UTC" if said == "" else (said or "").removeprefix(":"), _offset_here)


def find(name: str) -> Zone | None:
    """The zone that IANA calls so; None where this machine knows none. Its file is read at first use."""

    def offset(moment: int) -> int:
        from datetime import UTC, datetime  # noqa: PLC0415
        from zoneinfo import ZoneInfo  # noqa: PLC0415  8 ms

        with suppress(*_ERRORS):
            here = datetime.fromtimestamp(moment, ZoneInfo(name)).replace(tzinfo=UTC)
            return int(here.timestamp()) - moment
        return 0

    if not _NAME_RE.fullmatch(name):
        return None
    with suppress(OSError), open(f"{_FOLDER}/{name}", "rb") as file:
        return Zone(name, offset) if file.read(4) == b"TZif" else None
    from zoneinfo import ZoneInfo  # noqa: PLC0415

    with suppress(*_ERRORS):
        return Zone(ZoneInfo(name).key, offset)
    return None


def _offset_here(moment: int) -> int:
    with suppress(*_ERRORS):
        return time.localtime(moment).tm_gmtoff
    return 0
