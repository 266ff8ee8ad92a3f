"""Estimate how many tokens a text takes in a model's context, rather too high than too low."""

from __future__ import annotations

import re

# Letters, digits, blanks, non-ASCII, any other character. No backtracking.
_RUN_RE = re.compile(r"([A-Za-z]+)|([0-9]+)|([ \t]+)|([^\x00-\x7f]+)|[\x00-\x7f]")


def count_tokens(text: str) -> int:
    """An upper bound on the tokens of prose, names and paths.

    The vendors' rules of thumb are 4 characters a token (OpenAI, Google) and 3.5 (Anthropic),
    blanks included: 1.3 to 1.5 tokens for an English word. Here a token is 4 letters or part of
    them (1.5 for an English word), 2 digits (recent tokenizers join up to 3), or any other ASCII
    character, line ends included; a blank between words is none, since tokenizers join it to the
    next word. Outside ASCII a byte-level tokenizer makes at most as many tokens as UTF-8 has bytes
    (2 to 4 a character), and 1 to 2 for common CJK: here 2, beyond the basic plane 3. Only long
    random words, such as a hash without digits, take more.
    """
    total = 0
    for run in _RUN_RE.finditer(text):
        length = run.end() - run.start()
        kind = run.lastindex
        if kind == 1:
            total += (length + 3) // 4
        elif kind == 2:
            total += (length + 1) // 2
        elif kind == 3:
            total += (length + 2) // 4  # the first blank belongs to the next word
        elif kind == 4:
            total += 2 * length + sum(sign > "\uffff" for sign in run[0])
        else:
            total += 1
    return total
