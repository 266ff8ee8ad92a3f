"""The words by which minutes announce what is what, in English, German, French, Spanish, Italian,
Portuguese and Dutch: headings, table columns, and sentences that decide or promise."""

from __future__ import annotations

import re

from cortex.core.minutes.dates import fold

ACTION, DECISION, QUESTION = "action", "decision", "question"
ATTENDEES, ABSENT, AGENDA, OTHER, MIXED = "attendees", "absent", "agenda", "other", "mixed"

# Whole headings and keys, without accents. `_HEADING_STEMS` adds what a heading's words say.
_HEADINGS = {
    ACTION: "next steps|next step|next actions|to do|to dos|to-dos|things to do|what to do|follow ups"
    "|follow up|who does what|nachste schritte|zu erledigen|wer macht was|prochaines etapes|a faire"
    "|suites a donner|qui fait quoi|plan d'action|proximos pasos|por hacer|prossimi passi|da fare"
    "|proximos passos|a fazer|encaminhamentos|volgende stappen|te doen|taken|pendientes",
    DECISION: "resolved|decided|agreed|beschlossen|entschieden|besloten|decidido|acordado|deciso",
    QUESTION: "open questions|open issues|open points|open question|offene fragen|offene punkte"
    "|questions ouvertes|points en suspens|points ouverts|preguntas abiertas|temas abiertos|domande"
    " aperte|punti aperti|perguntas em aberto|questoes em aberto|open vragen|open punten|unresolved"
    "|still unclear|ungeklart|open|offen",
    ATTENDEES: "present|in attendance|in the room|on the call|who|who was there|roll call|roster|with"
    "|wer|dabei|mit|qui|avec|people",
    ABSENT: "not present|not attending|invitees|invited|nicht anwesend|regrets|apologies|absent",
    AGENDA: "agenda|topics|announcements|tagesordnung|themen|ordre du jour|orden del dia|temario"
    "|ordine del giorno|ordem do dia|pauta|agendapunten|links|introductions",
    OTHER: "discussion|notes|summary|minutes|background|date|time|location|place|where|when|title"
    "|tags|datum|fecha|data|ort|lieu|lugar|luogo|local|time and place|chair|scribe|next meeting",
}  # fmt: skip
_KIND_BY_HEADING = {word: kind for kind, words in _HEADINGS.items() for word in words.split("|")}
_HEADING_STEMS = {
    ACTION: r"actions?|actiepunt\w*|acties|aktion(?:en|spunkte)|to-?dos?|tasks?|aufgaben?|massnahmen?"
    r"|follow-?ups?|tareas?|taches?|tarefas?|azion[ei]|accion(?:es)?|aco?[ao]e?s?|compiti|compromisos"
    r"|arbeitsauftrage|auftrage|assignments",
    DECISION: r"decisions?|decision(?:es|i)|decisoes|decisao|resolutions?|resolucion(?:es)?|resoluties"
    r"|agreements?|entscheidung(?:en)?|beschluss\w*|besluit\w*|acuerdos?|accords|deliber\w+"
    r"|vereinbarung(?:en)?|festlegungen|decided|resolved|agreed|beschlossen",
    ATTENDEES: r"attend(?:ees?|ing|ance|ed)|present(?:es?|s|i)?|participants?|participant(?:es|i)"
    r"|partecipanti|teilnehm\w+|teilgenommen|anwesen\w*|asisten(?:tes?|cia)|asistieron|aanwezig\w*|deelnemers",
    ABSENT: r"regrets|absent(?:s|es|ees|ze)?|excused?s?|excuse[es]+|apologies|entschuldigt\w*|abwesen\w*"
    r"|fehlen\w*|ausen(?:tes|cias)|excusados|assenti|afwezig\w*|afmeldingen|invite(?:d|es)",
    AGENDA: "agenda|announcements?|tagesordnung\\w*",
}  # fmt: skip
_STEM_RES = {kind: re.compile(stems) for kind, stems in _HEADING_STEMS.items()}
_FILLER_WORDS = """
    the of from this new open key main our made list log items item points point summary for all we
    what were assigned current important overview tracker table members member on in at to voting
    team meeting's there und der die das des neue offene liste wichtige gefasste getroffene wir was
    haben mitglieder personen de du la le les et prises releve liste membres personnes tableau el los
    las del y tomadas nuevas abiertas pendientes lista miembros personas di dei delle degli prese e da
    do dos das van het en de leden
"""
_FILLERS = frozenset(_FILLER_WORDS.split())
_OF_THIS_MEETING_RE = re.compile(
    r"[ ](?:from|of|for|in)[ ](?:this|the|today'?s?)[ ](?:meeting|call|session|sync)$"
)
_EARLIER_RE = re.compile(
    r"\b(?:previous|last|prior|past|review|outstanding from|letzte\w*|vorig\w*|precedent\w*|anterior\w*"
    r"|passat\w*|precedente|scorsa?)\b"
)
_GENDER_RE = re.compile(r"(?<=\w)[:·•*_/.(-]+-?(?:innen|in|e|es|s|as|os|r)\)?(?:[·.]s)?(?!\w)")


