"""The shapes of secrets in the places where people put them, and what looks like one and is none.

No token stands here in one piece: scanners of code hosts would take it for a real one.
"""

from __future__ import annotations

import re
from re import _parser  # how few characters a pattern may match

import pytest

from cortex.core.redact import redact
from cortex.core.shapes import LONG, TOKENS

MIXED = "a1B2c3D4" * 20
HEX = "0f1e2d3c" * 16
NUMBER = "123456789012345678"

Case = tuple[str, str, str]  # kind, text, the secret in it
VENDORS: list[Case] = [
    *[("digitalocean-token", f"do{letter}_" + "v1_" + HEX[:64], HEX[:64]) for letter in "por"],
    ("telegram-token", "123456789" + ":AA" + MIXED[:33], MIXED[:33]),
    ("discord-webhook", f"https://discord.com/api/webhooks/{NUMBER}/" + MIXED[:68], MIXED[:68]),
    ("discord-webhook", f"https://discordapp.com/api/v10/webhooks/{NUMBER}/" + MIXED[:68], MIXED[:68]),
    ("discord-token", "MTIzNDU2Nzg5" + "MDEyMzQ1Njc4.GabcDE." + MIXED[:38], MIXED[:38]),
    ("discord-token", "NzkyNzE1NDU0" + "MTk2MDg4ODQy.X-hvzA." + MIXED[:27], MIXED[:27]),
    *[("shopify-token", f"shp{two}" + "_" + HEX[:32], HEX[:32]) for two in ("at", "ss", "ca", "pa")],
    *[("vault-token", f"hv{letter}" + ".CAES" + MIXED[:90], MIXED[:90]) for letter in "sb"],
    ("terraform-token", MIXED[:14] + ".atlas" + "v1." + MIXED[:67], MIXED[:67]),
    ("databricks-token", "da" + "pi" + HEX[:32], HEX[:32]),
    ("mailgun-key", "ke" + "y-" + HEX[:32], HEX[:32]),
    ("linear-key", "lin_" + "api_" + MIXED[:40], MIXED[:40]),
    ("atlassian-token", "ATATT" + "3xFfGF0" + MIXED[:150] + "=0A1B2C3D", MIXED[:150]),
    ("square-token", "sq0" + "atp-" + MIXED[:22], MIXED[:22]),
    ("square-token", "sq0" + "csp-" + MIXED[:43], MIXED[:43]),
    ("square-token", "EA" + "AA" + MIXED[:60], MIXED[:60]),
    ("facebook-token", "EA" + "AB" + MIXED[:120], MIXED[:120]),
    ("newrelic-key", "NR" + "AK-" + HEX[:27].upper(), HEX[:27].upper()),
    ("grafana-token", "gl" + "sa_" + MIXED[:32] + "_0a1b2c3d", MIXED[:32]),
    ("grafana-token", "gl" + "c_" + MIXED[:80] + "==", MIXED[:80]),
    ("grafana-token", "eyJr" + "Ijoi" + MIXED[:80] + "==", MIXED[:80]),
    ("postman-key", "PM" + "AK-" + HEX[:24] + "-" + HEX[:34], HEX[:34]),
    ("supabase-token", "sb" + "p_" + HEX[:40], HEX[:40]),
    ("replicate-token", "r8" + "_" + MIXED[:37], MIXED[:37]),
    ("groq-key", "gs" + "k_" + MIXED[:52], MIXED[:52]),
    ("xai-key", "xa" + "i-" + MIXED[:80], MIXED[:80]),
    ("tailscale-key", "tskey" + "-auth-" + MIXED[:12] + "CNTRL-" + MIXED[:32], MIXED[:32]),
    ("docker-token", "dckr" + "_pat_" + MIXED[:27], MIXED[:27]),
    ("netlify-token", "nf" + "p_" + MIXED[:36], MIXED[:36]),
    ("pulumi-token", "pu" + "l-" + HEX[:40], HEX[:40]),
    ("sentry-token", "sntr" + "ys_" + MIXED[:120] + "=_" + MIXED[:43], MIXED[:120]),
    ("sentry-token", "sntr" + "yu_" + HEX[:64], HEX[:64]),
    ("planetscale-token", "pscale" + "_tkn_" + MIXED[:43], MIXED[:43]),
    ("planetscale-token", "pscale" + "_pw_" + MIXED[:43], MIXED[:43]),
    ("figma-token", "fig" + "d_" + MIXED[:40], MIXED[:40]),
    ("notion-token", "nt" + "n_" + MIXED[:46], MIXED[:46]),
    ("notion-token", "secr" + "et_" + MIXED[:43], MIXED[:43]),
    ("airtable-token", "pa" + "t" + MIXED[:14] + "." + HEX[:64], HEX[:64]),
    ("doppler-token", "dp" + ".pt." + MIXED[:43], MIXED[:43]),
    ("doppler-token", "dp" + ".st.dev." + MIXED[:43], MIXED[:43]),
    ("perplexity-key", "pp" + "lx-" + MIXED[:48], MIXED[:48]),
    ("crates-token", "ci" + "o" + MIXED[:32], MIXED[:32]),
    ("rubygems-key", "rubyg" + "ems_" + HEX[:48], HEX[:48]),
    ("heroku-key", "HR" + "KU-AA" + MIXED[:58], MIXED[:58]),
    ("fly-token", "fo" + "1_" + MIXED[:43], MIXED[:43]),
    ("fly-token", "Fly" + "V1 f" + "m2_" + MIXED[:120], MIXED[:120]),
    ("dropbox-token", "s" + "l." + MIXED[:135], MIXED[:135]),
    ("firebase-key", "AAAA" + MIXED[:7] + ":APA" + "91b" + MIXED[:134], MIXED[:134]),
    ("circleci-token", "CCI" + "PAT_" + MIXED[:22] + "_" + HEX[:40], HEX[:40]),
    ("openrouter-key", "sk-" + "or-v1-" + HEX[:64], HEX[:64]),
    ("contentful-token", "CF" + "PAT-" + MIXED[:43], MIXED[:43]),
    ("nvidia-key", "nv" + "api-" + MIXED[:64], MIXED[:64]),
    ("brevo-key", "xkey" + "sib-" + HEX[:64] + "-" + MIXED[:16], HEX[:64]),
    ("langsmith-key", "ls" + "v2_pt_" + HEX[:32] + "_0a1b2c3d4e", HEX[:32]),
    ("pinecone-key", "pc" + "sk_" + MIXED[:60], MIXED[:60]),
    ("posthog-key", "ph" + "x_" + MIXED[:43], MIXED[:43]),
]
FORMS: list[Case] = [
    ("private", "&lt;private&gt;the wedding is off&lt;/private&gt;", "the wedding is off"),
    ("private", "\\u003cprivate\\u003ethe wedding is off\\u003c/private\\u003e", "the wedding is off"),
    ("private", "<private>the wedding is off<\\/private>", "the wedding is off"),
    ("login-password", "curl -u bob:correcthorse https://example.org", "correcthorse"),
    ("login-password", "curl -sS https://example.org \\\n  --user 'bob:Tr0ub4dor&3'", "Tr0ub4dor"),
    ("login-password", "mysql -h db -u root -pcorrecthorse shop", "correcthorse"),
    ("login-password", "mysqldump -uroot -p'Tr0ub4dor&3' shop", "Tr0ub4dor&3"),
    ("login-password", "mysql -uroot -psecret2 shop", "secret2"),
    ("login-password", "curl --user bob:supersecret https://example.org", "supersecret"),
    ("login-password", "sshpass -p correcthorse ssh bob@example.org", "correcthorse"),
    ("login-password", "docker login -u bob -p correcthorse registry.example.org", "correcthorse"),
    ("login-password", "redis-cli -h cache -a correcthorse ping", "correcthorse"),
    ("option-secret", "deploy --password Tr0ub4dor3 --yes", "Tr0ub4dor3"),
    ("option-secret", "deploy --token a1b2c3d4", "a1b2c3d4"),
    ("option-secret", 'deploy --api-key "a1b2c3d4" now', "a1b2c3d4"),
    ("option-secret", '["deploy", "--password", "Tr0ub4dor3"]', "Tr0ub4dor3"),
    ("option-secret", "deploy --password correcthorse", "correcthorse"),
    ("assigned-secret", "deploy --password=correcthorse --yes", "correcthorse"),
    ("assigned-secret", "deploy --api-key=a1b2c3d4", "a1b2c3d4"),
    ("cookie", "Cookie: theme=dark; sessionid=a1b2c3d4e5f6; lang=en", "a1b2c3d4e5f6"),
    ("cookie", "Set-Cookie: connect.sid=s%3Aa1b2c3d4; Path=/; HttpOnly", "s%3Aa1b2c3d4"),
    ("cookie", "curl -b x --cookie 'PHPSESSID=a1b2c3d4e5f6' https://example.org", "a1b2c3d4e5f6"),
    ("netrc-password", "machine example.org login bob password correcthorse", "correcthorse"),
    ("netrc-password", "machine example.org\n  login bob\n  password correcthorse\n", "correcthorse"),
    ("assigned-secret", "Server=db;User Id=sa;Pwd=correcthorse;Database=shop", "correcthorse"),
    ("assigned-secret", "Server=db;User Id=sa;Password=correcthorse;Database=shop", "correcthorse"),
    ("url-password", "redis://:correcthorse@cache:6379/0", "correcthorse"),
    ("assigned-secret", "password = correcthorsebattery", "correcthorsebattery"),
    ("assigned-secret", "export DB_PASSWORD=correcthorse", "correcthorse"),
    ("assigned-secret", "PGPASSWORD=correct psql -h db", "=correct "),
    ("assigned-secret", '{"password": "correcthorse"}', "correcthorse"),
    ("assigned-secret", '{"password": "correct horse battery staple"}', "correct horse"),
    ("assigned-secret", "password=supersecret", "supersecret"),
    ("assigned-secret", "password=a1b2c3", "a1b2c3"),
    ("assigned-secret", "password: 'a1b2c3'", "a1b2c3"),
    ("assigned-secret", "DB_PASS=a1b2c3d4", "a1b2c3d4"),
    ("assigned-secret", "password=Cor!rect#horse", "Cor!rect#horse"),
    ("assigned-secret", '"auth": "' + "Ym9iOnBhc3N3b3Jk1" + '"', "Ym9iOnBhc3N3b3Jk1"),
    ("assigned-secret", "VAULT_TOKEN=s." + MIXED[:24], MIXED[:24]),
    ("assigned-secret", "X-Auth-Key: " + HEX[:37], HEX[:37]),
    ("assigned-secret", "Cloudflare key: " + MIXED[:40], MIXED[:40]),
    ("assigned-secret", "okta: 00" + MIXED[:40], MIXED[:40]),
    ("assigned-secret", "snyk_api = 0f1e2d3c-0f1e-2d3c-4b5a-0f1e2d3c4b5a", "4b5a-0f1e2d3c4b5a"),
    ("bearer-token", 'headers.set("Authorization", "Basic ' + "Ym9iOnBhc3N3b3Jk" + '")', "Ym9iOnBhc3N3b3Jk"),
]

