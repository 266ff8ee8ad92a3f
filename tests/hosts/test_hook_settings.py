"""Putting our entries into any settings and taking them out again leaves every byte as it was."""

from __future__ import annotations

import json
import shlex

import pytest
from hypothesis import given, strategies as st

from cortex.core.model.problem import InvalidInputError
from cortex.hosts import hook_settings, jsonc, settings_file
from cortex.hosts.hook_command import build_shared_line
from cortex.hosts.hook_settings import HOSTS, wanted_entries

CLAUDE, CURSOR = HOSTS["claude"], HOSTS["cursor"]
OURS = wanted_entries(CLAUDE, "/usr/bin/python3")

SETTINGS = {
    "absent": "",
    "blank": " \n",
    "byte order mark": "\ufeff",
    "only a comment": "// mine\n",
    "empty": "{}",
    "empty, a blank inside": "{ }",
    "empty, over two lines": "{\n}\n",
    "empty, with a comment": "{ // nothing yet\n}",
    "no hooks": '{\n  "model": "opus"\n}\n',
    "empty hooks": '{"hooks": {}}',
    "empty hooks over lines": '{\n  "hooks": {},\n  "model": "opus"\n}\n',
    "an empty list": '{\n  "hooks": {\n    "Stop": []\n  }\n}\n',
    "foreign, no matcher": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": [{"type": "command", "command": "say done"}]}\n    ]\n  }\n}\n',
    "foreign, with a matcher": '{"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "date"}]}]}, "a": 1}',
    "comments everywhere": '// a\n{ // b\n  "hooks": { // c\n    /* d */ "Stop": [ // e\n      {"hooks": []} // f\n      // g\n    ] // h\n    // i\n  } // j\n} // k',
    "trailing commas": '{\n  "env": {"A": "1",},\n  "hooks": {\n    "Stop": [{"hooks": [],},],\n  },\n}\n',
    "a trailing comma and a remark": '{\n  "a": 1, // one\n}\n',
    "tabs, no end of line": '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"Stop": []\n\t}\n}',
    "carriage returns": '{\r\n  "model": "opus" // old\r\n}\r\n',
    "minified": '{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "unicode": '\ufeff{"name": "Zoë \\u00e9 \U0001f40d", "hooks": {"Stop": [{"hooks": []}]}}\n',
    "a name twice": '{"hooks": {"Stop": []}, "hooks": {"Stop": [], "Stop": []}}',
    "brackets in strings": '{\n  "a": "}{][ // no comment, \\" no end",\n  "hooks": {}\n}\n',
    "all on few lines": '{"a": 1,\n "b": [1,\n 2]}',
}  # fmt: skip


@pytest.mark.parametrize("host", [CLAUDE, CURSOR], ids=["claude", "cursor"])
@pytest.mark.parametrize("name", SETTINGS)
def test_what_was_put_in_is_taken_out_again(name, host) -> None:
    text = SETTINGS[name]
    done = hook_settings.install_hooks(
        text, wanted_entries(host, "/usr/bin/python3"), host.required_fields
    )
    said = jsonc.to_python(jsonc.parse(done.text))
    assert [said["hooks"][on.name][-1] for on in host.events] == [
        want.entry for want in wanted_entries(host, "/usr/bin/python3")
    ]
    assert settings_file.remove_spans(done.text, done.inserted_spans) == text
    before = jsonc.to_python(root) if (root := jsonc.parse(text)) else {}
    assert {key: said[key] for key in before if key != "hooks"} == {
        key: before[key] for key in before if key != "hooks"
    }
    again = hook_settings.install_hooks(
        done.text,
        wanted_entries(host, "/usr/bin/python3"),
        host.required_fields,
        done.inserted_spans,
    )
    assert again.text == done.text
    assert not again.changed_events


def test_lines_end_as_they_do_in_the_file() -> None:
    assert "\n" not in hook_settings.install_hooks(SETTINGS["carriage returns"], OURS).text.replace(
        "\r\n", ""
    )


