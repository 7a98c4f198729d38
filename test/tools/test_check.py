"""The short way to check a change: what changed, what that concerns, in what time."""

import functools
import os
import re
import subprocess
import sys
import time
from pathlib import Path, PurePosixPath

import pytest

from girih.tools import check, limited, mirrors
from girih.tools.changes import ChangeSet, NoComparison, change_set

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module", autouse=True)
def _tests_are_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mirrors, "_Tests", functools.cache(mirrors._Tests))
        yield


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A git repository of two commits; a function that runs git there, and the root."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)

    def git(*arguments):
        who = [
            "-c",
            "user.name=x",
            "-c",
            "user.email=x@y",
            "-c",
            "commit.gpgsign=false",
        ]
        command = ["git", *who, "-C", str(tmp_path), *arguments]
        subprocess.run(command, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("first", "second"):
        (tmp_path / name).write_text(name)
        git("add", "-A")
        git("commit", "-q", "-m", name)
    return tmp_path, git


def test_without_a_remote_what_is_not_committed_is_the_change(checkout):
    root, _ = checkout
    assert change_set(root).files == ("second",)
    assert change_set(root).base.startswith("HEAD~1 ")
    (root / "first").unlink()
    (root / "a name").write_text("new")
    (root / "ignored").write_text("")
    (root / ".gitignore").write_text("ignored")
    assert change_set(root).files == (".gitignore", "a name", "first")
    assert change_set(root).base.startswith("HEAD ")


def test_with_a_remote_the_merge_base_counts(checkout):
    root, git = checkout
    git("update-ref", "refs/remotes/origin/main", "HEAD")
    assert change_set(root) == ChangeSet(change_set(root).base, ())
    git("checkout", "-q", "-b", "work", "HEAD~1")
    git("mv", "first", "renamed")
    git("commit", "-q", "-m", "renamed")
    (root / "third").write_text("third")
    assert change_set(root).files == ("first", "renamed", "third")
    assert change_set(root, "HEAD").files == ("third",)


def test_a_first_commit_has_nothing_before_it(checkout):
    root, git = checkout
    git("checkout", "-q", "HEAD~1")
    assert change_set(root).files == ()


def test_what_git_cannot_compare_is_told(checkout, tmp_path_factory):
    root, _ = checkout
    for name in ("nowhere", "--help"):
        with pytest.raises(NoComparison, match=f"SINCE={name} names no commit"):
            change_set(root, name)
    with pytest.raises(NoComparison):
        change_set(tmp_path_factory.mktemp("plain"))


@pytest.mark.parametrize(
    ("changed", "test", "rank"),
    [
        ("test/numerics/test_shape.py", "test/numerics/test_shape.py", "CHANGED"),
        ("passes/fuse/region.py", "test/passes/fuse/test_chain.py", "FOLDER"),
        ("passes/fuse/chain.py", "test/passes/fuse/test_chain.py", "NAME"),
        ("passes/plan_memory.py", "test/passes/plan_memory.mlir", "NAME"),
        ("girih/stance.py", "test/girih/test_stance.py", "NAME"),
        ("codegen/gpu/_driver.c", "test/codegen/gpu/test_driver.py", "NAME"),
        (
            "frontend/capture/values/exception_group.py",
            "test/frontend/capture/test_exception_groups.py",
            "NAME",
        ),
        (
            "dialects/graph/reduction.py",
            "test/dialects/graph/reduction_invalid.mlir",
            "NAME",
        ),
        ("passes/launch_products/rows.py", "test/passes/launch_products.mlir", "NAMED"),
        ("test/support/fuzz_ir.py", "test/tools/test_fuzz_ir.py", "NAMED"),
        ("test/support/fake_cuda.c", "test/codegen/gpu/test_driver.py", "NAMED"),
        (
            "dialects/graph/reduction.py",
            "test/numerics/derivatives/test_reductions.py",
            "SAME_NAME",
        ),
        ("docs/capture.md", "test/numerics/test_shape.py", None),
        (
            "frontend/capture/values/set.py",
            "test/frontend/capture/test_threads.py",
            "FOLDER",
        ),
        ("test/conftest.py", "test/numerics/test_shape.py", "FOLDER"),
        ("dialects/graph/pooling.py", "test/numerics/test_layouts.py", "TABLE"),
        ("docs/capture.md", "test/test_documents.py", "TABLE"),
    ],
)
def test_what_a_change_concerns(changed, test, rank):
    found = mirrors.relevant_tests(ROOT, [changed])
    assert found.get(test) == (None if rank is None else getattr(mirrors, rank))


def test_the_most_relevant_test_is_first():
    changed = ["passes/fuse/chain.py", "docs/capture.md"]
    found = mirrors.relevant_tests(ROOT, changed)
    assert next(iter(found)) == "test/passes/fuse/test_chain.py"
    assert [*found.values()] == sorted(found.values())
    assert mirrors.relevant_tests(ROOT, ["LICENSE"]) == {}


def test_every_source_has_tests():
    """A file for which there is none needs a line in the table."""
    tree = mirrors._Tests(ROOT)
    general = {"test/test_layering.py", "test/test_style.py"}
    without = []
    for folder in mirrors.SOURCES:
        for path in (ROOT / folder).rglob("*.[pch]*"):
            if path.suffix in (".py", ".c", ".h"):
                place = PurePosixPath(path.relative_to(ROOT).as_posix())
                if not {test for test, _ in tree.of(place)} - general:
                    without.append(str(place))
    assert without == []


@pytest.mark.parametrize("beginning", mirrors.BEYOND)
def test_the_table_names_what_is_there(beginning):
    assert (ROOT / beginning).exists()
    tests = mirrors.all_tests(ROOT)
    for pattern in mirrors.BEYOND[beginning]:
        assert any(mirrors.fnmatch(test, pattern) for test in tests), pattern


def test_tables_are_sorted():
    for table in (mirrors.BEYOND, check.SMOKE_SETS, check.WITHOUT_SMOKE_SET):
        assert [*table] == sorted(table)


def test_each_net_has_a_smoke_set_or_is_told_as_not_run():
    page = (ROOT / "docs" / "checking.md").read_text().partition("## Nets")[2]
    nets = set(re.findall(r"`make ([\w-]+)`", page)) - {"test"}
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):.*## ", makefile, re.M))
    nets |= {name for name in targets if name.startswith(("test-", "fuzz"))}
    known = {*check.SMOKE_SETS, *check.WITHOUT_SMOKE_SET}
    assert nets <= known <= targets
    for script, *_ in check.SMOKE_SETS.values():
        assert f"{script} " in f"{makefile} ".replace("\n", " ")


