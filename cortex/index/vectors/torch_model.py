"""A model of sentence-transformers, which brings torch; only what lies on this machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cortex.index.vectors.embedder_failed import EmbedderFailed


class TorchModel:
    """A model that sentence-transformers runs."""

    is_remote, patience = False, 0.0

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415

            self._model = SentenceTransformer(name, local_files_only=True)
        except (ImportError, OSError, ValueError) as error:
            hint = f"pip install sentence-transformers, and fetch {name} once with it"
            raise EmbedderFailed(f"sentence-transformers has no {name}: {error}", hint) from error
        self.model = f"{name} by sentence-transformers"
        self.dimension = int(self._model.get_sentence_embedding_dimension() or 0)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of length 1 for each text."""
        made = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(made, np.float32)
