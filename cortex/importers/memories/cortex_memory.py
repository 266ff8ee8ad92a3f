"""The memory server `cortex` of lleontor705, which grew out of engram: also edges and scores."""

from __future__ import annotations

from cortex.importers.memories import engram

accepts, read = engram.accepts_relative, engram.read
