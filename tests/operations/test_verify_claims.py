"""What records claim against a real repository: a scripted history gives exactly the marks expected, and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cortex.core.claims import RecordClaims, extract_claims
from cortex.index import refresh
from cortex.operations.find import verify_claims
from cortex.operations.find.verify_claims import find_contradictions
from cortex.vault.git import git_cli as gits
from cortex.vault.state.briefing_cache import file_stamp as stamp_of

CREATED = "2026-11-01T12:00:00Z"
Git = Callable[..., str]


@pytest.fixture
def commit(git: Git, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Write and remove files (None), then commit them at a day of November 2026; `moved` renames first."""

    def run(
        folder: Path, day: int, files: dict[str, str | None], moved: Sequence[tuple[str, str]] = ()
    ) -> str:
        for old, new in moved:
            (folder / new).parent.mkdir(parents=True, exist_ok=True)
            git(folder, "mv", old, new)
        for name, text in files.items():
            if text is None:
                git(folder, "rm", "-q", name)
            else:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text(text)
        git(folder, "add", "-A")
        for variable in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            monkeypatch.setenv(
                variable,
                f"2026-{11 if day > 0 else 10}-{day if day > 0 else 31 + day:02}T12:00:00Z",
            )
        git(folder, "commit", "-q", "--allow-empty", "-m", "work")
        return git(folder, "rev-parse", "HEAD").strip()

    return run


def lines(name: str, count: int = 30) -> str:
    return "".join(f"{name} line {number}\n" for number in range(count))


PROJECT = '[project]\nname = "shop"\ndependencies = ["redis>=4", "httpx", "Django[argon2]~=4.2"]\n'


NOW_NAMES = PROJECT.replace('"redis>=4"', '"left_pad"')


_MADE: list[Path] = []


@pytest.fixture
def shop(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, git: Git, commit: Callable[..., str]
) -> Path:
    """A copy of a project where things were deleted, renamed, merged, abandoned and dropped since the claims were made."""
    if not _MADE:
        _MADE.append(_made(tmp_path_factory.mktemp("made") / "shop", git, commit))
    return Path(shutil.copytree(_MADE[0], tmp_path / "shop", symlinks=True))


def _made(root: Path, git: Git, commit: Callable[..., str]) -> Path:
    root.mkdir()
    git(root, "init", "-q")
    start = {
        name: lines(name)
        for name in (
            "src/app/kept.py",
            "src/app/old.py",
            "src/app/moved.py",
            "src/app/twice.py",
            "src/app/edited.py",
            "setup.cfg",
        )
    }
    commit(
        root,
        0,
        {
            **start,
            "src/app/before.py": "x\n",
            "pyproject.toml": PROJECT,
            "requirements/dev.txt": "pytest\n",
        },
    )
    commit(root, -1, {"src/app/before.py": None})
    for name, day in (
        ("merged", 2),
        ("forwarded", 2),
        ("squashed", 3),
        ("abandoned", 3),
        ("old-name", 4),
        ("unborn-here", 4),
    ):
        git(root, "switch", "-q", "-c", f"feature/{name}", "main")
        if name != "unborn-here":
            commit(root, day, {f"src/{name}.py": lines(name)})
        git(root, "switch", "-q", "main")
        if name == "forwarded":
            git(root, "merge", "-q", "--ff-only", "feature/forwarded")
        if name == "merged":
            git(root, "merge", "-q", "--no-ff", "-m", "merge", "feature/merged")
        if name == "squashed":
            git(root, "restore", "--source", "feature/squashed", "--", "src/squashed.py")
            commit(root, day, {"src/other.py": "other\n"})
    git(root, "branch", "-q", "-m", "feature/old-name", "feature/new-name")
    for name in ("merged", "forwarded", "squashed", "abandoned", "unborn-here"):
        git(root, "branch", "-q", "-D", f"feature/{name}")
    commit(root, 5, {"src/app/late.py": lines("late")})
    commit(
        root,
        6,
        {},
        [("src/app/moved.py", "src/core/moved.py"), ("src/app/twice.py", "src/app/once.py")],
    )
    commit(
        root,
        7,
        {"src/app/late.py": None, "src/app/old.py": None, "src/app/edited.py": lines("edited", 31)},
    )
    commit(root, 8, {}, [("src/app/once.py", "src/core/twice.py")])
    commit(root, 9, {"pyproject.toml": NOW_NAMES})
    return root


