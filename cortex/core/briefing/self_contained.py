"""Whether a sentence of a session can be understood by who was not there."""

from __future__ import annotations

import re

# How sentences begin that answer the one before, report what was just done, or ask.
_BEGINNING_RE = re.compile(
    r"(?:(?:i|you|we|it|this|that|these|those|they|he|she|both|there)\b|[a-z]{1,5}['’](?:s|m|d|ve|re|ll)\b"
    r"|(?:so|but|and|or|ok|okay|right|yes|no|like|also|now|then|well|hm+|back|rather|asking|given|using|instead|even|still|just|not)\b"
    r"|(?:do|does|did|can|could|should|would|is|are|why|when|how|where|what|which|if|since)\b"
    r"|(?:added|changed|cleaned|created|fixed|implemented|improved|moved|refactored|renamed|updated|verified)\b"
    r"|(?:all|answer|changes|done|here|looking|minor|next|potential|proposed|quick|suggestions?|summary|testing|the (?:issue|notice) was)\b)",
    re.IGNORECASE,
)


def is_self_contained(title: str) -> bool:
    """False for a sentence that begins as answers, reports and questions do, and for one that ends
    in a question mark."""
    plain = title.lstrip("`*_\"'“([> ")
    return not (_BEGINNING_RE.match(plain) or plain.rstrip("`*_\"'”) ").endswith("?"))
