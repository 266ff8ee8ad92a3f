"""Full-text engines: one package each; only there may its library be imported."""
