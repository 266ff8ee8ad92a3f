"""What records claim against a real repository: a scripted history gives exactly the marks expected, and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cortex.index import refresh
from cortex.operations.find import verify_claims
from cortex.operations.find.verify_claims import ClaimingNote, find_contradictions
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


def note(text: str, created: str = CREATED, type_: str = "decision") -> ClaimingNote:
    return ClaimingNote(text, "", text, created, type_)


def told(folder: Path, *texts: str, created: str = CREATED) -> dict[str, str]:
    found = find_contradictions(str(folder), [note(text, created) for text in texts])
    assert not found.problems
    return found.contradictions


GONE = {
    "The parser is in `src/app/old.py`.": "src/app/old.py is gone",
    "See app/old.py for the parser.": "app/old.py is gone",
    "The cart is in src/app/moved.py, all of it.": "src/app/moved.py is gone (renamed to src/core/moved.py)",
    "Orders are in `src/app/twice.py:12`.": "src/app/twice.py is gone",
    "Made on the way: `src/app/late.py`.": "src/app/late.py is gone",
    "`src/app/old.py` calls `src/app/moved.py`.": "src/app/old.py is gone; src/app/moved.py is gone (renamed to src/core/moved.py)",
    "We use redis for the sessions.": "redis is in no manifest any more",
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
    "Do not use httpx here, nor left-pad.",
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
        ClaimingNote(f"{day} {text}", "", text, f"2026-11-{day}T12:00:01Z", "gotcha")
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


ABANDONED = {"Work on branch feature/abandoned.": "branch feature/abandoned is gone"}


def test_a_branch_that_a_remote_has_is_there(shop: Path, git: Git) -> None:
    assert told(shop, *ABANDONED) == ABANDONED
    ref = shop / ".git/refs/remotes/origin/feature"
    ref.mkdir(parents=True)
    (ref / "abandoned").write_text(git(shop, "rev-parse", "HEAD"))
    assert told(shop, *ABANDONED) == {}
    git(shop, "pack-refs", "--all")
    assert not (ref / "abandoned").exists()
    assert told(shop, *ABANDONED) == {}


def test_a_fresh_clone_says_the_same_of_files_and_packages_and_nothing_of_branches(
    shop: Path, git: Git, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(shop), "clone")
    assert told(tmp_path / "clone", *GONE, *KEPT, *ABANDONED) == GONE


def test_linked_work_trees_and_detached_heads_are_looked_at_like_any_other(
    shop: Path, git: Git, tmp_path: Path
) -> None:
    git(shop, "worktree", "add", "-q", "--detach", str(tmp_path / "tree"))
    assert told(tmp_path / "tree", *GONE, *KEPT) == GONE
    assert told(tmp_path / "tree" / "src" / "app", *GONE, *KEPT) == GONE
    texts = (*ABANDONED, "Work on branch feature/new-name.")
    assert told(tmp_path / "tree", *texts) == ABANDONED


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


def test_an_empty_repository_a_plain_folder_and_no_folder_say_nothing(
    tmp_path: Path, git: Git
) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    plain = tmp_path / "plain"
    (plain / "src").mkdir(parents=True)
    (plain / "src/a.py").touch()
    (plain / "package.json").write_text('{"dependencies": {"httpx": "1"}}')
    for folder in ("empty", "nowhere", "plain"):
        assert told(tmp_path / folder, *GONE, *ABANDONED, "In `src/b.py`.") == {}


def test_a_vault_of_its_own_holds_no_code_and_says_nothing_of_it(
    tmp_path: Path, git: Git, shop: Path, commit: Callable[..., str]
) -> None:
    vault = shop / "vault"
    vault.mkdir()
    git(vault, "init", "-q")
    commit(vault, 1, {"records/decision/a.md": "A decision.\n"})
    assert told(vault, *GONE, *ABANDONED) == {}


def test_nothing_outside_the_project_is_looked_at(shop: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (shop / "link").symlink_to(outside)
    found = find_contradictions(str(shop), [note("link/secret.py and src/app/kept.py")])
    assert found.contradictions == {}
    assert not [
        path for path, _ in found.file_stamps if not path.startswith(str(shop)) or "link" in path
    ]


@pytest.mark.parametrize(("path", "text"), [
    ("Dockerfile", "RUN pip install redis\n"),
    ("packages/web/package.json", '{"dependencies": {"ioredis": "5"}}'),
    ("requirements/base.in", "redis\n"),
    ("api/Gemfile", 'gem "redis"\n'),
    ("package.json", '{ "redis": '),  # damaged
])  # fmt: skip
def test_a_package_that_any_manifest_names_is_not_doubted(shop: Path, path: str, text: str) -> None:
    claim = "We use redis for the sessions."
    assert told(shop, claim) == {claim: "redis is in no manifest any more"}
    (shop / path).parent.mkdir(parents=True, exist_ok=True)
    (shop / path).write_text(text)
    assert told(shop, claim) == {}


@pytest.mark.parametrize(("manifest", "before", "after", "name"), [
    ("requirements.txt", "flask>=2\n", "quart\n", "flask"),
    ("package.json", '{"dependencies": {"is-odd": "1"}}', "{}", "is_odd"),
    ("package.json", '{"dependencies": {"@a/b": "1"}}', "{}", "@a/b"),
    ("go.mod", "require (\n\tgithub.com/gorilla/mux v1.8\n)\n", "go 1.22\n", "mux"),
    ("web/Cargo.toml", '[dependencies]\nserde = "1"\n', "[dependencies]\n", "serde"),
    ("Gemfile", "gem 'rails', '7'\n", "\n", "rails"),
])  # fmt: skip
def test_a_package_that_left_any_manifest_is_doubted(
    shop: Path, commit: Callable[..., str], manifest: str, before: str, after: str, name: str
) -> None:
    claim = f"We use `{name}` here."
    commit(shop, 10, {manifest: before})
    assert told(shop, claim) == {}
    commit(shop, 11, {manifest: after})
    assert told(shop, claim) == {claim: f"{name} is in no manifest any more"}
    assert told(shop, claim, created="2026-11-12T00:00:00Z") == {}


def test_a_git_that_fails_or_hangs_is_a_problem(
    shop: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    claim = note("See `src/app/old.py`.")
    (tmp_path / "bin").mkdir()
    false = tmp_path / "bin/git"
    false.write_text("#!/bin/sh\necho fatal: broken >&2\nexit 128\n")
    false.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    found = find_contradictions(str(shop), [claim])
    assert found.contradictions == {}
    assert "broken" in found.problems[0].message
    false.write_text("#!/bin/sh\nsleep 20\n")
    monkeypatch.setattr(verify_claims, "TIMEOUT_SECONDS", 0.2)
    assert "longer than" in find_contradictions(str(shop), [claim]).problems[0].message


def test_the_repository_s_own_settings_change_nothing(shop: Path, git: Git) -> None:
    for key, value in (
        ("log.follow", "true"), ("log.showSignature", "true"), ("diff.renames", "false"), ("diff.relative", "true"), ("diff.orderFile", "none"),
        ("log.date", "relative"), ("core.quotePath", "true"), ("format.pretty", "oneline"), ("color.ui", "always"), ("color.diff", "always"),
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
    told(shop, "In `src/app/kept.py`, we use httpx.", *ABANDONED)
    assert calls == []
    told(shop, "In `src/app/old.py` and src/app/moved.py.")
    assert len(calls) == 2  # the work tree, and the log
    told(shop, *GONE, *ABANDONED)
    assert len(calls) == 2 + 4  # the same for files, and for manifests


def test_every_change_that_could_change_the_answer_changes_a_stamp(
    shop: Path, git: Git, commit: Callable[..., str]
) -> None:
    named = "Work on branch feature/new-name, and on branch main."
    claims = list(map(note, (*GONE, *KEPT, *ABANDONED, named)))

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
            for path, _ in find_contradictions(str(shop), [note(text)]).file_stamps
        }

    assert used("In `src/app/old.py`.") >= {
        "src/app", ".git/HEAD", ".git/refs/heads/main", ".git/packed-refs",
    }  # fmt: skip
    assert used("In `src/app/kept.py`.") == {"src/app"}


def test_edits_are_told_apart_from_doubts_and_only_when_asked_for(shop: Path) -> None:
    files = ("edited", "kept", "old")
    claims = [note(f"In `src/app/{file}.py`.") for file in files]
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


def test_a_rejection_claims_nothing(shop: Path) -> None:
    claims = [note(text, type_="rejection") for text in GONE]
    assert find_contradictions(str(shop), claims).contradictions == {}


def test_what_is_deleted_and_staged_is_gone_as_what_is_only_deleted_is(
    shop: Path, git: Git
) -> None:
    git(shop, "rm", "-q", "src/app/kept.py")
    git(shop, "mv", "src/app/edited.py", "src/app/renamed.py")
    git(shop, "rm", "-q", "-r", "src/core")
    texts = {
        "In `src/app/kept.py`.": "src/app/kept.py is gone",
        "In src/app/edited.py.": "src/app/edited.py is gone",
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
    assert told(shop, text) == {text: "src/web/ is gone"}


@pytest.mark.parametrize("how", ["work tree", "index", "committed"])
def test_a_package_is_dropped_as_soon_as_the_work_tree_has_dropped_it(
    shop: Path, git: Git, commit: Callable[..., str], how: str
) -> None:
    texts = {"We use httpx.": "httpx is in no manifest any more"}
    (shop / "pyproject.toml").write_text(NOW_NAMES.replace('"httpx"', '"celery"'))
    if how == "index":
        git(shop, "add", "-A")
    elif how == "committed":
        commit(shop, 10, {})
    lately = "2026-11-09T12:00:01Z"  # no commit that was there before has changed a manifest since
    assert told(shop, *texts, "We use kubernetes.", created=lately) == texts
    (shop / "pyproject.toml").write_text(NOW_NAMES)
    assert told(shop, *texts, created=lately) == {}


def test_what_is_done_with_a_package_says_that_it_is_used(shop: Path) -> None:
    (shop / "pyproject.toml").write_text(NOW_NAMES.replace('"httpx"', '"rich"'))
    assert told(
        shop,
        "Test with httpx.",
        "Test the API with httpx",
        "Meet httpx.",
        "Test with httpx snippets.",
    ) == {
        "Test with httpx.": "httpx is in no manifest any more",
        "Test the API with httpx": "httpx is in no manifest any more",
    }


@pytest.mark.parametrize(("text", "why"), [
    ("Work on branch feature/abandoned until March.", "branch feature/abandoned is gone"),
    ("It lives on branch `feature/old-name`.", "branch feature/old-name is gone"),
    ("The API lives on branch feature/merged.", ""),  # and in main
    ("It lives on branch feature/forwarded.", ""),
    ("It is on branch feature/new-name, or on branch ../../HEAD, or on branch -evil.", ""),
    ("We merged branch feature/abandoned.", ""),
    ("Work on feature/abandoned.", ""),
    ("Work on branch feature/never-here. The branch protection is on branch main.", ""),
])  # fmt: skip
def test_a_branch_that_a_text_names_is_doubted_when_this_clone_knew_it(
    shop: Path, git: Git, tmp_path: Path, text: str, why: str
) -> None:
    assert told(shop, text) == ({text: why} if why else {})
    git(tmp_path, "clone", "-q", str(shop), "clone")
    assert told(tmp_path / "clone", text) == {}
