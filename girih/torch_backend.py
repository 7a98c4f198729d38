"""A backend of torch's registry behind girih's capture.

``mode`` and ``options`` are handed on as ``torch.compile`` does. girih's graphs have
more in them than TorchDynamo's, in a few points which torch's backends can't take:

* Tensors that the graph makes and at which derivatives end, operations of control
  flow, seeds: Python runs these between smaller graphs, as for girih's own backend.
* Numbers that are floats: AOTAutograd can't keep one for a backward pass. The graph is
  compiled for the value.
* Arguments that are written: capture guards no overlap of memory. A call in which one
  shares memory with another argument runs eager, and that is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import torch
from torch._guards import TracingContext, detect_fake_mode, tracing
from torch.fx import Graph, GraphModule, map_arg

from girih import exclusive
from girih.errors import UnsupportedError
from girih.fallbacks import Site, with_reasons
from girih.frontend.importer.leaves import NEW_LEAF, leaves_in
from girih.options import Options, unknown_name
from girih.registry import expect_registered, torchs
from girih.reports import Report, Reports


class TorchBackend:
    """A backend of torch, by name, with what one compiled callable gave it.

    Args:
        name: In torch's registry.
        mode: For the backend.
        options: For the backend.
        dynamic: As for ``girih.compile``.
        own: What girih's capture goes by.

    Raises:
        ImportError: The backend's package is not installed.
        RuntimeError: An option of Inductor has the wrong type.
        ValueError: The backend, or Inductor's mode or option, is not known.
    """

    def __init__(
        self,
        name: str,
        mode: str | None,
        options: Mapping[str, Any] | None,
        dynamic: bool | None,
        own: Options,
    ):
        self._given = (name, mode, options, dynamic, own)
        self._own = own
        self.reports = Reports()
        expect_registered(name)
        torchs()
        if name == "inductor":
            _check_inductor(mode, options)
            self._compile = torch._TorchCompileInductorWrapper(mode, options, dynamic)
        else:
            self._compile = torch._TorchCompileWrapper(name, mode, options, dynamic)
        self.__qualname__ = name

    def __reduce__(self) -> tuple:
        return type(self), self._given

    def girih_anew(self) -> TorchBackend:
        """The backend of a copy of the callable."""
        return type(self)(*self._given)

    def reset(self) -> None:
        """Drops what was compiled, as TorchDynamo would."""
        self.reports.graphs.clear()
        self._compile.reset()

    def __call__(self, gm: GraphModule, example_inputs: Sequence[Any]) -> Callable:
        """What torch's backend makes of a graph, or of the parts that it can take."""
        report = self.reports.begin()
        return self._compile_graph(gm, example_inputs, self._own, report)

    @exclusive.compilation()
    def _compile_graph(
        self,
        gm: GraphModule,
        example_inputs: Sequence[Any],
        options: Options,
        report: Report,
    ) -> Callable:
        from girih.compiler import site_of
        from girih.compiler.pieces import compile_pieces, needs_pieces

        report.backend = self._given[0]
        this = self._compile_graph
        if needs_pieces(gm):
            return compile_pieces(gm, example_inputs, options, report, this)
        if leaves_in(gm):
            error = UnsupportedError(NEW_LEAF)
            return compile_pieces(gm, example_inputs, options, report, this, error)
        written = gm.meta.get("written_inputs", {})
        graph = _copy_of(gm)  # backends may change it
        examples = list(example_inputs)
        for index, (requires_grad, is_leaf) in written.items():
            examples[index] = _as_before(examples[index], requires_grad, is_leaf)
        kept = _without_floats(graph, examples)
        with report.stage("backend"), _context_of(examples):
            compiled = self._compile(graph, [examples[index] for index in kept])
        if len(kept) < len(examples):
            compiled = _with_arguments(compiled, kept)
        if not written:
            return compiled
        site = site_of(gm, options, report)
        return _unless_overlapping(compiled, gm.forward, list(written), site)


