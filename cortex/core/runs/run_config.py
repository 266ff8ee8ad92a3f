"""All that one run of an agent is given; as JSON it is the line that an ndjson program reads."""

from __future__ import annotations

from cortex.core.text.value import NamedTuple

TOOLS = (READ_TOOLS, NO_TOOLS) = ("read", "none")
TIERS = ("pro", "flash", "lite")
NO_INPUT, DISABLED, NOT_TRUSTED = "no_input", "disabled", "not_trusted"


class RunConfig(NamedTuple):
    """A request with what the agent's note, the vault and the user's settings add to it."""

    agent_id: str  # id of the run; empty until it has one
    name: str  # of the agent
    provider: str
    model: str
    tier: str  # empty where the request names a model
    system_instruction: str  # agents/journal.md, the same for every agent
    extra_context: str  # facets, generators, date and time, records, input, previous output
    user_instruction: str  # the body of the agent's note
    prompt: str  # of the request
    tools: str  # read or none
    output: str  # md, json or nothing
    output_path: str  # vault-relative; empty where there is no output
    max_output_tokens: int  # 0: not said
    thinking_budget: int  # 0: not said
    session_id: str
    chat_id: str
    facet: str
    day: str  # YYYYMMDD
    segment: str  # HHMMSS_seconds
    span: tuple[str, ...]  # segments
    timeout: float  # seconds for all of it
    idle: float  # seconds without an event
    max_cost_usd: float | None  # None: no limit
    env: dict[str, str]  # set for the process, beside what it is given of the user's environment
    skipped: str = ""  # no_input, disabled, not_trusted: nothing is started