@pytest.mark.parametrize(("text", "index", "wanted"), [
    ("[1, // one\n 2]", 1, "[1 // one\n ]"),
    ("[1, // one\n 2\n]", 1, "[1 // one\n]"),
    ("[1, // one\n 2, 3]", 1, "[1, // one\n  3]"),
    ("[1, /* one */ 2]", 1, "[1 /* one */]"),
    ("[1, 2]", 0, "[2]"),
    ("[\n  1,\n  2\n]", 0, "[\n  2\n]"),
    ("[1, 2,]", 1, "[1,]"),
    ("[ 1 ]", 0, "[]"),
    ("[ // one\n 1 ]", 0, "[ // one\n  ]"),
])  # fmt: skip
def test_what_is_taken_out_of_a_list_leaves_a_list(text, index, wanted) -> None:
    node = jsonc.parse(text)
    left = jsonc.remove_entry(text, node, index)
    assert left == wanted
    values = jsonc.to_python(node)
    assert jsonc.to_python(jsonc.parse(left)) == values[:index] + values[index + 1 :]


@pytest.mark.parametrize("name", SETTINGS)
def test_a_newer_interpreter_takes_the_place_of_the_older(name) -> None:
    old = hook_settings.install_hooks(SETTINGS[name], OURS)
    new = hook_settings.install_hooks(
        old.text, wanted_entries(CLAUDE, "/opt/new python/bin/python3"), (), old.inserted_spans
    )
    assert new.text == old.text.replace("/usr/bin/python3", "/opt/new python/bin/python3")
    assert settings_file.remove_spans(new.text, new.inserted_spans) == SETTINGS[name]


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in SETTINGS
        if "empty" not in name and jsonc.parse(SETTINGS[name]) and "twice" not in name
    ],
)
def test_without_knowing_what_was_put_in_it_goes_all_the_same(name) -> None:
    """As on another clone of shared settings: by what they say alone, whole but for lists that were empty."""
    text = SETTINGS[name]
    done = hook_settings.install_hooks(text, OURS)
    bare = hook_settings.remove_hooks(done.text, done.created_keys)
    assert not hook_settings.find_hooks(jsonc.parse(bare))
    assert bare == text or "[]" in text
    assert jsonc.to_python(jsonc.parse(bare)) == jsonc.to_python(jsonc.parse(text))


scalars = st.one_of(
    st.integers(-99, 99),
    st.booleans(),
    st.none(),
    st.text(max_size=6),
    st.sampled_from(["// no", "/* no */", "{", ",]", "\\"]),
)
events = st.sampled_from(["Stop", "SessionStart", "SessionEnd", "PreToolUse", "hooks"])
handlers = st.fixed_dictionaries(
    {
        "type": st.just("command"),
        "command": st.sampled_from(["date", "say done", "cortex status", "x // y"]),
    }
)
groups = st.fixed_dictionaries(
    {"hooks": st.lists(handlers, max_size=2)},
    optional={"matcher": st.sampled_from(["", "*", "startup"])},
)
hooks = st.dictionaries(events, st.lists(groups, max_size=3), max_size=3)
others = st.dictionaries(
    st.sampled_from(["env", "model", "permissions", "a b"]),
    st.one_of(scalars, st.lists(scalars, max_size=2)),
    max_size=3,
)
gaps = st.lists(
    st.sampled_from(
        ["", " ", "\n", "\n\n  ", "\t", "\r\n", "/* c, { */", "// d }\n", '// " e\r\n']
    ),
    min_size=1,
    max_size=3,
).map("".join)


@st.composite
def texts(draw) -> str:
    """Settings written in any way that a person might."""
    value = dict(draw(others))
    if draw(st.booleans()):
        value["hooks"] = draw(hooks)
    keys = draw(st.permutations(list(value)))

    def written(one: object) -> str:
        if isinstance(one, dict):
            return (
                "{"
                + listed(
                    [
                        f"{json.dumps(key)}{draw(gaps)}:{draw(gaps)}{written(item)}"
                        for key, item in one.items()
                    ]
                )
                + "}"
            )
        if isinstance(one, list):
            return "[" + listed([written(item) for item in one]) + "]"
        return json.dumps(one, ensure_ascii=draw(st.booleans()))

    def listed(items: list[str]) -> str:
        comma = "," if items and draw(st.booleans()) else ""
        return (
            draw(gaps)
            + f"{draw(gaps)},{draw(gaps)}".join(items)
            + draw(gaps)
            + comma
            + (draw(gaps) if comma else "")
        )

    return draw(gaps) + written({key: value[key] for key in keys}) + draw(gaps)


