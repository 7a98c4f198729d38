"""CPython's own tests inside a compiled function; ``make cpython``.

Every method of Lib/test of the running interpreter that passes by itself is called by
a function that is compiled (``test/support/cpython_judge.py``). It is right where it
passes, traced whole or with graph breaks. Anything else is a failure: another result,
an exception that only tracing raises, an internal error, a crash, a method that does
not end. The table tells for each module how its methods fared.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import multiprocessing
import os
import re
import sys
import tempfile
import time
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / "support")]

import torch  # noqa: E402
from cpython_judge import FAILURES, RIGHT, Verdict, judge  # noqa: E402

# The language, and the library as far as it is written in Python or computes.
MODULES = """
test_abc test_abstract_numbers test_array test_augassign test_base64
test_baseexception test_binop test_bisect test_bool test_builtin test_calendar
test_call test_class test_cmath test_collections test_colorsys test_compare
test_complex test_configparser test_contains test_context test_contextlib test_copy
test_copyreg test_coroutines test_dataclasses test_decimal test_decorators
test_defaultdict test_deque test_descr test_descrtut test_dict test_dictcomps
test_dictviews test_difflib test_dynamic test_dynamicclassattribute test_enum
test_enumerate test_except_star test_exception_group test_exception_hierarchy
test_exception_variations test_exceptions test_extcall test_float test_fnmatch
test_format test_fractions test_frame test_fstring test_funcattrs test_functools
test_future_stmt test_generators test_genericalias test_genericclass test_genexps
test_getopt test_glob test_global test_grammar test_graphlib test_hash test_heapq
test_hmac test_html test_http_cookies test_index test_inspect test_int
test_int_literal test_ipaddress test_isinstance test_iter test_iterlen test_itertools
test_json test_keyword test_keywordonlyarg test_list test_listcomps test_long
test_math test_memoryview test_metaclass test_module test_named_expressions
test_ntpath test_numeric_tower test_opcodes test_operator test_ordered_dict
test_pathlib test_patma test_positional_only_arg test_posixpath test_pow test_pprint
test_property test_raise test_random test_range test_reprlib test_richcmp test_scope
test_secrets test_set test_setcomps test_shlex test_slice test_sort test_stat
test_statistics test_string test_string_literals test_strtod test_struct
test_structseq test_subclassinit test_super test_textwrap test_traceback test_tuple
test_type_annotations test_typechecks test_types test_typing test_unary test_unpack
test_unpack_ex test_userdict test_userlist test_userstring test_uuid test_weakref
test_weakset test_with test_yield_from
""".split()

_TESTS: list[unittest.TestCase] = []  # what the processes of the pool share


def main() -> int:
    """Tries what the arguments ask for; the exit code tells whether all is right."""
    options = _parsed()
    torch.set_num_threads(1)
    reason = _missing_tests()
    if reason:
        print(reason, file=sys.stderr)
        return 2
    _TESTS.extend(_chosen(options))
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        verdicts = list(_judged(options))  # the methods write files where they are
    _print_table(verdicts)
    _print_totals(verdicts, time.monotonic() - start)
    if options.json:
        lines = [asdict(verdict) for verdict in verdicts]
        Path(options.json).write_text(json.dumps(lines, indent=1))
    return int(any(verdict.verdict in FAILURES for verdict in verdicts))


def _parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="of Lib/test; default: a long list")
    parser.add_argument("--only", default="", help="pattern of the methods' names")
    parser.add_argument("--listed", help="file with the names of methods")
    parser.add_argument("--sample", type=int, default=1, help="every SAMPLEth method")
    parser.add_argument("--jobs", type=int, default=1, help="methods at once")
    parser.add_argument("--seconds", type=float, default=30, help="most for a method")
    parser.add_argument("--json", help="file for all verdicts")
    return parser.parse_args()


def _missing_tests() -> str:
    try:
        importlib.import_module("test.support")
    except ImportError as error:
        version = "{}.{}".format(*sys.version_info)
        return (
            f"Lib/test of CPython is not at hand: {error}. Use an interpreter that was "
            f"built from source, or a package such as libpython{version}-testsuite."
        )
    return ""


def _chosen(options: argparse.Namespace) -> list[unittest.TestCase]:
    names = Path(options.listed).read_text().split() if options.listed else []
    modules = options.modules or MODULES
    if names:
        modules = list(dict.fromkeys(name.split(".")[1] for name in names))
    tests = [test for module in modules for test in _tests_of(module)]
    if names:
        tests = [test for test in tests if test.id() in names]
    return [t for t in tests if re.search(options.only, t.id())][:: options.sample]


def _tests_of(module: str) -> list[unittest.TestCase]:
    loader = unittest.TestLoader()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            suite = loader.loadTestsFromModule(
                importlib.import_module(f"test.{module}")
            )
    except (ImportError, unittest.SkipTest) as error:
        print(f"{module} does not load: {error}", file=sys.stderr)
        return []
    return [test for test in _flat(suite) if _is_method(test)]


def _flat(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _flat(test)
        else:
            yield test


def _is_method(test: unittest.TestCase) -> bool:
    if isinstance(test, unittest.IsolatedAsyncioTestCase):
        return False
    name = getattr(test, "_testMethodName", None)
    return callable(getattr(type(test), name or "", None))


def _judged(options: argparse.Namespace) -> Iterator[Verdict]:
    """The verdicts on all methods that pass by themselves, as they come."""
    count = len(_TESTS)
    work = [(index, options.seconds) for index in range(count)]
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        for number, verdict in enumerate(pool.imap_unordered(_judge, work), 1):
            if sys.stderr.isatty():
                print(
                    f"\r{number}/{count} {verdict.name:80.80}", end="", file=sys.stderr
                )
            if verdict.verdict in FAILURES:
                text = f"{verdict.name}: {verdict.verdict}: {verdict.detail}"
                print("\r" + text.replace("\n", " "), file=sys.stderr, flush=True)
            if verdict.verdict:
                yield verdict


def _judge(work: tuple[int, float]) -> Verdict:
    index, seconds = work
    return judge(_TESTS[index], seconds)


def _print_table(verdicts: list[Verdict]) -> None:
    names = (*RIGHT, *FAILURES)
    print(f"{'module':32}{'methods':>8}" + "".join(f"{name:>8}" for name in names))
    by_module: dict[str, Counter] = {}
    for verdict in verdicts:
        module = verdict.name.removeprefix("test.").split(".")[0]
        by_module.setdefault(module, Counter())[verdict.verdict] += 1
    for module, counts in sorted(by_module.items()):
        cells = "".join(f"{counts[name] or '':>8}" for name in names)
        print(f"{module:32}{counts.total():>8}{cells}")


def _print_totals(verdicts: list[Verdict], seconds: float) -> None:
    counts = Counter(verdict.verdict for verdict in verdicts)
    shown = ", ".join(f"{number} {name}" for name, number in counts.most_common())
    print(f"{len(verdicts)} methods in {seconds:.0f} s: {shown or 'none'}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
