"""Three-way merges of notes: pure functions of base, ours and theirs."""
