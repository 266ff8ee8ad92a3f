"""One function per verb, the only API of all interfaces.

A verb's positional parameters are its arguments, its keyword-only parameters its options; `vault`
and `caller` are supplied. The docstring says `name: meaning` of each, and `Example: …`.
"""

# verb -> (module below cortex, function)
VERBS: dict[str, tuple[str, str]] = {
    "init": ("operations.care.init", "init"),
    "capture": ("operations.records.capture", "capture"),
    "save": ("operations.records.save", "save"),
    "topic": ("operations.find.entities", "topic"),
    "search": ("operations.find.search", "search"),
    "recall": ("operations.find.recall", "recall"),
    "remind": ("operations.find.remind", "remind"),
    "timeline": ("operations.find.timeline", "timeline"),
    "calendar": ("operations.care.calendar", "calendar"),
    "changes": ("operations.find.changes", "changes"),
    "show": ("operations.find.show", "show"),
    "open": ("operations.find.open", "open"),
    "edit": ("operations.find.open", "edit"),
    "brief": ("operations.sessions.brief", "brief"),
    "context": ("operations.sessions.context", "context"),
    "session": ("operations.sessions.session", "session"),
    "transcript": ("operations.sessions.transcript", "transcript"),
    "origin": ("operations.sessions.origin", "origin"),
    "reflect": ("operations.sessions.reflect", "reflect"),
    "actions": ("operations.find.actions", "actions"),
    "meetings": ("operations.find.actions", "meetings"),
    "plan": ("operations.find.actions", "plan"),
    "new": ("operations.records.new", "new"),
    "mv": ("operations.records.mv", "mv"),
    "import": ("operations.exchange.import_", "import_"),
    "index-code": ("operations.records.index_code", "index_code"),
    "export": ("operations.exchange.export", "export"),
    "normalize": ("operations.upkeep.normalize", "normalize"),
    "retry": ("operations.records.restore", "retry"),
    "extract": ("operations.distill.extract", "extract"),
    "distill": ("operations.distill.distill", "distill"),
    "heal": ("operations.upkeep.heal", "heal"),
    "sync": ("operations.share.sync", "sync"),
    "watch": ("watcher.watch", "watch"),
    "history": ("operations.find.history", "history"),
    "merge": ("operations.share.git", "merge"),
    "git": ("operations.share.git", "git"),
    "hooks": ("operations.care.hooks", "hooks"),
    "relate": ("operations.records.relate", "relate"),
    "graph": ("operations.find.graph", "graph"),
    "backlinks": ("operations.find.graph", "backlinks"),
    "entities": ("operations.find.entities", "entities"),
    "lifecycle": ("operations.records.lifecycle", "lifecycle"),
    "prune": ("operations.records.lifecycle", "prune"),
    "revise": ("operations.records.revise", "revise"),
    "done": ("operations.records.revise", "done"),
    "pin": ("operations.records.revise", "pin"),
    "supersede": ("operations.records.supersede", "supersede"),
    "archive": ("operations.records.archive", "archive"),
    "delete": ("operations.records.archive", "delete"),
    "erase": ("operations.share.erase", "erase"),
    "restore": ("operations.records.restore", "restore"),
    "consolidate": ("operations.records.consolidate", "consolidate"),
    "status": ("operations.care.status", "status"),
    "review": ("operations.care.review", "review"),
    "doctor": ("operations.care.doctor", "doctor"),
    "upgrade": ("operations.care.upgrade", "upgrade"),
    "reset": ("operations.care.upgrade", "reset"),
    "promote": ("operations.projects.promote", "promote"),
    "project": ("operations.projects.project", "project"),
    "agents": ("operations.runs.agents", "agents"),
    "trust": ("operations.runs.agents", "trust"),
    "run": ("operations.runs.run", "run"),
    "costs": ("operations.runs.costs", "costs"),
    "tick": ("operations.runs.tick", "tick"),
    "completion": ("interfaces.cli.completion", "completion"),
    "schema": ("interfaces.schema", "schema"),
    "mcp": ("interfaces.mcp.mcp", "mcp"),
    "serve": ("interfaces.http.serve", "serve"),
    "web": ("interfaces.http.serve", "web"),
    "tui": ("interfaces.tui.tui", "tui"),
    "rebuild": ("operations.care.embed", "rebuild"),
    "embed": ("operations.care.embed", "embed"),
}
# Words of earlier memories, of other programs and of verbs that became options: the verb that each
# means, and what is put before the words that are given.
ALIASES: dict[str, tuple[str, ...]] = {
    "add": ("capture",),
    "backfill": ("embed",),
    "find": ("search",),
    "forget": ("archive", "--words"),
    "inspect": ("show",),
    "list": ("search",),
    "log": ("history",),
    "ls": ("search",),
    "mcp-server": ("mcp",),
    "minutes": ("meetings",),
    "passive": ("save", "--learnings"),
    "pull": ("sync", "--no-push"),
    "push": ("sync",),
    "remember": ("save",),
    "rename": ("mv",),
    "rm": ("delete",),
    "score": ("show", "--why"),
    "stats": ("status",),
    "tags": ("entities", "--kind", "tag"),
    "tasks": ("actions",),
    "todo": ("actions",),
    "unpin": ("pin", "--remove"),
    "unrelate": ("relate", "--remove"),
    "update": ("revise",),
    "view": ("show",),
}
# What was an option of a verb and is a verb of its own.
MOVED_OPTIONS = {("brief", "--context"): "context"}
# The aliases that stay commands: for any other, standard error says which command runs.
OFFICIAL_ALIASES = ("backfill", "mcp-server", "tags", "update")
# What a verb does without the parameters that reach beside the vault (`core/model/parameters.py:Touches`):
# it changes no note; it may remove one; it may ask another machine. The others write what can be taken back.
READING_VERBS = frozenset({
    "actions", "backlinks", "brief", "calendar", "changes", "context", "costs", "doctor", "entities", "graph", "history", "meetings", "origin", "plan",
    "recall", "remind", "review", "schema", "search", "show", "status", "timeline", "topic", "transcript",
})  # fmt: skip
DESTRUCTIVE_VERBS = frozenset({"delete", "erase", "reset"})
OPEN_VERBS = frozenset({"distill", "embed", "run", "sync"})
# Verbs before which a fresh clone is not given its merge drivers: they look at the repository, or
# change its drivers themselves.
VERBS_WITHOUT_SETUP = ("doctor", "git", "history")
# What earlier memories had an agent's host call: events of `cortex hook`.
HOOK_ALIASES = ("stop", "precompact", "pre-compact", "session-start", "user-prompt-submit")