def section_kind(line: str) -> str:
    """What a heading announces: one of the kinds, or "" for anything else."""
    text = line.casefold().strip(" *_:#.")
    text = re.sub(r"^[\W\d_]{1,9}|[ ]?\(\d{1,4}\)$", "", text)
    if len(text) > 70:
        return ""
    text = fold(_GENDER_RE.sub("", text)).replace("’", "'")
    if text in _KIND_BY_HEADING:
        return _KIND_BY_HEADING[text]
    earlier = _EARLIER_RE.search(text)
    text = _OF_THIS_MEETING_RE.sub("", text)
    words = re.findall(r"[^\W_]+(?:[-'][^\W_]+)*", re.sub(r"\([^()]*\)", "", text))
    rest = [word for word in words if word not in _FILLERS and not _EARLIER_RE.fullmatch(word)]
    kinds: list[str] = []
    for word in rest:
        if word in ("and", "or", "oder", "ou", "o", "meeting", "&") and (earlier or kinds):
            continue
        kind = next((kind for kind, stem in _STEM_RES.items() if stem.fullmatch(word)), "")
        if not kind:
            return ""
        kinds.append(kind)
    if {ACTION, DECISION} <= set(kinds):
        return MIXED
    return AGENDA if earlier and kinds[:1] == [ACTION] else (kinds or [""])[0]


DATE_KEY_RE = re.compile(
    r"(?:meeting |sitzungs)?(?:date|datum|fecha|data|when|wann|day|tag|time|jour)\b(?!.*\b(?:next|due)\b)"
)

# Columns of tables, without accents.
COLUMNS = {
    ACTION: "action|actions|action item|action items|task|tasks|what|todo|to do|aufgabe|massnahme|was"
    "|tache|quoi|tarea|que|accion|azione|attivita|cosa|acao|tarefa|o que|actie|actiepunt|taak|wat",
    DECISION: "decision|decisions|resolution|beschluss|entscheidung|acuerdo|decisione|decisao|besluit",
    "owner": "owner|who|assignee|assigned to|assigned|responsible|responsibility|lead|by whom|wer"
    "|verantwortlich|zustandig|responsable|quien|qui|pilote|porteur|responsabile|chi|responsavel"
    "|quem|wie|verantwoordelijke|eigenaar|person|name|champion",
    "due": "due|due date|when|deadline|by|by when|target|target date|date|bis|bis wann|wann|termin"
    "|frist|datum|falligkeit|echeance|delai|quand|date limite|fecha|plazo|cuando|fecha limite"
    "|scadenza|entro|quando|prazo|data|wanneer|eta",
    "status": "status|state|done|erledigt|stand|statut|etat|fait|estado|hecho|stato|fatto|feito|gereed",
    "reason": "why|rationale|reason|begrundung|warum|motif|pourquoi|justification|motivo|por que"
    "|razon|motivazione|perche|justificativa|waarom|reden",
    "name": "name|names|nom|nombre|nome|naam|attendee|participant|teilnehmer|who|wer|person|member",
    "here": "present|here|attended|attendance|anwesend|present?|presence|asistencia|asistio|presente"
    "|presenza|presenca|aanwezig|there",
    "alias": "initials|handle|github|github username|gh username|username|alias|kurzel",
}  # fmt: skip
COLUMN_WORDS = {kind: frozenset(words.split("|")) for kind, words in COLUMNS.items()}
DONE_CELL_RE = re.compile(
    r"(?i)^(?:\W*(?:done|closed|completed?|finished|erledigt|fertig|abgeschlossen|fait|termine[es]?|clos"
    r"|hech[oa]|terminad[oa]|completad[oa]|fatto|completato|feito|concluid[oa]|gereed|klaar|afgerond)\b"
    r"|[xX✓✔✅☑])"
)
NO_CELL_RE = re.compile(
    r"(?i)^\W*(?:no|n|nein|non|nee|nao|absent|excused|regrets|entschuldigt|abwesend|excuse|ausente"
    r"|assente|afwezig|[✗✘❌])\b|^[✗✘❌-]$"
)

