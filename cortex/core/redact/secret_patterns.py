"""Patterns of secrets: tokens as vendors publish them, and names and options beside a secret.

A pattern is compiled only if one of its hints is in the text (see `redact`). Two rules make a
second pass a no-op: a vendor's pattern has no boundaries and is greedy, so that no match depends on
its context; its alphabet includes that of its prefix, so that a token never hides the next one.
"""

from __future__ import annotations

# From a name to its value: `"password": `, `**token:** `, `secret => `, `\"token\": `, `apiKey:
# string = `.
_ASSIGNMENT = (
    r"""["'`*_\\]{0,4}[ \t\u00a0\u202f]{0,8}"""
    r"""(?::[ \t]{0,4}[a-z][a-z_.\[\]|]{0,40}[ \t]{0,4}=(?=[ \t]{0,4}["'`])"""
    r"""|[:=]{1,2}>?)[*_]{0,2}[ \t]{0,8}"""
)
# What people write where a secret would stand, and code: `f(`, `xs[`. Consumed, never redacted.
_PLACEHOLDER = (
    r"https?://|\$\{|\$\(|\{\{|<(?=[a-z][^<>\r\n\x00]{0,60}>)|%[a-z][a-z0-9_]{0,40}%"
    r"|(?-i:\$[A-Z][A-Z0-9_]{0,40}(?!\w))|(?:[a-z]{1,8}[-_])?(?:xxxx|\*\*\*|\.\.\.|•••|…)"
    r"|your[-_ ]|example|placeholder|redacted"
)
_CALL_OR_INDEX = r"(?-i:[a-z_][a-z0-9_.]*)[(\[]"
_DOUBLE_QUOTED = r"""[^"\\\r\n\x00]*(?:\\[^\r\n\x00][^"\\\r\n\x00]*)*"""
_SINGLE_QUOTED = _DOUBLE_QUOTED.replace('"', "'")
# An unquoted value ends at a space or a quote, and at `&`, `;` or `,` where another `name=`
# follows.
_UNQUOTED = r"""[^\s\x00"'`,;&]*(?:[,;&](?![\w .-]{0,40}[=\x00]|\s|$)[^\s\x00"'`,;&]*)*"""

