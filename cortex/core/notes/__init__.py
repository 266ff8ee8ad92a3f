"""A note as bytes and as fields: read its frontmatter, edit lines of it, write it back."""
