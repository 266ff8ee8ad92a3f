"""Tasks in a text of any kind: check boxes and labels, a task a line."""

from __future__ import annotations

import pytest

from cortex.core.minutes.task_lines import split_tasks

DAY = "2026-11-27"


@pytest.mark.parametrize(("text", "tasks"), [
    ("- [ ] Send the offer (Ana, 1 December)", [("Send the offer", "Ana", "2026-12-01", False)]),
    ("- [ ] Send the offer (Ana, 5 January)", [("Send the offer", "Ana", "2027-01-05", False)]),
    ("- [ ] Book the room\n- [x] Call Ben", [("Book the room", "", "", False), ("Call Ben", "", "", True)]),
    ("TODO: call the printer @ana by 2026-12-01\nTODO: buy paper (Ben)",
     [("call the printer", "ana", "2026-12-01", False), ("buy paper", "Ben", "", False)]),
    ("TODO Ben: order paper, due 2026-12-10", [("order paper", "Ben", "2026-12-10", False)]),
    ("TODO @ben: water plants tomorrow", [("water plants tomorrow", "ben", "2026-11-28", False)]),
    ("- TODO buy a kob by Friday\nTODO - call", [("buy a kob by Friday", "", "2026-12-04", False), ("call", "", "", False)]),
    ("- [ ] **Ana** fix x (due: 2026-12-01)", [("fix x", "Ana", "2026-12-01", False)]),
    ("- [ ] **Ana** is away", [("**Ana** is away", "", "", False)]),
    ("TODO(ana): rotate the keys", [("rotate the keys", "ana", "", False)]),
    ("* **Action item:** rotate the keys by 2026-12-01", [("rotate the keys", "", "2026-12-01", False)]),
    ("1. [ ] one thing\n1. [ ] one thing", [("one thing", "", "", False)]),
    ("[ ] without a list", [("without a list", "", "", False)]),
    ("- [ ] Send it to @ana", [("Send it to ana", "ana", "", False)]),
])  # fmt: skip
def test_each_line_with_a_box_or_a_label_is_a_task(text, tasks):
    found, rest = split_tasks(text, DAY)
    assert [(one.text, one.owner, one.due, one.done) for one in found] == tasks
    assert rest == ""


@pytest.mark.parametrize("text", [
    "```\n- [ ] in code\nTODO: in code\n```", "    a = 1  # TODO: mend", "Say TODO: nothing", "Say TODO later", "TODO list:", "TODOs are many", "TODO", "todo buy it", "See [x] and [ ] in the text", "todos: none",
    "- [ ]", "- [ ] Is it done?", "Actions speak louder", "- [link](a.md) to read",
])  # fmt: skip
def test_other_lines_are_no_tasks_and_stay(text):
    assert split_tasks(text, DAY) == ([], text)


def test_what_else_a_text_says_stays_without_the_headings_of_its_tasks():
    text = (
        "Talked to Cleo.\n\n## Next\n\n- [ ] Write it\n\nCarts expire.\n\nTasks:\nTODO: test it\n"
    )
    assert split_tasks(text, DAY)[1] == "Talked to Cleo.\n\n## Next\n\n\nCarts expire."


def test_in_a_turn_a_box_counts_with_a_day_or_a_mention_alone():
    text = "- [ ] Verify the flag\n- [ ] Send it (Ana, 1 December)\n- [ ] @ben Test it\n- [x] Run (Docs)\nTODO: rotate the keys\nTODO buy it"
    found, _ = split_tasks(text, DAY, strict=True)
    assert [one.text for one in found] == ["Send it", "Test it", "rotate the keys"]
