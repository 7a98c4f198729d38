"""Reads a joint function into a ``Program``."""

from collections.abc import Mapping
from math import prod

from girih.dialects import attributes as attr
from girih.dialects import dims, keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, effects_of, full_name, has, role_of
from girih.dialects.dims import Dim, Size
from girih.dialects.traits import CREATES, PRODUCT, REDUCES, SCANS, VIEW, Role
from girih.passes.autograd.joint import Attributes, Signature
from girih.passes.kernel_elements import MOVED_ELEMENTS
from girih.passes.partition.program import Kind, Node, Program, Value


class JointReader:
    """Reads one joint function.

    Attributes:
        program: the records.
        operations: the op of each node.
        ir_values: the IR value of each number.
        signature: what the function's attributes say.
        is_on_device: whether it computes on a GPU.
    """

    def __init__(self, function: ir.OpView, symbol_hint: int):
        """Args: the function, and the value that symbols are taken at."""
        self.is_on_device = keys.DEVICE in function.attributes
        block = function.regions[0].blocks[0]
        self.signature = Signature.of(function)
        self.operations = list(block.operations)[:-1]
        self.ir_values: list[ir.Value] = []
        self.program = Program([], [])
        self._hints = _hints(function, symbol_hint)
        self._ids: dict[ir.Value, int] = {}
        self._sizes: dict[ir.Type, tuple[int, int, bool]] = {}
        self._kinds: dict[str, Kind] = {}
        for argument in block.arguments:
            self._add_value(argument, None)
        for position, op in enumerate(self.operations):
            self._add_node(position, op.operation)
        self._read_signature()

    def _add_value(self, value: ir.Value, node: int | None) -> int:
        number = len(self.ir_values)
        elements, width, _ = self._size(value.type)
        self.program.values.append(Value(elements, width, node, number))
        self.ir_values.append(value)
        self._ids[value] = number
        return number

    def _size(self, type_: ir.Type) -> tuple[int, int, bool]:
        """Elements, bytes of one, and whether kernels compute with them."""
        known = self._sizes.get(type_)
        if known is None:
            known = self._sizes[type_] = self._measure(type_)
        return known

    def _measure(self, type_: ir.Type) -> tuple[int, int, bool]:
        if not isinstance(type_, ir.RankedTensorType):
            return 0, 8, True
        name = str(type_.element_type)
        count = prod(map(self._number, ty.shape_of(type_)))
        return count, ty.ELEMENT_BYTES.get(name, 8), name in MOVED_ELEMENTS

    def _number(self, size: Size) -> int:
        if not isinstance(size, Dim):
            return size
        try:
            # Less than nothing where the hint is out of a range that is not declared.
            return max(dims.evaluate(size, self._hints), 0)
        except (
            ZeroDivisionError
        ):  # it has no value for the hints; no tensor is like that
            return self._hints.default

    def _add_node(self, position: int, op: ir.Operation) -> None:
        name = op.name
        kind = self._kind(name)
        operands = tuple(self._ids[value] for value in op.operands)
        results = tuple(self._add_value(value, position) for value in op.results)
        values = self.program.values
        for operand in operands:
            values[operand].users.append(position)
        node = Node(name.removeprefix("graph."), kind, operands, results)
        if kind is Kind.VIEW:
            values[results[0]].base = values[operands[0]].base
        elif kind is Kind.LIBRARY:
            node.is_ordered = effects_of(op.opview) is not Effects.PURE
            node.work = self._work(node)
            is_call = name == "graph.extern"
            node.is_copy = is_call and op.opview.op in _COPYING_VIEWS
            if _draws_flags(name, op) and node.is_ordered:
                values[results[0]].is_flag = True
        elif results:
            node.is_native = self._size(self.ir_values[results[0]].type)[2]
        attributes = op.attributes
        if keys.CHECKPOINT in attributes:
            node.region = attr.INT.decode(attributes[keys.CHECKPOINT])
        self.program.nodes.append(node)

    def _kind(self, name: str) -> Kind:
        kind = self._kinds.get(name)
        if kind is None:
            kind = self._kinds[name] = _kind(name)
        return kind

    def _work(self, node: Node) -> int:
        """Multiplications: the elements of the result, by what each sums over."""
        if not has(full_name(node.name), PRODUCT):
            return 0
        factor = node.operands[1 if node.name in ("addmm", "baddbmm") else 0]
        inner = ty.shape_of(self.ir_values[factor].type)[-1]
        return self.program.values[node.results[0]].elements * self._number(inner)

    def _read_signature(self) -> None:
        program, signature = self.program, self.signature
        for number, given in enumerate(signature.arguments):
            name = "cotangents" if keys.COTANGENT in given else "arguments"
            setattr(program, name, (*getattr(program, name), number))
        for value, given in zip(signature.values, signature.results, strict=True):
            name = "gradients" if keys.GRADIENT in given else "results"
            setattr(program, name, (*getattr(program, name), self._ids[value]))
        program.numbers = frozenset(
            number
            for number, given in enumerate(signature.arguments)
            if keys.NUMBER in given or keys.SYMBOL in given
        )
        values = list(zip(program.results, signature.results, strict=False))
        program.kept = _kept_places(signature.arguments, values)
        self._find_owners(values)

    def _find_owners(self, results: list[tuple[int, Attributes]]) -> None:
        program = self.program
        written = {number for _, given in results for number in _written(given)}
        own = [number for number in program.arguments if number not in written]
        program.owners.update(zip(own, own, strict=True))
        taken = set()
        for value, given in results:
            base = program.values[value].base
            if not is_fresh(given) or program.values[base].node is None:
                continue
            taken.update((value, base))
            program.owners.setdefault(value, value)
            if keys.STRIDES not in given and self._only_reshapes(value):
                program.owners.setdefault(base, value)
        program.taken = frozenset(taken)

    def _only_reshapes(self, value: int) -> bool:
        """Whether a value has the elements of its base, in the same order."""
        while self.program.values[value].base != value:
            node = self.program.producer(value)
            if node.name != "reshape":
                return False
            value = node.operands[0]
        return True


