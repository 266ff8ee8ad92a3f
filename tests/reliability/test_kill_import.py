"""An import that is killed goes on with the same command: each memory is there once. `import_kills.py` does more of it."""

from __future__ import annotations

from tests.reliability.import_kills import kill_and_resume


def test_a_killed_import_goes_on_and_each_memory_is_there_once(tmp_path, soak):
    assert kill_and_resume(tmp_path, 40 if soak else 3, 54, 60 if soak else 8) == []
