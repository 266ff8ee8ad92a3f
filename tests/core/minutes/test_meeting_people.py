"""Who was at a meeting, and who took on what, as minutes in English, German, French and Spanish say it."""

from __future__ import annotations

import pytest

from cortex.core.minutes.meeting import parse_meeting


@pytest.mark.parametrize(("text", "people"), [
    # a sentence names them
    ("Anwesend sind Wiebke Lund, Arno Beck und Ilse Roth.\n", ["Wiebke Lund", "Arno Beck", "Ilse Roth"]),
    ("Étaient présents Maud Petit, Noé Roy et Lise Bon.\n\nAbsent : Max Gil\n", ["Maud Petit", "Noé Roy", "Lise Bon"]),
    ("Asistieron Inés Ruiz, Tito Sanz.\n\nExcusa su asistencia Lola Paz.\n", ["Inés Ruiz", "Tito Sanz"]),
    ("Members present were Wren, Ola and Kit.\n", ["Wren", "Ola", "Kit"]),
    ("Sont présentes les personnes suivantes :\n\nMaud Petit, Noé Roy.\n", ["Maud Petit", "Noé Roy"]),
    # beside how many they are, in a list of definitions, in code
    ("3 présents : Maud, Noé, Lise<br>\n", ["Maud", "Noé", "Lise"]),
    (":   Members present: Wren, Ola\n:   Others present: Kit\n", ["Wren", "Ola", "Kit"]),
    ("# Call\n\n```text\nDate: 2025-05-14\nAttendees: Wren, Ola\n```\n", ["Wren", "Ola"]),
    # more than one line of them
    ("Asistieron Inés Ruiz.\n\nTambién estuvieron Tito Sanz y Lola Paz.\n", ["Inés Ruiz", "Tito Sanz", "Lola Paz"]),
    ("Présents : Maud, Noé\n\nÉtaient également présents : Lise\n", ["Maud", "Noé", "Lise"]),
    ("**Directors present:** Wren Ash\n\n**Guests:** Kit Dale\n", ["Wren Ash", "Kit Dale"]),
    ("TN: Wiebke, Arno, Ilse\n", ["Wiebke", "Arno", "Ilse"]),
    ("Datum: 14.05.2025\nTeilnehmer*innen: Wiebke, Arno\n", ["Wiebke", "Arno"]),
    ("- Présents sur place : Maud, Noé\n- Présents en visio : Lise\n- Excusés : Max\n", ["Maud", "Noé", "Lise"]),
    ("Board members present: Wren Ash\n\nStaff present: Zoe Lee\n\nBoard members absent: Max Fox\n", ["Wren Ash", "Zoe Lee"]),
    ("En Soria, a 14 de mayo de 2025, se reúnen Inés Ruiz y Tito Sanz.\n", ["Inés Ruiz", "Tito Sanz"]),
    ("## Roll Call\n\n- Wren Ash: present\n- Ola Berg: absent\n- Kit Dale (excused)\n", ["Wren Ash"]),
    # roles, before a name and behind it
    ("Present: Wren Ash, President; Ola Berg, Treasurer\n", ["Wren Ash", "Ola Berg"]),
    ("## Attendees\n\nWren Ash, chair\nOla Berg\n", ["Wren Ash", "Ola Berg"]),
    ("Anwesend: Wiebke, Arno\n\nProtokollführung: Ilse Roth\n\nModeration: Arno\n", ["Wiebke", "Arno", "Ilse Roth"]),
    ("Attendees: Wren Ash (WA), Ola Berg (OB)\n\nScribe: OB\n", ["Wren Ash", "Ola Berg"]),
    ("Attendees: Wren Ash, Ola Berg\n\nScribe: n/a (a chat)\n", ["Wren Ash", "Ola Berg"]),
    ("Présents : Maud Petit, Noé Roy (invité).\n", ["Maud Petit", "Noé Roy"]),
    # no list behind a paragraph
    ("## Présents\n\n- Maud Petit\n- Noé Roy\n\nMaud ouvre la séance.\n\n- Radio\n", ["Maud Petit", "Noé Roy"]),
    # a table drawn with spaces, and names that are links of reStructuredText
    ("# Présences\n\n-----------   -------\nMaud Petit    Radio\nNoé           Radio, Vélo\n-----------   -------\n", ["Maud Petit", "Noé"]),
    ("## Asistentes\n\n- Inés Ruiz inesr_\n- Tito Sanz titos_\n\n.. _inesr: https://a.example\n.. _titos: https://b.example\n", ["Inés Ruiz", "Tito Sanz"]),
])  # fmt: skip
def test_who_was_there(text: str, people: list[str]) -> None:
    assert list(parse_meeting(text).attendees) == people


