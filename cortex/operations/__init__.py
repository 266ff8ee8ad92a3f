"""One function per verb: the only API. Every interface reads this table and the function's own declaration.

A verb's positional parameters are its arguments, its keyword-only parameters its options; `vault` and `caller` are
supplied. What each means stands in the docstring as `name: meaning`, examples as `Example: …`.
"""

# verb -> (module below cortex.operations, function)
VERBS: dict[str, tuple[str, str]] = {
    "init": ("init", "init"),
    "capture": ("capture", "capture"),
    "search": ("search", "search"),
    "show": ("show", "show"),
    "new": ("new", "new"),
    "normalize": ("inbox", "normalize"),
    "retry": ("inbox", "retry"),
    "status": ("status", "status"),
    "doctor": ("doctor", "doctor"),
    "rebuild": ("rebuild", "rebuild"),
}
