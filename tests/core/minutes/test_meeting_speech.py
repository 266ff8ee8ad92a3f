"""Sentences of minutes in English, German, French and Spanish, and of people who answer each other:
what is a decision or a task, and what is a report, a wish or a point put off."""

from __future__ import annotations

import pytest

from cortex.core.minutes.meeting import parse_meeting
from cortex.core.minutes.records import records_of_minutes
from cortex.core.model.record import Record

HEADS = {
    "en": "# Club night\n\nDate: 2026-11-27\nAttendees: Ana Ruiz, Ben Holt, Jonas Weber (JW)\n\n",
    "de": (
        "# Sitzung\n\nDatum: 27.11.2026\nAnwesend: Ana Ruiz, Ben Holt, Elena Sommer\n\n"
        "Das ist nicht der Plan der Stadt, und wir sind mit den Leuten auf dem Weg.\n\n## Verein\n\n"
    ),
    "fr": (
        "# Réunion\n\nDate : 27/11/2026\nPrésents : Ana Ruiz, Marc Petit, Élise Roy\n\n"
        "Les membres sont dans le local et ne sont pas sur la liste des gens qui restent.\n\n## Toit\n\n"
    ),
    "es": (
        "# Reunión\n\nFecha: 27/11/2026\nAsistentes: Ana Ruiz, Marta Gil, Pablo Sanz\n\n"
        "Los socios no están en la lista y por eso se habla con el banco de la plaza.\n\n## Fiesta\n\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("language", "text", "decisions"), [
    ("en", "After some talk we agreed to meet monthly.", ["After some talk we agreed to meet monthly"]),
    ("en", "There is a rough consensus to paint it blue.", ["There is a rough consensus to paint it blue"]),
    ("en", "The colour was decided: blue.", ["The colour was decided: blue"]),
    ("en", "We will keep the old name.", ["We will keep the old name"]),
    ("en", "- Blue door (decision)", ["Blue door"]),
    ("en", "## Fees\nApproved, 6/0/1.", ["Fees: Approved, 6/0/1"]),
    ("en", "## Fees\nApprove without objection.", ["Fees: Approve without objection"]),
    ("en", "We agreed to buy six chairs (?) Or eight.", ["We agreed to buy six chairs (?) Or eight"]),
    ("en", "Consensus now to paint it blue.", ["Consensus now to paint it blue"]),
    ("en", "Carried, 6/0/1.", []),
    ("en", "The topic of the shed was postponed.", []),
    ("en", "It matters what we decide on this.", []),
    ("en", "Please ensure there is consensus before the vote.", []),
    (
        "en",
        "The new rules were read. Ben Holt made the motion to approve, Ana Ruiz second, all in favor.",
        ["The new rules were read: Ben Holt made the motion to approve, Ana Ruiz second, all in favor"],
    ),
    ("en", "M/S/A to keep the name.", ["M/S/A to keep the name"]),
    ("de", "Neue Hecke: 3 ja, 1 nein", ["Neue Hecke: 3 ja, 1 nein"]),
    ("de", "Neue Hecke, Ja: 3, Nein: 1", ["Neue Hecke, Ja: 3, Nein: 1"]),
    ("fr", "Décision de garder le nom.", ["Décision de garder le nom"]),
    ("de", "Der Beitrag soll auf 20 Euro erhöht werden.", ["Der Beitrag soll auf 20 Euro erhöht werden"]),
    ("de", "Es besteht Einigkeit, dass der Verein bleibt.", ["Es besteht Einigkeit, dass der Verein bleibt"]),
    ("de", "Wir bleiben bei dem alten Namen.", ["Wir bleiben bei dem alten Namen"]),
    (
        "de",
        "Ben beantragt, ein Zelt zu kaufen.\n\n**Dafür 5**\n**Dagegen 0**\nDer Antrag wurde einstimmig angenommen.",
        ["Ben beantragt, ein Zelt zu kaufen: Der Antrag wurde einstimmig angenommen"],
    ),
    ("de", "Ana Ruiz wird zur Leiterin gewählt.", ["Ana Ruiz wird zur Leiterin gewählt"]),
    ("de", "Elena berichtet, dass die Stadt den Antrag angenommen hat.", []),
    ("de", "Das Plenum kann einstimmig beschließen, die Satzung zu ändern.", []),
    ("de", "Der neu gewählte Vorstand tagt.", []),
    ("de", "Die Halle wird in Zukunft geschlossen.", ["Die Halle wird in Zukunft geschlossen"]),
    ("de", "Der Punkt wird vertagt.", []),
    ("de", "Wir hatten uns damals dagegen entschieden.", []),
    ("fr", "Nous avons décidé de garder le nom.", ["Nous avons décidé de garder le nom"]),
    ("fr", "On garde la couleur de la porte.", ["On garde la couleur de la porte"]),
    ("fr", "La motion est adoptée à l'unanimité.", ["Toit: La motion est adoptée à l'unanimité"]),
    ("fr", "On va repeindre le portail.", ["On va repeindre le portail"]),
    ("fr", "## Bal\nCe bilan d'été est bien adopté.\n\n## Toit\nCe bilan d'été est bien adopté.", ["Ce bilan d'été est bien adopté"] * 2),
    ("fr", "On va voir la mairie.", []),
    ("fr", "Un sondage donne la date qui convient le mieux.", []),
    ("es", "Se acepta la nueva cuota de diez euros.", ["Se acepta la nueva cuota de diez euros"]),
    ("es", "Aprobado por unanimidad.", ["Fiesta: Aprobado por unanimidad"]),
    ("es", "Se aplaza el baile de mayo.", ["Se aplaza el baile de mayo"]),
    ("es", "Acuerdan:\n\n* Pintar la sala", ["Pintar la sala"]),
    ("es", "Se decidió comprar un toldo.\n\nAprobado con 4-0-0", ["Se decidió comprar un toldo"]),
    ("es", "Todos estamos de acuerdo en que fue un éxito.", []),
    ("es", "Un cambio a lo aprobado en mayo.", []),
    ("es", "Se propone cambiar de banco.", []),
])  # fmt: skip
def test_a_sentence_that_decides(language: str, text: str, decisions: list[str]) -> None:
    found = parse_meeting(f"{HEADS[language]}{text}\n")
    assert [one.text for one in found.decisions] == decisions


