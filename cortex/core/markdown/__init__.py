"""The structure of markdown: blocks, links, tags, tasks, snippets."""
