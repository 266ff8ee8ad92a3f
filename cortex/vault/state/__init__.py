"""Private files of this user about a vault: session state, spool, logs, caches."""
