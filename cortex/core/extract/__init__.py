"""Text to candidates for records, layer by layer; to what it names, and what it claims."""
