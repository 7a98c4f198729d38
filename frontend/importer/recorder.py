"""Records the ATen calls of a program as ``graph`` ops.

A dispatch mode above the fake tensor mode: each call runs on fake tensors first, which
tells what eager would give, and is then imported by the rule for its overload, as a
view, as a write, or as ``graph.extern``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.errors import unsupported
from girih.frontend.fake import fake_like
from girih.frontend.fake.layout import is_contiguous
from girih.frontend.fake.rules import RULES as SHAPE_RULES
from girih.frontend.fake.rules import Result
from girih.frontend.importer.builder import Builder, Operand, Spec
from girih.frontend.importer.devices import check_aten_call, check_made
from girih.frontend.importer.differentiation import Derivatives
from girih.frontend.importer.extern import build_extern
from girih.frontend.importer.native import is_native, operands_of
from girih.frontend.importer.registry import (
    EFFECTS,
    RULES,
    VIEWS,
    ViewStep,
    knows_negative,
)
from girih.frontend.importer.scalars import Scalars, apply_rule
from girih.frontend.importer.schema import op_info, size_arguments, with_defaults
from girih.frontend.importer.symbols import Symbols
from girih.frontend.importer.tensor_checks import (
    check_acceptance,
    check_constant,
    check_resized,
    check_tensor,
    checked_steps,
    checked_values,
)
from girih.frontend.importer.tracking import Table, Tracked
from girih.frontend.importer.writing_calls import (
    calls_in_turn,
    import_writing_call,
    tensors_of,
    written_tensors,
)
from girih.frontend.importer.written_windows import is_uniform, write_window

# Ops that give a tensor other memory, or its memory another size.
_CHANGES_MEMORY = ("set_", "resize_", "_resize_")

# Views that share no history with what they are views of.
_DETACH = ("detach", "detach_", "view.dtype")

# Ops that give nothing, and raise where their data is wrong.
_CHECKS = ("aten::_assert_async", "aten::_linalg_check_errors")
_QUERIES = ("prim::", "aten::sym_", "aten::storage_offset", "profiler::")


class Recorder(TorchDispatchMode):
    """The dispatch mode.

    Attributes:
        builder: Where ops go.
        table: What is known about the tensors of the program.
        symbols: Conversion of symbolic sizes.
        scalars: Numbers that are no sizes.
        derivatives: What is known about derivatives, None where nobody asks for one.
        arguments: The entries of all tensors that are arguments.
        numbers: Symbols of the tensors that stand for a number, by identity.
        floats: The numbers for which floats stand in the call that runs now.
        memories: All of the memory of tensors that were resized, by identity.
    """

    def __init__(
        self,
        fake_mode: FakeTensorMode,
        builder: Builder,
        symbols: Symbols,
        lift: Callable[[torch.Tensor, FakeTensor], tuple[Operand, int]],
        derivatives: Derivatives | None = None,
    ):
        """Args: ``lift`` makes an argument of a constant, given the fake of it.

        It returns the value and the number of the argument.
        """
        super().__init__()
        self.fake_mode = fake_mode
        self.builder = builder
        self.symbols = symbols
        self.scalars = Scalars(builder, symbols)
        self.table = Table(derivatives is not None)
        self.derivatives = derivatives
        self.arguments: list[Tracked] = []
        self.numbers: dict[int, Any] = {}
        self.floats: dict[float, torch.SymFloat] = {}
        self.memories: dict[int, tuple[torch.Tensor, Operand]] = {}
        self._lift = lift
        self._lifted: dict[int, tuple[torch.Tensor, FakeTensor]] = {}
        self._locations: dict[tuple, ir.Location] = {}
        self._handlers: dict[torch._ops.OpOverload, Callable | None] = {}

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Keeps torch from wrapping the handler in ``torch._dynamo.disable``."""
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Runs a call on fake tensors and imports it."""
        kwargs = kwargs or {}
        handler = self._handlers.get(func)
        if handler is None:
            handler = self._handlers[func] = self._choose(func)
        if handler is _run_only or _is_about_shapes(args, kwargs):
            return func(*args, **kwargs)
        self._locate(func)
        if handler is not Recorder._import_literal:
            args, kwargs = self._all_fake(args), self._all_fake(kwargs)
        if handler not in _ABOUT_MEMORY and func.namespace == "aten":
            check_acceptance(func, args, kwargs)
        return handler(self, func, args, kwargs)

    def _locate(self, func: torch._ops.OpOverload) -> None:
        """Names the ops made next after the ATen op, at the place of the node."""
        place = self.builder.place
        key = (func, place)
        location = self._locations.get(key)
        if location is None:
            location = ir.Location.name(str(func), place)
            self._locations[key] = location
        self.builder.location = location

    # Constants ------------------------------------------------------------------

    def _all_fake(self, value: Any) -> Any:
        """Arguments with fake tensors for the real ones among them."""
        if isinstance(value, torch.Tensor):
            return value if isinstance(value, FakeTensor) else self.lift(value)
        if type(value) in (tuple, list):
            return type(value)([self._all_fake(item) for item in value])
        if type(value) is dict:
            return {key: self._all_fake(item) for key, item in value.items()}
        return value

    def lift(self, constant: torch.Tensor) -> FakeTensor:
        """The fake tensor of a real one, which becomes an argument of the graph."""
        known = self._lifted.get(id(constant))
        if known is not None:
            return known[1]
        check_constant(constant)
        fake = fake_like(self.fake_mode, constant)
        self._lifted[id(constant)] = (constant, fake)
        operand, number = self._lift(constant, fake)
        self.add_argument(fake, operand, number)
        return fake

    def add_argument(self, fake: FakeTensor, value: Operand, number: int) -> Tracked:
        """Adds the tensor of an argument."""
        entry = self.table.add_base(fake, value, number)
        self.arguments.append(entry)
        return entry

    def lifted_from(self, fake: torch.Tensor) -> torch.Tensor | None:
        """The real tensor that a fake one was made of by ``lift``, or None."""
        for constant, known in self._lifted.values():
            if known is fake:
                return constant
        return None

    def _import_literal(self, func, args, kwargs):
        """What ``torch.tensor`` made: a number in the graph, or an argument."""
        literal = args[0]
        if isinstance(literal, FakeTensor):
            return self._import_view(func, args, kwargs)
        check_constant(literal)
        fake = func(literal)
        self.table.add_base(fake, self._constant_value(literal, fake))
        return fake

    # Tensors and operands -------------------------------------------------------

    def tracked(self, tensor: torch.Tensor) -> Tracked:
        """The entry of a tensor of the program."""
        entry = self.table.get(tensor)
        if entry is None:
            constant = getattr(tensor, "constant", None)
            if constant is None:
                check_tensor(tensor)  # what no graph has says why itself
                unsupported(
                    kind="tensor from outside",
                    context=f"{tuple(tensor.shape)} {tensor.dtype}",
                    explanation="The graph uses a tensor that it was not given.",
                )
            entry = self.table.add_base(tensor, self._constant_value(constant, tensor))
        return entry

    def _constant_value(self, constant: torch.Tensor, fake: torch.Tensor) -> Operand:
        if constant.numel() == 1 and not constant.is_complex():
            shape = tuple(constant.shape)
            with torch._C._DisableTorchDispatch():
                number = constant.item()
            return self.builder.full(shape, number, constant.dtype)
        return self._lift(constant, fake)[0]

    def operand(self, tensor: torch.Tensor) -> Operand:
        """The current value of a tensor, with eager's strides."""
        value = self.tracked(tensor).read()
        strides = self.strides(tensor)
        if strides != value.strides:
            value = value._replace(strides=strides)
        return value

    def strides(self, tensor: torch.Tensor) -> tuple | None:
        """Eager's strides of a tensor, None where it is contiguous."""
        if is_contiguous(tensor):
            return None
        return tuple(self.symbols.size(stride) for stride in tensor.stride())

    def spec(self, tensor: torch.Tensor) -> Spec:
        """What eager gives, from a fake result."""
        shape = self.symbols.shape(tensor.shape)
        return Spec(shape, tensor.dtype, self.strides(tensor))

    def plain(self, value: Any) -> Any:
        """An argument as rules take it: operands, sizes, and the rest as it is."""
        if isinstance(value, torch.Tensor):
            return self.operand(value)
        if isinstance(value, torch.SymInt) and not self.symbols.is_number(value):
            return self.symbols.size(value)
        value = self.floats.get(value, value) if type(value) is float else value
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            return self.scalars.of(value)
        if isinstance(value, torch.SymBool):
            return bool(value)
        if isinstance(value, (list, tuple)):
            return [self.plain(item) for item in value]
        return value

    def _fixed(self, value: Any) -> Any:
        """Arguments of a view, with constants for the numbers that are no sizes."""
        if isinstance(value, torch.SymInt) and self.symbols.is_number(value):
            return self.symbols.size(value)
        if isinstance(value, (list, tuple)):
            return [self._fixed(item) for item in value]
        if isinstance(value, dict):
            return {key: self._fixed(item) for key, item in value.items()}
        return value

    def plain_call(self, args: tuple, kwargs: dict) -> tuple[list, dict]:
        """All arguments of a call as rules take them."""
        return self.plain(args), {k: self.plain(v) for k, v in kwargs.items()}

    # Ways to import a call ------------------------------------------------------

    def _choose(self, func: torch._ops.OpOverload) -> Callable:
        """The handler of an overload, looked up once for each import."""
        if _is_question(func.name()):
            return _run_only
        info = op_info(func)
        if info.name in ("lift_fresh", "lift_fresh_copy"):
            return Recorder._import_literal
        if info.name == "_local_scalar_dense":
            return Recorder._read_number
        if info.name in EFFECTS:
            return EFFECTS[info.name]
        if info.name in VIEWS:
            return Recorder._import_view
        if info.name.startswith(_CHANGES_MEMORY):
            return Recorder._refuse_view
        if info.name not in RULES and func._can_decompose():
            return Recorder._decompose
        if info.writes:
            return Recorder._import_write
        if info.is_view:
            return Recorder._refuse_view
        return Recorder.import_value

    def _read_number(self, func, args, kwargs):
        known = self.numbers.get(id(args[0]))
        return func(*args, **kwargs) if known is None else known

    def _decompose(self, func, args, kwargs):
        """An op that torch writes out, such as composite ones of inference tensors.

        What is written out may lie in another way than what the kernel gives.
        """
        kernel = SHAPE_RULES.get(op_info(func).name)
        expected = NotImplemented if kernel is None else kernel(*args, **kwargs)
        with self:
            result = func.decompose(*args, **kwargs)
            lies_plainly = isinstance(expected, Result) and not expected.stride
            return result.contiguous() if lies_plainly else result

    def expect(self, results: list[torch.Tensor]) -> None:
        """Tells the rules what eager gives."""
        for tensor in results:
            check_tensor(tensor)
        check_made(results, self.builder.device)
        self.builder.out = [self.spec(tensor) for tensor in results]

    def import_value(self, func, args, kwargs):
        """Imports a call that gives new tensors."""
        result = func(*args, **kwargs)
        tensors = tensors_of(result)
        if not tensors and not op_info(func).is_random:
            if func.name().startswith(_CHECKS):
                self.compute(func, args, kwargs, [])
            return result
        values = self.compute(func, args, kwargs, tensors)
        for tensor, value in zip(tensors, values, strict=True):
            if self.table.get(tensor) is None:  # dropout may return its argument
                self.add_value(tensor, value)
        return result

    def add_value(self, tensor: torch.Tensor, value: Operand) -> None:
        """Adds a tensor that was computed, with memory of its own."""
        if self._is_unseen():
            value = self.derivatives.detach(value)
        self.table.add_base(tensor, value)

    def _is_unseen(self) -> bool:
        """Whether autograd does not see what happens now."""
        return self.derivatives is not None and not torch.is_grad_enabled()

    def compute(self, func, args, kwargs, results) -> tuple[Operand, ...]:
        """The values of a functional op's results, by its rule or as an extern."""
        self.expect(results)
        info = op_info(func)
        args = _counted_from_start(info.name, args)
        given = [*tensors_of(args), *tensors_of(list(kwargs.values()))]
        args, kwargs = self.plain_call(args, kwargs)
        if not given:
            args = _with_tensors(self.builder, func, args)
        if info.is_random:  # each device has numbers of its own
            check_aten_call(given, results, self.builder.device)
        values = self._rule_values(func, info, args, kwargs)
        if values is None:
            check_aten_call(given, results, self.builder.device)
            is_ordered = info.is_random or not results
            values = build_extern(self.builder, func, args, kwargs, ordered=is_ordered)
        return self.seen(info.name, values, list(operands_of([args, kwargs])))

    def seen(self, name: str, values, operands: list[Operand]) -> tuple[Operand, ...]:
        """The results of an op, as autograd sees them where it looks."""
        if self.derivatives is None or not torch.is_grad_enabled():
            return values
        return tuple(self.derivatives.of_results(name, values, operands))

    def _rule_values(self, func, info, args, kwargs) -> tuple[Operand, ...] | None:
        """The values of an op's results by its rule; None: ATen has to be called."""
        rule = RULES.get(info.name)
        is_seen = self.derivatives is not None and torch.is_grad_enabled()
        if is_seen and info.name in _WITHOUT_DERIVATIVE:
            if self.builder.out[0].dtype.is_floating_point:
                return None
        if rule is None or not is_native(info.name, args, kwargs, self.builder.out):
            return None
        if not knows_negative(rule) and self._has_negative(func, args, kwargs):
            return None
        values = apply_rule(self.builder, rule, info.name, args, kwargs)
        if values is NotImplemented:
            return None
        specs = self.builder.out
        values = checked_values(rule, info.name, values, specs, self.symbols)
        pairs = zip(values, self.builder.out, strict=True)
        # A sum of sizes may be spelled otherwise than the size that guards say it is.
        return tuple(self.builder.reshape(x, spec.shape) for x, spec in pairs)

    def _has_negative(self, func, args: list, kwargs: dict) -> bool:
        """Whether a symbolic int is below zero where rules expect a size."""
        for name, place in size_arguments(func).items():
            value = args[place] if place < len(args) else kwargs.get(name)
            for size in value if isinstance(value, list) else [value]:
                if isinstance(size, Dim) and self.symbols.is_negative(size):
                    return True
        return False

    def _import_view(self, func, args, kwargs):
        base = self.tracked(args[0])
        # Taken before the call: some views are made in place.
        shape = self.symbols.shape(args[0].shape)
        self.leave(func, args[0])
        result = func(*args, **kwargs)
        tensors = tensors_of(result)
        self.expect(tensors)
        info = op_info(func)
        args = _counted_from_start(info.name, args)
        plain, named = self.plain_call(self._fixed(list(args[1:])), self._fixed(kwargs))
        rule = VIEWS[info.name]
        steps = rule(self.builder, shape, *plain, **named)
        steps = checked_steps(rule, info.name, steps, len(tensors))
        for tensor, step in zip(tensors, steps, strict=True):
            self.add_view(tensor, base, step, is_cut=info.name in _DETACH)
        return result

    def leave(self, func, tensor: torch.Tensor) -> None:
        """Keeps how a tensor lies that an op makes a view of itself, as ``t_`` does."""
        if op_info(func).name.partition(".")[0].endswith("_"):
            self.tracked(tensor).leave(torch.ops.aten.alias.default(tensor))

    def add_view(self, tensor, parent: Tracked, step: ViewStep, *, is_cut=False):
        """Adds a tensor that shares memory, but maybe (``is_cut``) no history."""
        cut = None
        if self._is_unseen() or (is_cut and self.derivatives is not None):
            cut = self.derivatives.cut()
        self.table.add_view(tensor, parent, step, cut, is_detached=is_cut)

    def _refuse_view(self, func, args, kwargs):
        unsupported(
            kind="view",
            context=str(func),
            explanation="girih does not know how this shares or changes memory.",
        )

    def _import_write(self, func, args, kwargs):
        """An in-place op or one with ``out`` arguments: compute, then write."""
        if in_turn := calls_in_turn(func, args, kwargs):
            return [self._import_write(func, *call) for call in in_turn][0]
        info = op_info(func)
        targets = written_tensors(func, args, kwargs)
        if info.functional is None:
            return import_writing_call(self, func, (args, kwargs), targets)
        shapes = [tuple(target.shape) for target in targets]
        if self.derivatives is not None:
            views = [self.tracked(target).parent is not None for target in targets]
            self.derivatives.through_view = any(views)
        values = self._functional_values(func, info, args, kwargs, targets)
        if self.derivatives is not None:
            self.derivatives.through_view = False
        result = func(*args, **kwargs)
        unseen = info.name in UNRECORDED_WRITES
        for target, value, shape in zip(targets, values, shapes, strict=True):
            if shape != tuple(target.shape):
                self._make_anew(func, target, value)
            else:
                even = is_uniform(info.name, args)
                self.write(target, value, unseen=unseen, is_uniform=even)
        return result

    def _make_anew(self, func, target: torch.Tensor, value: Operand) -> None:
        """Gives a tensor that eager resizes, and that only the program has, a value."""
        check_resized(func, self.builder.out, self.table.is_alone(target))
        self.add_value(target, self.builder.cast(value, target.dtype))

    def _functional_values(self, func, info, args, kwargs, targets):
        twin = info.functional
        kwargs = {
            name: value
            for name, value in kwargs.items()
            if not any(a.is_out and a.name == name for a in func._schema.arguments)
        }
        if not kwargs:
            args = with_defaults(func, args)
        is_drawn = self.builder.seeds is None and op_info(twin).name == "bernoulli.p"
        if is_drawn and not is_contiguous(targets[0]):
            return (self._draw_bits(twin, args, kwargs, targets[0]),)
        result = twin(*args, **kwargs) if _may_run(twin) else targets
        return self.compute(twin, args, kwargs, tensors_of(result))

    def _draw_bits(self, twin, args, kwargs, target) -> Operand:
        """Random bits for a tensor that is not contiguous.

        Eager draws them in the order of the memory. The twin's result is always
        contiguous, so it gets a contiguous tensor with the dims in that order. (Other
        random ops keep the layout of their operand, see ``operand_strides``.)
        """
        b = self.builder
        strides = target.stride()
        order = sorted(range(target.dim()), key=strides.__getitem__, reverse=True)
        inverse = sorted(range(target.dim()), key=order.__getitem__)
        args, kwargs = self.plain_call(args, kwargs)
        args[0] = b.permute(args[0], order)._replace(strides=None)
        b.out = [Spec(args[0].shape, target.dtype)]
        drawn = build_extern(b, twin, args, kwargs, ordered=True)[0]
        return b.permute(drawn, inverse)

    def write(
        self,
        target: torch.Tensor,
        value: Operand,
        *,
        unseen: bool = False,
        is_uniform: bool = False,
    ) -> None:
        """Writes a value to a tensor, cast and broadcast to fit.

        Args:
            target: What is written.
            value: What it becomes.
            unseen: The op writes inside, where autograd does not see it.
            is_uniform: All elements become the same.
        """
        b = self.builder
        value = b.broadcast_to(
            b.cast(value, target.dtype), self.symbols.shape(target.shape)
        )
        entry, derivatives = self.tracked(target), self.derivatives
        hide = derivatives and derivatives.hide_of(entry, value, unseen=unseen)
        if not write_window(self, entry, value, hide, is_uniform=is_uniform):
            entry.write(value, hide)