@given(texts(), st.sampled_from(list(HOSTS.values())), st.booleans())
def test_whatever_the_settings_are_they_come_back(text, host, newer) -> None:
    done = hook_settings.install_hooks(
        text, wanted_entries(host, "/usr/bin/python3"), host.required_fields
    )
    made = done.created_keys
    if newer:
        done = hook_settings.install_hooks(
            done.text,
            wanted_entries(host, "/usr/bin/python3", shared=True),
            host.required_fields,
            done.inserted_spans,
        )
    assert settings_file.remove_spans(done.text, done.inserted_spans) == text
    bare = hook_settings.remove_hooks(done.text, made)
    assert not hook_settings.find_hooks(jsonc.parse(bare))
    top = {key for key, _ in host.required_fields}
    before, after = jsonc.to_python(jsonc.parse(text)), jsonc.to_python(jsonc.parse(bare))
    assert {key: after[key] for key in after if key not in top} == before


@given(
    texts(),
    st.integers(0, 400),
    st.sampled_from(["{", "}", "[", "]", ",", '"', ":", "\\", "x", "//", "/*", "\0"]),
)
def test_a_broken_text_is_refused_by_line_and_column(text, at, mark) -> None:
    broken = text[: at % (len(text) + 1)] + mark + text[at % (len(text) + 1) :]
    try:
        root = jsonc.parse(broken)
    except InvalidInputError as error:
        assert error.message.startswith("line ")
    else:
        assert root is None or root.end <= len(broken)


@pytest.mark.parametrize(("text", "said"), [
    ('{"a": 1', "line 1, column 8: a comma or } should stand here"),
    ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or } should stand here"),
    ("{'a': 1}", "line 1, column 2: a name in quotes should stand here"),
    ('{"a": tru}', "line 1, column 7: no value begins here"),
    ('{"a": 007}', "line 1, column 7: no value begins here"),
    ("9" * 5000, "line 1, column 1: no value begins here"),
    ('{"a": "b\n"}', "line 1, column 7: this string does not end on its line"),
    ('{"a": "\\x"}', "line 1, column 7: this string has a backslash that means nothing"),
    ("{} {}", "line 1, column 4: something follows the end"),
    ("[" * 200, "line 1, column 101: is nested more than 100 deep"),
    ("\xff\xfe{", "line 1, column 1: no value begins here"),
])  # fmt: skip
def test_what_is_wrong_is_named(text, said) -> None:
    with pytest.raises(InvalidInputError, match="line") as error:
        jsonc.parse(text)
    assert error.value.message == said


@pytest.mark.parametrize(
    "text", ["[]", "1", '{"hooks": []}', '{"hooks": null}', '{"hooks": {"Stop": {}}}']
)
def test_settings_without_room_for_hooks_are_left_alone(text) -> None:
    with pytest.raises(InvalidInputError):
        hook_settings.install_hooks(text, OURS)


def test_a_command_of_theirs_in_our_group_stays() -> None:
    text = hook_settings.install_hooks("{}", OURS).text
    stop = text.index('"Stop"')
    end = text.index("\n        ]", stop)  # of the list in our group
    edited = f'{text[:end]},\n          {{"type": "command", "command": "mine"}}{text[end:]}'
    newer = hook_settings.install_hooks(edited, wanted_entries(CLAUDE, "/new/python")).text
    assert newer == edited.replace("/usr/bin/python3", "/new/python")
    assert jsonc.to_python(jsonc.parse(hook_settings.remove_hooks(newer, None))) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


RUN = "/usr/bin/python3 -I -S /opt/cortex/interfaces/hook/main.py stop --host claude"
OLD = "command -v cortex >/dev/null 2>&1 || exit 0; exec cortex hook stop --host claude"
NEW = build_shared_line(shlex.split(RUN), "")


