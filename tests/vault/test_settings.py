"""What `cortex.toml` says of hooks and of a team's own words; what is wrong there is a problem and a default."""

from __future__ import annotations

import pytest

from cortex.core.model.problem import InvalidInputError
from cortex.vault import settings, settings_text


def loaded(tmp_path, text: str):
    (tmp_path / "cortex.toml").write_text(f"format = 1\n{text}", encoding="utf-8")
    return settings.load(str(tmp_path))


def test_hooks_capture_and_of_prompts_a_short_part_unless_it_is_said(tmp_path):
    said = loaded(tmp_path, "")
    assert (said.hooks_enabled, said.prompts, said.phrases, said.problems) == (
        True,
        "short",
        (),
        (),
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [('"none"', "none"), ('"short"', "short"), ('"full"', "full"), ("true", "full"), ("false", "none")],
)  # fmt: skip
def test_a_team_says_what_is_kept_of_prompts(said, kept, tmp_path):
    read = loaded(tmp_path, f"[hooks]\nprompts = {said}\n")
    assert (read.prompts, read.problems) == (kept, ())


@pytest.mark.parametrize("said", ['"all"', "1", '["short"]', '""'])
def test_what_nobody_understands_keeps_no_prompts_and_is_named(said, tmp_path):
    read = loaded(tmp_path, f"[hooks]\nprompts = {said}\n")
    assert read.prompts == "none"
    assert "one of none, short, full" in read.problems[0].message


def test_a_project_switches_hooks_off_and_a_team_keeps_prompts(tmp_path):
    said = loaded(tmp_path, "[hooks]\nenabled = false\nprompts = true\n")
    assert (said.hooks_enabled, said.prompts, said.problems) == (False, "full", ())


@pytest.mark.parametrize(("text", "tells"), [
    ("", True),
    ("[hooks]\ncontract = true\n", True),
    ("[hooks]\ncontract = false\n", False),
    ('[hooks]\ncontract = "no"\n', False),
    ("[hooks]\ncontract = false\nbroken\n", False),
])  # fmt: skip
def test_the_contract_is_told_unless_it_is_ended(tmp_path, text, tells):
    assert loaded(tmp_path, text).tells_contract == tells


def test_a_team_has_words_of_its_own(tmp_path):
    said = loaded(
        tmp_path, '[extract]\ndecision = ["we agreed to", "ADR:"]\ngotcha = ["watch out:"]\n'
    )
    assert said.phrases == (("decision", ("we agreed to", "ADR:")), ("gotcha", ("watch out:",)))
    assert said.problems == ()


@pytest.mark.parametrize(("text", "where"), [
    ('[hooks]\nenabled = "no"\n', "[hooks] enabled"),
    (f"number = {'9' * 5000}\n", "cannot be read"),
    (f"{'a.' * 6000}a = 1\n", "too many dots"),
    ("hooks = 3\n", "[hooks] enabled"),
    ("extract = 3\n", "[extract]"),
    ('[extract]\ndecision = "we agreed to"\n', "[extract] decision"),
    ("[extract]\ndecision = [1]\n", "[extract] decision"),
    ('[extract]\n"De cision" = ["x"]\n', "[extract] De cision"),
    (f'[extract]\ndecision = ["{"x" * 61}"]\n', "[extract] decision"),
])  # fmt: skip
def test_what_is_wrong_is_named_and_the_strict_side_or_the_default_holds(tmp_path, text, where):
    said = loaded(tmp_path, text)
    assert said.hooks_enabled == ("hooks" not in text)
    assert said.phrases == ()
    assert all(where in problem.message for problem in said.problems[:1])
    assert said.problems


def test_settings_that_are_too_large_are_named_and_not_read_half(tmp_path):
    """Cut at the end of a line, they would read well and say less."""
    text = "[hooks]\nprompts = true\n" + "# a long comment\n" * 5_000
    read = loaded(tmp_path, text)
    assert "is larger than 65,536 bytes" in read.problems[0].message
    assert read.prompts == "none"
    with pytest.raises(InvalidInputError, match="larger than"):
        settings_text.read_aliases(str(tmp_path))


def test_a_vault_has_the_days_of_the_zone_that_it_names(tmp_path):
    said = loaded(tmp_path, 'timezone = "Europe/Berlin"\n')
    assert (said.zone.name, said.problems, said.refusal) == ("Europe/Berlin", (), None)
    assert said.zone.offset(1_784_000_000) == 7200
    assert loaded(tmp_path, "").zone.offset(1_784_000_000) == 0


@pytest.mark.parametrize("zone", ['"Europe/Atlantis"', '"../../etc/passwd"', "2", '["UTC"]', '"Berlin time"'])  # fmt: skip
def test_where_the_zone_is_not_known_nothing_is_written_and_days_are_those_of_utc(tmp_path, zone):
    said = loaded(tmp_path, f"timezone = {zone}\n")
    assert said.refusal in said.problems
    assert "timezone" in said.refusal.message
    assert "tzdata" in said.refusal.hint
    assert said.zone.offset(1_784_000_000) == 0
    with pytest.raises(InvalidInputError, match="timezone"):
        settings.check_writable(str(tmp_path))


def test_a_setting_that_no_one_reads_is_named_with_what_was_meant(tmp_path):
    loaded(
        tmp_path,
        'sinc = 1\n[sync]\nobsidan = true\nnotes = true\n[projects.aliases]\n"a" = "b"\n[extract]\nlearning = ["x"]\n',
    )
    said = [(one.message, one.hint) for one in settings.unknown_settings(str(tmp_path))]
    assert said == [
        ("sinc is no setting", "take it out; docs/settings.md has them all"),
        ("sync.obsidan is no setting", "did you mean sync.obsidian?"),
    ]