_VALUE_FORMS = (
    r"""[bfru@]{0,2}\\{0,3}["'`]{0,3}(?:""" + _PLACEHOLDER + ")",
    _CALL_OR_INDEX,
    r"""\\{1,3}["'`]([^"'`\\\r\n\x00]*)""",
    r'[bfru@]{0,2}"(?:"")?(' + _DOUBLE_QUOTED + ')"',
    r"[bfru@]{0,2}'(?:'')?(" + _SINGLE_QUOTED + ")'",
    r"`([^`\r\n\x00]*)`",
    r"""["'`]?(""" + _UNQUOTED + ")",
)
# German, French, Spanish.
_PASSWORD_TRANSLATIONS = r"passwort|kennwort|mots? de passe|contrase(?:[ñÑ]|n\u0303?)a"
_SECRET_NAME = (
    rf"(?:passw(?:or)?d|passphrase|{_PASSWORD_TRANSLATIONS}|_pass|sshpass|_pat|pwd"
    rf"|(?<![\w\x00])(?:pw|(?-i:[Pp]ass))(?=[\"'`*_\\]{{0,4}}[ \t]{{0,8}}[:=](?!=))"
    rf"|secret(?:[ _-]?key)?(?:_base)?|token)\d?"
)
_ASSIGNED_VALUE = f"{_ASSIGNMENT}(?:{'|'.join(_VALUE_FORMS)})"
_AWS_SECRET = (
    r"(?:aws[ _-]?secret(?:[ _-]?access)?(?:[ _-]?key)?|secret[ _-]?access[ _-]?key)"
    r"""(?: ?\[[^\]\r\n\x00]{0,24}\])?["'`*_\\]{0,3}[ \t]{0,8}[:=>]{1,2}[*_]{0,2}[ \t]{0,8}"""
    r"""["'`\\]{0,3}"""
    r"([a-z0-9/+=]{40,})"
)
_URL_LOGIN = (
    r"://[^\s\x00:/?#@\"'`<>\[\]]*:(?:"
    r"([^\s\x00/?#\"'`<>]+)@"  # up to the last @ before the path
    r"|\d{1,5}(?=[/?#,;)\]}\s\"'`<>]|$)"  # a port
    r"|([^\s\x00@\"'`<>]+)@"  # a password with an unescaped slash
    r"|[^\s\x00@\"'`<>]*)"
)
_AUTHORIZATION = (
    r"""authorization["'`*_\\]{0,3}[ \t]{0,8}[:=,]{1,2}>?[*_]{0,2}[ \t]{0,8}["'`\\]{0,3}"""
    r"(?:bearer|basic|token|bot)[ \t]{1,8}(?!your|xxx|\.\.\."
    r"|(?:access_)?token\b)([a-z0-9._~+/-]{8,}={0,2})"
)
_BEARER = r"bearer[ \t]{1,8}(?=[a-z._~+/-]{0,200}[0-9])([a-z0-9._~+/-]{20,}={0,2})"
_KEY_BLOCK_BOUNDARY = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
_LT, _GT = r"(?:<|&lt;|\\{1,2}u003c)", r"(?:>|&gt;|\\{1,2}u003e)"
# The names of services whose keys have no shape of their own; beside one, 20 signs with a letter
# and a digit are a key.
_SERVICE_KEY = (
    r"(?:cloudflare|okta|auth0|vercel|snyk|circleci|mailgun|datadog|heroku|algolia|mapbox)"
    r"""[a-z0-9_ .-]{0,24}["'`*_\\]{0,4}[ \t]{0,8}[:=]{1,2}>?[*_]{0,2}[ \t]{0,8}["'`\\]{0,3}"""
    r"(?=[a-z_-]{0,40}[0-9])(?=[0-9_-]{0,40}[a-z])([a-z0-9_-]{20,})"
)
_OPTION_VALUE = r"""(?:\\?"([^"\r\n\x00\\]+)|\\?'([^'\r\n\x00\\]+)|([^\s\x00"'`\\|;&<>]+))"""
# `--password X`, `--token "X"`, `"--api-key", "X"`; with `=` it is an assignment.
_OPTION = (
    r"(?:--|[ \t\"'`]-)(?:[a-z0-9]{1,20}-){0,3}(?:passw(?:or)?d|passphrase|secret(?:-key)?|(?:api"
    r"|access|auth|private)-?key|token)"
    r"""(?:["'],)?[ \t]{1,4}""" + _OPTION_VALUE
)
# `user:password` as a shell or a JSON list quotes it; or a user without a password, which is then a
# token.
_USER_LOGIN = (
    r"""(?:\\{0,2}"[^"\\\r\n\x00:]{0,100}:([^"\\\r\n\x00]+)"""
    r"""|'[^'\r\n\x00:]{0,100}:([^'\r\n\x00]+)"""
    r"""|(?:"[^"\r\n\x00:]{0,100}"|'[^'\r\n\x00:]{0,100}'"""
    r"""|[^\s\x00"':|;&<>]{0,100}):["']?([^\s\x00"'`|;&<>]+)"""
    r"""|["']?([^\s\x00"':|;&<>]{12,100}):(?=["'\s]|$))"""
)
_SPACE_OR_COMMA = r"""(?:[ \t=]{1,4}|["'],[ \t]{0,4}|[ \t]{0,4}\\\r?\n[ \t]{0,20})"""
# What `-p`, `-u` and `-a` mean depends on the program before them. The letters before `u` are
# curl's options without a value.
_LOGIN = (
    r"""[ \t"'](?:-(p|a)(["'],[ \t]{0,4}|[ \t=]{0,4}(?!\\?["'],))""" + _OPTION_VALUE +
    rf"|(?:-[#0-9aBfgGiIjJklLMnNOqRsSvZ]{{0,12}}[uU]{_SPACE_OR_COMMA}?"
    rf"|--(?:proxy-)?user{_SPACE_OR_COMMA}){_USER_LOGIN})"
)  # fmt: skip
_NETRC = (
    r"machine\s{1,8}[^\s\x00]{1,253}\s{1,8}(?:(?:login|account)\s{1,8}[^\s\x00]{1,253}\s{1,8}){0,2}"
    r"passw(?:or)?d\s{1,8}([^\s\x00]+)"
)
_COOKIE = (
    r"""cookies?["'`*_\\]{0,3}[ \t]{0,8}[:=,]?>?[*_]{0,2}[ \t]{0,8}["'`\\]{0,3}([^\r\n\x00]*)"""
)
# `<password>x</password>`, also with attributes, in CDATA or escaped; the element's name, then its
# text.
_ELEMENT_NAME = (
    r"(?:passw(?:or)?d|passphrase|passwort|kennwort|contrase[ñÑ]a|mot[_.-]?de[_.-]?passe|pwd"
    r"|(?:api|access|private|secret)[_.-]?key|secret|token)"
)
_ELEMENT_TEXT = r"(?:[^<&\\\r\n\x00]|&(?!lt;)|\\(?!/|\\?u003c))"
_ELEMENT = (
    rf"{_LT}\s?([\w.:-]{{0,40}}?{_ELEMENT_NAME}|(?:[\w.:-]{{0,40}}[_.:-])?pass"
    rf"|master)(?:\s[^<>&\x00]{{0,200}})?{_GT}\s{{0,40}}(?:<!\[CDATA\[)?"
    rf"(?!\s)({_ELEMENT_TEXT}{{1,400}})\s{{0,40}}{_LT}\\?/\1\s?{_GT}"
)
# `name="password" value="x"`, `name="password">x<`, `<password value="x"`; the name, then the
# value.
_ATTRIBUTE = (
    rf"""(?:(?:name|key|id)\s?=\s?\\{{0,2}}["']([\w.:-]{{0,60}}?{_ELEMENT_NAME})\\{{0,2}}["']"""
    rf"""|<([\w.:-]{{0,40}}?{_ELEMENT_NAME})(?=\s))"""
    r"""(?:\s[^<>\x00]{0,100}?)?[ \t\n]value ?=\s?\\{0,2}(?:"([^"<\\\r\n\x00]{1,400})"""
    r"""|'([^'<\\\r\n\x00]{1,400}))"""
    rf"""|(?:name|key|id)\s?=\s?\\{{0,2}}"([\w.:-]{{0,60}}?{_ELEMENT_NAME})\\{{0,2}}">"""
    rf"""([^<\r\n\x00]{{1,400}})</"""
)
# `the password is x`, and what stands between in four languages: `for the server`, `now`, a colon,
# quotes.
_WORD = r"[^\s\x00.;:!?=]{1,30}"
_FOR = (
    rf"[ \t]+(?:(?:for|of|to|on|at|für|fuer|von|vom|zu[mr]?|de[rsml]?|im|beim|am|du|des|pour|sur"
    rf"|para|en)[ \t]+|d['’]){_WORD}(?:[ \t]+{_WORD}){{0,4}}?"
)
_WHICH = (
    r"[ \t]+(?:actuel|nouveau|temporaire|provisoire|maître|actual|nueva|temporal|provisional"
    r"|maestra)"
)
_BLANK = r"(?:[ \t]+|[ \t]*\r?\n[ \t]*)"  # a line may end there
_IS = (
    rf"(?:{_BLANK}(?:is|was|are|(?:will|should|would|shall|has to|can)[ \t]be|ist|war|wäre|sind"
    rf"|lautete?t?|hei(?:ß|ss)t"
    r"|est|était|sera(?:it)?|sont|c['’]est|es|era|ser[áí]a?|son)|['’]s)"
)
_NOW = (
    r"(?:[ \t]+(?:now|still|currently|simply|just|jetzt|nun|noch|weiterhin|einfach|maintenant"
    r"|toujours|ahora|aún)|[ \t]+(?:set|changed|reset)[ \t]+to)?"
    rf"(?:[ \t\u00a0\u202f]?:[ \t]*(?:\r?\n[ \t]*){{0,2}}|{_BLANK})"
)
_STATED_PASSWORD = (
    rf"(?:pass(?:word|phrase|code|wd)|{_PASSWORD_TRANSLATIONS}|(?<![\w\x00])(?:pwd?|mdp"
    rf"|clave)(?= ))[\"'`*_»”]{{0,3}}(?:{_WHICH})?(?:{_FOR})?{_IS}{_NOW}"
    r"""(?:\\{0,2}"([^"\\\r\n\x00]{1,100})\\{0,2}"|'([^'\r\n\x00]{1,100})'"""
    r"""|`{1,3}([^`\r\n\x00]{1,100})`|[„“”]([^„“”"\r\n\x00]{1,100})["“”]"""
    r"""|«[ \u00a0\u202f]?([^«»\r\n\x00]{1,100}?)[ \u00a0\u202f]?»"""
    r"""|\*{1,2}([^*\s\x00]{1,100})\*{1,2}|((?:(?!&(?:quot|apos|lt|gt|#))[^\s\x00"'`*]){1,200}))"""
)
# Data that has the letters of tokens in it by chance: data: URLs, pictures, documents and fonts in
# base64, and checksums.
BASE64_DATA_HINTS = (
    ";base64,", "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "JVBERi0", "d09G", "sha256-", "sha384-",
    "sha512-",
)  # fmt: skip
BASE64_DATA_PATTERN = "(?:" + "|".join(BASE64_DATA_HINTS) + ")[A-Za-z0-9+/=]{40,}"
COOKIE_PAIR_PATTERN = (
    r"(?:sess|sid|auth|token|jwt|remember|login|csrf|xsrf)[a-z0-9_.-]{0,40}=([^\s;,\"'`\\\x00]{6,})"
)

