"""FX to ``graph``: runs a graph module on fake tensors and records what it computes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from girih.dialects import context as contexts
from girih.dialects import keys
from girih.dialects.bindings import func as func_dialect
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.errors import UnsupportedError, unsupported
from girih.frontend.fake import (
    LightFakeTensorMode,
    fake_like,
    make_fake_mode,
    python_dispatcher,
)
from girih.frontend.fake.demands import is_undecided
from girih.frontend.importer.builder import Builder, Operand
from girih.frontend.importer.devices import CPU, check_device
from girih.frontend.importer.differentiation import (
    Derivatives,
    asks_for_gradients,
    is_differentiable,
)
from girih.frontend.importer.execution import Calls, at_the_line_of, execute
from girih.frontend.importer.lazy_bits import NONE, Bits, bits_of, recorded_with
from girih.frontend.importer.levels import enters_levels
from girih.frontend.importer.opaque import functions_applied
from girih.frontend.importer.outputs import OutputSlot, Results, flatten_output
from girih.frontend.importer.recorder import Recorder
from girih.frontend.importer.seeds import Seeds
from girih.frontend.importer.symbols import Symbols
from girih.frontend.importer.tensor_checks import check_tensor

# Where capture notes for an input whether it requires a gradient before the graph runs.
_NOTED = "girih_requires_grad"
# Where it notes that a guard says where in its storage an input begins.
_BEGINS = "girih_begins"


@dataclass
class ImportedGraph:
    """What ``import_graph`` gives.

    Attributes:
        module: The module, with one function.
        name: The name of that function.
        input_indices: Which of the example inputs are arguments, in order: tensors
            and symbolic ints. Others were constants of the trace, or are not read.
        input_count: How many example inputs there were.
        lifted: Tensors that are further arguments, after the inputs: constants of
            the program and tensors that hang on the graph module.
        outputs: Where each value that the program returns is found.
        tree: How the values are nested (a pytree spec), None for a flat tuple.
        has_checks: Whether there are results, after the others, that nobody gets: to
            compute them raises eager's errors.
        writes: Numbers of the arguments that the program writes.
        bits: For arguments, by number, the bits of the input that the argument has not:
            see [Note: lazy bits].
    """

    module: ir.Module
    name: str
    input_indices: list[int]
    input_count: int
    lifted: list[torch.Tensor]
    outputs: list[OutputSlot]
    tree: object | None = None
    has_checks: bool = False
    writes: tuple[int, ...] = ()
    bits: dict[int, Bits] = field(default_factory=dict)

    @property
    def is_plain(self) -> bool:
        """Whether inputs and results of the function are those of the program.

        Then the compiled function may be called with the program's inputs (and
        ``lifted``), and its results, without those that are written back to
        arguments, are the program's outputs.
        """
        return (
            self.tree is None
            and not self.has_checks
            and not self.bits
            and self.input_indices == list(range(self.input_count))
            and self.outputs
            == [OutputSlot("result", i) for i in range(len(self.outputs))]
        )


def import_graph(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    name: str = "main",
    gradients: bool = False,
    device: torch.device = CPU,
    random: str | None = None,
    shown: frozenset[int] = frozenset(),
) -> ImportedGraph:
    """Imports a graph module.

    Args:
        gm: Torch-level or ATen-level calls; its output is a tensor or a (nested)
            tuple or list of tensors and ints.
        example_inputs: One value for each placeholder: real or fake tensors, ints,
            SymInts, other constants.
        name: Name of the function to make.
        gradients: Whether gradients by the inputs that require one are wanted: then
            arguments and results are marked. What the program starts with is the grad
            mode that is on now.
        device: Where the program computes, with its index: that of its inputs. It may
            make small tensors on the CPU as long as they end up on the device.
        random: Where random numbers come from: ``"eager"`` draws them as eager does,
            ``"philox"`` makes them of seeds, inside of kernels. By default ``"eager"``
            on the CPU, ``"philox"`` on other devices.
        shown: Places of results that the caller makes of others; here they are None.

    Raises:
        UnsupportedError: The program cannot be compiled, or fails.
    """
    grad_mode = torch.is_grad_enabled()
    required = _required_gradients(gm, example_inputs)
    example_inputs = _described_inputs(gm, example_inputs)
    shape_env = _shape_env_of(example_inputs)
    while True:
        known = _facts(shape_env)
        try:
            attempt = _Import(
                *(gm, example_inputs, name, required, gradients, grad_mode, device),
                *(random, shown),
            )
            # Capture may have left casts there, of the same fake tensors.
            torch.clear_autocast_cache()
            imported = attempt.run()
        except (AssertionError, UnsupportedError):
            if _facts(shape_env) == known:
                raise
        except Exception as error:
            if not is_undecided(error):
                raise
            unsupported(
                kind="size without a value",
                context=str(error).split("\n")[0],
                explanation="Some sizes of the graph's inputs have no example value.",
                hints=("Leave out mark_unbacked.",),
            )
        else:
            # Sizes found to be equal or constant during the import have been written
            # in two ways: once more, now that it is known.
            if _facts(shape_env) == known:
                return imported


def _described_inputs(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> list:
    """The inputs, as the fake tensors that the placeholders carry where they do.

    Dynamo hands real tensors to a backend; only the placeholders tell which of their
    sizes are symbolic.
    """
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    described = []
    for node, value in zip(placeholders, inputs, strict=True):
        known = node.meta.get("example_value", node.meta.get("val"))
        real = isinstance(value, torch.Tensor) and not isinstance(value, FakeTensor)
        if real and node.users:
            check_tensor(value)  # the fake tensor of it does not tell all
        described.append(known if real and isinstance(known, FakeTensor) else value)
    return described


def _required_gradients(gm: torch.fx.GraphModule, inputs: Sequence[Any]) -> list[bool]:
    """Which inputs require a gradient when the graph starts.

    What stands for them has seen the writes of the program, so capture notes it.
    """
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    return [
        node.meta.get(_NOTED, getattr(value, "requires_grad", False))
        for node, value in zip(placeholders, inputs, strict=True)
    ]


def _shape_env_of(inputs: Sequence[Any]) -> object | None:
    for value in inputs:
        if isinstance(value, FakeTensor) and value.fake_mode.shape_env is not None:
            return value.fake_mode.shape_env
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return value.node.shape_env
    return None


def _facts(shape_env: object | None) -> int:
    """How much is known about sizes; guards may imply that one of them is 1."""
    if shape_env is None:
        return 0
    return len(shape_env.replacements) + len({g.expr for g in shape_env.guards})


@dataclass
class _Import:
    """One attempt to import a graph module."""

    gm: torch.fx.GraphModule
    inputs: Sequence[Any]
    name: str
    required: Sequence[bool]
    gradients: bool
    grad_mode: bool
    device: torch.device
    random: str | None = None
    shown: frozenset[int] = frozenset()
    symbols: Symbols = field(default_factory=Symbols)
    lifted: list[torch.Tensor] = field(default_factory=list)
    arguments: list[dict] = field(default_factory=list)
    bits: dict[int, Bits] = field(default_factory=dict)

    def run(self) -> ImportedGraph:
        context = contexts.shared()
        # Inference tensors skip the keys that decompose composite ops.
        normal = torch.inference_mode(False)
        with normal, context, ir.Location.unknown(context), self._grad_mode():
            self.module = ir.Module.create()
            self.block, function = self._open_function()
            self.builder = Builder(context, self.block, self.symbols, self.device)
            self.builder.seeds = self._seeds()
            self.recorder = Recorder(
                self._fake_mode(),
                self.builder,
                self.symbols,
                self._lift,
                Derivatives(self.builder) if self.differentiates else None,
            )
            output = self._execute(self._bind_inputs())
            values, tree = flatten_output(output)
            for place in self.shown:
                values[place] = None
            results = Results(self.recorder, self.fakes)
            pairs = [results.without_bits(value) for value in values]
            results.share_views([value for value, _ in pairs])
            slots = []
            for (value, bits), node in zip(pairs, self._made(values), strict=True):
                with at_the_line_of(node):
                    slots.append(results.place(value)._replace(bits=bits))
            results.add_writes()
            self._mark_uncounted()
            has_checks = results.add_checks()
            if self.builder.seeds is not None:
                self.builder.seeds.finish(self.builder)
            self._close_function(function, results)
        indices = [i for i, fake in enumerate(self.fakes) if fake is not None]
        return ImportedGraph(
            self.module,
            self.name,
            indices,
            len(self.inputs),
            self.lifted,
            slots,
            tree,
            has_checks,
            tuple(results.written),
            self.bits,
        )

    def _made(self, values: list) -> list:
        """The nodes that made the results; None where a node gives several."""
        nodes, _ = flatten_output(self.gm.graph.output_node().args[0])
        return nodes if len(nodes) == len(values) else [None] * len(values)

    @functools.cached_property
    def differentiates(self) -> bool:
        """Whether it matters what derivatives values have."""
        asks = asks_for_gradients(self.gm) or enters_levels(self.gm)
        return self.gradients or asks

    def _seeds(self) -> Seeds | None:
        default = "eager" if self.device.type == "cpu" else "philox"
        return Seeds() if (self.random or default) == "philox" else None

    def _grad_mode(self) -> AbstractContextManager:
        return torch.set_grad_enabled(self.differentiates and self.grad_mode)

    def _execute(self, fakes: list) -> Any:
        mode = self.recorder.fake_mode
        with python_dispatcher(mode), mode, self.recorder, self._functions():
            calls = self._calls()
            return execute(self.gm, fakes, self.recorder, calls)

    def _functions(self) -> AbstractContextManager:
        if not self.differentiates:
            return nullcontext()
        return functions_applied(self.recorder)

    def _calls(self) -> Calls | None:
        if not self.differentiates:
            return None
        # Needs what capture needs.
        from girih.frontend.importer.transforms import Transforms

        return Transforms(self.recorder)

    # Inputs ---------------------------------------------------------------------

    def _fake_mode(self) -> FakeTensorMode:
        """The mode of the inputs if it is quick, else a quick one for their sizes."""
        fakes = [value for value in self.inputs if isinstance(value, FakeTensor)]
        for fake in fakes:
            if isinstance(fake.fake_mode, LightFakeTensorMode):
                return fake.fake_mode
        return make_fake_mode(_shape_env_of(self.inputs))

    def _bind_inputs(self) -> list:
        """What the placeholders are: fake tensors, SymInts, constants."""
        self.fakes: list = []
        nodes = self.gm.graph.nodes
        placeholders = [node for node in nodes if node.op == "placeholder"]
        self.names = [str(node.target) for node in placeholders]
        self._find_numbers()
        self.placed = {i for i, node in enumerate(placeholders) if _BEGINS in node.meta}
        self.traced = {i for i, node in enumerate(placeholders) if _NOTED in node.meta}
        owners: dict[int, Any] = {}
        bound = []
        for position, value in enumerate(self.inputs):
            if self._is_ignored(placeholders[position], value):
                self.fakes.append(None)
                bound.append(None)
            elif isinstance(value, torch.Tensor):
                fake = self._bind_tensor(value, position, owners)
                self.fakes.append(fake)
                bound.append(fake)
            else:
                _check_constant(value)
                symbolic = _is_symbolic(value)
                if symbolic:
                    self._bind_number(value, position)
                self.fakes.append(value if symbolic else None)
                bound.append(value)
        return bound

    def _is_ignored(self, placeholder: torch.fx.Node, value: Any) -> bool:
        """Whether an input is a tensor that girih has no type for, and nothing reads.

        A program that asks for no more than its attributes has such inputs.
        """
        if placeholder.users or not isinstance(value, torch.Tensor):
            return False
        try:
            check_tensor(value)
            check_device(value, self.device)
        except UnsupportedError:
            return True
        return False

    def _find_numbers(self) -> None:
        """Tells which symbols are no sizes, before the first size is converted."""
        for value in self.inputs:
            if isinstance(value, torch.SymInt) and self.symbols.may_be_negative(value):
                self.symbols.numbers.add(str(value.node.expr))

    def _bind_tensor(self, value: torch.Tensor, position: int, owners: dict):
        check_tensor(value)
        check_device(value, self.device)
        fake, mode = value, self.recorder.fake_mode
        is_usable = isinstance(value, FakeTensor) and value.fake_mode is mode
        bits = bits_of(value)
        is_usable = is_usable and not value.is_inference() and bits == NONE
        if is_usable and self.differentiates:
            # Eager's graph is read later: a write in here would count there, too.
            is_usable = not (value.requires_grad or _is_written(value))
        if not is_usable:
            fake = fake_like(mode, value)
            # A tensor that stands for a float of the program knows its symbol.
            if isinstance(value, FakeTensor) and value.item_memo is not None:
                self.recorder.numbers[id(fake)] = value.item_memo
        if self.recorder.table.get(fake) is not None:
            # The same fake tensor for two inputs: tell them apart.
            fake = fake_like(mode, value)
        number = len(self.arguments)
        operand = self._add_argument(fake, self._argument_name(position))
        entry = self.recorder.add_argument(fake, operand, number)
        entry.storage.is_placed = position in self.placed
        other = owners.setdefault(value.untyped_storage()._cdata, entry.storage)
        if other is not entry.storage:
            other.shared = entry.storage.shared = True
        memo = self.recorder.numbers.get(id(fake))
        if isinstance(memo, torch.SymFloat) and fake.dtype == torch.float64:
            self.recorder.scalars.bind(memo, operand, fits=False)
        if self._is_static(value, position):
            self.arguments[number][keys.STATIC] = ir.UnitAttr.get()
        if self.required[position]:
            self._require_gradient(number, operand)
        if self.differentiates and position in self.traced:
            # As it is when the program has written it.
            self.recorder.derivatives.required[id(fake)] = value.requires_grad
        if bits != NONE:
            self.bits[number] = bits
            return recorded_with(self.recorder, fake, bits)
        return fake

    def _require_gradient(self, number: int, operand: Operand) -> None:
        if not self.differentiates or not is_differentiable(operand.dtype):
            return
        self.recorder.derivatives.add_source(operand.value)
        if self.gradients:
            self.arguments[number][keys.REQUIRES_GRAD] = ir.UnitAttr.get()

    def _bind_number(self, value: torch.SymInt | torch.SymFloat, position: int):
        if isinstance(value, torch.SymFloat):
            self._add_number(value, torch.float64, position)
        elif self.symbols.may_be_negative(value):
            self._add_number(value, torch.int64, position)
        else:
            self._bind_int(value)

    def _add_number(self, value, dtype: torch.dtype, position: int) -> None:
        """An argument of the graph that holds a Python number."""
        type_ = self.builder.type((), dtype)
        argument = self.block.add_argument(type_, ir.Location.unknown())
        self.recorder.scalars.bind(value, Operand(argument, (), dtype), fits=True)
        name = ir.StringAttr.get(self._argument_name(position))
        number = {keys.NUMBER: ir.UnitAttr.get(), keys.NAME: name}
        self.arguments.append(number)

    def _bind_int(self, value: torch.SymInt) -> None:
        attributes = {}
        size = self.symbols.size(value)
        if isinstance(size, Dim) and str(size) in self.symbols.ranges:
            attributes[keys.SYMBOL] = ir.StringAttr.get(str(size))
        self.block.add_argument(ir.IndexType.get(), ir.Location.unknown())
        self.arguments.append(attributes)

    def _argument_name(self, position: int) -> str:
        return self.names[position]

    def _is_static(self, value: torch.Tensor, position: int) -> bool:
        if isinstance(value, torch.nn.Parameter):
            return True
        return position in self.gm.meta.get("static_input_indices", ())

    def _add_argument(self, fake: torch.Tensor, name: str | None) -> Operand:
        spec = self.recorder.spec(fake)
        type_ = self.builder.type(spec.shape, spec.dtype)
        value = self.block.add_argument(type_, ir.Location.unknown())
        attributes = {}
        if spec.strides is not None:
            attributes[keys.STRIDES] = sizes_attribute(spec.strides)
        if name is not None:
            attributes[keys.NAME] = ir.StringAttr.get(name)
        self.arguments.append(attributes)
        return Operand(value, spec.shape, spec.dtype, spec.strides)

    def _lift(self, constant: torch.Tensor, fake: torch.Tensor) -> tuple[Operand, int]:
        """Makes an argument of a constant; returns its value and its number."""
        operand = self._add_argument(fake, f"constant{len(self.lifted)}")
        self.arguments[-1][keys.STATIC] = ir.UnitAttr.get()
        self.lifted.append(constant)
        if constant.requires_grad:
            self._require_gradient(len(self.arguments) - 1, operand)
        return operand, len(self.arguments) - 1

    # The function ---------------------------------------------------------------

    def _mark_uncounted(self) -> None:
        """Marks the arguments that keep their versions, although they are written."""
        for entry in self.recorder.arguments:
            storage = entry.storage
            if storage.version and storage.version == storage.uncounted:
                mark = {keys.UNCOUNTED: ir.UnitAttr.get()}
                self.arguments[storage.argument].update(mark)

    def _open_function(self) -> tuple[ir.Block, Any]:
        with ir.InsertionPoint(self.module.body):
            function = func_dialect.FuncOp(self.name, ir.FunctionType.get([], []))
        return function.body.blocks.append(), function

    def _close_function(self, function: Any, results: Results) -> None:
        func_dialect.ReturnOp(results.values, ip=ir.InsertionPoint(self.block))
        inputs = [argument.type for argument in self.block.arguments]
        outputs = [value.type for value in results.values]
        type_ = ir.FunctionType.get(inputs, outputs)
        function.attributes["function_type"] = ir.TypeAttr.get(type_)
        function.attributes["arg_attrs"] = _dictionaries(self.arguments)
        function.attributes["res_attrs"] = _dictionaries(results.attributes)
        self._check_symbols()
        if self.device.type != "cpu":
            function.attributes[keys.DEVICE] = ir.StringAttr.get(str(self.device))
        if self.symbols.ranges:
            i64 = ir.IntegerType.get_signless(64)
            ranges = {
                symbol: ir.ArrayAttr.get([ir.IntegerAttr.get(i64, n) for n in range_])
                for symbol, range_ in sorted(self.symbols.ranges.items())
            }
            function.attributes[keys.SYMBOLS] = ir.DictAttr.get(ranges)

    def _check_symbols(self) -> None:
        """Every symbol must be the size of an argument, or an argument."""
        bound: set[str] = set()
        for fake in self.fakes:
            if isinstance(fake, torch.Tensor):
                sizes: tuple[Size, ...] = self.symbols.shape(fake.shape)
            elif isinstance(fake, torch.SymInt) and not self.symbols.is_number(fake):
                sizes = (self.symbols.size(fake),)
            else:
                sizes = ()
            bound |= {str(size) for size in sizes if isinstance(size, Dim)}
        for symbol in self.symbols.ranges:
            if symbol not in bound:
                unsupported(
                    kind="symbolic size that girih can't read from an input",
                    context=symbol,
                    explanation=f"The graph uses the size {symbol}, but the inputs "
                    "have only sizes computed from it.",
                    hints=("Compile with dynamic=False.",),
                )


def _check_constant(value: Any) -> None:
    """Raises where an input holds tensors: they would be constants of the program."""
    if isinstance(value, (list, tuple, dict)):
        unsupported(
            kind="input that is a container",
            context=type(value).__name__,
            explanation="A graph takes tensors and numbers as inputs.",
        )


def _is_written(fake: FakeTensor) -> bool:
    """Whether capture has written it; inference tensors do not count that."""
    return fake.is_inference() or fake._version > 0


def _is_symbolic(value: Any) -> bool:
    """Whether an input is a number that is not known to be constant."""
    if isinstance(value, torch.SymFloat):
        return not value.node.expr.is_number
    return isinstance(value, torch.SymInt)


def sizes_attribute(sizes: Sequence[Size]) -> ir.Attribute:
    """An array of ints and texts of dims."""
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [
            ir.StringAttr.get(str(size))
            if isinstance(size, Dim)
            else ir.IntegerAttr.get(i64, size)
            for size in sizes
        ]
    )


def _dictionaries(attributes: list[dict]) -> ir.Attribute:
    return ir.ArrayAttr.get([ir.DictAttr.get(entry) for entry in attributes])