def _kept_places(
    arguments: list[Attributes], results: list[tuple[int, Attributes]]
) -> dict[int, str]:
    """For each value that a derivative reads the argument or result that it reads.

    Simplification may have made one value of several, such as y and y * 1.
    """
    places = [
        (number, f"arg{number}")
        for number, given in enumerate(arguments)
        if keys.KEPT in given
    ]
    places += [
        (value, f"out{number}")
        for number, (value, given) in enumerate(results)
        if keys.KEPT in given and is_fresh(given)
    ]
    return dict(reversed(places))


def is_fresh(given: Attributes) -> bool:
    """Whether a result is the caller's alone, in memory of its own."""
    return given.keys().isdisjoint(_NOT_FRESH)


# Programs have views in place of these wherever nobody can tell.
_COPYING_VIEWS = ("aten.view_as_complex_copy.default", "aten.view_as_real_copy.default")
_NOT_FRESH = frozenset({keys.SIZE, keys.STORAGE, keys.UPDATE, keys.WRITES})


def _written(given: Attributes) -> list[int]:
    names = (keys.UPDATE, keys.WRITES)
    return [attr.INT.decode(given[name]) for name in names if name in given]


def _draws_flags(name: str, op: ir.Operation) -> bool:
    if name == "graph.bernoulli":
        return True
    return name == "graph.extern" and op.opview.op.startswith("aten.bernoulli.")


def _kind(name: str) -> Kind:
    if name == "arith.constant":
        return Kind.CREATION
    if has(name, VIEW):
        return Kind.VIEW
    if role_of(name) is not Role.PRIMITIVE or has(name, SCANS):
        return Kind.LIBRARY
    if has(name, CREATES):
        return Kind.CREATION
    return Kind.REDUCTION if has(name, REDUCES) else Kind.POINTWISE


class _Hints(dict):
    """The value of each symbol; the same for those without a range."""

    def __init__(self, known: Mapping[str, int], default: int):
        super().__init__(known)
        self.default = default

    def __missing__(self, symbol: str) -> int:
        return self.default


def _hints(function: ir.OpView, hint: int) -> _Hints:
    known = {}
    if keys.SYMBOLS in function.attributes:
        ranges = function.attributes[keys.SYMBOLS]
        for entry in (ranges[index] for index in range(len(ranges))):
            least, most = attr.SIZES.decode(entry.attr)
            known[entry.name] = max(least, min(hint, most))
    return _Hints(known, hint)
