"""What every session is asked for at its start: how to mark what later sessions should know."""

from __future__ import annotations

from cortex.core.text.context_markers import CONTRACT as _KIND

# At most 60 tokens with its frame. The example is a tag that says nothing, on a line of its own, so
# that whoever quotes it makes no record; in code an agent would write its own tags as code.
CONTRACT = f"""<cortex-{_KIND}>
Tell later sessions what, why and where, on one line that is clear alone:

[MEMORY: decision] …

Or rejected, learned, gotcha, pattern, preference. To correct a note, name its id.
</cortex-{_KIND}>"""
