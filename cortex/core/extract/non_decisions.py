"""What an agent does next, said in the words of a choice: it reads a file, takes a tool of its own, follows what it was told. That
is no decision of the project, whoever is told of it.
"""

from __future__ import annotations

import re

# What people do with their own time and hands, behind `decided to`, `chose to`, `opted to`.
ACTIVITY_VERBS = (
    r"(?:read|look|check|run|see|try|test|investigate|explore|open|search|start|continue|take|verify|examine|review|inspect|list|grep|ask|wait|have|get"
    r"|dig|go (?:through|over|home|on|ahead|back|further|down|into|out|to)\b|begin|find|debug|trace|print|re-?run|re-?read|skim|do|spend|stop|scan|walk|view|fetch|measure|profile|come|join|help|mention|note|tell|say"
    r"|reply|answer|proceed|hold off|work (?:on|through|from|alone|late)\b|pause|focus|sleep|call it|confirm|reproduce|figure|think"
    r"|keep (?:going|looking|reading|trying|checking|it (?:short|simple|brief)|an eye)|move (?:on|away|along|forward|ahead)\b|put off"
    r"|split (?:this|it|these|that|the (?:change|work|task|diff|commit|pr|pull request|branch|answer)s?) (?:up )?(?:in|into|over)\b"
    r"|make (?:sure|a (?:copy|note|backup|list))|use (?:the|my) (?:time|day|break)"
    r"|leave(?! (?:it|them|this|that|these|those|out)\b| (?:(?!and\b)[^,;]){1,60}? (?:as|alone|unchanged|untouched|out|in place|empty)\b))"
)
SKIPPED_ACTIVITIES = r"(?:add (?:a |an |any |more |new )?(?:tests?|comments?)\b|continue|go (?:on|further|down|into|back)|proceed|wait|look|investigate|dig|bother|pursue|explore|push|chase|spend|read|check|ask)"

_CHOOSING_VERBS = (
    r"(?:chosen?|choose|pick(?:ed|ing)?|select(?:ed|ing)?|opt(?:ed|ing) for|go(?:ne|ing)? with|went (?:with|for)|settl(?:ed|ing) on|decided (?:on|to use)"
    r"|us(?:e|ed|ing)|stick(?:ing)? (?:with|to)|stuck (?:with|to)|ke(?:ep|pt|eping)|stor(?:e|ed|ing)|switch(?:ed|ing)? (?:over )?to|replaced|put)"
)
_VAGUE_NOUNS = r"(?:approach|plan|style|branch|way|pattern|structure|setup|session|directory|folder|task|file|conventions?|format(?:ting)?|naming|names?|one|option|path|route)"
# Of whoever chooses: an agent's own tool that is called one, what somebody said, nothing that has a name.
_VAGUE_CHOICE_RE = re.compile(
    rf"\b{_CHOOSING_VERBS} (?:"
    r"(?:the |my |its )?[\"'`]?[\w-]{1,30}[\"'`]? tools?\b(?! (?:chain|kit))|(?:the )?sub-?agents?\b|plan mode\b|your\b|what(?:ever)? you\b|whatever\b|whichever\b|what (?:we|i|is|it|there)\b"
    r"|(?:it|them|(?:this|that)(?: (?:one|approach|way|option|path|route|plan|solution|version|fix))?)(?=\W*$|[.,;:]| (?:because|since|for now|instead|then|and|so)\b)"
    r"|(?:the )?(?:option|approach|plan|version|choice|variant) (?:\d|[a-d]\b|one\b|two\b|three\b)"
    r"|(?:the|this|that) (?:file|function|test|line|variable)\b"
    r"|(?:the|a|an|my|that|this) (?:smaller|simpler|different|minimal|smallest|simplest|safer|safest|cleaner|slightly \w+|more \w+) (?:change|approach|fix|version|solution"
    r"|one|way|path|route|edit|patch|diff|option)\b(?! (?:over|of|that|which|with|where|to)\b)"
    rf"|(?:the|my) (?:current|existing|same|usual|original|present|previous|other) {_VAGUE_NOUNS}\b"
    r"|(?:the )?(?:defaults?|status quo|flow)\b(?: (?:for|of) (?:everything|the rest|that|the file)| settings?)?(?=\W*$|[.,;:]| (?:for|of|because|since)\b)"
    r"|[^,;]{1,60}? as (?:the|an|my|a) (?:example|sample|test case|starting point|baseline|reference)\b"
    r"|[^,;]{1,60}? for (?:the|this|that|my) (?:measurement|benchmark|comparison|demo|example|test run|experiment|screenshot)\b"
    r"|(?:the |a |an |some |two |three |five |ten |\d{1,4} |few )+(?:\w+ )?(?:rows?|lines|examples?|samples?)\b)"
)
# Of what an agent says of itself: programs and little scripts that it takes up, why it does, what it spares itself.
_FIRST_PERSON_RE = re.compile(r"(?:^|\W)(?:i|i'll|i'm|i've|i'd|let me|let's)\b")
_AGENT_TOOL_RE = re.compile(
    rf"\b{_CHOOSING_VERBS} (?:any |the |a |an |my |some |one |single |parallel |separate |short |quick |small |little |tiny |simple |one-off |temporary |throwaway |temp "
    r"|scratch |few )*[\"'`]?(?:read|grep|bash|multi-?edit|edit|write|glob|task|agent|web ?search|web ?fetch|todo ?write|todo list|notebook ?edit|apply_patch|ripgrep|rg"
    r"|sed|awk|jq|find|cat|curl|wget|head|tail|git (?:bisect|blame|log|grep|diff|show|stash|status)|search(?:es)?|shell(?: loop)?|scripts?|one-liner|commands?|loop"
    r"|heredoc|script to|print(?: statement)?s?|network|internet|browser|sandbox|terminal|mcp)[\"'`]?(?=\W|$)(?! (?:index|engine|api|path|models?|servers?|queue|layer)\b)"
)
_PURPOSE_RE = re.compile(
    r"\bto (?:search|look|check|count|see|read|inspect|verify|explore|locate|confirm|understand|figure|track|trace|debug|reproduce|list|grep|(?:run|find) (?:the|these|this|it|them|out|all|every|where))\b"
)
_SPARED_EFFORT_RE = re.compile(
    r"\b(?:instead of|rather than|over) (?:reading|editing|doing|running|starting|guessing|waiting|searching|opening|grepping|checking|debugging|attaching|asking|going"
    r"|fixing|listing|scrolling|looking|trying|one (?:edit|file|call|command|search) (?:at a time|each|per)|the (?:whole|full|entire) (?:suite|file|log)|[^,;]{1,40}? by hand)\b"
)
_REASON_START_RE = re.compile(r"\b(?:because|since|due to|given that|so that)\b")


def is_non_decision(before: str, said: str) -> bool:
    """Whether a choice concerns the agent's own next step. `said` is the sentence from the phrase on and `before` what stands
    before it, in lower case, with its code."""
    what = said[: why.start()] if (why := _REASON_START_RE.search(said, 3)) else said
    if _VAGUE_CHOICE_RE.search(said[: len(what) + 10]):
        return True
    if not _FIRST_PERSON_RE.search(before[-80:] + said[:12]):
        return False
    return bool(
        _AGENT_TOOL_RE.search(what) or _PURPOSE_RE.search(what) or _SPARED_EFFORT_RE.search(what)
    )
