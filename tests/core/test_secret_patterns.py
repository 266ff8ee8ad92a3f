"""The shapes of secrets in the places where people put them, and what looks like one and is none.

No token stands here in one piece: scanners of code hosts would take it for a real one.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from re import _parser  # how few characters a pattern may match

import pytest

from cortex.core.redact.secret_patterns import MIN_TOKEN_CHARS, TOKEN_PATTERNS
from cortex.core.redact.secrets import _load_bip39_words, redact

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
    ("cloudflare-key", "v1" + ".0-" + HEX[:24] + "-" + (HEX * 2)[:146], HEX[:24] + "-" + HEX[:99]),
    *[("cloudflare-key", prefix + "_" + MIXED[:40] + HEX[:8], MIXED[:40]) for prefix in ("cf" + "k", "cf" + "ut", "cf" + "at")],
]  # fmt: skip
PHRASE = "legal winner thank year wave sausage worth useful legal winner thank yellow"  # of BIP-39's own tests
LONG_PHRASE = (
    "letter advice cage absurd amount doctor acoustic avoid " * 2
    + "letter advice cage absurd amount doctor acoustic bless"
)
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
    ("assigned-secret", "- **API key:** 9f8e7d6c9f8e7d6c", "9f8e7d6c9f8e7d6c"),
    ("assigned-secret", "Secret key: 9f8e7d6c9f8e", "9f8e7d6c9f8e"),
    ("assigned-secret", "- pw: tulip9river", "tulip9river"),
    ("assigned-secret", "Wi-Fi pass = tulip9river", "tulip9river"),
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
    # curl
    ("login-password", "curl -ubob:hunter2 https://example.org", "hunter2"),
    ("login-password", "curl -sSLku bob:hunter2 https://example.org", "hunter2"),
    ("login-password", "curl --user=bob:hunter2 https://example.org", "hunter2"),
    ("login-password", "curl -u 'bob:hunter 2' https://example.org", "hunter"),
    ("login-password", 'curl -u "bob:hunter2" https://example.org', "hunter2"),
    ("login-password", "curl -u bob:'hunter2' https://example.org", "hunter2"),
    ("login-password", "curl -u 'bob':\"hunter2\" https://example.org", "hunter2"),
    ("login-password", '["curl", "-u", "bob:hunter2", "https://example.org"]', "hunter2"),
    ("login-password", '{"command": "curl -u \\"bob:hunter2\\" https://example.org"}', "hunter2"),
    ("login-password", "curl -U bob:hunter2 -x proxy:3128 https://example.org", "hunter2"),
    ("login-password", "curl --proxy-user bob:hunter2 https://example.org", "hunter2"),
    ("login-password", "curl -sL --user\\\n  'bob:hunter2' https://example.org", "hunter2"),
    ("login-password", "curl https://example.org/login -u bob:hunter2", "hunter2"),
    ("login-password", "curl https://mysql.example.org -u bob:hunter2", "hunter2"),
    ("login-password", "curl --cacert ca.crt -u elastic:P@ssw0rd$1 https://localhost:9200", "P@ssw0rd$1"),
    ("login-password", 'curl -u ":d2LkV78zLx!t" https://localhost:9200', "d2LkV78zLx!t"),
    ("login-password", 'curl -u "d2LkV78zLxtq:" https://localhost:9200', "d2LkV78zLxtq"),
    ("login-password", "curl -H 'Accept: a; b' -u bob:hunter2 https://example.org", "hunter2"),
    ("login-password", 'curl -d \'{\n  "a": "b && c"\n}\' -u bob:hunter2 https://example.org', "hunter2"),
    ("login-password", '{"command": "curl -H \\"Accept: a; b\\" -u bob:hunter2 https://example.org"}', "hunter2"),
    # mysql, sshpass and their like
    ("login-password", "mysql -e 'select 1; select 2' -phunter2", "hunter2"),
    ("login-password", "docker exec db mysql -uroot -p123456 shop", "123456"),
    ("login-password", 'mysql -h db-mysql -uroot -p"hunter 2" shop', "hunter"),
    ("login-password", '["mysql", "-uroot", "-phunter2"]', "hunter2"),
    ("login-password", "docker exec db mysql -phunter2 -e 'select 1'", "hunter2"),
    ("login-password", "mongosh -u bob -p hunter2 shop", "hunter2"),
    ("login-password", "sshpass -phunter2 ssh -p 2222 bob@example.org", "hunter2"),
    ("login-password", "sshpass -p 'hunter 2' ssh bob@example.org", "hunter"),
    ("login-password", '["sshpass", "-p", "hunter2", "ssh"]', "hunter2"),
    ("assigned-secret", "SSHPASS=hunter2 sshpass -e ssh bob@example.org", "hunter2"),
    ("assigned-secret", "mysql --password=hunter2 shop", "hunter2"),
    ("assigned-secret", "deploy --password=hunter --yes", "hunter"),
    ("assigned-secret", "deploy --db-password=pa55 --yes", "pa55"),
    ("assigned-secret", "PGPASSWORD=pa55 psql -h db", "pa55"),
    ("assigned-secret", "MYSQL_PWD=hunter2 mysql", "hunter2"),
    # elements and attributes
    ("xml-secret", "<password>hunter2</password>", "hunter2"),
    ("xml-secret", "<server>\n  <username>bob</username>\n  <password>\n    correcthorse\n  </password>\n</server>", "correcthorse"),
    ("xml-secret", "<password>{COQLCE6DU6GtcS5P=}</password>".replace("P=", "PCOQLCE6DU6GtcS5P="), "COQLCE6DU6GtcS5P"),
    ("xml-secret", '<wsse:Password Type="#PasswordText">hunter2</wsse:Password>', "hunter2"),
    ("xml-secret", '<Pass encoding="base64">aHVudGVyMg==</Pass>', "aHVudGVyMg"),
    ("xml-secret", "<ftp_pass>hunter2</ftp_pass>", "hunter2"),
    ("xml-secret", "<dbPassword><![CDATA[Cor!rect#horse]]></dbPassword>", "Cor!rect#horse"),
    ("xml-secret", "<secret>correcthorse</secret>", "correcthorse"),
    ("xml-secret", "<apiKey>a1b2c3d4</apiKey>", "a1b2c3d4"),
    ("xml-secret", "<client.secret>a1b2c3d4</client.secret>", "a1b2c3d4"),
    ("xml-secret", "<password>hunter2</password >", "hunter2"),
    ("xml-secret", "<Passwort>hunter2</Passwort><x/>", "hunter2"),
    ("xml-secret", "<motDePasse>hunter2</motDePasse>", "hunter2"),
    ("xml-secret", "<contraseña>hunter2</contraseña>", "hunter2"),
    ("xml-secret", "&lt;password&gt;hunter2&lt;/password&gt;", "hunter2"),
    ("xml-secret", '"\\u003cpassword\\u003ehunter2\\u003c/password\\u003e"', "hunter2"),
    ("xml-secret", "<the_password>m{{h}o)p${e]nob(ody[finds>-_$#thisone}}</the_password>", "h}o)p${e]nob"),
    ("xml-secret", '<add key="Smtp.Password" value="hunter2" />', "hunter2"),
    ("xml-secret", "<property name='password' value='hunter2'/>", "hunter2"),
    ("xml-secret", '<property name="hibernate.connection.password">hunter2</property>', "hunter2"),
    ("xml-secret", '<password type="plain" value="hunter2"/>', "hunter2"),
    # sentences
    ("said-password", "the password is hunter2!", "hunter2"),
    ("said-password", "The password for the staging database is now hunter2.", "hunter2"),
    ("said-password", "the password's hunter2, and", "hunter2"),
    ("said-password", "My password was: `hunter2`", "hunter2"),
    ("said-password", "The password is:\n\nhunter2", "hunter2"),
    ("said-password", "the password is 'correcthorse'", "correcthorse"),
    ("said-password", 'the root password is "correct horse battery staple"', "horse battery"),
    ("said-password", "the password is **hunter2**", "hunter2"),
    ("said-password", "the passphrase is Correct#Horse", "Correct#Horse"),
    ("said-password", "the passcode is x7-Kp2q", "x7-Kp2q"),
    ("said-password", "pw is hunter2", "hunter2"),
    ("said-password", "the password\nis hunter2", "hunter2"),
    ("said-password", "the new password will be\n  hunter2", "hunter2"),
    ("said-password", "the password is 48291375", "48291375"),
    ("said-password", "the password is Zk8/q2Lm+9xA=", "Zk8/q2Lm"),
    # they begin as the name of an algorithm or a number with a unit does
    *[("said-password", f"the password is {value}", value) for value in ("Winter2024!", "shadow12", "S3cret!x", "v1cious!", "8th3Wall", "12xyz98")],
    ("said-password", "Das Passwort ist hunter2!", "hunter2"),
    ("said-password", "Das Passwort für den Server lautet „Sommer2024“", "Sommer2024"),
    ("said-password", "Das Datenbankpasswort heißt jetzt Sommer2024.", "Sommer2024"),
    ("said-password", "das Kennwort war hunter2", "hunter2"),
    ("said-password", "die Passwörter? Das Passwort wäre hunter2", "hunter2"),
    ("assigned-secret", "Kennwort: Sommer2024", "Sommer2024"),
    ("assigned-secret", "Passwort: hunter2", "hunter2"),
    ("said-password", "Le mot de passe est hunter2", "hunter2"),
    ("said-password", "le mot de passe du serveur est « Soleil2024 »", "Soleil2024"),
    ("said-password", "le mdp est hunter2", "hunter2"),
    ("said-password", "le mot de passe actuel sera hunter2", "hunter2"),
    ("said-password", "mon mot de passe c'est hunter2", "hunter2"),
    ("assigned-secret", "mot de passe\u00a0: Soleil2024", "Soleil2024"),
    ("said-password", "La contraseña es hunter2", "hunter2"),
    ("said-password", "la contraseña temporal será hunter2", "hunter2"),
    ("said-password", "la contraseña de la base es Verano2024", "Verano2024"),
    ("said-password", "la contrasen\u0303a es hunter2", "hunter2"),
    ("assigned-secret", "CONTRASEÑA: Verano2024", "Verano2024"),
    # phrases
    ("seed-phrase", PHRASE, "thank year wave"),
    ("seed-phrase", f"The phrase of the wallet: {LONG_PHRASE}.", "absurd amount"),
    ("seed-phrase", PHRASE.upper(), "THANK YEAR WAVE"),
    ("seed-phrase", PHRASE.replace("wave ", "wave\n"), "thank year"),
    ("seed-phrase", "\n".join(f"{i}. {word}" for i, word in enumerate(PHRASE.split(), 1)), "sausage"),
    ("seed-phrase", " ".join(f"{i}) {word}" for i, word in enumerate(PHRASE.split(), 1)), "sausage"),
    ("seed-phrase", ", ".join(PHRASE.split()), "thank, year"),
    ("seed-phrase", ",".join(PHRASE.split()), "thank,year"),
    ("seed-phrase", '["' + '", "'.join(PHRASE.split()) + '"]', "sausage"),
    ("seed-phrase", "\\n".join(PHRASE.split()), "sausage"),
    *[("seed-phrase", sign.join(PHRASE.split()), "sausage") for sign in ("-", "_", "\u00a0", "\u3000")],
    ("seed-phrase", "abandon " * 11 + "about", "abandon abandon"),
    ("seed-phrase", " ".join(LONG_PHRASE.split()[:18]), "absurd amount"),  # the first three quarters of one
]  # fmt: skip

PLACES = [
    "{}",
    '{{"text": "it is {} here", "n": 1}}',
    "https://example.org/v1?page=2&key={}",
    "run it with `{}` once",
    "```sh\ndeploy '{}' --now\n```",
    "The key that we used until today is {}.",
]


@pytest.mark.parametrize(("kind", "token", "secret"), VENDORS)
def test_a_vendors_token_is_hidden_wherever_it_stands(kind: str, token: str, secret: str) -> None:
    for place in PLACES:
        clean, kinds = redact(place.format(token))
        assert secret not in clean, place
        assert kinds == (kind,), place
        before, after = place.format("\0").split("\0")
        assert clean.startswith(before)
        assert clean.endswith(after.removeprefix("."))
        assert redact(clean) == (clean, ())


@pytest.mark.parametrize(("kind", "text", "secret"), FORMS)
def test_a_secret_is_hidden_by_what_stands_beside_it(kind: str, text: str, secret: str) -> None:
    for place in ("{}\n", "# run:\n{}\ndone", "```\n{}\n```", "- a\n\n{}\n\n- b"):
        clean, kinds = redact(place.format(text))
        assert secret not in clean, place
        assert kinds == (kind,), place
        assert redact(clean) == (clean, ())


@pytest.mark.parametrize("text", [
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
    # identifiers
    "csrf_token: csrfmiddlewaretoken2",
    "Cookie: csrftoken=csrfmiddlewaretoken2",
    "token = accessToken2",
    "password1 = new_password2",
    # curl and others
    "curl --user-agent=foo:bar https://example.org",
    'curl -sL --user "$1:$2" https://example.org',
    "curl --user neo4j:[PASSWORD] http://localhost:7474",
    'curl -u ":" https://localhost:9200',
    'curl -k -u "myusername" http://localhost:15130',
    "curl -u username:token https://example.org",
    'curl --user "$(cat ./login.txt):$(cat ./password.txt)" https://example.org',
    'curl --user "{{ $.Values.username }}:{{ $.Values.password }}" https://example.org',
    'curl smtps://smtp.example.org --user "src@example.org" --upload-file out.txt',
    "ssh -p 2222 bob@example.org mysql",
    "sshpass -e ssh -p 2222 bob@example.org",
    # elements
    "<password>${env.DB_PASSWORD_1}</password>",
    "<password>changeit</password>",
    "<password>string</password>",
    "login <user> <password> and <token>",
    "<password>Password2 is required</password>",
    "<password>Mot de passe</password>",
    "<token>identifier</token>",
    "<secretName>db2-creds1</secretName>",
    "<passwordEncoder>bcrypt2x</passwordEncoder>",
    "<privateKey>https://example.org/keys2</privateKey>",
    '<input type="password" name="password" value="{{ form.password1 }}">',
    '<input type="password" name="password" value="">',
    # sentences
    "the password is required",
    "the password is stored hashed",
    "the password is wrong, and the password was changed",
    "the password must be changed",
    "The password is hashed with SHA256",
    "the password is sha256-hashed and base64-encoded",
    "the password is base64",
    "the password is 12 characters long",
    "the password is 8-character",
    "the password should be at least 8 characters",
    "the passwords are sha-256 hashes, md5-hashed before, or argon2id",
    "the password is utf-8, python3.11 or s3-backed",
    "the password is\nchecked by bcrypt",
    "the password is `required`",
    "the password is $DB_PASS1",
    "the password is DB_PASSWORD_1",
    "the password is config.db2.password",
    "the password is in secrets2.yml",
    "the password is vault/db2.yml",
    "the password is read_env2()",
    "the password manager is 1Password7",
    "the password policy is NIST800-63",
    "printf(&quot;Password is correct.&quot;)",
    "das Passwort ist erforderlich",
    "Das Passwort ist falsch, das Kennwort ist abgelaufen",
    "Passwort: erforderlich",
    "le mot de passe est requis",
    "la contraseña es obligatoria",
    "Contraseña: obligatoria",
    "docker run --name mysql -p3306 mysql",
    "curl https://example.org; docker run -u 1000:1000 x",
    "We don't use curl here.\nIt's docker run -u 1000:1000 x",
    # words
    "This note was kept short so that people will read every line till they find what they need here",
    "abandon ability able about above absent absorb abstract absurd abuse access accident account",  # the list itself
    " ".join(PHRASE.split()[:11]),
    "border-left, border-right, border-image, border-width",
    "result.year, result.month, result.day, result.hour, result.minute, result.second, result.zone",
    # data
    "![](data:image/png;base64,iVBORw0KGgo" + "A" * 20 + "EA" + "AA" + MIXED + ")",
    "integrity: sha512-" + "cio1" + MIXED[:82] + "==",
    'checksum = "' + HEX[:64] + '"',
    "tag v1" + ".0-" + HEX[:40],
    "PASS: test_foo1234 took 3 s; --- PASS: TestFoo123",
    "bypass: step1234 and compass = north1234",
    "if pass == v1234567890: return",
])  # fmt: skip
def test_what_looks_like_a_secret_and_is_none_stays(text: str) -> None:
    assert redact(text) == (text, ())


@pytest.mark.parametrize(("text", "clean"), [
    ("curl -u bob:correcthorse x", "curl -u bob:[REDACTED:login-password] x"),
    ("Pwd=correcthorse;Database=shop", "Pwd=[REDACTED:assigned-secret];Database=shop"),
    ("Cookie: a=b; sid=a1b2c3d4; c=d", "Cookie: a=b; sid=[REDACTED:cookie]; c=d"),
    ("x --token a1b2c3d4, then", "x --token [REDACTED:option-secret], then"),
])  # fmt: skip
def test_what_surrounds_stays_readable(text: str, clean: str) -> None:
    assert redact(text)[0] == clean


def test_the_words_of_a_phrase_are_those_of_bip_39() -> None:
    text = "".join(f"{word}\n" for word in sorted(_load_bip39_words()))
    assert (
        hashlib.sha256(text.encode()).hexdigest()
        == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"
    )


def test_the_words_are_loaded_only_where_twelve_short_ones_stand_in_a_row() -> None:
    code = f"""
from cortex.core.redact.secrets import _load_bip39_words, redact
redact("We keep the notes of a team in a folder, and each of them is as long as it has to be. " * 20)
assert not _load_bip39_words.known
redact({PHRASE!r})
assert _load_bip39_words.known
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("kind", "hints", "source"), TOKEN_PATTERNS)
def test_a_token_is_one_long_word(kind: str, hints: tuple[str, ...], source: str) -> None:
    assert _parser.parse(source).getwidth()[0] >= MIN_TOKEN_CHARS
    assert not any(
        blank.isspace()
        for token in (text for name, text, _ in VENDORS if name == kind)
        for match in re.finditer(source, token)
        for blank in match[0]
    )