LATE = """
import types
import pytest
from girih.tools import deadline

@pytest.mark.parametrize("n", range(4))
def test_slow(n):
    deadline.time = types.SimpleNamespace(time=lambda: float("inf"))
    assert n != 0
"""
"""The first test takes all time that there is, and fails."""


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A folder in which the phases run; when its first test is over, so is the time."""
    monkeypatch.setattr(check, "ROOT", tmp_path)
    for name in ("test_a.py", "test_b.py"):
        (tmp_path / name).write_text(LATE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def plan(seconds, *tests, jobs=1):
    ranks = dict.fromkeys(tests, mirrors.NAME)
    changes = ChangeSet("HEAD (abc)", ("x.py",))
    return check.Plan(changes, ranks, 213, jobs, time.time() + seconds)


def test_no_test_starts_when_the_time_is_over(work):
    record, whole = check.Record(), plan(200, "test_a.py", "test_b.py")
    check.tests(whole, record)
    assert record.failed == ["test_a.py::test_slow[0]"]
    late = " ".join(record.not_run)
    assert "1 test file that the change concerns was not run" in late
    assert "test_b.py" in late
    assert "3 of 4 tests of test_a.py, no time was left" in late


def test_a_test_that_runs_for_ever_is_stopped_and_told(work, monkeypatch):
    monkeypatch.setattr(check, "RESERVE", 1)
    (work / "test_a.py").write_text(
        "import time\ndef test_hangs():\n    time.sleep(60)\n"
    )
    for limit, parts in ((60, ([], 1)), (0.5, (["test_a.py::test_hangs"], 0))):
        monkeypatch.setattr(check, "SECONDS_OF_A_TEST", limit)
        record = check.Record()
        check.tests(plan(6, "test_a.py"), record)
        assert [
            line.partition(":  ")[0].split(": ")[0] for line in record.failed
        ] == parts[0]
        assert len(record.not_run) == parts[1]


def test_what_cannot_be_imported_or_ends_pytest_is_a_failure(work):
    (work / "test_a.py").write_text("import no_such_module")
    record = check.Record()
    check.tests(plan(60, "test_a.py"), record)
    assert record.failed[0] == "test_a.py"
    record = check.Record()
    check.judge_tests(["test_b.py"], [], limited.Ended(3, "", 1.0), record)
    assert record.failed == ["pytest: exit code 3"]


def test_lit_runs_the_files_that_are_given():
    record = check.Record()
    check.lit(plan(120, "test/dialects/fields_invalid.mlir"), record)
    assert (record.failed, record.not_run) == ([], [])
    assert record.ran[0].startswith("lit of 1 files, ")


def test_runners_that_say_nothing_have_failed():
    for judge, name in ((check.judge_lit, "lit"), (check.judge_tests, "pytest")):
        record = check.Record()
        judge(["a"], {} if name == "lit" else [], limited.Ended(0, "", 1.0), record)
        assert record.failed == [f"{name}: exit code 0"]


def test_failures_and_rest_of_lit_are_told():
    record = check.Record()
    codes = {"girih :: a.mlir": "PASS", "girih :: b.mlir": "FAIL"}
    codes["girih :: c.mlir"] = "SKIPPED"
    files = ["a.mlir", "b.mlir", "c.mlir"]
    check.judge_lit(files, codes, limited.Ended(1, "", 1.0), record)
    assert record.failed == ["b.mlir (lit: FAIL)"]
    assert record.not_run == ["1 lit test, no time was left: c.mlir"]
    record = check.Record()
    check.judge_lit(files, {}, limited.Ended(2, "", 1.0), record)
    assert record.failed == ["lit: exit code 2"]


def test_smoke_sets_that_fail_or_come_too_late_are_told(work, monkeypatch, capsys):
    (work / "good.py").write_text("print('12 programs')")
    (work / "bad.py").write_text("print('seed 7'); raise SystemExit(1)")
    sets = {"good": ("good.py",), "bad": ("bad.py",)}
    monkeypatch.setattr(check, "SMOKE_SETS", sets)
    record = check.Record()
    check.smoke_sets(plan(60), record)
    assert record.failed == ["bad (smoke set): exit code 1"]
    assert "seed 7" in (printed := capsys.readouterr().out)
    assert re.search(r"good \(smoke set\): right, \d s: 12 programs", printed)
    record = check.Record()
    check.smoke_sets(plan(check.RESERVE - 1), record)
    assert (record.ran, len(record.not_run)) == ([], 2)


def test_a_command_is_stopped_with_what_it_started(tmp_path):
    program = "import subprocess, sys; print('begun', flush=True); "
    program += "subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"
    ended = limited.run([sys.executable, "-c", program], tmp_path, 2)
    assert (ended.code, ended.output) == (None, "begun\n")
    assert ended.what == "no end in 2 s"


def test_the_report_says_what_was_not_run():
    record = check.Record(["lint, 4 s"], ["a.py::test"], ["b.py"])
    text = check.report(plan(9), record, 12)
    assert text.startswith("changed since HEAD (abc): 1 file; 12 s\nran:\n  lint, 4 s")
    assert "213 test files that no changed file concerns: make test" in text
    assert "not run:\n  b.py\n" in text
    assert "no smoke set: make breadth, check-wheel" in text
    assert text.endswith("FAILED:\n  a.py::test")
    assert check.report(plan(9), check.Record(), 1).endswith("nothing failed")


def test_without_a_change_lint_and_smoke_sets_run(monkeypatch, capsys):
    monkeypatch.setattr(check, "change_set", lambda *_: ChangeSet("HEAD (abc)", ()))
    names = []
    monkeypatch.setattr(check, "lint", lambda *_: names.append("lint"))
    monkeypatch.setattr(check, "smoke_sets", lambda *_: names.append("smoke"))
    assert check.main([]) == 0
    assert names == ["lint", "smoke"]
    assert "nothing differs from HEAD (abc): no tests" in capsys.readouterr().out


def test_a_failure_of_any_phase_is_the_exit_code(monkeypatch):
    monkeypatch.setattr(check, "change_set", lambda *_: ChangeSet("HEAD (abc)", ()))
    monkeypatch.setattr(check, "smoke_sets", lambda *_: None)
    monkeypatch.setattr(check, "lint", lambda _, record: record.failed.append("lint"))
    assert check.main([]) == 1


def test_the_list_runs_nothing(monkeypatch, capsys):
    monkeypatch.setattr(check.limited, "run", None)
    changes = ChangeSet("HEAD (abc)", ("passes/fuse/chain.py",))
    monkeypatch.setattr(check, "change_set", lambda *_: changes)
    assert check.main(["--list"]) == 0
    assert "test/passes/fuse/test_chain.py" in capsys.readouterr().out
