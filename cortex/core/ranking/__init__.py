"""Which notes matter: importance, lifecycle, similarity, relevance; queries as values."""
