"""Programs that run in a fork of an interpreter with torch fare as in a fresh one."""

import pytest
from processes import run_after_torch, run_file_after_torch, run_python

WHAT_THERE_IS = """
import torch, sys
print(__name__, sys.argv, sorted(vars()), sys.path[0])
print([name for name in sys.modules if name.partition(".")[0] == "girih"])
"""
FAILS = {
    "an_error": "1 / 0",
    "an_exit_code": "raise SystemExit(3)",
    "a_crash": "import os; os.abort()",
    "an_error_at_the_end": "import atexit, os; atexit.register(os._exit, 4)",
}


def test_a_program_finds_what_it_finds_in_a_fresh_interpreter():
    assert run_after_torch(WHAT_THERE_IS, "a") == run_python(WHAT_THERE_IS, "a")


@pytest.mark.parametrize("name", FAILS)
def test_a_failure_is_told(name):
    for run in (run_python, run_after_torch):
        with pytest.raises(AssertionError):
            run(FAILS[name])
    assert run_after_torch("print(1)") == "1\n"


def test_each_program_has_its_own_variables(monkeypatch):
    monkeypatch.setenv("GIRIH_LOGS", "graph")
    names = "GIRIH_LOGS", "GIRIH_DUMP_DIR"
    code = f"import os; print(*map(os.environ.get, {names}))"
    assert run_after_torch(code, GIRIH_DUMP_DIR="1") == "graph 1\n"
    assert run_after_torch(code) == "graph None\n"


def test_both_streams_of_a_file_come_in_order(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        "import os, sys\n"
        "print(__file__ == sys.argv[0], os.getcwd() == sys.path[0])\n"
        "print('second', file=sys.stderr)\n"
        "print('third')\n"
    )
    told = run_file_after_torch(file, tmp_path)
    assert told == (0, "True True\nsecond\nthird\n")
