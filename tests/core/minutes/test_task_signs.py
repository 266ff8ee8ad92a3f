"""The signs of Obsidian Tasks and Dataview are read, and a task's line is ticked, opened and repeated as these programs do it."""

from __future__ import annotations

import pytest

from cortex.core.minutes.task_parser import parse_own_task
from cortex.core.minutes.task_signs import next_day, next_line, opened, ticked

TODAY = "2026-11-20"


@pytest.mark.parametrize(("line", "title", "due"), [
    ("#task water the ferns 🔼 🔁 every 2 weeks when done 🛫 2026-11-10 ⏳ 2026-11-19 📅 2026-12-16 ➕ 2026-11-01 🆔 abc", "water the ferns", "2026-12-16"),
    ("post it 🗓\ufe0f 2026-12-01 ⛔ dcf64c,0h17ye 🏁 delete ^block-1", "post it", "2026-12-01"),
    ("post it [due:: 2026-12-01] [priority:: high] [id:: a1] [dependsOn:: b2, c3] [repeat:: every week]", "post it", "2026-12-01"),
    ("post it (due:: 2026-12-02), (scheduled:: 2026-11-30)", "post it", "2026-12-02"),
    ("post it due:: [[2026-12-03]]", "post it", "2026-12-03"),
    ("post it [Due:: [[Daily/2026-12-03|Thursday]]] soon", "post it soon", "2026-12-03"),
    ("post it 📅 [[2026-12-03]]", "post it", "2026-12-03"),
    ("post it [scheduled:: 2026-12-04] start:: 2026-12-01", "post it", ""),
    ("post it due:: 2026-12-01 priority:: high repeat:: every 2 weeks id:: a1", "post it", "2026-12-01"),
    ("pay by 2026-11-01 📅 2026-12-02", "pay by 2026-11-01", "2026-12-02"),
    # What is no sign, or no day, stays.
    ("post it 📅 2026-02-30", "post it 📅 2026-02-30", ""),
    ("⛔ waiting for Bob", "⛔ waiting for Bob", ""),
    ("Loop 🔁 the playlist", "Loop 🔁 the playlist", ""),
    ("sort #task/home and #tasks", "sort #task/home and #tasks", ""),
    ("see [the map](a.md) [area:: garden]", "see [the map](a.md) [area:: garden]", ""),
])  # fmt: skip
def test_a_title_is_without_signs_and_the_due_is_the_one_they_say(line, title, due):
    assert parse_own_task(line)[::2] == (title, due)


@pytest.mark.parametrize(("line", "after"), [
    ("- [ ] plain\r\n", "- [x] plain\r\n"),
    ("\t* [/] plain ^id", "\t* [x] plain ^id"),
    ("> 1. [ ] a 📅 2026-12-01  \n", "> 1. [x] a 📅 2026-12-01 ✅ 2026-11-20  \n"),
    ("- [ ] #task a ^id\n", "- [x] #task a ✅ 2026-11-20 ^id\n"),
    ("- [ ] a [due:: 2026-12-01]", "- [x] a [due:: 2026-12-01]  [completion:: 2026-11-20]"),
    ("- [ ] a (due:: 2026-12-01) ⏫", "- [x] a (due:: 2026-12-01) ⏫ ✅ 2026-11-20"),
    ("- [ ] a ✅ 2026-01-01 📅 2026-12-01", "- [x] a 📅 2026-12-01 ✅ 2026-11-20"),
    ("- [ ] a - [ ] b [x]", "- [x] a - [ ] b [x]"),
])  # fmt: skip
def test_a_tick_changes_the_box_and_adds_the_day_where_signs_stand(line, after):
    assert ticked(line, TODAY) == after
    if "[ ] " in line and "✅" not in line:
        assert opened(after) == line


def test_without_a_day_only_the_box_is_ticked():
    assert ticked("- [ ] a 📅 2026-12-01", "") == "- [x] a 📅 2026-12-01"


def test_a_task_that_was_given_up_is_opened_whole():
    assert opened("- [-] a 📅 2026-12-01 ❌ 2026-11-02\n") == "- [ ] a 📅 2026-12-01\n"


@pytest.mark.parametrize(("line", "after"), [
    ("- [x] a 🔁 every week 🛫 2026-11-10 ⏳ 2026-11-14 📅 2026-11-15 ✅ 2026-11-20\n", "- [ ] a 🔁 every week 🛫 2026-11-17 ⏳ 2026-11-21 📅 2026-11-22\n"),
    ("- [ ] a 🔁 every week when done ⏳ 2026-11-10 📅 2026-11-12", "- [ ] a 🔁 every week when done ⏳ 2026-11-25 📅 2026-11-27"),
    ("> * [ ] a ➕ 2026-11-01 🔁 every day 🛫 2026-11-10 🆔 a1 ⛔ b2 ^id\r\n", "> * [ ] a ➕ 2026-11-20 🔁 every day 🛫 2026-11-11\r\n"),
    ("- [ ] a [repeat:: every month]  [due:: [[2026-01-31]]]", "- [ ] a [repeat:: every month]  [due:: [[2026-02-28]]]"),
    ("- [ ] a 🔁 every day", "- [ ] a 🔁 every day"),
    ("- [ ] a 🔁 every full moon 📅 2026-11-12", ""),
    ("- [ ] a 📅 2026-11-12", ""),
])  # fmt: skip
def test_the_next_time_has_its_days_moved_together_and_nothing_of_the_last(line, after):
    assert next_line(line, TODAY) == after


RULES = """
every day: 2026-12-31 2027-01-01
every 3 days: 2026-11-29 2026-12-02
every weekday: 2026-11-27 2026-11-30
every week: 2026-11-28 2026-12-05
every other week: 2026-11-29 2026-12-13
every 2 weeks on Monday, Thursday: 2026-11-26 2026-12-07
every week on Tuesday, Friday: 2026-11-24 2026-11-27
every Sunday: 2021-04-25 2021-05-02
every Mon, Wed and Fri: 2026-11-27 2026-11-30
every month: 2026-01-31 2026-02-28
every month: 2026-02-28 2026-03-28
every 3 months: 2022-01-31 2022-04-30
every month on the last: 2022-01-31 2022-02-28
every month on the 31st: 2022-01-31 2022-03-31
every month on the 1st and last: 2026-11-01 2026-11-30
every month on the last Friday: 2026-11-27 2026-12-25
every month on the 2nd last Friday: 2026-11-20 2026-12-18
every 6 months on the 2nd Wednesday: 2026-11-11 2027-05-12
every January on the 15th: 2026-01-15 2027-01-15
every April and December on the 1st and 24th: 2026-12-01 2026-12-24
every February on the 29th: 2024-02-29 2028-02-29
every year on January 15th: 2026-11-29 2027-01-15
every year: 2024-02-29 2025-02-28
every 99 years: 2026-01-01 2125-01-01
every full moon: 2026-11-29 -
every: 2026-11-29 -
every 2: 2026-11-29 -
every 0 days: 2026-11-29 -
every month for 3 times: 2026-11-01 -
every February on the 30th: 2026-01-01 -
every day: 9999-12-31 -
weekly: 2026-11-29 -
"""


@pytest.mark.parametrize("line", RULES.split("\n")[1:-1])
def test_the_next_day_of_a_rule(line):
    rule, _, days = line.partition(": ")
    begin, after = days.split()
    assert next_day(rule, begin) == after.strip("-")
