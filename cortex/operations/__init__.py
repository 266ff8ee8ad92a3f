"""One function per verb: the only API. Every interface reads this table and the function's own declaration.

A verb's positional parameters are its arguments, its keyword-only parameters its options; `vault` and `caller` are
supplied. What each means stands in the docstring as `name: meaning`, examples as `Example: …`.
"""

# verb -> (module below cortex, function)
VERBS: dict[str, tuple[str, str]] = {
    "init": ("operations.init", "init"),
    "capture": ("operations.capture", "capture"),
    "search": ("operations.search", "search"),
    "show": ("operations.show", "show"),
    "new": ("operations.new", "new"),
    "normalize": ("operations.inbox", "normalize"),
    "retry": ("operations.inbox", "retry"),
    "heal": ("operations.heal", "heal"),
    "sync": ("operations.sync", "sync"),
    "watch": ("watcher.watch", "watch"),
    "history": ("operations.history", "history"),
    "merge": ("operations.merge", "merge"),
    "git": ("operations.git", "git"),
    "status": ("operations.status", "status"),
    "doctor": ("operations.doctor", "doctor"),
    "rebuild": ("operations.rebuild", "rebuild"),
}