def test_the_day_of_a_page_may_be_marked_as_code() -> None:
    text = '---\ntitle: Réunion\ndate: "`2025-05-14T18:00:00GMT+1`"\n---\n\nRien à noter.\n'
    assert parse_meeting(text).date == "2025-05-14"


HEAD = {
    "de": "# Plenum\n\nAnwesend: Wiebke, Tobias Roth, Arno Beck (AB)\nEntschuldigt: Ilse\n\nDie Punkte der Runde sind in der Mappe.\n\n",
    "fr": "# Réunion du bureau\n\nPrésents : Maud, Noé Petit, Inès\nExcusés : Marc\n\nLes points de la réunion sont dans le dossier.\n\n",
    "es": "# Acta de la reunión\n\nAsistentes: Inés, Tito, César Gil\nAusentes: Elio\n\n",
    "en": "# Weekly sync\n\nPresent: Alex Kim, Bo Lund\nRegrets: Edna\n\n",
}


@pytest.mark.parametrize(("language", "text", "actions"), [
    ("de", "## Aufgaben\n- Flyer verteilen (Frau Lang)\n- Saft kaufen (ToDo Wiebke)\n- Bus mieten (Gesa kümmert sich)\n- Licht leihen | Arno\n", [("Flyer verteilen", "Frau Lang"), ("Saft kaufen", "Wiebke"), ("Bus mieten", "Gesa"), ("Licht leihen", "Arno")]),
    # by another form of the name, and who was not there
    ("de", "## Aufgaben\n- Flyer verteilen – Tobi\n- Saft kaufen → Ilse\n", [("Flyer verteilen", "Tobi"), ("Saft kaufen", "Ilse")]),
    ("es", "- Cesar revisará las cuentas\n- Elio llamará a la imprenta\n", [("Cesar revisará las cuentas", "Cesar"), ("Elio llamará a la imprenta", "Elio")]),
    ("en", "- Bo to email the venue\n- Book the room (Bo)\n", [("email the venue", "Bo"), ("Book the room", "Bo")]),
    # behind the task
    ("de", "## Aufgaben\n- Presse anrufen (macht Wiebke)\n- Licht leihen (Wiebke bis 20.5.2025)\n", [("Presse anrufen", "Wiebke"), ("Licht leihen", "Wiebke")]),
    ("de", "## Aufgaben\n- Einladung verschicken, Tobias\n- Musik: Arno\n", [("Einladung verschicken", "Tobias"), ("Musik", "Arno")]),
    ("fr", "Il faudra relancer les membres (Noé).\n", [("Il faudra relancer les membres", "Noé")]),
    ("fr", "- Recontacter la radio : [@zoe](https://a.example/zoe)\n- trouver un camion -&gt; [@zoe](https://a.example/zoe)\n", [("Recontacter la radio", "zoe"), ("trouver un camion", "zoe")]),
    ("fr", "Le bus attend (TODO zadig).\n\nPas de nouvelle du bus (TODO zadig: relancer).\n", [("Le bus attend", "zadig"), ("Pas de nouvelle du bus: relancer", "zadig")]),
    ("fr", "À faire : louer le bus (Maud) ; payer la salle (Noé)\n", [("louer le bus", "Maud"), ("payer la salle", "Noé")]),
    ("en", "## Actions\n- count the chairs (A) -> see the list\n- mend the door (B) (soon)\n", [("count the chairs -> see the list", "A"), ("mend the door (soon)", "B")]),
    ("en", "## Actions\n- @zed will mend the door\n", [("mend the door", "zed")]),
    ("en", "## Actions\n- work with @zed on the door\n", [("work with @zed on the door", "")]),
    ("fr", "Maud s'occupe de payer la salle.\n\nMaud s'absente, dit Maud Simon.\n", [("payer la salle", "Maud")]),
    # behind a colon or a dash, where what stands before it is a task
    ("de", "- Schlüssel nachmachen (Wiebke)\n- Licht leihen: Arno\n- Moderation: Arno\n", [("Schlüssel nachmachen", "Wiebke"), ("Licht leihen", "Arno")]),
    ("en", "- update the site - Alex\n- the old site - Alex\n", [("update the site", "Alex")]),
    # the person last
    ("de", "Um das Buffet kümmert sich Wiebke.\n\nDas macht Sinn.\n", [("Um das Buffet", "Wiebke")]),
    ("es", "De la comida se encarga Inés.\n", [("De la comida", "Inés")]),
    # below a line that is no heading
    ("en", "Action items\n\n- [ ] BL to count the chairs\n- [x] AK to fix the tap\n", [("count the chairs", "BL"), ("fix the tap", "AK")]),
    ("fr", "La commission va donc appeler la radio.\n\nLa commission va dans le bon sens.\n", [("appeler la radio", "La commission")]),
    ("es", "Se firman las cartas y César las llevará al banco.\n", [("César las llevará al banco", "César")]),
    # who is in charge
    ("es", "Encargada de llamar a los socios: Lola Paz\n", [("llamar a los socios", "Lola Paz")]),
    ("de", "- Zuständig für den Aufbau: Arno\n", [("den Aufbau", "Arno")]),
    # what a table says stands, be it a name or not
    ("de", "| Was | Wer |\n|--|--|\n| Bus mieten | Vorstand |\n| Ton | [Rike](https://a.example/rike) |\n| Zelte | QX |\n", [("Bus mieten", "Vorstand"), ("Ton", "Rike"), ("Zelte", "QX")]),
    ("en", "| Task | Responsible member |\n|--|--|\n| Paint the door | Bo |\n| Mend the lock | T.B.D. |\n", [("Paint the door", "Bo"), ("Mend the lock", "")]),
    ("en", "## Agenda-items\n\n| Objective | Action |\n|--|--|\n| The door | Discuss |\n", []),
    # who does what only people do is a person, though no list names them
    ("de", "Gesine berichtet vom Fest.\n\nGesine wird den Strom bezahlen.\n", [("den Strom bezahlen", "Gesine")]),
    ("es", "Fabio propone una fiesta.\n\nFabio comprará la pintura.\n", [("Fabio comprará la pintura", "Fabio")]),
    ("de", "**gesa** wird beim Amt nachfragen.\n", [("beim Amt nachfragen", "gesa")]),
    ("es", "- inesr_ se encarga de pintar la sala\n\n.. _inesr: https://a.example\n", [("pintar la sala", "inesr")]),
    ("es", "Tito tiene que enviar la carta.\n", [("enviar la carta", "Tito")]),
    ("fr", "Maud est chargée de la radio.\n\nNous devons trouver une salle.\n", [("la radio", "Maud"), ("Nous devons trouver une salle", "")]),
    ("en", "Alex is responsible for the food.\n", [("the food", "Alex")]),
    # what somebody presents or asks is no task
    ("de", "Wiebke stellt das Fest vor.\n", []),
    ("fr", "Inès fait le point sur la fête.\n\nNoé voit deux dates.\n", []),
    ("es", "César recuerda que hay que pagar la cuota.\n\nHay que tener en cuenta el precio.\n", []),
    ("de", "Wiebke fragt, ob der Saal frei ist.\n", []),
])  # fmt: skip
def test_whose_task_it_is(language: str, text: str, actions: list[tuple[str, str]]) -> None:
    found = parse_meeting(HEAD[language] + text).actions
    assert [(one.text, one.owner) for one in found] == actions


