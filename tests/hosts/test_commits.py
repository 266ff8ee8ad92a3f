"""What a shell command that commits says, and what it printed, as commits and pull requests."""

from __future__ import annotations

import pytest

from cortex.core.model.turn_summary import Commit
from cortex.hosts.commits import read_commits, read_pull_request

HEREDOC = """git add -A && git commit -m "$(cat <<'EOF'
feat(cart): expire carts

They filled the table.

- after an hour

Co-Authored-By: An Agent <agent@example.org>
EOF
)" && git push"""


@pytest.mark.parametrize(("command", "printed", "commit"), [
    (HEREDOC, "[main abc1234] feat(cart): expire carts\n 2 files changed",
     Commit("abc1234", "feat(cart): expire carts", "They filled the table.\n\n- after an hour")),
    ('git commit -am "one" -m "and why"', "[detached HEAD abc1234] one", Commit("abc1234", "one", "and why")),
    ("git commit -F - <<'E'\none\n\nand why\nE", "[a/b abc1234] one", Commit("abc1234", "one", "and why")),
    ("git commit -q -m 'one'", "", Commit("commit", "one")),
    ("git commit", "[main abc1234] written in an editor", Commit("abc1234", "written in an editor")),
])  # fmt: skip
def test_a_commit_has_its_hash_its_subject_and_why(command, printed, commit):
    assert read_commits(command, printed, failed=False) == [commit]


@pytest.mark.parametrize("command", [
    "git log --oneline", "git -C /tmp/trial commit -m one", "cd /tmp/trial && git commit -m one",
    "git init trial && cd trial && git commit -m init",
])  # fmt: skip
def test_another_repository_s_are_none(command):
    assert read_commits(command, "[main (root-commit) abc1234] one", failed=False) == []


def test_a_project_may_lie_in_a_folder_for_trials():
    command = "cd /tmp/shop && git commit -m one"
    assert read_commits(command, "[main abc1234] one", cwd="/tmp/shop", failed=False)


def test_one_that_was_made_before_the_command_failed_is_one_and_one_that_failed_is_none():
    command = "git commit -m one && git push"
    assert read_commits(command, "[main abc1234] one\nerror: rejected", failed=True)
    assert not read_commits(command, "hook: style", failed=True)
    assert not read_commits(command, "nothing to commit, working tree clean", failed=False)


def test_secrets_of_a_message_are_left_out():
    secret = "ghp_" + "A1b2C3d4E5" * 4
    (commit,) = read_commits(f"git commit -m 'use {secret}' -m 'with {secret}'", "", failed=False)
    assert secret not in commit.subject + commit.body


def test_a_pull_request_has_its_address_its_title_and_its_text():
    command = """gh pr create --title "Expire carts" --body "$(cat <<'EOF'
They filled the table.
EOF
)\""""
    address = "https://github.com/a/b/pull/7"
    assert read_pull_request(command, f"Creating…\n{address}\n") == Commit(
        address, "Expire carts", "They filled the table."
    )
