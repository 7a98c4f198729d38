"""Each operator of PyTorch's table, compiled by girih, against eager.

An operator runs alone and between two pointwise operations, at three sizes: the table's
own samples, some 2^14 elements, some 2^20. ``--training`` measures gradients, too. The
result of each case is compared with eager's before its time is taken, in alternating
rounds. The table lists the cases below ``--limit`` of eager's speed, each measured
twice; the exit status is 1 where there is one. ``--output STEM`` writes STEM.json and
STEM.md after each operator.
"""

from __future__ import annotations

import argparse
import inspect
import itertools
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal import common_methods_invocations as definitions
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils import _pytree as pytree

import girih
from benchmarks import measure, options, results

SIZES = {"small": 2**8, "medium": 2**14, "large": 2**20}
"""Elements of all tensors of a sample, at most four times as many."""
FORMS = ("alone", "between")
_SCALES = (5, 8, 12, 24, 40, 64, 100, 200, 400, 800, 1600)
"""Values that the table's constant S takes; M is twice and L four times as large."""
_SAMPLES_TRIED = 8
_EXCLUDED = ("sparse", "nested", "empty", "jiterator", "to_sparse", "uniform")
_SECONDS = {True: 0.1, False: 0.4}


@dataclass(frozen=True)
class Case:
    """One sample of an operator in one form, as a function of its tensors."""

    op: str
    size: str
    form: str
    function: Callable[..., Any]
    tensors: tuple[Tensor, ...]
    text: str

    @property
    def name(self) -> str:
        """Names the case in tables."""
        return f"{self.op} {self.size} {self.form} {self.text}"


class _TooLargeError(Exception):
    """A sample would have more elements than were asked for."""


# -- Samples ---------------------------------------------------------------------------


def cases(
    op: OpInfo, dtype: torch.dtype, sizes: Sequence[str], forms: Sequence[str]
) -> Iterator[Case]:
    """The cases of an operator: its largest sample of each size, in each form."""
    name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
    seen = set()
    for size, sample in _largest(op, dtype, sizes).items():
        leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
        text = _text(leaves)
        if text in seen:
            continue
        seen.add(text)
        tensors = tuple(x.detach() for x in leaves if isinstance(x, Tensor))
        for form in forms:
            is_between = form == "between"
            if is_between and not any(x.is_floating_point() for x in tensors):
                continue
            function = _function(op.op, leaves, spec, is_between=is_between)
            yield Case(name, size, form, function, tensors, text)


def _largest(op: OpInfo, dtype: torch.dtype, sizes: Sequence[str]) -> dict[str, Any]:
    """For each size the sample with most elements that fits, over all scales."""
    limits = {size: SIZES[size] * 4 for size in sizes}
    best: dict[str, Any] = {}
    most = dict.fromkeys(sizes, -1)
    for scale in _SCALES:
        largest = 0
        for sample in _samples(op, dtype, scale, max(limits.values())):
            count = _elements(sample)
            largest = max(largest, count)
            for size, limit in limits.items():
                if most[size] < count <= limit and _results(op, sample) <= 4 * limit:
                    best[size], most[size] = sample, count
        if largest * 2 > max(limits.values()):
            break
    return {size: best[size] for size in sizes if size in best}


def _elements(sample) -> int:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return sum(x.numel() for x in leaves if isinstance(x, Tensor))


def _results(op: OpInfo, sample) -> int:
    """Elements of an operator's results; 0 where they depend on data."""
    with FakeTensorMode() as mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = pytree.tree_map(
            lambda x: mode.from_tensor(x) if isinstance(x, Tensor) else x,
            (sample.input, sample.args, sample.kwargs),
        )
        try:
            results = inspect.unwrap(op.op)(values[0], *values[1], **values[2])
        except Exception:  # noqa: BLE001 - a fake tensor has no data
            return 0
    return sum(x.numel() for x in pytree.tree_leaves(results) if isinstance(x, Tensor))


def _samples(op: OpInfo, dtype: torch.dtype, scale: int, limit: int) -> Iterator:
    """Samples of an operator where the table's sizes grow; none over the limit."""
    with _scaled_table(scale, limit), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            samples = op.sample_inputs("cpu", dtype)
            for sample in itertools.islice(samples, _SAMPLES_TRIED):
                if _elements(sample) <= limit and _is_strided(sample):
                    yield sample
        except Exception:  # noqa: BLE001 - the table asserts what scales break
            return


def _is_strided(sample) -> bool:
    leaves = pytree.tree_leaves((sample.input, sample.args, sample.kwargs))
    return all(x.layout == torch.strided for x in leaves if isinstance(x, Tensor))


