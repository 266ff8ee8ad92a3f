"""Remove the field that names a conflict in a note's text once its markers are gone."""

from __future__ import annotations

from cortex.core.merge.body import marked_conflicts
from cortex.core.merge.conflicts import without_conflicts_field
from cortex.core.merge.fields import CONFLICTS_KEY
from cortex.core.merge.merge_plan import MergeResolution
from cortex.core.model.caller import Caller
from cortex.core.notes import note as notes
from cortex.index.refresh import query_index
from cortex.vault import files
from cortex.vault.locate import Vault


def clear_conflicts(vault: Vault, caller: Caller) -> list[MergeResolution]:
    """Remove the field from notes in which it names only the text, which has no markers."""
    done = []
    wrong = query_index(
        vault, caller.progress, lambda index: index.catalogue.problems(), words=False
    )
    for path in [one.where for one in wrong if CONFLICTS_KEY in one.hint]:
        before = files.read(vault.root, path)
        after = without_conflicts_field(before)
        if after != before and _is_resolved(before):
            files.replace(vault.root, path, after, before)
            done.append(MergeResolution(path, f"has no markers left; {CONFLICTS_KEY} is gone"))
    return done


def _is_resolved(data: bytes) -> bool:
    named = notes.read(data).fields.get(CONFLICTS_KEY)
    only_text = isinstance(named, list) and all(
        isinstance(one, dict) and one.get("field") == "body" for one in named
    )
    return only_text and not marked_conflicts(data)
