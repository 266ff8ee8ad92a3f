"""How many tokens a text takes in a model's context, counted without a tokenizer and rather too high than too low."""

from __future__ import annotations

import re

# Letters, digits, blanks, what is outside ASCII, any other sign. One pass, nothing to go back to.
_RUN_RE = re.compile(r"([A-Za-z]+)|([0-9]+)|([ \t]+)|([^\x00-\x7f]+)|[\x00-\x7f]")


def count_tokens(text: str) -> int:
    """At most how many tokens `text` is, for prose, names and paths.

    The vendors' rules of thumb are 4 characters a token (OpenAI, Google) and 3.5 (Anthropic), blanks included: about 1.3 to
    1.5 tokens for a word of English. Here each run of letters takes one token for every 4 or part of them, so a word of
    English takes 1.5 before its punctuation is counted, and blanks between words, which tokenizers join to the word behind
    them, take none. Tokenizers of the last years take digits up to three at a time; here two. Any other sign of ASCII is one,
    and so is a line end, though tokenizers often join them. Outside ASCII a byte-level tokenizer never makes more tokens than
    there are bytes in UTF-8 (2 to 4 for a character), and common CJK takes 1 to 2: here 2, beyond the basic plane 3. Only long
    words at random, such as a hash without digits, take more than this says; the signs around them make up for it.
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
            total += (length + 2) // 4  # the first blank belongs to the word behind it
        elif kind == 4:
            total += 2 * length + sum(sign > "\uffff" for sign in run[0])
        else:
            total += 1
    return total