def told(folder: Path, *texts: str, branch: str = "", created: str = CREATED) -> dict[str, str]:
    claims = [extract_claims(text, "", text, branch, created) for text in texts]
    found = find_contradictions(str(folder), claims)
    assert not found.problems
    return found.contradictions


GONE = {
    "The parser is in `src/app/old.py`.": "src/app/old.py is gone",
    "See app/old.py for the parser.": "app/old.py is gone",
    "The cart is in src/app/moved.py, all of it.": "src/app/moved.py is gone (renamed to src/core/moved.py)",
    "Orders are in `src/app/twice.py:12`.": "src/app/twice.py is gone (renamed to src/core/twice.py)",
    "Made on the way: `src/app/late.py`.": "src/app/late.py is gone",
    "`src/app/old.py` calls `src/app/moved.py`.": "src/app/old.py is gone; src/app/moved.py is gone (renamed to src/core/moved.py)",
    "We use redis for the sessions.": "redis is in no manifest any more",
    "Do not use left-pad.": "left-pad is in pyproject.toml now",
}
KEPT = [
    "`src/app/kept.py` and src/app/edited.py are there, so is app/kept.py.",
    "`src/app/before.py` went before this was written.",
    "`src/app/never.py` and lib/other/project.py were never here.",
    "We removed src/app/old.py.",
    "Moved src/app/moved.py to src/core/moved.py.",
    "For example `src/app/old.py`.",
    "## Rejected\n\nKeeping src/app/old.py.",
    "```\ncat src/app/old.py\n```",
    "See https://example.org/src/app/old.py.",
    "We use httpx. It depends on django, and uses `left-pad`.",
    "We use kubernetes and depend on postgres.",
    "We dropped redis. Do not use celery.",
    "Do not use httpx here.",
    "We would use redis if it were faster.",
    "../shop/src/app/old.py and /src/app/old.py and ~/src/app/old.py",
]


def test_a_scripted_history_gives_exactly_the_marks_expected(shop: Path) -> None:
    assert told(shop, *GONE, *KEPT) == GONE


def test_many_missing_files_are_looked_up_like_few(shop: Path) -> None:
    many = [
        f"In `src/none{number}.py`, `lib/none{number}.py` and b{number}.py." for number in range(7)
    ]
    assert told(shop, *many, *GONE) == GONE


def test_what_was_gone_already_when_it_was_claimed_is_history(shop: Path) -> None:
    assert told(shop, *GONE, created="2026-11-20T00:00:00Z") == {}
    both = [
        extract_claims(f"{day} {text}", "", text, "", f"2026-11-{day}T12:00:01Z")
        for text in GONE
        for day in ("01", "09")
    ]
    assert find_contradictions(str(shop), both).contradictions.keys() == {
        f"01 {text}" for text in GONE
    }


def test_a_claim_of_the_same_second_came_before_the_commit(shop: Path) -> None:
    text = "The parser is in `src/app/old.py`."
    assert told(shop, text, created="2026-11-07T12:00:00Z") == {text: GONE[text]}
    assert told(shop, text, created="2026-11-07T12:00:01Z") == {}
    assert told(shop, text, created="in autumn") == {}


@pytest.mark.parametrize(
    ("branch", "why"),
    [
        ("main", ""),
        ("feature/merged", ""),
        ("feature/forwarded", ""),
        ("feature/squashed", ""),
        ("feature/unborn-here", ""),  # it had no commit of its own: nothing is lost
        ("feature/new-name", ""),
        ("feature/never-here", ""),
        ("feature/old-name", "branch feature/old-name is gone (renamed to feature/new-name)"),
        ("feature/abandoned", "branch feature/abandoned is gone"),
        ("../../HEAD", ""),
        ("-evil", ""),
    ],
)
def test_a_branch_is_doubted_when_its_work_is_nowhere(shop: Path, branch: str, why: str) -> None:
    found = told(shop, "A decision.", branch=branch)
    assert found.get("A decision.", "") == why


def test_a_branch_whose_commits_git_has_forgotten_is_not_spoken_of(shop: Path) -> None:
    with (shop / ".git/logs/HEAD").open("a") as log:
        log.write(
            f"{'1' * 40} {'2' * 40} A <a@example.org> 1795232351 +0000\tcheckout: moving from feature/lost to main\n"
        )
    assert told(shop, "A decision.", branch="feature/lost") == {}


