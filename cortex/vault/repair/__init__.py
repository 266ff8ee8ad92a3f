"""A damaged repository: what is damaged, and how to repair it without losing a note."""
