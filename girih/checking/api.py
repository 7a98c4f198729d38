"""``girih.check``: a call of a compiled function beside eager."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from girih import api, marks
from girih.checking.checked import checked
from girih.checking.found import GraphCheck
from girih.compiler import compile_graph
from girih.options import Options, make_options
from girih.reports import Report
from girih.torch_compiled import CAPTURED_BY_GIRIH, torch_compiled


@dataclass
class Check:
    """What ``girih.check(f)(*args)`` returns.

    Attributes:
        result: What the call returned: the compiled function's own result.
        graphs: What came of each graph.
        notes: What can't be told of the function.
    """

    result: Any = None
    graphs: list[GraphCheck] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether all that was compared is as in eager."""
        return all(graph.ok for graph in self.graphs)

    def __str__(self) -> str:
        lines = [*map(str, self.graphs)] or ["girih compiled no graph"]
        return "\n".join([*lines, *self.notes])


def check(
    fn: Any,
    *,
    dynamic: bool | None = None,
    options: Mapping[str, Any] | None = None,
) -> Callable[..., Check]:
    """Runs one call of a function compiled, and each of its graphs beside eager.

    Each graph runs on copies of its inputs, compiled and eager, forward and, where a
    result requires a gradient, backward along random cotangents. Results, what the
    graph wrote into its inputs, gradients, errors and the state of random numbers are
    compared. How far floats may be apart is measured: by eager in float64, and by eager
    with noise in the last place. Where something differs, the operations at which the
    two part are looked for.

    The call itself is made once, compiled, with its side effects; it draws the random
    numbers that it would draw without the check. What was compiled of ``fn`` before is
    neither used nor changed. The option ``check`` of ``girih.compile`` does the same
    with the first calls of each graph as a program runs, and warns.

    Args:
        fn: A function, method, module or other callable, compiled or not. What
            ``torch.compile`` compiled is captured by girih for this call.
        dynamic: As for ``girih.compile``.
        options: As for ``girih.compile``.

    Returns:
        A function that takes the arguments of the call and returns a ``Check``.

    Raises:
        TypeError: ``fn`` is not callable.
    """
    target = marks.innermost(fn)
    if not callable(target):
        raise TypeError(f"girih.check expects a callable, got {type(fn).__name__}")
    by_torch, mode = torch_compiled(fn), None
    if by_torch is not None:
        if options is None and by_torch.is_girihs:
            mode, options = by_torch.mode, by_torch.options
        dynamic = by_torch.dynamic if dynamic is None else dynamic
    made = make_options(options, mode)
    backend = _Checking(replace(made, check=made.check or 1))
    notes = [] if by_torch is None else [CAPTURED_BY_GIRIH]
    compiled = api.compile(target, dynamic=dynamic, backend=backend)

    def check_call(*args: Any, **kwargs: Any) -> Check:
        result = compiled(*args, **kwargs)
        return Check(result, list(backend.found), list(notes))

    return check_call


class _Checking:
    """A backend that keeps what it finds and says nothing."""

    def __init__(self, options: Options):
        self._options = options
        self.found: list[GraphCheck] = []

    def __call__(self, gm: Any, examples: Any) -> Callable:
        report = Report(name=f"graph{len(self.found)}")
        compiled = checked(
            gm, examples, self._options, report, compile_graph, lambda found: None
        )
        self.found.append(report.check)
        return compiled