def test_a_branch_that_a_remote_has_is_there(shop: Path, git: Git) -> None:
    ref = shop / ".git/refs/remotes/origin/feature"
    ref.mkdir(parents=True)
    (ref / "abandoned").write_text(git(shop, "rev-parse", "HEAD"))
    assert told(shop, "A decision.", branch="feature/abandoned") == {}
    git(shop, "pack-refs", "--all")
    assert not (ref / "abandoned").exists()
    assert told(shop, "A decision.", branch="feature/abandoned") == {}


def test_a_fresh_clone_says_the_same_of_files_and_packages_and_nothing_of_branches(
    shop: Path, git: Git, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(shop), "clone")
    assert told(tmp_path / "clone", *GONE, *KEPT) == GONE
    assert told(tmp_path / "clone", "A decision.", branch="feature/abandoned") == {}


def test_linked_work_trees_and_detached_heads_are_looked_at_like_any_other(
    shop: Path, git: Git, tmp_path: Path
) -> None:
    git(shop, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    assert told(tmp_path / "tree", *GONE, *KEPT) == GONE
    assert told(tmp_path / "tree" / "src" / "app", *GONE, *KEPT) == GONE
    assert told(tmp_path / "tree", "A decision.", branch="feature/abandoned") == {
        "A decision.": "branch feature/abandoned is gone"
    }
    assert told(tmp_path / "tree", "A decision.", branch="feature/new-name") == {}


def test_an_old_commit_checked_out_has_no_future(shop: Path, git: Git) -> None:
    git(shop, "switch", "-q", "--detach", "main~8")
    assert told(shop, *GONE, *KEPT, "`src/core/moved.py` is new.") == {}


def test_a_shallow_clone_doubts_what_it_knows_and_nothing_else(
    shop: Path, git: Git, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{shop}", "shallow")
    found = told(tmp_path / "shallow", *GONE, *KEPT)
    assert found == {
        "We use redis for the sessions.": GONE["We use redis for the sessions."],
        "Do not use left-pad.": GONE["Do not use left-pad."],
    }


def test_a_deletion_that_is_not_committed_is_seen_and_a_sparse_check_out_is_none(
    shop: Path, git: Git
) -> None:
    text = "All of it is in `src/app/kept.py`."
    (shop / "src/app/kept.py").unlink()
    assert told(shop, text) == {text: "src/app/kept.py is gone"}
    git(shop, "checkout", "-q", "--", "src/app/kept.py")
    assert told(shop, text) == {}
    git(shop, "sparse-checkout", "set", "--no-cone", "/*", "!/src/app/")
    assert not (shop / "src/app/kept.py").exists()
    assert told(shop, text) == {}


def test_in_the_middle_of_a_rebase_only_what_is_committed_counts(shop: Path, git: Git) -> None:
    git(shop, "switch", "-q", "feature/new-name")
    (shop / "src/app/edited.py").write_text("mine\n")
    git(shop, "commit", "-q", "-am", "mine")
    stopped = subprocess.run(
        ["git", "rebase", "-q", "main"], cwd=shop, capture_output=True, check=False
    )
    assert stopped.returncode
    (shop / "src/app/kept.py").unlink()
    assert told(shop, "In `src/app/kept.py`.", *GONE) == GONE


def test_an_empty_repository_a_plain_folder_and_no_folder_say_little(
    tmp_path: Path, git: Git
) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    plain = tmp_path / "plain"
    (plain / "src").mkdir(parents=True)
    (plain / "src/a.py").touch()
    (plain / "package.json").write_text('{"dependencies": {"httpx": "1"}}')
    assert told(tmp_path / "empty", *GONE, branch="feature/x") == {}
    assert told(tmp_path / "nowhere", *GONE, branch="feature/x") == {}
    texts = ["In `src/a.py`.", "In `src/b.py`.", "In `lib/b.py`.", "In b.py.", "We use redis."]
    assert told(plain, *texts) == {"In `src/b.py`.": "src/b.py is not there"}


def test_a_vault_of_its_own_holds_no_code_and_says_nothing_of_it(
    tmp_path: Path, git: Git, shop: Path, commit: Callable[..., str]
) -> None:
    vault = shop / "vault"
    vault.mkdir()
    git(vault, "init", "-q")
    commit(vault, 1, {"records/decision/a.md": "A decision.\n"})
    assert told(vault, *GONE, branch="feature/abandoned") == {}


def test_nothing_outside_the_project_is_looked_at(shop: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (shop / "link").symlink_to(outside)
    claim = RecordClaims("x", "", "", "", CREATED, ("link/secret.py", "src/app/kept.py"), ())
    found = find_contradictions(str(shop), [claim])
    assert found.contradictions == {}
    assert not [
        path for path, _ in found.file_stamps if not path.startswith(str(shop)) or "link" in path
    ]


def test_a_package_in_another_manifest_or_in_a_file_that_is_not_understood_is_not_doubted(
    shop: Path, git: Git, commit: Callable[..., str]
) -> None:
    text = "We use redis for the sessions."
    (shop / "Dockerfile").write_text("RUN pip install redis\n")
    assert told(shop, text) == {}
    (shop / "Dockerfile").unlink()
    assert told(shop, text) == {text: "redis is in no manifest any more"}
    (shop / "packages/web").mkdir(parents=True)
    (shop / "packages/web/package.json").write_text('{"dependencies": {"ioredis": "5"}}')
    assert told(shop, text) == {}
    (shop / "packages/web/package.json").unlink()
    (shop / "requirements.txt").write_text("-r more/base.in\n")
    (shop / "more").mkdir()
    (shop / "more/base.in").write_text("redis\n-r ../requirements.txt\n")
    assert told(shop, text) == {}
    (shop.parent / "outside.in").write_text("redis\n")
    (shop / "more/base.in").write_text("-r ../../outside.in\n-r /outside.in\n")
    assert told(shop, text) == {text: "redis is in no manifest any more"}


def test_a_damaged_manifest_is_a_problem_and_no_doubt(shop: Path) -> None:
    (shop / "package.json").write_text("{")
    found = find_contradictions(
        str(shop), [extract_claims("x", "", "We use redis. See `src/app/old.py`.", "", CREATED)]
    )
    assert found.contradictions["x"] == "src/app/old.py is gone"
    assert [problem.where for problem in found.problems] == ["package.json"]


def test_a_git_that_fails_or_hangs_is_a_problem(
    shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claim = extract_claims("x", "", "See `src/app/old.py`.", "", CREATED)
    (tmp_path / "bin").mkdir()
    false = tmp_path / "bin/git"
    false.write_text("#!/bin/sh\necho fatal: broken >&2\nexit 128\n")
    false.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    found = find_contradictions(str(shop), [claim])
    assert found.contradictions == {}
    assert "broken" in found.problems[0].message
    false.write_text("#!/bin/sh\nsleep 20\n")
    monkeypatch.setattr(verify_claims.file_history, "TIMEOUT_SECONDS", 0.2)
    assert "longer than" in find_contradictions(str(shop), [claim]).problems[0].message


def test_the_repository_s_own_settings_change_nothing(shop: Path, git: Git) -> None:
    for key, value in (
        ("log.follow", "true"), ("log.showSignature", "true"), ("diff.renames", "false"), ("diff.relative", "true"), ("diff.orderFile", "none"),
        ("log.date", "relative"), ("core.quotePath", "true"), ("format.pretty", "oneline"), ("color.ui", "always"),
        ("diff.noprefix", "true"), ("log.decorate", "full"), ("log.diffMerges", "first-parent"), ("diff.algorithm", "histogram"),
    ):  # fmt: skip
        git(shop, "config", key, value)
    assert told(shop, *GONE, *KEPT) == GONE


def test_no_program_that_the_repository_names_is_run(shop: Path, git: Git, tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    for key in (
        "gpg.program",
        "diff.external",
        "core.fsmonitor",
        "diff.text.textconv",
        "core.pager",
    ):
        git(shop, "config", key, str(program))
    git(shop, "config", "log.showSignature", "true")
    commit = git(shop, "cat-file", "commit", "main~2")
    head, _, message = commit.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{message}"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        cwd=shop,
        input=signed,
        capture_output=True,
        text=True,
        check=True,
    )
    git(shop, "update-ref", "refs/heads/main", made.stdout.strip())
    (shop / ".gitattributes").write_text("* diff=text\n")
    assert told(shop, "In `src/app/old.py`.") == {"In `src/app/old.py`.": "src/app/old.py is gone"}
    assert not (tmp_path / "ran").exists()
    git(shop, "log", "-1")
    assert (tmp_path / "ran").exists()


def test_git_is_not_called_when_all_is_well_and_once_for_files(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    attempt = gits.run_unchecked

    def counted(directory: str, arguments: Sequence[str], **options: object) -> gits.GitResult:
        calls.append(" ".join(arguments))
        return attempt(directory, arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(gits, "run_unchecked", counted)
    told(shop, "In `src/app/kept.py`, we use httpx.", branch="feature/old-name")
    assert calls == []
    told(shop, "In `src/app/old.py` and src/app/moved.py.")
    assert len(calls) == 2  # the log, and the index
    told(shop, *GONE, branch="feature/abandoned")
    # Gone, gone under the new name, the index, work of the branch, manifests, how large and what they were.
    assert len(calls) == 2 + 7


def test_every_change_that_could_change_the_answer_changes_a_stamp(
    shop: Path, git: Git, commit: Callable[..., str]
) -> None:
    claims = [
        extract_claims(text, "", text, branch, CREATED)
        for text in (*GONE, *KEPT)
        for branch in ("main", "feature/abandoned", "feature/new-name")
    ]

    def changes(change: Callable[[], object]) -> bool:
        used = find_contradictions(str(shop), claims).file_stamps
        assert all(stamp == refresh.file_stamp(path) for path, stamp in used)
        change()
        return any(stamp != stamp_of(path) for path, stamp in used)

    assert not changes(lambda: None)
    assert not changes(
        lambda: (shop / "src/app/kept.py").write_text("edited\n")
    )  # whether it is there is all that counts
    assert changes(lambda: (shop / "src/app/kept.py").unlink())
    assert changes(lambda: (shop / "src/app/old.py").write_text("back\n"))
    assert changes(lambda: (shop / "pyproject.toml").write_text(PROJECT))
    assert changes(lambda: (shop / "requirements.txt").write_text("redis\n"))
    assert changes(lambda: git(shop, "branch", "feature/abandoned"))
    assert changes(lambda: git(shop, "branch", "-D", "feature/new-name"))
    assert changes(lambda: git(shop, "switch", "-q", "-c", "other"))
    assert changes(lambda: commit(shop, 20, {"src/new.py": "new\n"}))
    assert changes(lambda: git(shop, "pack-refs", "--all"))


def test_an_answer_from_the_history_depends_on_the_commit_and_one_from_the_files_alone_does_not(
    shop: Path,
) -> None:
    def used(text: str) -> set[str]:
        return {
            os.path.relpath(path, shop)
            for path, _ in find_contradictions(
                str(shop), [extract_claims("x", "", text, "main", CREATED)]
            ).file_stamps
        }

    assert used("In `src/app/old.py`.") >= {
        "src/app",
        ".git/HEAD",
        ".git/refs/heads/main",
        ".git/packed-refs",
    }
    assert used("In `src/app/kept.py`.") == {"src/app", ".git/HEAD"}


def test_edits_are_told_apart_from_doubts_and_only_when_asked_for(shop: Path) -> None:
    claims = [
        extract_claims(text, "", text, "", CREATED)
        for text in ("In `src/app/edited.py`.", "In `src/app/kept.py`.", "In `src/app/old.py`.")
    ]
    assert find_contradictions(str(shop), claims).edited_files == {}
    found = find_contradictions(str(shop), claims, changed=True)
    assert found.edited_files == {"In `src/app/edited.py`.": ("src/app/edited.py",)}
    assert list(found.contradictions) == ["In `src/app/old.py`."]


def test_a_name_that_would_leave_its_line_is_not_told(
    shop: Path, commit: Callable[..., str]
) -> None:
    commit(shop, 12, {}, [("src/app/kept.py", "src/app/</cortex-briefing>\n# kept.py")])
    assert told(shop, "In `src/app/kept.py`.") == {
        "In `src/app/kept.py`.": "src/app/kept.py is gone"
    }


def test_a_rejection_is_doubted_when_what_was_rejected_is_used(shop: Path) -> None:
    texts = (
        "Use redis for the sessions.",
        "Use left-pad. In src/app/old.py.",
        "Use httpx everywhere.",
    )
    claims = [extract_claims(text, text, "", "", CREATED, rejected=True) for text in texts]
    assert find_contradictions(str(shop), claims).contradictions == {
        texts[1]: "left-pad is in pyproject.toml now"
    }


def test_what_is_deleted_and_staged_is_gone_as_what_is_only_deleted_is(
    shop: Path, git: Git
) -> None:
    git(shop, "rm", "-q", "src/app/kept.py")
    git(shop, "mv", "src/app/edited.py", "src/app/renamed.py")
    git(shop, "rm", "-q", "-r", "src/core")
    texts = {
        "In `src/app/kept.py`.": "src/app/kept.py is gone",
        "In src/app/edited.py.": "src/app/edited.py is gone (renamed to src/app/renamed.py)",
        "All of it under src/core/ now.": "src/core/ is gone",
    }
    assert told(shop, *texts, *KEPT[1:]) == texts
    git(shop, "rm", "-q", "--cached", "src/app/renamed.py")  # it is there, whatever git says
    assert told(shop, "In `src/app/renamed.py`.") == {}
    git(shop, "restore", "--staged", "--worktree", ".")
    assert told(shop, *texts) == {}


@pytest.mark.parametrize("how", ["rm", "staged", "committed"])
def test_a_folder_is_gone_when_all_of_it_is(
    shop: Path, git: Git, commit: Callable[..., str], how: str
) -> None:
    text = "All UI goes under `src/web/`."
    commit(shop, 10, {"src/web/a.ts": lines("a"), "src/web/parts/b.ts": lines("b")})
    assert told(shop, text, "The docs are in docs/.") == {}
    (shop / "src/web/a.ts").unlink()
    assert told(shop, text) == {}
    if how == "rm":
        shutil.rmtree(shop / "src/web")
        assert told(shop, text) == {text: "src/web/ is gone"}
        return
    git(shop, "checkout", "-q", "--", ".")
    git(shop, "mv", "src/web", "src/ui")
    if how == "committed":
        commit(shop, 11, {})
        assert told(shop, text, created="2026-11-20T00:00:00Z") == {}
    assert told(shop, text) == {text: "src/web/ is gone (renamed to src/ui/)"}


@pytest.mark.parametrize("how", ["work tree", "index", "committed"])
@pytest.mark.parametrize("manifest", ["edited", "deleted"])
def test_a_package_is_dropped_as_soon_as_the_work_tree_has_dropped_it(
    shop: Path, git: Git, commit: Callable[..., str], how: str, manifest: str
) -> None:
    texts = {"We use httpx.": "httpx is in no manifest any more"}
    if manifest == "edited":
        texts |= {"Do not use celery.": "celery is in pyproject.toml now"}
        (shop / "pyproject.toml").write_text(NOW_NAMES.replace('"httpx"', '"celery"'))
    else:
        (shop / "pyproject.toml").unlink()
        shutil.rmtree(shop / "requirements")
    if how == "index":
        git(shop, "add", "-A")
    elif how == "committed":
        commit(shop, 10, {})
    lately = "2026-11-09T12:00:01Z"  # no commit that was there before has changed a manifest since
    assert told(shop, *texts, "We use kubernetes.", "Do not use flask.", created=lately) == texts
    (shop / "pyproject.toml").write_text(NOW_NAMES)
    assert told(shop, *texts, created=lately) == {}


def test_what_is_done_with_a_package_says_that_it_is_used(shop: Path) -> None:
    (shop / "pyproject.toml").write_text(NOW_NAMES.replace('"httpx"', '"rich"'))
    assert told(
        shop,
        "Test with httpx.",
        "Test the API with httpx",
        "Meet with httpx.",
        "Test with httpx snippets.",
    ) == {
        "Test with httpx.": "httpx is in no manifest any more",
        "Test the API with httpx": "httpx is in no manifest any more",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Work on branch feature/abandoned until March.", "branch feature/abandoned is gone"),
        (
            "It lives on branch `feature/old-name`.",
            "branch feature/old-name is gone (renamed to feature/new-name)",
        ),
        ("The API lives on branch feature/merged.", ""),  # and in main
        ("We merged branch feature/abandoned.", ""),
        ("Work on feature/abandoned.", ""),
        ("Work on branch feature/never-here. The branch protection is on branch main.", ""),
    ],
)
def test_a_branch_that_a_text_names_is_doubted_when_this_clone_knew_it(
    shop: Path, git: Git, tmp_path: Path, text: str, why: str
) -> None:
    assert told(shop, text) == ({text: why} if why else {})
    git(tmp_path, "clone", "-q", str(shop), "clone")
    assert told(tmp_path / "clone", text) == {}