# After a person's name: the words before an infinitive, which is the task.
INFINITIVE_CUE_RE = re.compile(
    r"(?i)[ ]?(?:to(?=[ ][a-z])|will(?:[ ]also)?|shall|(?:is|are)[ ](?:also[ ])?going[ ]to|(?:is|are)[ ]to"
    r"|['’]ll(?:[ ]also)?|['’]s[ ]going[ ]to|needs?[ ]to|has[ ]to|(?:has[ ])?(?:promised|agreed|offered|volunteered|committed)[ ]to"
    r"|(?:plans|intends|promises|offers|agrees)[ ]to|takes?[ ](?:care[ ]of|on)|(?:wird|werden)|soll(?:en)?"
    r"|kümmer(?:t|n)[ ]sich[ ](?:darum|um)|übern(?:immt|ehmen)|(?:va|vont)(?:[ ]a)?|doi(?:t|vent)"
    r"|(?:se[ ]|s['’])(?:charge(?:ra|nt)?|occupe(?:ra|nt)?|engage(?:nt)?)[ ](?:de|d['’]|à)"
    r"|se[ ](?:encarga(?:n|rán?)?|ocupa(?:n|rán?)?|compromete(?:n)?)[ ](?:de|a)|van[ ]a|debe(?:n|rá)?"
    r"|qued(?:a|ó)[ ]en(?:cargad[oa][ ]de)?|si[ ](?:occupa|occuperà|incarica|impegna)[ ](?:di|a)|deve|dovrà"
    r"|prende[ ]in[ ]carico|vão?|vai|fic(?:a|ou)[ ](?:de|responsável[ ]por|encarregad[oa][ ]de)|deverá"
    r"|zal|gaat|gaan|moet|zorgt[ ]voor|pakt)(?:(?<=['’])|(?![\w-]))[ ]{0,3}"
)
# After a person's name: a verb in the future tense of French, Spanish, Italian or Portuguese.
FUTURE_VERB_RE = re.compile(
    r"[ ](?:(?:se|lo|la|le|les|y|nous|vous)[ ])?[^\W\d_A-Z]{2,}(?:era|ira|dra|rra|ará|erá|irá|erà|irà|arà|drá"
    r"|dront|eront|iront|arán|erán|irán|eranno|iranno|arão|erão|irão)\b"
)
PRESENT_VERB_RE = re.compile(
    r"[ ](?!(?:was|is|has|had|does|says|thinks|asks|asked|said|hat|ist|war|est|ha|es|é|heeft|is)\b)"
    r"(?P<verb>[^\W\d_A-Z]{2,}(?:s|t|e|a))[ ](?!to[ ]be\b)"
)
PRONOUN_CUE_RE = re.compile(
    r"(?i)\b(?:s?he|they|er|sie|il|elle|él|ella|lui|lei|ele|ela|hij|zij)(?:[ ](?:is|are)[ ]going[ ]to|[ ]will|['’]ll"
    r"|[ ]wird|[ ]va(?:[ ]a)?|[ ]zal|[ ]gaat|[ ]vai|[ ]kümmert[ ]sich[ ]um)(?![ ](?:be|not|have)\b)[ ]"
)
REPORTED_PROMISE_RE = re.compile(
    r"\b(?:said|says|promised|offered|confirmed|sagte?|versprach)(?:[ ]that)?,?[ ](?:s?he|they|he/she|er|sie)"
    r"(?:['’]ll|['’]d|[ ](?:will|would|wird|würde))[ ](?!not\b|be\b)"
)
FIRST_PERSON_CUE_RE = re.compile(
    r"(?i)(?:ok(?:ay)?,?[ ]|yes,?[ ]|sure,?[ ])?(?:I(?:['’]ll|[ ]will|['’]m[ ]going[ ]to)|will|ich[ ](?:werde|kümmere[ ]mich"
    r"|übernehme)|je[ ](?:vais|me[ ]charge[ ]de|m['’]occupe[ ]de)|(?:yo[ ])?(?:voy[ ]a|me[ ]encargo[ ]de)|mi[ ]occupo[ ]di"
    r"|vou|eu[ ]vou|ik[ ](?:zal|ga))(?![ ](?:not|be|have|say|think|admit|nicht|pas)\b)[ ]"
)
# A promise that is none: it tells what is so, not what somebody takes on.
NO_PROMISE_RE = re.compile(
    r"(?i)^(?:also[ ])?(?:not|never|no longer|likely|probably|be|have|need|require|know|cause"
    r"|depend|mean|remain|become|happen|benefit|go[ ]with|see|nicht|kein\w*|pas)\b"
)

