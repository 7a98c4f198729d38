"""The compiled graph that compares its first calls with eager."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch.fx import GraphModule, Node

from girih.checking.comparison import Difference, compare
from girih.checking.copies import NotCopied
from girih.checking.found import GraphCheck
from girih.checking.parting import described, parting_operations
from girih.errors import DifferenceWarning, GirihError
from girih.options import Options
from girih.reports import Report
from girih.tally import eager_calls

CompileGraph = Callable[[GraphModule, Sequence[Any], Options, Report], Callable]


def warn(found: GraphCheck) -> None:
    """Tells a program that asked for the option ``check`` what differs."""
    warnings.warn(str(found), DifferenceWarning, stacklevel=4)


def checked(
    gm: GraphModule,
    examples: Sequence[Any],
    options: Options,
    report: Report,
    compile_graph: CompileGraph,
    tell: Callable[[GraphCheck], None] = warn,
) -> Callable:
    """Compiles a graph; its first ``options.check`` calls are compared with eager.

    Such a call runs on copies first, then the program's own call is made. What is found
    is in ``report.check``; no call is compared after one that differed.

    Args:
        gm: The graph.
        examples: Its inputs, as the backend got them.
        options: Those of the compilation.
        report: Filled with what is done.
        compile_graph: What compiles it.
        tell: Called where something differs.
    """
    options, calls = replace(options, check=0), options.check
    compiled = compile_graph(gm, examples, options, report)
    report.check = found = GraphCheck(report.name)

    def again(part: GraphModule) -> Callable:
        return compile_graph(part, examples, options, Report(name=report.name))

    def call(*inputs: Any) -> Any:
        if found.calls < calls and found.ok and found.not_checked is None:
            _check(gm, compiled, inputs, again, found, report)
            if not found.ok:
                tell(found)
        return compiled(*inputs)

    return call


def _check(
    gm: GraphModule, compiled, inputs, again, found: GraphCheck, report: Report
) -> None:
    before = eager_calls()
    try:
        differences = compare(gm.forward, compiled, inputs)
    except NotCopied as reason:
        found.not_checked = str(reason)
        return
    if report.fallback is not None or eager_calls() > before:
        found.not_checked = "the graph runs in eager mode"
        return
    found.calls += 1
    if not differences:
        return
    names = [_name(node) for node in gm.graph.nodes if node.op == "placeholder"]
    found.differences += [_text(one, names) for one in differences]
    try:
        found.operations += map(described, parting_operations(gm, inputs, again))
    except GirihError as error:
        found.not_found = str(error).split("\n")[0]


def _name(placeholder: Node) -> str:
    """What the program calls an input, where capture said it."""
    return placeholder.meta.get("girih_source") or str(placeholder.target)


def _text(one: Difference, inputs: list[str]) -> str:
    """A difference, with the name of the result or of the input that it is about."""
    if one.number is None:
        return one.how
    names = {
        "argument": f"input {inputs[one.number]} after the call",
        "gradient": f"gradient of {inputs[one.number]}",
        "random": "random numbers after the call",
        "result": f"result {one.number}",
    }
    return f"{names.get(one.what, one.what)}: {one.how}"