def _counted_from_start(name: str, args: tuple) -> tuple:
    """The arguments of a slice or selection; rules take symbolic indices as positive.

    Whether one is negative has become a guard already where the call ran.
    """
    place = _PLACE_OF_INDEX.get(name)
    if place is None or len(args) <= place:
        return args
    index = args[place]
    if not isinstance(index, torch.SymInt) or not index < 0:
        return args
    index = args[0].size(args[place - 1]) + index
    if name.startswith("slice"):
        index = torch.sym_max(index, 0)
    return (*args[:place], index, *args[place + 1 :])


# Which argument is the first index along the dim that the argument before it names.
_PLACE_OF_INDEX = {
    "select.int": 2,
    "select_scatter": 3,
    "slice.Tensor": 2,
    "slice_scatter": 3,
}

# Writes that autograd does not record: what was written keeps its history.
UNRECORDED_WRITES = ("logical_and_", "logical_not_", "logical_or_", "logical_xor_")

# Eager has no derivative of these, and says so in the backward pass; rules make them of
# ops that have one.
_WITHOUT_DERIVATIVE = (
    *("floor_divide", "floor_divide.Scalar"),
    "native_channel_shuffle",
)


def _may_run(twin) -> bool:
    # A random op must not advance anything twice; its result has the target's shape.
    return not op_info(twin).is_random