def _check_inductor(mode: str | None, options: Mapping[str, Any] | None) -> None:
    """Checks the names that Inductor gets, of which it has hundreds."""
    # The user asked for Inductor: nothing else of girih may load it.
    inductor = import_module("torch._inductor")
    config = import_module("torch._inductor.config")
    if mode is not None and mode not in (modes := inductor.list_mode_options()):
        raise ValueError(unknown_name("mode", mode, modes))
    known = config.get_config_copy() if options else ()
    for name in options or ():
        if name.replace("-", "_") not in known:
            text = unknown_name("option of Inductor", name, known)
            head = text.partition("; valid:")[0]
            raise ValueError(f"{head}; torch._inductor.list_options() lists them")


def _copy_of(gm: GraphModule) -> GraphModule:
    """The graph in a module of torch's own class, which TorchScript can read, too."""
    graph = Graph()
    graph.output(graph.graph_copy(gm.graph, {}))
    copy = GraphModule(gm, graph)
    copy.meta.update(gm.meta)
    return copy


def _as_before(fake: torch.Tensor, requires_grad: bool, is_leaf: bool) -> torch.Tensor:
    """A tensor without data as an argument was before the graph wrote it."""
    with detect_fake_mode([fake]), torch.enable_grad():
        made = torch.empty_strided(
            fake.size(), fake.stride(), dtype=fake.dtype, device=fake.device
        )
        if is_leaf:
            return made.requires_grad_(requires_grad)
        zero = torch.zeros((), dtype=fake.dtype, device=fake.device)
        return made.add_(zero.requires_grad_())


def _without_floats(gm: GraphModule, examples: list[Any]) -> list[int]:
    """Makes floats constants of a graph; returns which inputs are left.

    The value of a symbol is asked for, so the graph holds for that value alone.
    """
    kept = []
    placeholders = gm.graph.find_nodes(op="placeholder")
    for index, (node, example) in enumerate(zip(placeholders, examples, strict=True)):
        if not isinstance(example, (float, torch.SymFloat)):
            kept.append(index)
            continue
        value = float(example)
        for user in list(node.users):
            user.args, user.kwargs = map_arg(
                (user.args, user.kwargs),
                lambda arg, node=node, value=value: value if arg is node else arg,
            )
        gm.graph.erase_node(node)
    if len(kept) < len(examples):
        gm.recompile()
    return kept


def _with_arguments(compiled: Callable, kept: list[int]) -> Callable:
    """Calls compiled code with some of the arguments."""

    def run(*arguments: Any) -> Any:
        return compiled(*[arguments[index] for index in kept])

    return run


@contextmanager
def _context_of(examples: Sequence[Any]) -> Iterator[None]:
    """Tells torch's backends whose sizes are symbols; their caches ask for that.

    AOTAutograd would have TorchDynamo begin again where a float has become a constant.
    There is none left in the graph, which is said in its table.
    """
    mode = detect_fake_mode(examples)
    if mode is None:
        yield
        return
    table = import_module("torch._dynamo.symbolic_convert").TensorifyState
    for symbol in _values_of_symbols(mode.shape_env):
        table.specialize(str(symbol))
    try:
        with tracing(TracingContext(mode)):
            yield
    finally:
        table.clear()


def _values_of_symbols(environment: Any) -> Mapping[Any, Any]:
    if environment is None:
        return {}
    later = getattr(environment, "backed_var_to_val", None)
    return environment.var_to_val if later is None else later  # before torch 2.12


def _unless_overlapping(
    compiled: Callable, eager: Callable, written: list[int], site: Site
) -> Callable:
    """Runs eager where an argument that is written shares memory with another one."""
    fall_back = with_reasons(site, eager)

    def run(*arguments: Any) -> Any:
        if _overlap(arguments, written):
            return fall_back("overlap", *arguments)
        return compiled(*arguments)

    return run


def _overlap(arguments: Sequence[Any], written: list[int]) -> bool:
    ranges = [
        (index, *_range_of(value))
        for index, value in enumerate(arguments)
        if isinstance(value, torch.Tensor)
    ]
    changed = [each for each in ranges if each[0] in written]
    return any(
        mine != other and first < end and start < last
        for mine, first, last in changed
        for other, start, end in ranges
    )


def _range_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Where its elements are: the first byte, and the one after the last."""
    if tensor.layout != torch.strided or not tensor.numel():
        return 0, 0
    steps = zip(tensor.size(), tensor.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()