# A word, and what may stand between two words of a phrase: blanks, line ends, numbers, quotes,
# commas.
SEED_WORD_PATTERN = r"\\[nrt]|([a-z]+)"
SEED_GAP_PATTERN = r"""(?:[\s0-9,;.:()\[\]"'`*#_|>-]|\\[nrt]|\\){1,16}"""

# Between blanks, in lowercase.
NON_SECRET_WORDS = (  # words in the place of a secret that are none
    " required optional undefined disabled enabled incorrect invalid missing expected generated"
    " plaintext encrypted "
    " protected forgotten mandatory unchanged changeme anything something nothing whatever"
    " argument parameter variable "
    " property identifier attribute username description textfield charfield template function"
    " callback interface "
    " component container application authentication authorization provider response request"
    " settings environment "
    " default defaults credentials configuration getenv environ prompt interactive interactively"
    " necessary supplied "
    " provided accepted rejected expired obtained returned verified validated strength management"
    " manager rotation "
    " keyword operator comment literal whitespace punctuation boolean integer number nullable"
    " readonly hashed hashing "
    " reversed resetting recovery unknown available string hidden masked stored passed needed"
    " checked random unique "
    " public common cleared logged listed changeit "
    # German, French, Spanish
    " erforderlich vergessen falsch richtig ungültig gültig leer geändert abgelaufen unbekannt"
    " verschlüsselt gespeichert notwendig optional "
    " requis obligatoire oublié incorrect vide invalide expiré inconnu chiffré modifié"
    " nécessaire "
    " requerida obligatoria olvidada incorrecta inválida vacía caducada desconocida cifrada"
    " cambiada necesaria "
)
PROSE_WORDS = (  # words of a sentence, which no passphrase has
    " the and you your this that with from for must not are was has have can cannot will should"
    " enter please invalid "
    " incorrect required field value wrong empty too short long least characters contain contains"
    " match matches reset "
    " forgot change new old confirm repeat again there when where what which into does did been"
    " its his her our their "
    " but all any who how see ask use only "
)

