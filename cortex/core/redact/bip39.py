"""The 2,048 English words of BIP-39, in which wallets write down their keys.

Source: english.txt of https://github.com/bitcoin/bips/tree/master/bip-0039 (MIT), by Marek
Palatinus, Pavol Rusnak, Aaron Voisine and Sean Bowe; sha256 of the file, one word a line:
2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda. `redact` imports this module only
for a text with twelve short words in a row.
"""

from __future__ import annotations

from pkgutil import get_data

BIP39_WORDS = frozenset((get_data(__package__, "bip39.txt") or b"").decode().split())
