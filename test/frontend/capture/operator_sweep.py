"""Every operator of torch's own table, captured and compared with eager.

Each sample is called in up to four forms: as a function, as a method, in place, as a
Python operator. What the capture promised about each result (its size, stride and
type, which the program may ask for) is compared with what the graph gave.

python test/frontend/capture/operator_sweep.py            # all operators
python test/frontend/capture/operator_sweep.py cumsum -v  # those named so
"""

from __future__ import annotations

import argparse
import collections
import copy
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2] / "support")]

import torch  # noqa: E402
from operator_table import op_db  # noqa: E402
from torch.testing._internal import common_methods_invocations  # noqa: E402
from torch.utils._pytree import tree_flatten, tree_map  # noqa: E402

import girih  # noqa: E402
from girih.errors import UnsupportedError  # noqa: E402

# The table wraps random operators in one that saves and restores the state.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kw: op(*args, **kw)

_DTYPES = (torch.float32, torch.int64, torch.bool)
GRAPH, BREAK, RAISES, SKIPPED, WRONG = "graph", "break", "raises", "skipped", "WRONG"


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        name: Operator, form and number of the sample.
        function: What is called.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
    """

    name: str
    function: Callable
    args: tuple
    kwargs: dict


def cases(op, samples: int) -> Iterator[Case]:
    """The calls of one operator.

    Args:
        op: An ``OpInfo``.
        samples: Most samples for each element type.
    """
    for dtype in _DTYPES:
        if dtype not in op.dtypes:
            continue
        for number, sample in enumerate(_samples(op, dtype, samples)):
            arguments = (sample.input, *sample.args)
            for form, function in _forms(op):
                name = f"{op.formatted_name} {form} {dtype} {number}"
                yield Case(name, function, arguments, sample.kwargs)


def _samples(op, dtype: torch.dtype, count: int) -> list:
    torch.manual_seed(0)
    found = []
    for sample in op.sample_inputs("cpu", dtype):
        found.append(sample)
        if len(found) == count:
            break
    return found


def _forms(op) -> Iterator[tuple[str, Callable]]:
    forms = {
        "function": op.op,
        "method": op.method_variant,
        "in place": op.inplace_variant,
        "operator": op.operator_variant,
        "operator in place": op.inplace_operator_variant,
    }
    seen = set()
    for form, function in forms.items():
        if function is not None and function not in seen:
            seen.add(function)
            yield form, function


def outcome(case: Case, dynamic: bool | None = None) -> tuple[str, str]:
    """What became of a call: one of the constants above, and why.

    Args:
        case: The call.
        dynamic: As for ``girih.compile``.
    """
    expected, failed = _run(case, lambda function: function)
    if failed is not None:
        return RAISES, repr(failed)
    checked = _Promises(dynamic)
    try:
        actual, failed = _run(case, checked.compiled)
    except UnsupportedError as error:
        return _outcome_of_break(case, expected, error, dynamic)
    if failed is not None:
        return WRONG, f"raises {failed!r}"
    return _judged(expected, actual, GRAPH, checked.broken)


def _outcome_of_break(case: Case, expected, error, dynamic) -> tuple[str, str]:
    def compile(function):
        return girih.compile(function, backend="eager", dynamic=dynamic)

    actual, failed = _run(case, compile)
    if failed is not None:
        return WRONG, f"raises {failed!r} after {error.summary()}"
    return _judged(expected, actual, BREAK, [error.summary()])


def _judged(expected, actual, kind: str, notes: list[str]) -> tuple[str, str]:
    if kind is GRAPH and notes:
        return WRONG, notes[0]
    difference = next(_differences(expected, actual), None)
    return (WRONG, difference) if difference else (kind, "; ".join(notes))


def _run(case: Case, compile: Callable) -> tuple[Any, Exception | None]:
    """The result with the arguments as they are afterwards, or what was raised."""

    def call(args, kwargs):
        return case.function(*args, **kwargs)

    args, kwargs = _copied(case.args), _copied(case.kwargs)
    torch.manual_seed(1)
    try:
        result = compile(call)(args, kwargs)
    except UnsupportedError:
        raise
    except Exception as error:
        return None, error
    return (result, args, kwargs), None


def _copied(value: Any) -> Any:
    def copied(leaf):
        if isinstance(leaf, torch.Tensor):
            return leaf.detach().clone().requires_grad_(leaf.requires_grad)
        return leaf if callable(leaf) else copy.deepcopy(leaf)

    return tree_map(copied, value)


class _Promises:
    """A backend that compares each result with what was promised about it."""

    def __init__(self, dynamic: bool | None):
        self.dynamic = dynamic
        self.broken: list[str] = []

    def compiled(self, function: Callable) -> Callable:
        """The function, captured in one graph."""
        return girih.compile(
            function, backend=self._backend, fullgraph=True, dynamic=self.dynamic
        )

    def _backend(self, gm, examples):
        outputs = next(iter(gm.graph.find_nodes(op="output"))).args[0]
        promised = [getattr(node, "meta", {}).get("val") for node in outputs]

        def run(*inputs):
            results = gm.forward(*inputs)
            for fake, real in zip(promised, results, strict=True):
                self._compare(fake, real)
            return results

        return run

    def _compare(self, fake: Any, real: Any) -> None:
        if not isinstance(fake, torch.Tensor):
            return
        facts = (_size, _stride, _dtype, _device, _kind)
        for fact in facts if _is_known(fake) else facts[2:]:
            if fact(fake) != fact(real):
                name = fact.__name__.strip("_")
                self.broken.append(f"{name} {fact(fake)} promised, is {fact(real)}")


def _is_known(fake: torch.Tensor) -> bool:
    """Whether all sizes have a value at this call."""
    return all(isinstance(n, int) or n.node.has_hint() for n in fake.size())


def _size(tensor):
    return tuple(map(int, tensor.size()))


def _stride(tensor):
    if tensor.layout is not torch.strided or 0 in tensor.size():
        return None
    sizes = zip(tensor.size(), tensor.stride(), strict=True)
    return tuple(int(stride) for size, stride in sizes if size > 1)


def _dtype(tensor):
    return tensor.dtype


def _device(tensor):
    return tensor.device


def _kind(tensor):
    return tensor.is_conj(), tensor.is_neg(), tensor.requires_grad, tensor.is_leaf


def _differences(expected: Any, actual: Any) -> Iterator[str]:
    theirs, expected_tree = tree_flatten(expected)
    mine, tree = tree_flatten(actual)
    if str(tree) != str(expected_tree):
        yield f"structure {tree} instead of {expected_tree}"
        return
    for left, right in zip(mine, theirs, strict=True):
        text = _difference(left, right)
        if text:
            yield text


def _difference(left: Any, right: Any) -> str:
    if type(left) is not type(right):
        return f"{type(left)} instead of {type(right)}"
    if not isinstance(left, torch.Tensor):
        same = left == right or left != left or callable(left)
        same = same or type(left) is torch.Generator
        return "" if same else f"{left!r} instead of {right!r}"
    try:
        torch.testing.assert_close(left, right, equal_nan=True, check_stride=True)
    except AssertionError as error:
        return str(error).replace("\n", " ")
    except Exception:  # layouts that it does not know
        return "" if str(left) == str(right) else "another tensor"
    return "" if _kind(left) == _kind(right) else f"{_kind(left)}, not {_kind(right)}"


# Results that are memory as it was found.
NOT_COMPARED = frozenset(
    """empty empty_like empty_permuted empty_strided new_empty new_empty_strided
    resize_ resize_as_ torch.ops.aten._efficient_attention_forward""".split()
)


def run(op, samples: int, dynamic: bool | None = None):
    """Yields the cases of an operator, each with what became of it and why."""
    for case in cases(op, samples):
        if op.name in NOT_COMPARED:
            yield case, SKIPPED, "its result is not determined"
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield case, *outcome(case, dynamic)


def main() -> int:
    """Runs the operators whose names start with the arguments; 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="starts of names; default: all")
    parser.add_argument("--samples", type=int, default=3, help="for each element type")
    parser.add_argument("--dynamic", action="store_true", help="symbolic sizes")
    parser.add_argument("-v", "--verbose", action="store_true", help="print breaks")
    parsed = parser.parse_args()
    counts: collections.Counter = collections.Counter()
    breaks: collections.Counter = collections.Counter()
    for op in op_db:
        if not op.formatted_name.startswith(tuple(parsed.names) or ""):
            continue
        for case, kind, why in run(op, parsed.samples, parsed.dynamic or None):
            counts[kind] += 1
            if kind is BREAK:
                breaks[(op.formatted_name, why.split(" at ")[0])] += 1
            if kind is WRONG or parsed.verbose and kind is BREAK:
                print(f"{kind}: {case.name}: {why}", flush=True)
    for (name, why), count in sorted(breaks.items()):
        print(f"{count:4} {name}: {why}")
    print(", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))
    return 1 if counts[WRONG] else 0


if __name__ == "__main__":
    sys.exit(main())