_META = torch.device("meta")


def _is_question(name: str) -> bool:
    """Whether an operator asks about a tensor, and computes nothing.

    Some are none of the dispatcher's: kernels that are no functions of symbolic sizes
    ask ``aten::size`` for numbers, which makes constants of the symbols.
    """
    return name.startswith(_QUERIES) or not torch._C._dispatch_has_kernel(name)


def _is_about_shapes(args: tuple, kwargs: dict) -> bool:
    """Whether a call makes a meta tensor, which has no data and leads to none."""
    if kwargs.get("device") is not None:
        return torch.device(kwargs["device"]) == _META
    first = args[0] if args else None
    first = first[0] if isinstance(first, (list, tuple)) and first else first
    return getattr(first, "fake_device", None) == _META


# Handlers of calls that compute nothing, or that are asked in parts.
_ABOUT_MEMORY = (
    Recorder._decompose,
    Recorder._import_literal,
    Recorder._import_view,
    Recorder._read_number,
    Recorder._refuse_view,
)


def _run_only(recorder, func, args, kwargs):
    raise AssertionError("girih bug: a marker was called")


def _with_tensors(b: Builder, func, args: list) -> list:
    """Arguments with tensors for numbers, where an op takes tensors.

    A transform in another one makes a tensor of the number in ``x + 1`` and casts it;
    on the way here that is a number again.
    """
    dtypes = {bool: torch.bool, int: torch.int64, float: torch.get_default_dtype()}
    numbers = [
        type(arg) in dtypes and str(parameter.type) == "Tensor"
        for arg, parameter in zip(args, func._schema.arguments, strict=False)
    ]
    return [
        b.constant(arg, dtypes[type(arg)]) if is_number else arg
        for arg, is_number in zip(args, numbers, strict=True)
    ]