PLACES = [
    "{}",
    '{{"text": "it is {} here", "n": 1}}',
    "https://example.org/v1?page=2&key={}",
    "run it with `{}` once",
    "```sh\ndeploy '{}' --now\n```",
    "The key that we used until today is {}.",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("kind", "token", "secret"), VENDORS)
def test_a_vendors_token_is_hidden_wherever_it_stands(kind: str, token: str, secret: str, place: str) -> None:
    clean, kinds = redact(place.format(token))
    assert secret not in clean
    assert kinds == (kind,)
    before, after = place.format("\0").split("\0")
    assert clean.startswith(before)
    assert clean.endswith(after.removeprefix("."))
    assert redact(clean) == (clean, ())


@pytest.mark.parametrize("place", ["{}\n", "# run:\n{}\ndone", "```\n{}\n```", "- a\n\n{}\n\n- b"])
@pytest.mark.parametrize(("kind", "text", "secret"), FORMS)
def test_a_secret_is_hidden_by_what_stands_beside_it(kind: str, text: str, secret: str, place: str) -> None:
    clean, kinds = redact(place.format(text))
    assert secret not in clean
    assert kinds == (kind,)
    assert redact(clean) == (clean, ())


@pytest.mark.parametrize(
    "text",
    [
        # one sign short, another alphabet, or the bare prefix
        *[
            token[: token.rindex(secret)] + secret[:12]
            for kind, token, secret in VENDORS
            if kind not in ("discord-webhook", "tailscale-key", "postman-key")
        ],
        "the shpat_ prefix, dop_v1_ and dckr_pat_, xai-org, gsk_config, pul-request, tskey-auth",
        "monkey-patch, key-value, patience.of, precious, sl.example.org, EAA and EAAA, r8_unorm",
        "METHOD, NOT, AND and MTU; https://example.org/api/webhooks/new",
        "10:30:15:AA and 12345678:AAA",
        # forms
        "curl -u user:password https://example.org",
        "curl -u $USER:$PASS https://example.org",
        "curl -u <user>:<password> https://example.org",
        "docker run --user 1000:1000 -p 8080:80 mysql",
        "docker run --name mysql -p3306:3306 mysql",
        "docker exec -u node:node app ls",
        "mysql -u root -p shop",
        "mkdir -p build/assets && curl -p x",
        "docker login --password-stdin registry.example.org",
        "deploy --token TOKEN",
        "deploy --token <token> --password $PASSWORD",
        "use --password or --token to log in",
        "the option --password is required, --token may follow",
        "a multi-token gpt4all model",
        "--max-tokens 100000 --token-file secret1.txt",
        "Cookie: theme=dark1234; lang=english1",
        "the cookie session=<id> is sent",
        "machine learning needs a login and a password reset",
        "default password required",
        "PWD=/home/bob1/work2",
        "pwd: /srv/shop-2/current",
        "pwd=$HOME/shop2/x",
        "password: the field is required",
        "token: number of the next one",
        "password: required",
        "password = getpass.getpass()",
        "password = user_password",
        "password = hashedValue",
        "token = tokenizer.next",
        "login(user, password=settings)",
        '{"password": "Kennwort"}',
        '{"password": "The password is incorrect"}',
        '{"password": "enter the new one"}',
        '{"type": "password", "token": "identifier"}',
        '{"token": "string", "secret": "optional"}',
        "The vault: see docs/reliability-of-2026.md",
        "vault = https://example.org/team/vault-of-2026.git",
        "okta: dev-123456-shop.okta-example.com",
        "the &lt;privateer&gt; and &lt;private-key&gt;",
        "the password: short12 would be refused",
        "secret: ask Maria",
    ],
)
def test_what_looks_like_a_secret_and_is_none_stays(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("curl -u bob:correcthorse x", "curl -u bob:[REDACTED:login-password] x"),
        ("Pwd=correcthorse;Database=shop", "Pwd=[REDACTED:assigned-secret];Database=shop"),
        ("Cookie: a=b; sid=a1b2c3d4; c=d", "Cookie: a=b; sid=[REDACTED:cookie]; c=d"),
        ("x --token a1b2c3d4, then", "x --token [REDACTED:option-secret], then"),
    ],
)
def test_what_surrounds_stays_readable(text: str, clean: str) -> None:
    assert redact(text)[0] == clean


@pytest.mark.parametrize(("kind", "hints", "source"), TOKENS)
def test_a_token_is_one_long_word(kind: str, hints: tuple[str, ...], source: str) -> None:
    assert _parser.parse(source).getwidth()[0] >= LONG
    assert not any(
        blank.isspace() for token in (text for name, text, _ in VENDORS if name == kind) for match in re.finditer(source, token) for blank in match[0]
    )