@pytest.mark.parametrize(("handler", "whose"), [
    ({"command": RUN}, "ours"),
    ({"command": "/usr/bin/python3", "args": RUN.split()[1:]}, "ours"),
    ({"command": "'/a b/py' -E '/x;y/cortex/interfaces/hook/main.py' stop --host claude"}, "ours"),
    ({"bash": RUN}, "ours"),
    ({"command": OLD}, "ours"),
    ({"command": OLD.replace("exit 0", "{ echo '{}'; exit 0; }")}, "ours"),
    ({"command": NEW}, "ours"),
    ({"command": build_shared_line(["/it's a \n py", "-I", "-S", "/o n/cortex/interfaces/hook/main.py", "stop", "--host", "claude"], "{}")}, "ours"),
    ({"command": "cortex hook stop --host claude"}, "ours"),
    ({"command": "cortex", "args": ["hook", "stop", "--host", "claude"]}, "ours"),
    ({"command": "my-wrapper cortex hook stop && notify"}, "theirs"),
    ({"command": "echo done >> log # runs after cortex hook stop --host claude"}, "theirs"),
    ({"command": "cortex hook stop --host claude && notify"}, "theirs"),
    ({"command": "cortex hook stop --host claude\nnotify"}, "theirs"),
    ({"command": "my-wrapper cortex hook stop --host claude"}, "theirs"),
    ({"command": f"{RUN} | tee log"}, "theirs"),
    ({"command": f"{RUN}; notify"}, "theirs"),
    ({"command": f"nice {RUN}"}, "theirs"),
    ({"command": f"{OLD}; notify"}, "theirs"),
    ({"command": f"notify; {OLD}"}, "theirs"),
    ({"command": f"{NEW}; notify"}, "theirs"),
    ({"command": f"notify; {NEW}"}, "theirs"),
    ({"command": NEW.replace("if [ -x /usr", "if [ -x /opt")}, "theirs"),
    ({"command": "sh", "args": "-c notify /opt/cortex/interfaces/hook/main.py stop --host claude".split()}, "theirs"),
    ({"command": "python", "args": "/opt/cortex/interfaces/hook/main.py stop --host claude --and-more".split()}, "theirs"),
    ({"command": "notify", "args": ["cortex hook stop --host claude"]}, "theirs"),
    ({"bash": RUN, "powershell": "notify"}, "theirs"),
    ({"bash": "notify", "powershell": RUN}, "theirs"),
    ({"command": ["cortex hook stop --host claude"]}, "theirs"),
    ({"command": "cortex", "args": ["hook", 1, "--host", "claude"]}, "theirs"),
])  # fmt: skip
def test_ours_is_what_we_write_and_nothing_that_mentions_it(handler, whose) -> None:
    """A removal takes ours, and an install puts ours beside what is theirs."""
    host = HOSTS["copilot"] if "bash" in handler else CLAUDE
    name = "agentStop" if "bash" in handler else "Stop"
    entry = handler if "bash" in handler else {"hooks": [handler]}
    text = json.dumps({"hooks": {name: [entry]}})
    left = jsonc.to_python(jsonc.parse(hook_settings.remove_hooks(text, None)))
    wired = jsonc.to_python(
        jsonc.parse(
            hook_settings.install_hooks(text, wanted_entries(host, "/usr/bin/python3")).text
        )
    )["hooks"][name]
    want = next(
        want.entry for want in wanted_entries(host, "/usr/bin/python3") if want.event == name
    )
    assert (left, wired) == (({}, [want]) if whose == "ours" else (json.loads(text), [entry, want]))


@pytest.mark.parametrize(
    "part",
    ["if [ -x ", " ] && [ -f ", "; then exec ", "; fi; ", "; exec ", "cortex hook ", "cortex/interfaces/hook/main.py ", "'"],
)  # fmt: skip
def test_a_long_command_of_anything_is_looked_at_at_once(part) -> None:
    hook_settings.find_hooks(
        jsonc.parse(
            json.dumps(
                {
                    "hooks": {
                        "Stop": [{"command": part * (200_000 // len(part))}]
                        + [{"command": part * 500}] * 20
                    }
                }
            )
        )
    )


def test_what_an_older_cortex_wired_is_taken_out() -> None:
    old = '{"hooks": {"WorktreeCreate": [{"hooks": [{"type": "command", "command": "cortex hook x --host claude"}]}], "Stop": []}}'
    done = hook_settings.install_hooks(old, OURS)
    assert set(jsonc.to_python(jsonc.parse(done.text))["hooks"]) == {
        "WorktreeCreate",
        *(on.name for on in CLAUDE.events),
    }
    assert jsonc.to_python(jsonc.parse(done.text))["hooks"]["WorktreeCreate"] == []


@pytest.mark.parametrize(
    "hostile",
    ["/*" * 500_000, "[" * 500_000, '"' + "\\" * 1_000_001, " " * 1_000_000, "//" + "x" * 1_000_000],
)  # fmt: skip
def test_a_megabyte_of_anything_is_read_at_once(hostile) -> None:
    try:
        jsonc.parse(hostile)
    except InvalidInputError:
        return
    assert not hostile.strip() or hostile.startswith("//")
