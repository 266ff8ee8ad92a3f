"""Why a text has no vector."""

from __future__ import annotations

from cortex.core.model.problem import CortexError


class EmbedderFailed(CortexError):
    """An embedder could not be loaded, or gave nothing that can be used. With `of_texts` other
    texts may fare better: it answered, and not with good vectors."""

    def __init__(self, message: str, hint: str = "", *, of_texts: bool = False) -> None:
        super().__init__(message, hint or "cortex embed --dry-run says what is used")
        self.of_texts = of_texts
