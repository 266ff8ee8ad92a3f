"""Forms of minutes as public templates have them, in several languages: fields beside an item, tables
of other people's columns, names that begin a line."""

from __future__ import annotations

import pytest

from cortex.core.minutes.dates import without_due
from cortex.core.minutes.meeting import parse_meeting
from cortex.core.minutes.records import records_of_minutes
from cortex.core.model.record import Record

HEAD = "# Weekly\n\nDate: 2025-05-14\nAttendees: Lena Koch, Murat Aydin, Jan de Vries\n\n"


@pytest.mark.parametrize(("text", "actions", "decisions"), [
    (
        (
            "### Thema 1\n- **Diskussion:** teuer\n- **Entscheidungen:** Wir nutzen Stripe\n"
            "- **Aktionen:** Testkonto anlegen\n- **Verantwortliche:** Murat Aydin\n- **Deadline:** 21.05.2025\n"
        ),
        [("Testkonto anlegen", "Murat Aydin", "2025-05-21")],
        ["Wir nutzen Stripe"],
    ),
    ("**Action:** write the stories  \n**Owner:** Lena  \n**Due:** 2025-05-20\n", [("write the stories", "Lena", "2025-05-20")], []),
    ("- Follow-ups: write the stories\n  - Responsible: Lena\n  - Due: 2025-05-20\n", [("write the stories", "Lena", "2025-05-20")], []),
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
    ("## Kernaussagen\n| # | Thema | Ergebnis / Entscheidung |\n|--|--|--|\n| 1 | Hosting | Wir bleiben |\n", [], ["Wir bleiben"]),
    ("| **Action** | **Échéance (YYYY-MM-DD)** |\n|--|--|\n| Réviser | 2025-05-17 |\n", [("Réviser", "", "2025-05-17")], []),
    ("## Puntos Acordados\n- Dos revisiones\n", [], ["Dos revisiones"]),
    ("Acuerdos:  \n1.- Dos revisiones.\n\n2.- Tres firmas.\n", [], ["Dos revisiones", "Tres firmas"]),
    ("## Tareas para esta semana\n- Comprar pintura (Lena y Murat)\n", [("Comprar pintura", "Lena, Murat", "")], []),
    ("Refaire les boîtes. (Action Pierre et Lena)\n", [("Refaire les boîtes", "Pierre et Lena", "")], []),
    (
        "Motion by Lena Koch, second by Murat Aydin to pay the bill. Motion carried. Murat made a motion, second by Lena to stay. Motion carried.\n",
        [],
        ["pay the bill: Motion carried", "stay: Motion carried"],
    ),
    # who a heading names, and by when all below it is due
    (
        "## Actions\n### All\n- [ ] read the draft\n### Len\n- [ ] book the room\n### Paul\n- [ ] order food\n",
        [("read the draft", "All", ""), ("book the room", "Len", ""), ("order food", "Paul", "")],
        [],
    ),
    ("## Actions\n### Fix all\n- [ ] mend the roof\n", [("mend the roof", "", "")], []),
    ("## Tasks for everyone\nTo be done until **Friday 16.5.2025**:\n- review the guide\n", [("review the guide", "everyone", "2025-05-16")], []),
    ("Action items\n\n- The lease\n", [("The lease", "", "")], []),
    ("## Decisions and actions\n- The lease (Lena)\n- The roof\n", [("The lease", "Lena", "")], []),
    # what was put to the vote, and how it went
    ("- Omar set motion to approve the budget\n- Denny seconded\n- Motion approved\n", [], ["approve the budget: Motion approved"]),
    ("**POLL: Lena becomes chair.**\n\nUnanimous consent.\n", [], ["POLL: Lena becomes chair: Unanimous consent"]),
    ("- FSR entsendet Lena ==> 5/0/2\n- Grill: 12 Personen\n", [], ["FSR entsendet Lena ==> 5/0/2"]),
    ("**President:** Lena Koch - Passed\n", [], ["President: Lena Koch - Passed"]),
    ("- stand-up split -> agreed to try it once\n", [], ["agreed to try it once"]),
    ("* **Décision** :\n  Le quiz est gardé.\n", [], ["Le quiz est gardé"]),
    # what a sentence promises
    ("- Survey (Lena will send it round)\n", [("send it round", "Lena", "")], []),
    ("Lena was asked to find a room.\n", [("find a room", "Lena", "")], []),
    ("Lena has action to check the lease.\n", [("check the lease", "Lena", "")], []),
    ("It was decided that Lena would email the union.\n", [("email the union", "Lena", "")], ["It was decided that Lena would email the union"]),
    ("The numbers are out, so it needs time, it was decided to wait.\n", [], ["The numbers are out, so it needs time, it was decided to wait"]),
    ("- Lena: the API is odd, I will reach out\n", [("the API is odd: reach out", "Lena", "")], []),
    ("- Bass bin - action item: Lena to ask\n", [("ask", "Lena", "")], []),
    # of whom nobody knows the name
    ("Clara se encarga de actualizar la web, que es de la junta.\n", [("actualizar la web, que es de la junta", "Clara", "")], []),
    (
        "- Pedir factura al banco para la junta\n- El banco no es de la junta y la junta no es del banco\n",
        [("Pedir factura al banco para la junta", "", "")],
        [],
    ),
    # as more programs and pads write it
    ("<h2>Motions</h2>\n<p>Text: Approve the budget.</p>\n<p>Resolution: Passed.</p>\n", [], ["Text: Approve the budget: Passed"]),
    ("<h2>Actions</h2>\n<ul>\n<li>Lena: ring the bank.</li>\n</ul>\n", [("ring the bank", "Lena", "")], []),
    ("1. Themen\n\n\tLena kümmert sich um das Zelt, das wir nicht mehr haben\n", [("das Zelt, das wir nicht mehr haben", "Lena", "")], []),
    ("### 1. Last minutes\nSee the link. Passed unanimously.\n", [], ["Last minutes: Passed unanimously"]),
    ("## Actions\n- [LK]\tcall the bank\n", [("call the bank", "LK", "")], []),
    ("### Takeaways\n- Send the invites (Lena)\n- Send us more (of it)\n", [("Send the invites", "Lena", "")], []),
    ("| # | What | Who |\n|--|--|--|\n| 1 | Send the events (`PlateDetected`) | Lena |\n", [("Send the events (`PlateDetected`)", "Lena", "")], []),
    ("- El flujo A -> B de la junta quedó aprobado por la junta\n", [], ["El flujo A -> B de la junta quedó aprobado por la junta"]),
    (
        "Sven Thomsen kümmert sich um die Dächer, und das ist nicht der Plan der Stadt.\n",
        [("die Dächer, und das ist nicht der Plan der Stadt", "Sven Thomsen", "")],
        [],
    ),
    ("The Interim Board agrees to change its name.\n", [], ["The Interim Board agrees to change its name"]),
    # of what has to be done, by whomever
    (
        "Die Umfrage muss von der Gruppe noch ausgewertet werden, das ist nicht die Sache der Stadt.\n",
        [("Die Umfrage muss von der Gruppe noch ausgewertet werden, das ist nicht die Sache der Stadt", "", "")],
        [],
    ),
    (
        "Il faudra choisir une date pour la fiche, et les membres ne sont pas dans le local.\n",
        [("Il faudra choisir une date pour la fiche, et les membres ne sont pas dans le local", "", "")],
        [],
    ),
    ("We need to be careful with the dates of this and of that.\n", [], []),
    # of days and of nobody
    ("## Actions\n- Lena to update docs by EOD Monday\n", [("update docs by EOD Monday", "Lena", "2025-05-19")], []),
    ("## Actions\n- Lena: call back (due 06/01/2025)\n", [("call back (due 06/01/2025)", "Lena", "2025-06-01")], []),
    ("## Actions\n- Lena: present it at May 28 meeting\n", [("present it at May 28 meeting", "Lena", "2025-05-28")], []),
    ("## Actions\n- Lena: mend what was seen on May 3\n", [("mend what was seen on May 3", "Lena", "")], []),
    ("## Actions\n- Lena: phone them on Monday\n", [("phone them on Monday", "Lena", "2025-05-19")], []),
    ("## Actions\n- Everyone: read the draft\n", [("read the draft", "Everyone", "")], []),
    ("Die Spende liegt der Bank vor, Lena fragt bei der Stadt an.\n", [("Lena fragt bei der Stadt an", "Lena", "")], []),
    ("## Actions\n- [ ] Nobody: clean the fridge\n", [("clean the fridge", "", "")], []),
    (
        "## Actions\n- Lena will ship it by 2025-06-01. Murat to translate it.\n",
        [("ship it by 2025-06-01", "Lena", "2025-06-01"), ("translate it", "Murat", "")],
        [],
    ),
    ("## Decisions\n- No decision was made on colour\n- We did not agree on a name\n- If we agree on Z we pay\n- Red\n", [], ["Red"]),
    # as other programs write it
    (
        (
            "<table><tr><th>Topic</th><th>Notes/Action items</th></tr><tr><td>Agenda</td>"
            "<td><ul><li>Lena will send it</li><li>Agreed to publish the rules</li></ul></td></tr></table>\n"
        ),
        [("send it", "Lena", "")],
        ["Agreed to publish the rules"],
    ),
    ("| # | Item | Type |\n|--|--|--|\n| 1 | Use Stripe | Decision |\n| 2 | Open an account | Action |\n", [("Open an account", "", "")], ["Use Stripe"]),
    ("## Actions\n-Lena: call the bank\n", [("call the bank", "Lena", "")], []),
    ("Actions\n~~~~~~~\n- Lena: call the bank\n", [("call the bank", "Lena", "")], []),
    ("- [Decisions](#decisions)\n- [Actions](#actions)\n", [], []),
    ("## Actions\n- Update the draft, LK.\n", [("Update the draft", "LK", "")], []),
    ("## Actions\n- Lena\n", [], []),
    (
        "**Pendenzen:**\n- Offerten einholen (Verantwortlich: Lena Koch, bis 18.05.2025)\n",
        [("Offerten einholen", "Lena Koch", "2025-05-18")],
        [],
    ),
    ("## Actiepunten\n- Jan vraagt offertes aan\n", [("Jan vraagt offertes aan", "Jan", "")], []),
    ("The decision: we wait.\n", [], []),
])  # fmt: skip
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


