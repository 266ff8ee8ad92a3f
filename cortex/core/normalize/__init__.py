"""From events to changes of records: deterministic, without effects."""
