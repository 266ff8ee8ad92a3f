"""Forms of minutes as public templates have them, in several languages: fields beside an item, tables
of other people's columns, names that begin a line."""

from __future__ import annotations

import pytest

from cortex.core.minutes.meeting import parse_meeting
from cortex.core.minutes.records import records_of_minutes
from cortex.core.model.record import Record

HEAD = "# Weekly\n\nDate: 2025-05-14\nAttendees: Lena Koch, Murat Aydin, Jan de Vries\n\n"


@pytest.mark.parametrize(
    ("text", "actions", "decisions"),
    [
        (
            (
                "### Thema 1\n- **Diskussion:** teuer\n- **Entscheidungen:** Wir nutzen Stripe\n"
                "- **Aktionen:** Testkonto anlegen\n- **Verantwortliche:** Murat Aydin\n- **Deadline:** 21.05.2025\n"
            ),
            [("Testkonto anlegen", "Murat Aydin", "2025-05-21")],
            ["Wir nutzen Stripe"],
        ),
        (
            "**Action:** write the stories  \n**Owner:** Lena  \n**Due:** 2025-05-20\n",
            [("write the stories", "Lena", "2025-05-20")],
            [],
        ),
        (
            "- Follow-ups: write the stories\n  - Responsible: Lena\n  - Due: 2025-05-20\n",
            [("write the stories", "Lena", "2025-05-20")],
            [],
        ),
        (
            (
                "## Resumen de acuerdos y decisiones\n| # | Acuerdo/Decisión | Responsable(s) |\n|--|--|--|\n"
                "| 1 | Usar PostgreSQL | Lena Koch |\n\n## Tareas asignadas\n"
                "| # | Descripción breve | Responsable(s) | Fecha límite |\n|--|--|--|--|\n"
                "| 1 | Crear el esquema | Lena Koch | 25/05/2025 |\n"
            ),
            [("Crear el esquema", "Lena Koch", "2025-05-25")],
            ["Usar PostgreSQL"],
        ),
        (
            "## Kernaussagen\n| # | Thema | Ergebnis / Entscheidung |\n|--|--|--|\n| 1 | Hosting | Wir bleiben |\n",
            [],
            ["Wir bleiben"],
        ),
        (
            "| **Action** | **Échéance (YYYY-MM-DD)** |\n|--|--|\n| Réviser | 2025-05-17 |\n",
            [("Réviser", "", "2025-05-17")],
            [],
        ),
        ("## Puntos Acordados\n- Dos revisiones\n", [], ["Dos revisiones"]),
        (
            "**Pendenzen:**\n- Offerten einholen (Verantwortlich: Lena Koch, bis 18.05.2025)\n",
            [("Offerten einholen, bis 18.05.2025", "Lena Koch", "2025-05-18")],
            [],
        ),
        (
            "## Actiepunten\n- Jan vraagt offertes aan\n",
            [("Jan vraagt offertes aan", "Jan", "")],
            [],
        ),
        ("The decision: we wait.\n", [], []),
    ],
)
def test_a_form_is_understood(
    text: str, actions: list[tuple[str, str, str]], decisions: list[str]
) -> None:
    found = parse_meeting(HEAD + text)
    assert [(one.text, one.owner, one.due) for one in found.actions] == actions
    assert [one.text for one in found.decisions] == decisions


def test_tables_of_people_and_handles() -> None:
    tables = (
        "# M\n## Teilnehmer\n| Anwesend | Rolle |\n|--|--|\n| Nora Beck | Leitung |\n\n"
        "| Entschuldigt | Rolle |\n|--|--|\n| Eva Lang | Design |\n"
    )
    assert parse_meeting(tables).attendees == ("Nora Beck",)
    assert parse_meeting("# M\n\nwho: @sam @lu @ivy\n").attendees == ("sam", "lu", "ivy")


def test_what_came_of_a_meeting_has_its_day() -> None:
    base = Record(
        id="", type="note", title="", body=f"{HEAD}## Decisions\n- 1) Ship it\n",
        created="2025-05-20T10:00:00Z", events=("20250520t100000z-aaaaaaaaaa",),
    )  # fmt: skip
    meeting, decision = records_of_minutes(base)
    assert (meeting.date, decision.date, decision.title) == ("2025-05-14", "2025-05-14", "Ship it")


def test_the_title_that_a_field_names() -> None:
    assert parse_meeting("# Minutes\n\n**Meeting Title:** Sprint 3\n").title == "Sprint 3"
