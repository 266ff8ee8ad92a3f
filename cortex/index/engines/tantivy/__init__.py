"""The engine of the extra `fast`: tantivy finds candidates, which are scored as with Whoosh."""