@pytest.mark.parametrize(("language", "text", "decisions"), [
    ("es", "Se decide lo siguiente:\n\n- Cerrar el local en agosto\n- Pintar la sala\n", ["Cerrar el local en agosto", "Pintar la sala"]),
    ("de", "Wir haben beschlossen:\n\n- kein Plastik mehr\n\nDanach gab es Kuchen.\n\n- Apfelkuchen\n", ["kein Plastik mehr"]),
    ("en", "We decided to meet in spring: the hall is cheap then.\n", ["We decided to meet in spring: the hall is cheap then"]),
    ("fr", "Le comité valide le budget du bal.\n", ["Le comité valide le budget du bal"]),
    ("es", "La junta decide cambiar de banco.\n", ["La junta decide cambiar de banco"]),
    ("de", "Das Plenum entscheidet sich für den Saal.\n\nAb sofort gilt der neue Plan.\n\nAlle sind sich einig, das Fest findet nicht statt.\n", ["Das Plenum entscheidet sich für den Saal", "Ab sofort gilt der neue Plan", "Alle sind sich einig, das Fest findet nicht statt"]),
    ("fr", "Tout le monde est d'accord pour garder le nom.\n\nOn ne fera pas de bal.\n\nLa fête est fixée au 8 juillet.\n", ["Tout le monde est d'accord pour garder le nom", "On ne fera pas de bal", "La fête est fixée au 8 juillet"]),
    ("es", "El grupo decidió no ir.\n\nNos quedamos con la sala azul.\n\nTito es elegido presidente.\n", ["El grupo decidió no ir", "Nos quedamos con la sala azul", "Tito es elegido presidente"]),
    ("en", "Settled on blue for the door.\n\nWe're keeping the old logo.\n\nEveryone is fine with the price.\n", ["Settled on blue for the door", "We're keeping the old logo", "Everyone is fine with the price"]),
    ("de", "Das Zelt wird abgelehnt, da es ggf. Wasser lässt.\n", ["Das Zelt wird abgelehnt, da es ggf. Wasser lässt"]),
    ("en", "Minutes of the spring fair approved.\n", ["Minutes of the spring fair approved"]),
    # what is not, or was before
    ("es", "No se aprueba nada hoy.\n", []),
    ("fr", "La réunion est fixée à 19h.\n", []),
    ("en", "The price was agreed last year.\n", []),
    ("de", "Wir wollen künftig nur noch einmal im Monat tagen.\n", ["Wir wollen künftig nur noch einmal im Monat tagen"]),
])  # fmt: skip
def test_what_was_decided(language: str, text: str, decisions: list[str]) -> None:
    assert [one.text for one in parse_meeting(HEAD[language] + text).decisions] == decisions


