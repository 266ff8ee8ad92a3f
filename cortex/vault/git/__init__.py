"""Everything that runs git or reads a repository."""
