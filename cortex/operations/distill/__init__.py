"""Sessions as a model tells them: asked for by a person, believed only with evidence."""