@pytest.mark.parametrize(("language", "text", "actions"), [
    ("en", "- [ ] Wash the cups (Ana, 15 January 2027)", [("Wash the cups", "Ana", "2027-01-15")]),
    ("en", "- [ ] Wash the cups [Ana; Friday]", [("Wash the cups", "Ana", "2026-12-04")]),
    ("en", "- [ ] Wash the cups (owner: Ana, due: Friday)", [("Wash the cups", "Ana", "2026-12-04")]),
    ("en", "**Ben** → ring the plumber (Wed)", [("ring the plumber", "Ben", "2026-12-02")]),
    ("en", "- ring the plumber → Ben, Wed", [("ring the plumber", "Ben", "2026-12-02")]),
    ("en", "- A flow of orders → the kitchen", []),
    ("en", "Ana is planning to paint the door.", [("paint the door", "Ana", "")]),
    ("en", "Need to book the hall.", [("Need to book the hall", "", "")]),
    ("en", "We need to be patient.", []),
    ("en", "Ben will be away in May.", []),
    ("en", "Ana: can you ring the plumber?\n\nJW: okay, will do", [("ring the plumber", "JW", "")]),
    ("en", "Ana: who can order the wood?\n\nBen: will do by Friday.", [("order the wood", "Ben", "2026-12-04")]),
    ("en", "Ana: the door is blue.\n\nBen: okay.", []),
    ("de", "Ana: Wer bestellt das Holz?\n\nBen: mache ich bis Freitag.", [("Wer bestellt das Holz", "Ben", "2026-12-04")]),
    ("en", "Ana- to paint the door.", [("paint the door", "Ana", "")]),
    ("de", "Ben ist krank und wird deshalb nicht gewählt.", []),
    ("fr", "- Promouvoir la vente de gâteaux", [("Promouvoir la vente de gâteaux", "", "")]),
    ("fr", "- Ordre du jour de la mairie", []),
    ("de", "Die Miete wird von Ana und Ben geklärt.", [("Die Miete wird von Ana und Ben geklärt", "Ana, Ben", "")]),
    ("fr", "Paola s'est engagée à peindre la porte.", [("peindre la porte", "Paola", "")]),
    ("en", "Somebody has to paint the door. JW: I can do that.", [("Somebody has to paint the door", "JW", "")]),
    ("en", "- Trip to the lake - Ben will ring the bus company", [("ring the bus company", "Ben", "")]),
    ("en", "Ben also offered to bring the tent.", [("bring the tent", "Ben", "")]),
    ("en", "- (JW) The roof of the shed\n  - Will buy the nails", [("buy the nails", "JW", "")]),
    ("en", "Nothing to report.", []),
    ("en", "Zoe: I like the door. I will ring the painter.", [("ring the painter", "Zoe", "")]),
    ("de", "- Den Saal im Rathaus buchen", [("Den Saal im Rathaus buchen", "", "")]),
    ("de", "- Später: die Karten der Stadt verteilen", [("Später: die Karten der Stadt verteilen", "", "")]),
    ("de", "- Ben wird im Rathaus anfragen. Elena wird zum Fest eingeladen.", [("im Rathaus anfragen", "Ben", "")]),
    ("de", "- Idee für das Fest: den Saal im Rathaus zu buchen", []),
    ("de", "- Stühle leihen (-> Ben)", [("Stühle leihen", "Ben", "")]),
    ("de", "- Man könnte den Saal im Rathaus buchen", []),
    ("de", "- Elena mietet den Saal im Rathaus", [("Elena mietet den Saal im Rathaus", "Elena", "")]),
    ("de", "- Elena stellte den Antrag bis 30.11.2026", []),
    ("de", "- Elena berichtet von der Messe", []),
    ("de", "Ben könnte den Stand bauen.", []),
    ("de", "Der Zettel soll noch gedruckt werden.", [("Der Zettel soll noch gedruckt werden", "", "")]),
    ("de", "Der Schlüssel fehlt. Ben kümmert sich darum.", [("Der Schlüssel fehlt", "Ben", "")]),
    ("fr", "- Marc réserve la salle des fêtes", [("Marc réserve la salle des fêtes", "Marc", "")]),
    ("fr", "- Marc présente les comptes du club", []),
    ("fr", "Le buffet reste à organiser. Élise s'en occupe.", [("Le buffet reste à organiser", "Élise", "")]),
    ("fr", "Il faut relancer la mairie pour le local.", [("Il faut relancer la mairie pour le local", "", "")]),
    ("fr", "Il faudra y apporter des chaises.", [("Il faudra y apporter des chaises", "", "")]),
    ("fr", "Une affiche sera donc imprimée.", [("Une affiche sera donc imprimée", "", "")]),
    ("fr", "La fête sera le samedi 3. La date sera fixée ici.", []),
    ("fr", "- Marc synthétise les comptes du club", []),
    ("fr", "- Définir la couleur de la porte", [("Définir la couleur de la porte", "", "")]),
    ("fr", "- Accord de la mairie pour le local", []),
    ("fr", "Le four est en panne, il faut le réparer vite.", [("il faut le réparer vite", "", "")]),
    ("fr", "Il faut une équipe plus grande.", []),
    ("es", "- Marta imprime los carteles de la fiesta", [("Marta imprime los carteles de la fiesta", "Marta", "")]),
    ("es", "- Marta presenta las cuentas del año", []),
    ("es", "Pablo se ofrece para llevar las mesas.", [("llevar las mesas", "Pablo", "")]),
    ("es", "Se publicará el cartel de la fiesta.", [("Se publicará el cartel de la fiesta", "", "")]),
    ("es", "Revisaremos las cuentas del año.", [("Revisaremos las cuentas del año", "", "")]),
    ("es", "Secretaría contestará a la carta del banco.", [("Secretaría contestará a la carta del banco", "Secretaría", "")]),
    ("es", "La cena se celebrará en mayo. No se publicará.", []),
    ("es", "No hay que pagar la cuota.", []),
])  # fmt: skip
def test_a_sentence_that_gives_a_task(
    language: str, text: str, actions: list[tuple[str, str, str]]
) -> None:
    found = parse_meeting(f"{HEADS[language]}{text}\n")
    assert [(one.text, one.owner, one.due) for one in found.actions] == actions