def test_attendees_in_other_forms() -> None:
    def attendees(text: str) -> tuple[str, ...]:
        return parse_meeting(text).attendees

    assert attendees("# M\n\n## Opening and roll call\n- Ana Bell\n- Ben Cole\n") == (
        "Ana Bell",
        "Ben Cole",
    )
    assert attendees("# M\n\nBoard members in attendance were:\n- Ana Bell\n- Ben Cole\n") == (
        "Ana Bell",
        "Ben Cole",
    )
    assert attendees("# M\n\nThe AGM of 2025.\n\n- Ana Bell (Chair)\n- Ben Cole\n- Cy Day\n") == (
        "Ana Bell",
        "Ben Cole",
        "Cy Day",
    )
    assert attendees(
        "# M\n\nNotulen van 3 mei. Aanwezig: Ana Bell, Ben Cole en Cy Day. Afwezig: Dan Eck.\n"
    ) == ("Ana Bell", "Ben Cole", "Cy Day")
    assert attendees("# M\n\n## Attendees\n- [AB] Ana Bell\n- [BC] Ben Cole\n") == (
        "Ana Bell",
        "Ben Cole",
    )
    assert attendees("# M\n\nAttendees:\n- [x] Ana Bell\n- [ ] Ben Cole\n") == ("Ana Bell",)
    assert attendees("# M\n\n* Asistentes: Fuimos dos: Ana,\n  Ben\n") == ("Ana", "Ben")
    assert attendees(
        "---\ntitle: M\n...\n\n**Membres du comité présents:**\nAna [Bell]{.smallcaps},\nBen [Cole]{.smallcaps}.\n\n---\n"
    ) == ("Ana Bell", "Ben Cole")