@contextmanager
def _scaled_table(scale: int, limit: int) -> Iterator[None]:
    """Lets PyTorch's table make samples of other sizes, and none over a limit."""
    make_tensor = torch.testing.make_tensor

    def limited(*shape, **kwargs) -> Tensor:
        sizes = shape[0] if shape and isinstance(shape[0], (tuple, list)) else shape
        count = 1
        for n in sizes:
            count *= n
        if count > limit:
            raise _TooLargeError
        return make_tensor(*shape, **kwargs)

    values = {"S": scale, "M": 2 * scale, "L": 4 * scale, "make_tensor": limited}
    prefixes = (definitions.__name__, "torch.testing._internal.opinfo")
    with ExitStack() as stack:
        for name, module in list(sys.modules.items()):
            if not name.startswith(prefixes):
                continue
            found = {key: value for key, value in values.items() if key in vars(module)}
            if found:
                stack.enter_context(mock.patch.multiple(module, **found))
        yield


def _text(leaves: Sequence[Any]) -> str:
    parts = []
    for x in leaves:
        if isinstance(x, Tensor):
            parts.append("x".join(map(str, x.shape)) or "0-d")
        elif x is not None:
            parts.append(str(x))
    text = " ".join(parts)
    return text if len(text) <= 60 else text[:57] + "..."


def _function(op: Callable, leaves, spec, *, is_between: bool) -> Callable:
    """Calls an operator with tensors in the places of a sample's."""
    op = inspect.unwrap(op)
    places = [n for n, x in enumerate(leaves) if isinstance(x, Tensor)]
    first = next((n for n in places if leaves[n].is_floating_point()), None)

    def call(*tensors: Tensor):
        values = list(leaves)
        for n, tensor in zip(places, tensors, strict=True):
            values[n] = tensor * 1.25 if is_between and n == first else tensor
        input, args, kwargs = pytree.tree_unflatten(values, spec)
        result = op(input, *args, **kwargs)
        return pytree.tree_map(_next, result) if is_between else result

    return call


def _next(value):
    """The operation behind the operator."""
    is_float = isinstance(value, Tensor) and value.is_floating_point()
    return value * 0.5 + 1 if is_float else value


# -- Times -----------------------------------------------------------------------------


def run_case(case: Case, *, training: bool, quick: bool) -> dict[str, Any]:
    """Compiles, checks and measures one case.

    Returns:
        The case's row, with ``seconds`` of both engines, their ``ratio``, and whether
        the result ``is_near`` eager's; or with why it is ``skipped`` or has ``failed``.
    """
    row = {"case": case.name, "op": case.op, "size": case.size, "form": case.form}
    girih.reset()
    try:
        eager = _call(case.function, case.tensors, training=training)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.manual_seed(0)
            expected = eager()
    except Exception as error:  # noqa: BLE001 - eager refuses some samples
        return row | {"skipped": _line(error)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = girih.compile(case.function)
            call = _call(compiled, case.tensors, training=training)
            torch.manual_seed(0)
            actual = call()
        row["is_near"] = _is_near(actual, expected)
        row |= _times({"eager": eager, "girih": call}, quick=quick)
    except Exception as error:  # noqa: BLE001 - a table shows all failures
        row["failed"] = _line(error)
    return row


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:100]}"


def _call(function: Callable, tensors, *, training: bool) -> Callable[[], Any]:
    if not training:
        return torch.no_grad()(lambda: function(*tensors))
    leaves = tuple(
        x.clone().requires_grad_() if x.is_floating_point() or x.is_complex() else x
        for x in tensors
    )
    return _step(function, leaves, [x for x in leaves if x.requires_grad])


def _step(function: Callable, leaves, wanted) -> Callable[[], Any]:
    first = [y for y in pytree.tree_leaves(function(*leaves)) if _has_gradient(y)]
    if not first or not wanted:
        raise ValueError("no gradient")
    gradients = [torch.ones_like(y) for y in first]

    def step():
        outputs = [y for y in pytree.tree_leaves(function(*leaves)) if _has_gradient(y)]
        return torch.autograd.grad(outputs, wanted, gradients, allow_unused=True)

    return step


def _has_gradient(value) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_near(actual, expected) -> bool:
    """Whether results have eager's shapes and dtypes, and much the same numbers."""
    pairs = zip(pytree.tree_leaves(actual), pytree.tree_leaves(expected), strict=True)
    return all(_is_near_tensor(x, y) for x, y in pairs if isinstance(y, Tensor))


def _is_near_tensor(x, y) -> bool:
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if not (y.is_floating_point() or y.is_complex()):
        return bool((x == y).float().mean() > 0.99) if y.numel() else True
    return torch.allclose(x, y, rtol=1e-2, atol=1e-2, equal_nan=True)


