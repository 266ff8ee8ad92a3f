from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cortex.operations.exchange.export import export

NOTES = """
=== records/decision/use-sqlite-aaaaaa.md
---
id: use-sqlite-aaaaaa
type: decision
status: superseded
project: shop
tags: [db]
created: 2020-01-02T03:04:05Z
superseded_by: "[[use-postgres-bbbbbb]]"
---

# Use SQLite

**Why.** One file.
=== records/decision/use-postgres-bbbbbb.md
---
id: use-postgres-bbbbbb
type: decision
project: shop
created: 2021-01-02T03:04:05Z
supersedes: ["[[use-sqlite-aaaaaa]]"]
refines: ["[[elsewhere-ffffff]]"]
provenance:
  events: ["[[20210102t030405z-aaaaaaaaaa]]"]
---

# Use <Postgres> & "more"

See [[use-sqlite-aaaaaa|the first]] and [[elsewhere-ffffff|another page]].

<script>alert(1)</script> <img src=x onerror=alert(1)>

![a picture](http://evil.example/x.png) [bad](javascript:alert(1)) [good](https://example.org)

| a | b |
| --- | --- |
| 1 | 2 |
=== records/decision/mine-cccccc.md
---
id: mine-cccccc
type: decision
scope: personal
project: shop
created: 2022-01-02T03:04:05Z
---

# For me alone
=== events/2021/01/20210102t030405z-aaaaaaaaaa.md
---
id: 20210102t030405z-aaaaaaaaaa
type: manual
at: 2021-01-02T03:04:05Z
---

## Raw Content

Decision: use Postgres
=== records/decision/gone-dddddd.md
---
id: gone-dddddd
type: decision
status: deleted
project: shop
created: 2022-01-02T03:04:05Z
---

# Gone
=== records/action/due-eeeeee.md
---
id: due-eeeeee
type: action
status: open
owner: Ada; "A"
tags: [infra]
due: 2026-12-01
created: 2026-11-01T00:00:00Z
---

# Write the changelog, with ; and \\

ÄÖÜ äöü ÄÖÜ äöü ÄÖÜ äöü ÄÖÜ äöü ÄÖÜ äöü ÄÖÜ äöü ÄÖÜ äöü ÄÖÜ äöü 🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂
BEGIN:VEVENT
=== records/action/done-ffffff.md
---
id: done-ffffff
type: action
status: done
due: 2026-12-02
created: 2026-11-01T00:00:00Z
---

# Done
=== records/action/someday-gggggg.md
---
id: someday-gggggg
type: action
status: open
created: 2026-11-01T00:00:00Z
---

# Someday
=== records/action/soon-jjjjjj.md
---
id: soon-jjjjjj
type: action
status: open
due: soon
created: 2026-11-01T00:00:00Z
---

# Soon
=== own/minutes.md
---
type: meeting
---
# A meeting of an unknown day
=== records/action/old-hhhhhh.md
---
id: old-hhhhhh
type: action
status: archived
due: 2026-12-02
created: 2026-11-01T00:00:00Z
---

# Archived
=== records/meeting/planning-iiiiii.md
---
id: planning-iiiiii
type: meeting
date: 2026-11-20
attendees: [Ada, Zoë]
created: 2026-11-21T10:00:00Z
---

# Planning of [[shop-a1b2c3|the shop]]

See [[notes/plan#Soon]] and [[weekly-o6l52o|Weekly]].
"""


@pytest.fixture
def page(vault_from, caller, tmp_path) -> str:
    file = tmp_path / "decisions.html"
    export(vault_from(NOTES), caller, to="html", output=str(file), project="shop")
    return file.read_text()


