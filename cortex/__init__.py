"""A memory you can read, diff and push: markdown notes in git, captured, normalized, searched.

`from cortex import Vault` gives a vault with each verb as a method.
"""

from cortex.core import __version__ as __version__

# Module -> what is handed on from it, which a command that captures does not load.
_EXPORTS = {
    "interfaces.python_api": (
        "Vault", "search", "search_decisions", "search_similar", "hybrid_search", "get_agent", "get_facet",
        "get_talent_configs", "prepare_config", "cortex_request", "wait_for_runs",
    ),
    "operations.runs.prepare": ("validate_config",),
    "core.runs.run_note": ("RunRequest",),
    "core.model.problem": (
        "AmbiguousNameError", "ConflictError", "CortexError", "InvalidInputError", "NotFoundError",
    ),
}  # fmt: skip


def __getattr__(name: str) -> object:
    for module, names in _EXPORTS.items():
        if name in names:
            from importlib import import_module  # noqa: PLC0415  not before: commands pay for it

            own = "OpenVault" if name == "Vault" else name
            return getattr(import_module(f"cortex.{module}"), own)
    raise AttributeError(f"module 'cortex' has no attribute {name!r}")