def _times(calls: dict[str, Callable], *, quick: bool) -> dict[str, Any]:
    timings = measure.measure(calls, seconds=_SECONDS[quick], min_rounds=5)
    seconds = {name: timing.median for name, timing in timings.items()}
    return {"seconds": seconds, "ratio": seconds["eager"] / seconds["girih"]}


# -- Command ---------------------------------------------------------------------------


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line; ``ops`` holds the table's entries that run."""
    parser = options.parser(__doc__)
    parser.add_argument("--ops", type=options.names, help="a,b: these operators alone")
    parser.add_argument("--sizes", type=options.names, default=list(SIZES))
    parser.add_argument("--forms", type=options.names, default=list(FORMS))
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--training", action="store_true", help="and the gradients")
    parser.add_argument("--limit", type=float, default=0.95, help="list what is below")
    parser.add_argument(
        "--every", type=int, default=1, help="take every so many-th operator"
    )
    parsed = parser.parse_args(arguments)
    known = [op for op in definitions.op_db if not _is_excluded(op)]
    if parsed.ops:
        known = [op for op in known if op.name in parsed.ops]
        if missing := set(parsed.ops) - {op.name for op in known}:
            parser.error(f"no operators of the table: {', '.join(sorted(missing))}")
    if parsed.every < 1:
        parser.error(f"--every must be at least 1, got {parsed.every}")
    for given, allowed in ((parsed.sizes, SIZES), (parsed.forms, FORMS)):
        if unknown := [name for name in given if name not in allowed]:
            parser.error(f"{unknown[0]!r} is none of {', '.join(allowed)}")
    parsed.dtype = getattr(torch, parsed.dtype, None)
    if not isinstance(parsed.dtype, torch.dtype):
        parser.error("--dtype is the name of a dtype, such as float32")
    parsed.ops = known[:: parsed.every]
    return parsed


def _is_excluded(op: OpInfo) -> bool:
    return any(word in op.name for word in _EXCLUDED) or op.name.startswith("ops.")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the benchmark; returns 1 where a case is below the limit or wrong."""
    parsed = parse(arguments)
    if parsed.threads:
        torch.set_num_threads(parsed.threads)
    measure.keep_freed_memory()
    rows: list[dict[str, Any]] = []
    for op in options.progress(parsed.ops, lambda op: op.formatted_name):
        if not op.supports_dtype(parsed.dtype, "cpu"):
            continue
        for case in cases(op, parsed.dtype, parsed.sizes, parsed.forms):
            rows.append(_row(case, parsed))
        if parsed.output:  # after each operator, so that an early end loses nothing
            results.write(parsed.output, rows, text_of(rows, parsed.limit))
    print(text_of(rows, parsed.limit))
    return int(any(_is_bad(row, parsed.limit) for row in rows))


def _row(case: Case, parsed: argparse.Namespace) -> dict[str, Any]:
    row = run_case(case, training=parsed.training, quick=parsed.quick)
    if row.get("ratio", parsed.limit) < parsed.limit:  # the machine may have been busy
        again = run_case(case, training=parsed.training, quick=False)
        row = max(row, again, key=lambda row: row.get("ratio", 0))
    return row


def _is_bad(row: dict[str, Any], limit: float) -> bool:
    is_wrong = "failed" in row or not row.get("is_near", True)
    return is_wrong or row.get("ratio", limit) < limit


def text_of(rows: Sequence[dict[str, Any]], limit: float) -> str:
    """The cases below the limit, slowest first, with what failed, and a summary."""
    measured = [row for row in rows if "ratio" in row]
    below = sorted(
        (r for r in measured if r["ratio"] < limit), key=lambda r: r["ratio"]
    )
    header = ("case", "eager", "girih", "eager / girih")
    times = [(row["seconds"]["eager"], row["seconds"]["girih"]) for row in below]
    cells = [
        (row["case"], *map(results.seconds_text, pair), f"{row['ratio']:.2f}")
        for row, pair in zip(below, times, strict=True)
    ]
    mean = results.geometric_mean(row["ratio"] for row in measured)
    lines = [results.table(header, cells), ""] if cells else []
    lines.append(
        f"{len(measured)} cases, {len(below)} below {limit}; geometric mean {mean:.2f};"
        f" {sum('skipped' in row for row in rows)} that eager refuses"
    )
    lines += [f"failed: {r['case']}: {r['failed']}" for r in rows if "failed" in r]
    lines += [f"differs: {r['case']}" for r in rows if not r.get("is_near", True)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