def test_a_page_is_sound_and_loads_nothing(page) -> None:
    opened, ids, links = [], [], []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            named = dict(attrs)
            if tag not in ("meta", "br", "hr"):
                opened.append(tag)
            ids.extend(filter(None, [named.get("id")]))
            links.extend(filter(None, [named.get("href")]))
            assert "src" not in named
            assert tag not in ("script", "img", "link", "iframe")
            assert not [name for name in named if name.startswith("on")]

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Reader().feed(page)
    assert opened == []
    assert len(ids) == len(set(ids)) == 2
    inner = {link[1:] for link in links if link.startswith("#")}
    assert inner == set(ids)
    assert {link for link in links if not link.startswith("#")} == {
        "http://evil.example/x.png", "https://example.org"
    }  # fmt: skip
    assert "default-src 'none'" in page
    assert "url(" not in page
    assert "@import" not in page


def test_each_decision_stands_there_with_what_replaced_it_both_ways(page) -> None:
    old, new = re.findall(r"<article.*?</article>", page, re.DOTALL)[::-1]
    assert 'superseded by <a href="#use-postgres-bbbbbb">Use &lt;Postgres&gt; &amp; ' in old
    assert old.count("<li>") == 1
    assert 'supersedes <a href="#use-sqlite-aaaaaa">Use SQLite</a>' in new
    assert '<a href="#use-sqlite-aaaaaa">the first</a> and another page.' in new
    assert "&lt;script&gt;" in new
    assert "<table>" in new
    assert "2020-01-02 · shop · db" in old
    assert "<strong>Why.</strong> One file." in old
    assert 'class="status">superseded<' in old
    contents = re.search(r"<nav.*?</nav>", page, re.DOTALL)
    assert contents
    assert re.findall(r'href="#(.*?)"', contents[0]) == ["use-postgres-bbbbbb", "use-sqlite-aaaaaa"]


def test_what_is_personal_is_on_a_page_of_everything_alone(page, vault, caller, tmp_path) -> None:
    assert "For me alone" not in page
    assert "Gone" not in page
    export(vault, caller, to="html", output=str(tmp_path / "all.html"))
    text = (tmp_path / "all.html").read_text()
    assert "For me alone" in text
    assert "Gone" not in text


def test_a_calendar_has_what_is_due_and_the_meetings(vault_from, caller, tmp_path) -> None:
    answer = export(vault_from(NOTES), caller, to="ics", output=str(tmp_path / "a.ics"))
    assert answer.notes == {"record": 3, "note": 1}
    data = Path(tmp_path / "a.ics").read_bytes()
    assert all(len(line) <= 75 for line in data.split(b"\r\n"))
    for line in data.split(b"\r\n"):
        line.decode()  # no character is cut
    assert data.count(b"\n") == data.count(b"\r\n")
    lines = data.decode().replace("\r\n ", "").split("\r\n")
    assert lines[:2] == ["BEGIN:VCALENDAR", "VERSION:2.0"]
    assert lines[-2:] == ["END:VCALENDAR", ""]
    assert [line for line in lines if line.startswith("BEGIN")][1:] == [
        "BEGIN:VTODO", "BEGIN:VTODO", "BEGIN:VEVENT"
    ]  # fmt: skip
    todo = lines[lines.index("UID:due-eeeeee") :]
    assert "SUMMARY:Write the changelog\\, with \\; and \\\\" in todo
    assert "DUE;VALUE=DATE:20261201" in todo
    assert "CATEGORIES:infra" in todo
    assert any(line.endswith("🙂\\nBEGIN:VEVENT") for line in todo)
    assert {"STATUS:NEEDS-ACTION", "STATUS:COMPLETED", "STATUS:CONFIRMED"} <= {*lines}
    assert "DTSTART;VALUE=DATE:20261120" in lines
    assert "SUMMARY:Planning of the shop" in lines
    assert "DESCRIPTION:Ada\\, Zoë\\n\\nSee notes/plan#Soon and Weekly." in lines
    assert lines.count("DTSTAMP:20261101T000000Z") == 2


def test_a_page_and_a_calendar_are_printed_too(vault_from, cortex) -> None:
    vault_from(NOTES)
    assert cortex("export", "--to", "html").stdout.startswith("<!doctype html>")
    printed = cortex("export", "--to", "ics", "--type", "meeting").stdout
    assert printed.count("BEGIN:V") == 2