def _captured(text: str) -> Record:
    return Record(
        id="", type="note", title="", body=text, created="2026-11-27T10:00:00Z",
        events=("20261127t100000z-aaaaaaaaaa",),
    )  # fmt: skip


def test_risks_and_context_are_records_of_their_own() -> None:
    text = f"{HEADS['en']}Risk: the roof may leak.\n\nContext: the lease ends in May.\n"
    records = records_of_minutes(_captured(text))[1:]
    assert [one.title for one in records] == ["The roof may leak", "The lease ends in May"]
    assert {one.type for one in records} == {"context"}


def test_a_title_leaves_out_when_the_task_is_due() -> None:
    text = f"{HEADS['en']}- [ ] Ring the plumber by Wednesday\n- [ ] Ring the mayor soon\n"
    records = records_of_minutes(_captured(text))[1:]
    assert [(one.title, one.due) for one in records] == [
        ("Ring the plumber", "2026-12-02"), ("Ring the mayor soon", ""),
    ]  # fmt: skip
    assert "> Ring the plumber by Wednesday" in records[0].body


def test_a_heading_drawn_in_restructuredtext_is_no_code() -> None:
    text = "Acta\n====\n\nFecha: 27/11/2026\n\n1. Cuota\n````````\nSe aprueba por unanimidad la cuota de la peña.\n"
    assert [one.text for one in parse_meeting(text).decisions] == [
        "Se aprueba por unanimidad la cuota de la peña"
    ]


def test_a_time_is_no_attendee() -> None:
    text = "# Sitzung\n\n**Anwesend:** (...)\n\n**Beginn der Sitzung:** 19:35 Uhr\n"
    assert parse_meeting(text).attendees == ()
