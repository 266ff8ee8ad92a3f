"""Times as people and programs write them into notes, compared."""

from __future__ import annotations

_DIGIT_REMOVAL = dict.fromkeys(range(48, 58))


def time_sort_key(text: str) -> tuple[bool, str, str]:
    """What times are ordered by: one that can be read comes after one that can't; without a zone it is UTC."""
    if len(text) == 20 and text[4::3] == "--T::Z" and text.translate(_DIGIT_REMOVAL) == "--T::Z":
        return (
            True,
            text[:19],
            text,
        )  # as Cortex writes it; nearly every time is so, and needs no datetime, 1 ms
    from cortex.core.text import iso_time  # noqa: PLC0415

    try:
        return True, iso_time.parse_utc(text).replace(tzinfo=None).isoformat(), text
    except ValueError:
        return False, "", text