def test_the_date_of_the_meeting_and_not_of_the_page() -> None:
    def date(text: str) -> str:
        return parse_meeting(text).date

    assert (
        date("---\ndate: 2023-01-04T02:53:53.853Z\n---\n# Committee 2012-11-03\n") == "2012-11-03"
    )
    assert date("date: 2022-08-26 12:03:03 UTC\n\n# AGM - 24 September 2007\n") == "2007-09-24"
    assert date("---\ndate: 2023-01-04T02:53:53.853Z\n---\n# Committee\n") == "2023-01-04"
    assert (
        date(
            "# Ata 1\n\n| Data | Local |\n|--|--|\n| 04/09/2025 | a sala da equipe que não foi usada |\n"
        )
        == "2025-09-04"
    )
    assert (
        date(f"# Cena\n\nEl 14/05/2025 se reúne la peña en el local, {'y come, ' * 20}\n")
        == "2025-05-14"
    )
    assert date(f"# Cena\n\nLa junta {'de la casa ' * 9}del 14 de mayo de 2025\n") == "2025-05-14"
    assert date("<h2>Acta</h2>\n<h3>23-02-2024</h3>\n") == "2024-02-23"


def test_the_title_that_a_field_names() -> None:
    assert parse_meeting("# Minutes\n\n**Meeting Title:** Sprint 3\n").title == "Sprint 3"


@pytest.mark.parametrize("times", [100, 5000])
def test_a_sentence_of_many_promises_ends(times: int) -> None:
    actions = parse_meeting(f"{HEAD}{'Lena will ask, ' * times}\n").actions
    assert {one.owner for one in actions} == {"Lena"}


@pytest.mark.parametrize(("text", "rest"), [
    ("order by Tuesday the cables", "order by Tuesday the cables"),
    ("Kabel bis Montag bestellen", "Kabel bis Montag bestellen"),
    ("fix by end of week", "fix by end of week"),  # `fix` alone would say too little
    ("send it before the end of the month", "send it"),
    ("die Farbe kaufen (bis 3.12.)", "die Farbe kaufen"),
    ("relancer la mairie avant le 12 mars", "relancer la mairie"),
])  # fmt: skip
def test_a_due_date_leaves_a_title_only_from_its_end(text: str, rest: str) -> None:
    assert without_due(text) == rest
