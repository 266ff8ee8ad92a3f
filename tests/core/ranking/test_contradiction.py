"""Which two statements are opposites: right or silent. The pairs were written before the rule."""

from __future__ import annotations

import pytest

from cortex.core.ranking.contradiction import contradicts, denies, says_same

OPPOSITES = [
    ("I prefer tabs over spaces", "I prefer spaces over tabs"),
    ("Prefer spaces to tabs", "I prefer tabs to spaces."),
    ("Always squash", "Never squash"),
    ("Prices are cached in Redis", "Prices are not cached in Redis"),
    ("Sessions expire after 30 minutes", "Sessions expire after 8 hours, not after 30 minutes"),
    ("Deploy with Heroku", "From now on deploy with Fly.io, not Heroku"),
    ("Always squash commits before merging", "Never squash commits before merging"),
    ("Use pnpm", "Don't use pnpm"),
    ("Use emojis in commit messages", "Don't use emojis in commit messages"),
    ("We use Redis for sessions", "We no longer use Redis for sessions"),
    ("Use RS256, never HS256", "Use HS256, never RS256"),
    ("Prefer composition over inheritance", "Prefer inheritance over composition"),
    ("Use merge commits instead of rebase", "Use rebase instead of merge commits"),
    ("Always write tests first", "Do not write tests first"),
    ("Avoid early returns", "Prefer early returns"),
    ("Use early returns", "Avoid early returns because they hide the flow"),
    ("Please never use sleep in tests", "Use sleep in tests"),
    ("Never amend commits", "Always amend commits"),
    ("Skip the changelog for docs", "Never skip the changelog for docs"),
    ("Preference: I like semicolons in TypeScript", "I don't like semicolons in TypeScript"),
    ("I want type hints everywhere", "I don't want type hints"),
    ("In Python, use single quotes", "Do not use single quotes in Python"),
    ("Use British English rather than American English", "Use American English rather than British English"),
    ("Prefer rebase over merge", "Never use rebase"),
    ("Decision: we should use feature flags", "We should not use feature flags"),
    ("Never mock the database", "Mock the database"),
    ("No mocks", "Use mocks"),
    ("User prefers: always answer in German", "never answer in German, use English"),
    ("I hate coffee", "I love coffee"),
    ("Don't use ORMs", "Use an ORM (SQLAlchemy)"),
    ("You should always run the linter", "You shouldn't run the linter"),
]  # fmt: skip
NO_OPPOSITES = [
    ("Tests run in CI", "Tests that need Docker do not run in CI"),
    ("Use pnpm", "Use npm, not yarn"),
    ("I prefer tabs over spaces", "I prefer tabs over spaces, since they adapt"),
    ("I prefer tabs over spaces", "I prefer spaces over tabs in YAML"),
    ("Use Redis over Postgres for queues", "Use Postgres over Redis for orders"),
    ("Always squash", "Never squash merges into main"),
    ("Never commit secrets", "Always commit"),
    ("Use pnpm", "Don't use npm"),
    ("Don't use emojis in commit messages", "Use emojis in the docs"),
    ("Use Python 3.11", "Don't use Python 3.12"),
    ("Never use sleep in tests", "Never use sleep in code"),
    ("Should we use tabs?", "Don't use tabs"),
    ("Redis", "Don't use Redis"),
    ("Redis is not reachable from the runner", "Redis is reachable from the laptop"),
    ("Never delete records without asking", "Delete records after asking"),
    ("Never push without tests", "Push with tests"),
    ("Prefer small commits", "Avoid large commits"),
    ("Use feature flags for checkout", "Avoid feature flags for search"),
    ("Do not edit events by hand", "Edit the config by hand"),
    ("Not every test needs a database", "Every test needs a fixture"),
    ("Never call flock on NFS", "Always call flock before writing"),
    ("Use tabs unless the file has spaces", "Don't use tabs"),
    ("Don't never use goto", "Use goto"),
    ("The cache is not invalidated on deploy", "Invalidate the cache on deploy"),
    ("Ana prefers tabs over spaces", "Ben prefers spaces over tabs"),
    ("We decided against Kafka for the queue", "Kafka for the queue"),
    ("Use SQLite, not Postgres", "Use SQLite"),
    ("No mocks", "Use real parts"),
    ("No pending questions", "Pending questions: the cache"),
    ("No race condition", "This is a race condition"),
    ("", "Never"),
    ("I love coffee", "I hate tea"),
    ("I love coffee in the morning", "I hate coffee"),
    ("User prefers: always answer in German", "never answer in English, use German"),
    ("Use tabs (in Makefiles)", "Do not use tabs (in YAML)"),
    ("Always", "Never"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposites_are_pointed_out_either_way(one, other):
    assert contradicts(one, other)
    assert contradicts(other, one)


@pytest.mark.parametrize(("statement", "quote", "is_denied"), [
    ("We want a cron job for cart expiry", "we don't want a cron job", True),
    ("The cart never expires in cart.py", "carts expire lazily on read in cart.py", True),
    ("Carts are kept for a day and not for a week.", "keep carts for one day only, not for a week", False),
    ("Use Postgres for the shop's data, not SQLite", "let's use Postgres for the shop's data", False),
    ("Run the linter before each commit", "don't forget to run the linter", False),
])  # fmt: skip
def test_a_statement_may_deny_its_quote(statement, quote, is_denied):
    assert denies(statement, quote) is is_denied


@pytest.mark.parametrize(("one", "other"), NO_OPPOSITES)
def test_of_other_statements_nothing_is_said(one, other):
    assert not contradicts(one, other)
    assert not contradicts(other, one)


def test_one_choice_in_other_words_is_the_same() -> None:
    assert says_same("Use pnpm instead of npm", "We prefer pnpm over npm")
    assert not says_same("Use pnpm instead of npm", "Use npm instead of pnpm")
    assert not says_same("Use pnpm", "We prefer pnpm over npm")
    assert not says_same("Why pnpm?", "Why pnpm?")