_WE = (
    r"(?:we|they|everyone|everybody|all|(?:the )?(?:group|board|team|committee|council|tsc|wg|working group|meeting"
    r"|members|chairs|majority|panel|assembly))(?:['’]ve| have| has| all| then| also| finally| just| unanimously)*"
)
_SETTLED_EN = (
    r"(?:approved|accepted|adopted|ratified|rejected|declined|postponed|deferred|tabled|dropped|elected"
    r"|carried|passed|re-?elected|confirmed|merged into)"
)
DECISION_CUE_RE = re.compile(
    rf"(?ix)\b(?:{_WE.replace(' ', '[ ]')}[ ](?:agreed?|decided?|resolved?|voted|approved|accepted|adopted"
    r"|concluded|settled|chose|unanimously)\b(?![ ]with\b|[ ]about\b)"
    r"|it[ ](?:was|has[ ]been|is)[ ](?:\w+ly[ ])?(?:agreed|decided|resolved)"
    r"|(?:agreed|decided)[ ](?:to|that|on|not[ ]to|by)\b|consensus[ ](?:is[ ])?(?:to|that|on|was|reached|for)\b"
    rf"|(?:was|were|is|are|been|be[ ]unanimously)[ ](?:\w+ly[ ])?{_SETTLED_EN}\b|motion[ ](?:\w+[ ]){{0,4}}?(?:carried|passe[sd]|approved|failed)"
    r"|vote[ ](?:carried|passe[sd])|unanimous(?:ly)?|(?:hearing[ ]|with[ ]|there[ ]were[ ])?no[ ]objections|by[ ]consensus|carried\.?$"
    r"|we(?:['’]re|[ ]are)?[ ](?:go|going|stick|sticking)[ ](?:with|ahead[ ]with|for)\b|we[ ](?:do[ ]not|don['’]t|no[ ]longer)[ ](?:\w+[ ]){1,6}any ?more\b"
    r"|we(?:['’]re|[ ]are)[ ]not[ ]going[ ]to|we[ ](?:won['’]t|will[ ]not)|^(?:deferring|postponing|tabling|dropping)\b"
    r"|(?:lgtm,?[ ])?(?:approved|accepted|rejected|postponed|deferred|closed[ ]as)\b(?=[ ]|[.,:]|$)"
    r"|(?:[,–—-][ ]?|[.][ ])(?:agreed|decided)(?:[ ]by[ ](?:all|everyone))?\.?$"
    r"|beschlossen|beschlie(?:ß|ss)t|einstimmig|einig(?:t|en|ten)[ ](?:\w+[ ]){0,3}(?:sich|auf|darauf)|geeinigt|angenommen|abgelehnt|genehmigt|verabschiedet"
    r"|vereinbart|entlastet|gegenstimmen?|stimmt[ ](?:\w+[ ]){0,5}zu|zugestimmt|wird[ ](?:\w+[ ]){0,6}?gewählt|entschieden,?|(?:wird|wurde)[ ](?:auf[ ].{3,30})?(?:vertagt|verschoben)"
    r"|(?:est|a[ ]été|ont[ ]été|sont|il[ ]est|décide)[ ](?:\w+[ ])?(?:décidée?s?|convenue?s?|adoptée?s?|approuvée?s?|validée?s?|votée?s?|rejetée?s?|reportée?s?|élue?s?|actée?s?)"
    r"|(?:décident?|adoptent?|approuvent?|valident?|conviennent|convient|votent?)[ ](?:de|d['’]|la|le|les|à)\b|à[ ]l['’]unanimité|d['’]un[ ]commun[ ]accord|adoptée?s?\.?$"
    r"|se[ ](?:aprueban?|acuerdan?|deciden?|rechazan?|acordó|aprobó|aprobaron|decidió|rechazó|aplaza|ratifica)|por[ ]unanimidad(?:e)?|aprobad[oa]s?\b|acord(?:amos|aron|ado)|decid(?:imos|ieron|ido)\b|quedan?[ ]aprobad\w+"
    r"|si[ ](?:decide|approva|concorda|delibera|rinvia|è[ ](?:deciso|concordato|stabilito))|(?:viene|è[ ]stat[oa]|vengono)[ ](?:approvat|adottat|decis|respint|elett|rinviat)\w+|all['’]unanimità|approvat[oaie]\b|abbiamo[ ]deciso|si[ ]stabilisce|(?:l['’]assemblea|il[ ]consiglio|il[ ]comitato)[ ](?:approva|delibera|decide)"
    r"|(?:decidiu|acordou|aprovou|deliberou|rejeitou|adiou)-se|(?:foi|foram|ficou)[ ](?:decidid|aprovad|acordad|rejeitad|adiad|deliberad)\w+|aprovad[oa]s?[ ]por|deliberamos"
    r"|besloten|besluit[ ]om|goedgekeurd|unaniem|aangenomen|verworpen|afgesproken|vastgesteld|(?:wordt|is)[ ]akkoord)"
)
# Before a cue: it is not settled, or was settled elsewhere.
UNSETTLED_RE = re.compile(
    r"(?i)\b(?:if|whether|once|until|till|when|unless|after|before|needs?|should|would|could|may|might|must|can|propos\w+|suggest\w*"
    r"|already|previously|last (?:week|time|meeting|month)|not yet|hasn['’]t|haven['’]t|isn['’]t|wasn['’]t|wants?|hop(?:e|ing)|like|waiting|to be|want to"
    r"|un(?:less|til)|ob|wenn|falls|sobald|soll(?:te|ten)?|müsste|könnte|noch nicht|muss|bereits|vorgeschlagen|beantragt"
    r"|si|lorsque|devrait|doit être|pas encore|déjà|proposé?|propose|quando|cuando|debe|debería|todavía no|propone"
    r"|dovrebbe|non ancora|deveria|ainda não|als|indien|moet|nog niet|wordt voorgesteld|someone|who)\b"
)
NOT_SETTLED_RE = re.compile(
    r"(?i)\b(?:no (?:decision|agreement|consensus)|(?:not|never)(?: been)? (?:decided|agreed|approved|accepted)|undecided|keine einigung|nicht (?:entschieden|beschlossen)|kein beschluss"
    r"|pas (?:de décision|décidé)|sin acuerdo|no se (?:acuerda|decide)|nessuna decisione|sem decisão|geen besluit|agreed with|how to|to be (?:decided|approved|agreed))\b"
)
NOBODY_RE = re.compile(
    r"(?i)(?:nobody|no[ -]?one|none|nothing|no (?:new |open |further )?(?:action|task|decision|item|question)s?\b|niemand|keine[rs]?|personne ne|aucune?"
    r"|nadie|ninguna?|nessun[oa]?|ninguém|nenhuma?|geen|niente|nada)\b"
)
_IMPERATIVE_WORDS = """
    add announce arrange ask book bring build bump buy call change check clarify clean close collect
    compare compile complete confirm contact convert coordinate create decide define delete deploy
    design discuss document draft email ensure evaluate expand explore file finalize find finish fix
    follow gather get implement improve inform investigate invite join link look make measure merge
    migrate move notify open order organise organize ping plan post prepare propose provide publish
    pull push raise reach read rebase refactor release remind remove rename reopen replace reply report
    request research resolve respond review revisit rewrite rotate run schedule send set setup share
    sign start submit switch sync talk tell test track transfer translate triage try update upgrade
    upload verify work write chase circulate comment continue escalate fill host lead leave liaise
    meet paste provide raise scope sort speak summarise summarize take
"""
IMPERATIVES = frozenset(_IMPERATIVE_WORDS.split())
_ROLES = """
    chair chairs scribe host moderator facilitator secretary minutes guests guest members member team
    others other observers staff voting visitors contributors maintainers remote onsite speakers
    vorsitz vorsitzende protokoll schriftführung leitung gäste mitglieder moderation président
    présidente secrétaire membres invités animateur presidente secretario secretaria moderador
    miembros invitados presidenza segretario membri ospiti secretário membros convidados voorzitter
    notulist leden gasten
"""
ROLE_WORDS = frozenset(_ROLES.split())
STOP_WORDS = {
    "en": "the and of to is for we with that this was are not it will be on",
    "de": "der die und ist das den von wir mit nicht ein eine wird für auf im dem",
    "fr": "le les des est une et pour dans que du au sur qui par un ne nous",
    "es": "el los las del se por para una con y es la que un al lo",
    "it": "il che di della per con del una sono gli nel si è alla dei non",
    "pt": "o os da do que em uma com para não foi ao dos das no na",
    "nl": "het een van de voor met dat niet wordt zijn er aan door ook",
}
