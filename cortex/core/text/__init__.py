"""Functions on plain text: slugs, words, tokens, times, JSON, TOML, shell words, escapes."""
