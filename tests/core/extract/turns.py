"""Turns for the tests of extraction."""

from __future__ import annotations

from cortex.core.model.turn_summary import AGENT, USER, Utterance

FINDING = (
    "The nightly export skips customers without an address: `join_address()` uses an inner join, so "
    "they are silently lost, and `count_rows` only counts what is left. The old report never showed "
    "it, because it read `customers` directly instead of the view."
)


def user(text: str) -> Utterance:
    return Utterance(USER, text)


def agent(text: str) -> Utterance:
    return Utterance(AGENT, text)


def answer(about: str, text: str) -> Utterance:
    return Utterance(USER, text, about)