def test_who_was_there_is_read_in_a_sentence_behind_another_and_between_tags() -> None:
    said = "# Town\n\nJune 15, 2026\n\nIt began at 6 pm. Board members present were Ana Ruiz and Ben Holt.\n"
    assert parse_meeting(said).attendees == ("Ana Ruiz", "Ben Holt")
    tagged = "# Town\n\n<span style='x'>Directors present</span>: Ana Ruiz, Ben Holt\n"
    assert parse_meeting(tagged).attendees == ("Ana Ruiz", "Ben Holt")


def test_a_short_line_between_two_lists_of_names_ends_neither() -> None:
    text = "# GV\n\n## Anwesend\n\n- Ana Ruiz\n\n8 Stimmen\n\nVorstand:\n\n- Ben Holt\n- Apologies from Jo\n"
    assert parse_meeting(text).attendees == ("Ana Ruiz", "Ben Holt")


def test_an_accent_and_a_second_name_may_be_left_out() -> None:
    text = (
        "# Sprint\n\nAttendees: José Carlos Ruiz, Ana Holt\n\n## Tasks\n- Book it (Jose Carlos)\n"
    )
    (action,) = parse_meeting(text).actions
    assert (action.text, action.owner) == ("Book it", "Jose Carlos")


def test_minutes_may_begin_with_toml() -> None:
    text = '+++\ntitle = "Merch"\ndate = 2026-03-25\n+++\n\nDecision: red socks.\n'
    found = parse_meeting(text)
    assert (found.date, [one.text for one in found.decisions]) == ("2026-03-25", ["red socks"])


def test_a_deadline_among_the_first_lines_is_not_the_day_of_the_meeting() -> None:
    text = "# Council\n\nPresent: Ana Ruiz\n\n- When do we pay?\n  - Frist: 20.01.2026\n"
    assert parse_meeting(text).date == ""
    assert parse_meeting("# Hubs\n\n# Debrief of 2026-01-20\n\nDecision: red.\n").date == ""