_ASCII = 256  # re.ASCII; `re` is loaded for a text that may hold a secret
IGNORE_CASE = 2
_ASCII_IGNORE_CASE = _ASCII | IGNORE_CASE
MIN_TOKEN_CHARS = 20  # characters; no pattern of TOKENS matches less, nor a blank

# (kind, hints, pattern): tokens of vendors, one word each, in the alphabet that the vendor
# publishes or a wider one. Where a pattern has groups, the group that took part is the secret.
TOKEN_PATTERNS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("aws-key", ("AKIA", "ASIA", "ABIA", "ACCA"), r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16,}"),
    ("github-token", ("ghp_", "gho_", "ghu_", "ghr_"), r"gh[pour]_[A-Za-z0-9_]{36,}"),
    ("github-token", ("ghs_",),  # opaque, or ghs_<app>_<jwt> since 2026
     r"ghs_[A-Za-z0-9._-]{36,}"),
    ("github-token", ("github_pat_",), r"github_pat_[A-Za-z0-9_]{36,}"),
    ("gitlab-token", ("glpat-", "glptt-", "gldt-", "glrt-", "glrtr-", "glcbt-", "gloas-", "glsoat-",
     "glft-", "glimt-", "glagent-", "glffct-", "glwt-"),
     r"gl(?:pat|ptt|dt|rt|rtr|cbt|oas|soat|ft|imt|agent|ffct|wt)-[A-Za-z0-9_.-]{20,}"),
    ("gitlab-token", ("GR1348941",), r"GR1348941[A-Za-z0-9_-]{20,}"),
    ("slack-token", ("hooks.slack",),
     r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/._-]{20,}"),
    ("stripe-key", ("sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"),
     r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{16}[A-Za-z0-9_]*"),
    ("stripe-key", ("whsec_",), r"whsec_[A-Za-z0-9+/=_-]{24,}"),
    ("anthropic-key", ("sk-ant-",), r"sk-ant-[A-Za-z0-9_-]{20,}"),
    ("openai-key", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"),
     r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    ("openrouter-key", ("sk-or-",), r"sk-or-[A-Za-z0-9_-]{32,}"),
    ("openai-key", ("sk-",), r"sk-(?=[A-Za-z]{0,19}[0-9])[A-Za-z0-9]{20}[A-Za-z0-9-]*"),
    ("google-key", ("AIza",), r"AIza[A-Za-z0-9_-]{35,}"),
    ("google-key", ("AQ.",), r"AQ\.[A-Za-z0-9_.-]{40,}"),  # what Google issues since 2026
    ("google-oauth", ("ya29.",), r"ya29\.[A-Za-z0-9_.-]{20,}"),
    ("google-oauth", ("1//0",), r"1//0[A-Za-z0-9_/-]{30,}"),
    ("google-oauth", ("GOCSPX-",), r"GOCSPX-[A-Za-z0-9_-]{28,}"),
    ("npm-token", ("npm_",), r"npm_[A-Za-z0-9]{36}[A-Za-z0-9_]*"),
    ("pypi-token", ("pypi-AgE",), r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    ("huggingface-token", ("hf_", "api_org_"), r"(?:hf|api_org)_[A-Za-z0-9]{34}[A-Za-z0-9_]*"),
    ("sendgrid-key", ("SG.",), r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_.-]{16,}"),
    ("twilio-key", ("SK",), r"SK[0-9a-f]{32,}"),
    ("digitalocean-token", ("dop_v1_", "doo_v1_", "dor_v1_"), r"do[opr]_v1_[A-Za-z0-9_]{40,}"),
    ("telegram-token", (":AA",), r"[0-9]{8,16}:AA[A-Za-z0-9_-]{33,}(?::[A-Za-z0-9_-]+)*"),
    ("discord-webhook", ("/webhooks/",),
     r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{10,25}/[A-Za-z0-9_-]{30,}"),
    # The bot's number in base64, its digits in threes.
    ("discord-token", ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"),
     (r"(?:M[Tjz]|N[DTjz]|O[DT])[AEIMQUYcgk][w-z0-5][A-Za-z0-9_-]{18,26}\.[A-Za-z0-9_-]{6,7}"
      r"\.[A-Za-z0-9_-]{27,}(?:\.[A-Za-z0-9_-]+)*")),
    ("shopify-token", ("shpat_", "shpss_", "shpca_", "shppa_"),
     r"shp(?:at|ss|ca|pa)_[A-Za-z0-9_]{32,}"),
    ("vault-token", ("hvs.", "hvb.", "hvr."), r"hv[sbr]\.[A-Za-z0-9_-]{24,}(?:\.[A-Za-z0-9_-]+)*"),
    ("terraform-token", (".atlasv1.",),
     r"[A-Za-z0-9]{0,14}\.atlasv1\.[A-Za-z0-9_=-]{40,}(?:\.[A-Za-z0-9_=-]+)*"),
    ("databricks-token", ("dapi",), r"dapi[0-9a-f]{32}[A-Za-z0-9-]*"),
    ("mailgun-key", ("key-",), r"key-[0-9a-z]{32}[A-Za-z0-9-]*"),
    ("linear-key", ("lin_api_", "lin_oauth_"), r"lin_(?:api|oauth)_[A-Za-z0-9_]{32,}"),
    ("atlassian-token", ("ATATT3", "ATCTT3", "ATBB"), r"AT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{28,}"),
    ("square-token", ("sq0atp-", "sq0csp-", "sq0idp-"), r"sq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,}"),
    ("square-token", ("EAAA",), r"EAAA[A-Za-z0-9_-]{60,}"),
    ("facebook-token", ("EAA",), r"EAA[A-Za-z0-9]{80,}"),
    ("newrelic-key", ("NRAK-", "NRII-", "NRIQ-", "NRRA-", "NRJS-"),
     r"NR(?:AK|II|IQ|RA|JS)-[A-Za-z0-9_-]{19,}"),
    ("grafana-token", ("glsa_", "glc_"), r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    ("grafana-token", ("eyJrIjoi",), r"eyJrIjoi[A-Za-z0-9+/=_-]{40,}"),
    ("postman-key", ("PMAK-",), r"PMAK-[A-Za-z0-9-]{32,}"),
    ("supabase-token", ("sbp_", "sb_secret_"), r"sb(?:p|_secret)_[A-Za-z0-9][A-Za-z0-9_-]{29,}"),
    ("replicate-token", ("r8_",), r"r8_[A-Za-z0-9]{32}[A-Za-z0-9_]*"),
    ("groq-key", ("gsk_",), r"gsk_[A-Za-z0-9]{32}[A-Za-z0-9_]*"),
    ("xai-key", ("xai-",), r"xai-[A-Za-z0-9]{40}[A-Za-z0-9-]*"),
    ("tailscale-key", ("tskey-",), r"tskey-[A-Za-z0-9-]{16,}"),
    ("docker-token", ("dckr_pat_", "dckr_oat_"), r"dckr_[po]at_[A-Za-z0-9_-]{24,}"),
    ("netlify-token", ("nfp_", "nfc_", "nfo_", "nfu_", "nfb_"),
     r"nf[pcoub]_[A-Za-z0-9]{32}[A-Za-z0-9_]*"),
    ("pulumi-token", ("pul-",), r"pul-[0-9a-f]{40}[A-Za-z0-9-]*"),
    ("sentry-token", ("sntrys_", "sntryu_", "sntryi_"), r"sntry[sui]_[A-Za-z0-9+/=_]{40,}"),
    ("planetscale-token", ("pscale_",),
     r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=-]{30,}(?:\.[A-Za-z0-9_=-]+)*"),
    ("figma-token", ("figd_", "figu_"), r"fig[du]_[A-Za-z0-9_-]{30,}"),
    ("notion-token", ("ntn_", "secret_"), r"(?:ntn|secret)_[A-Za-z0-9]{40}[A-Za-z0-9_]*"),
    ("airtable-token", ("pat",),
     r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}[A-Za-z0-9]*(?:\.[A-Za-z0-9]+)*"),
    ("doppler-token", ("dp.",),
     (r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,}"
      r"(?:\.[A-Za-z0-9_-]+)*")),
    ("perplexity-key", ("pplx-",), r"pplx-[A-Za-z0-9]{32}[A-Za-z0-9-]*"),
    ("crates-token", ("cio",), r"cio(?=[A-Za-z]{0,31}[0-9])[A-Za-z0-9]{32,}"),
    ("rubygems-key", ("rubygems_",), r"rubygems_[0-9a-f]{48}[A-Za-z0-9_]*"),
    ("heroku-key", ("HRKU-",), r"HRKU-[A-Za-z0-9_-]{32,}"),
    ("fly-token", ("fo1_", "fm1_", "fm2_", "fm1r_", "fm1a_"),
     r"f(?:o1|m2|m1[ra]?)_[A-Za-z0-9+/=_-]{40,}(?:,[A-Za-z0-9+/=_-]{40,})*"),
    ("dropbox-token", ("sl.",), r"sl\.(?:[a-z]\.)?[A-Za-z0-9_=-]{60,}(?:\.[A-Za-z0-9_=-]+)*"),
    ("firebase-key", (":APA91b",),
     r"[A-Za-z0-9_-]{8,22}:APA91b[A-Za-z0-9_-]{60,}(?::[A-Za-z0-9_-]+)*"),
    ("circleci-token", ("CCIPAT_", "CCIPRJ_"), r"CCIP(?:AT|RJ)_[A-Za-z0-9_]{40,}"),
    ("contentful-token", ("CFPAT-",), r"CFPAT-[A-Za-z0-9_-]{40,}"),
    ("nvidia-key", ("nvapi-",), r"nvapi-[A-Za-z0-9_-]{40,}"),
    ("brevo-key", ("xkeysib-",), r"xkeysib-[A-Za-z0-9-]{40,}"),
    ("langsmith-key", ("lsv2_",), r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{32,}"),
    ("pinecone-key", ("pcsk_",), r"pcsk_[A-Za-z0-9_]{40,}"),
    ("posthog-key", ("phx_",), r"phx_[A-Za-z0-9]{32}[A-Za-z0-9_]*"),
    ("cloudflare-key", ("v1.0-",),  # origin CA
     r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100}[A-Za-z0-9-]*(?:\.[A-Za-z0-9-]+)*"),
    ("cloudflare-key", ("cfk_", "cfut_", "cfat_"), r"cf(?:k|ut|at)_[A-Za-z0-9]{40}[A-Za-z0-9_]*"),
    ("azure-key", ("sig=",), r"[?&;]sig=([A-Za-z0-9+/%]{43,})"),
)  # fmt: skip

# (kind, hints, pattern, flags): 0 for tokens, whose hints are sought in the long words alone; else
# in the text, in lowercase where the flags ignore case. Where finds overlap, the earlier row names
# the whole.
SECRET_PATTERNS: tuple[tuple[str, tuple[str, ...], str, int], ...] = (
    ("private",
     ("<private", "&lt;private", "u003cprivate"),
     rf"{_LT}(?:\\?(/))?private(?:\s[^<>\x00]{{0,200}}?)?{_GT}", _ASCII_IGNORE_CASE),
    ("private-key", ("PRIVATE KEY",), _KEY_BLOCK_BOUNDARY, _ASCII),
    ("private-key", ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[A-Z0-9-]{50,}", _ASCII),
    ("aws-secret", ("secret",), _AWS_SECRET, _ASCII_IGNORE_CASE),
    *[(kind, hints, source, 0) for kind, hints, source in TOKEN_PATTERNS],
    ("slack-token", ("xox",), r"xox[a-z]-[A-Za-z0-9-]{10,}", _ASCII),
    ("slack-token", ("xapp-",), r"xapp-[0-9]-[A-Za-z0-9-]{10,}", _ASCII),
    ("jwt", ("eyJ",),
     r"(eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*\.[A-Za-z0-9_.-]*)|eyJ[A-Za-z0-9_-]*", _ASCII),
    ("fly-token", ("FlyV1 ",), r"FlyV1 [A-Za-z0-9+/=_,-]{40,}", _ASCII),
    ("azure-key", ("accountkey", "sharedaccesskey"),
     r"(?:account|sharedaccess)key[ \t]?=[ \t]?([a-z0-9+/=]{43,})", _ASCII_IGNORE_CASE),
    ("url-password", ("://",), _URL_LOGIN, _ASCII),
    ("bearer-token", ("authorization",), _AUTHORIZATION, _ASCII_IGNORE_CASE),
    ("bearer-token", ("bearer ",), _BEARER, _ASCII_IGNORE_CASE),
    ("cookie", ("cookie",), _COOKIE, _ASCII_IGNORE_CASE),
    ("netrc-password", ("machine",), _NETRC, _ASCII_IGNORE_CASE),
    ("login-password", ("curl", "mysql", "mariadb", "mongo", "sshpass", " login", "redis-cli"),
     _LOGIN, _ASCII),
    ("option-secret",
     ("-passw", "-token", "-secret", "-apikey", "-api-key", "-access-key", "-auth-key"),
     _OPTION, _ASCII_IGNORE_CASE),
    ("assigned-secret",
     ("passw", "passphrase", "_pass", "sshpass", "_pat", "pwd", "pw:", "pw=", "pw =", "pw*", "pass:",
     "pass=", "pass =", "pass*", "secret", "token", "kennwort", "de passe", "contrase"),
     _SECRET_NAME + _ASSIGNED_VALUE, _ASCII_IGNORE_CASE),
    ("assigned-secret",
     ("api_key", "api-key", "api key", "apikey", "access_key", "access-key", "access key",
     "accesskey", "private_key", "private-key", "private key", "privatekey", "auth_key", "auth-key", "signing_key", "encryption_key",
     "account_key", "master_key", "app_key", 'auth"', "_auth"),
     r"(?:(?:(?:api|access|private)[ _-]?|auth[_-]|(?:signing|encryption|account|master|app)_)"
     r"""key\d?|auth(?=")|_auth)""" + _ASSIGNED_VALUE,
     _ASCII_IGNORE_CASE,
    ),
    ("assigned-secret",
     ("cloudflare", "okta", "auth0", "vercel", "snyk", "circleci", "mailgun", "datadog",
     "heroku", "algolia", "mapbox"),
     _SERVICE_KEY, _ASCII_IGNORE_CASE),
    ("xml-secret",
     ("word>", "wd>", "phrase>", "pass>", "wort>", "passe>", "ña>", "key>", "secret>",
     "token>", "master>", "&lt;/", "u003c/", "u003c\\/"),
     _ELEMENT, _ASCII_IGNORE_CASE),
    ("xml-secret",
     (" value=", " value =", "\nvalue", "\tvalue", 'word">', 'wd">', 'phrase">', 'key">',
     'secret">', 'token">', '\\">'),
     _ATTRIBUTE, _ASCII_IGNORE_CASE),
    ("said-password",
     ("passw", "passphrase", "passcode", "kennwort", "de passe", "contrase",
     "pw ", "pwd ", "mdp ", "clave "),
     _STATED_PASSWORD, _ASCII_IGNORE_CASE),
    # The last row, without a hint: see `redact`.
    ("seed-phrase", (), SEED_WORD_PATTERN, _ASCII_IGNORE_CASE),
)  # fmt: skip
