"""The calendar: what there was on which day, what was open at the end of each week, and what was used."""

from __future__ import annotations

import io

import pytest

from cortex.core.model.caller import Caller
from cortex.core.text.iso_time import epoch_seconds
from cortex.interfaces.cli import render
from cortex.interfaces.cli.render import as_json
from cortex.interfaces.cli.view import View
from cortex.operations.care.calendar import CalendarDay, calendar
from cortex.vault.state import access_log

NOTES = """=== records/decision/a.md
---
id: use-files-k3f7q2
type: decision
title: Use files
status: superseded
project: shop
created: 2026-11-10T10:00:00Z
updated: 2026-11-18T10:00:00Z
---
=== records/action/b.md
---
id: order-cables-m5d2xa
type: action
title: Order cables
status: done
project: shop
created: 2026-11-03T10:00:00Z
updated: 2026-11-12T23:59:59Z
---
=== records/action/c.md
---
id: call-ada-p2r6wq
type: action
title: Call Ada
status: open
project: till
created: 2026-11-12T00:00:00Z
---
=== records/action/d.md
---
id: ask-bob-q7d2xa
type: action
title: Ask Bob
status: archived
created: 2026-11-03T10:00:00Z
updated: 2026-11-17T10:00:00Z
---
=== events/2026/11/20261110t101500z-aaaaaaaaaa.md
---
id: 20261110t101500z-aaaaaaaaaa
type: prompt
source: cli
at: 2026-11-10T10:15:00Z
project: shop
---
```cortex-raw
how
```
"""


def test_each_day_says_what_there_was(vault_from, caller) -> None:
    vault = vault_from(NOTES)
    found = calendar(vault, caller)
    assert found.days == (
        CalendarDay("2026-11-03", 0, 0, 2, 0),
        CalendarDay("2026-11-10", 1, 1, 0, 0),
        CalendarDay("2026-11-12", 0, 0, 1, 1),
    )
    assert (found.since, found.until) == ("2025-11-20", "2026-11-20")
    # Open at the end of a week: neither done nor put away by then.
    assert [week[:] for week in found.weeks] == [
        ("2026-11-02", 0, 2), ("2026-11-09", 1, 2), ("2026-11-16", 0, 1),
    ]  # fmt: skip
    of_shop = calendar(vault, caller, project="shop", since=epoch_seconds("2026-11-04T00:00:00Z"))
    assert [day[1:] for day in of_shop.days] == [(1, 1, 0, 0), (0, 0, 0, 1)]
    assert [week.open for week in of_shop.weeks] == [1, 0, 0]


def test_an_action_that_is_ticked_elsewhere_is_done_when_that_note_was_changed(
    vault_from, caller
) -> None:
    vault = vault_from(
        f"{NOTES}=== mine.md\n---\nupdated: 2026-11-19T08:00:00Z\n---\n- [x] [[call-ada-p2r6wq]]\n"
    )
    done = [(day.date, day.done) for day in calendar(vault, caller).days if day.done]
    assert done == [("2026-11-12", 1), ("2026-11-19", 1)]


def test_a_template_is_on_no_day(vault_from, caller) -> None:
    vault = vault_from(
        '=== .obsidian/templates.json\n{"folder": "forms"}\n=== forms/d.md\n---\ntype: decision\n---\n'
    )
    assert calendar(vault, caller).days == calendar(vault, caller).weeks[:0]


def test_what_was_used_in_that_time_comes_first_by_its_uses(vault_from, caller) -> None:
    vault = vault_from(NOTES)

    def use(id_: str, day: str, verb: str = "show", times: int = 1) -> None:
        then = caller._replace(now=f"{day}T10:00:00Z")
        for _ in range(times):
            access_log.append(vault, then, verb, [id_, "gone"])

    use("use-files-k3f7q2", "2026-11-18", times=2)
    use("call-ada-p2r6wq", "2026-11-02", times=5)
    use("call-ada-p2r6wq", "2026-11-19")
    use("order-cables-m5d2xa", "2026-11-19", "brief", times=9)
    found = calendar(vault, caller).used
    assert [(one.hit.id, one.hit.title, one.uses) for one in found] == [
        ("call-ada-p2r6wq", "Call Ada", 6), ("use-files-k3f7q2", "Use files", 2),
    ]  # fmt: skip
    lately = calendar(vault, caller, since=epoch_seconds("2026-11-18T00:00:00Z")).used
    assert [(one.hit.id, one.uses) for one in lately] == [
        ("use-files-k3f7q2", 2), ("call-ada-p2r6wq", 1),
    ]  # fmt: skip
    assert calendar(vault, caller, project="none").used == ()


@pytest.mark.parametrize("since", [0, -5, epoch_seconds("2030-01-01T00:00:00Z")])
def test_any_time_is_taken(vault_from, caller, since) -> None:
    found = calendar(vault_from(NOTES), caller, since=since)
    assert len(found.weeks) == (3 if since < 1 else 0)


def test_a_terminal_shows_a_drawing_and_all_others_numbers(vault_from, caller) -> None:
    answer = calendar(vault_from(NOTES), caller)

    def printed(**view: object) -> str:
        out = io.StringIO()
        render.print_answer("calendar", answer, out, View("/", **view))
        return out.getvalue()

    said = printed()
    assert "2026-11-09     ·     2     ·     2     ·     ·     ·\n" in said
    assert "since 2025-11-20: 1 capture, 1 decision, 3 actions opened, 1 done; 1 open now" in said
    assert "█" not in said
    assert said == printed(width=80).replace("\x1b", "")
    drawn = printed(width=80, color=True)
    assert "██" in drawn
    assert "week of" not in drawn
    assert as_json(answer)["days"][1]["captures"] == 1


def test_an_empty_vault_has_an_answer(vault, caller: Caller, cortex) -> None:
    found = calendar(vault, caller)
    assert (found.days, found.used, [week.open for week in found.weeks]) == ((), (), [0])
    said = cortex("calendar").stdout
    assert said.endswith(": 0 captures, 0 decisions, 0 actions opened, 0 done; 0 open now\n")
