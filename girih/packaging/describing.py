"""What a package's manifest says of an entry point: arguments, results and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils import _pytree as pytree

from girih.errors import unsupported
from girih.frontend.importer.lazy_bits import NONE
from girih.packaging import capturing, constants, sizes
from girih.packaging.capturing import WholeCall
from girih.packaging.gpus import ON_GPU
from girih.packaging.weights import Weights


@dataclass
class ExampleArguments:
    """The example arguments.

    Attributes:
        leaves: Their leaves.
        names: How messages name these.
        dims: For tensors, by identity, their symbolic dims.
        tree: How the leaves are nested.
        parameters: Names of the arguments by position.
        conditions: On sizes, which ``x.size(0)`` stands for.
        numbers: For tensors, by identity, which leaf they are first.
    """

    leaves: Sequence[Any]
    names: Sequence[str]
    dims: Mapping[int, Mapping[int, Any]]
    tree: pytree.TreeSpec
    parameters: Sequence[str]
    conditions: Sequence = ()
    numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, value in enumerate(self.leaves):
            if isinstance(value, torch.Tensor):
                self.numbers.setdefault(id(value), number)


def described(
    captured: WholeCall, arguments: ExampleArguments, weights: Weights, given: list
) -> dict[str, Any]:
    """An entry point, as the manifest has it.

    Args:
        captured: Its call.
        arguments: The example arguments.
        weights: Takes the tensors that are no arguments.
        given: What its programs take, as ``given_to`` says it.

    Raises:
        TypeError: The structure of arguments or results can't be written.
        UnsupportedError: No package can hold what the program does.
    """
    imported = captured.program.imported
    if any(not isinstance(given, torch.Tensor) for given in captured.inputs):
        why = "A size or number of the arguments is an input of the graph."
        _refuse("a package with symbolic numbers", why, "Give a constant.")
    if imported.bits:
        why = "An input is a lazily conjugated or negated tensor."
        how = "Pass x.resolve_conj().resolve_neg()."
        _refuse("a package of lazily conjugated tensors", why, how)
    written = {n for n, (kind, _) in enumerate(given) if n in imported.writes}
    state = {given[n][1] for n in written if given[n][0] == "weight"}
    weights.write(state)
    written = {given[n][1] for n in written if given[n][0] == "input"}
    symbols = _Symbols(arguments, weights.gpu)
    examples = dict(zip(map(id, captured.inputs), captured.examples, strict=True))
    inputs = [
        symbols.leaf(number, examples.get(id(value)), number in written)
        for number, value in enumerate(arguments.leaves)
    ]
    outputs, tree = _results(captured, arguments, weights, symbols)
    return {
        "parameters": list(arguments.parameters),
        "tree": _text_of(arguments.tree, "arguments"),
        "inputs": inputs,
        "symbols": symbols.table,
        "guards": symbols.guards(),
        "given": given,
        "results": _count(captured),
        "outputs": outputs,
        "result_tree": _text_of(tree, "results"),
    }


def given_to(
    program: Any,
    captured: WholeCall,
    arguments: ExampleArguments,
    weights: Weights,
) -> list:
    """What a program takes: ``["input", number]`` or ``["weight", name]`` each.

    Args:
        program: One of the programs of the call, for one processor.
        captured: The call.
        arguments: The example arguments.
        weights: Takes the tensors that are no arguments.
    """
    imported, constants_ = captured.program.imported, program.constants
    values = [captured.inputs[index] for index in imported.input_indices]
    values += imported.lifted
    unread = frozenset() if constants_ is None else constants_.unread
    found = []
    for place, value in enumerate(values):
        number = arguments.numbers.get(id(value))
        if number is not None:
            found.append(["input", number])
        elif place in unread:
            found.append(["weight", weights.add_nothing()])
        else:
            found.append(["weight", weights.add(value)])
    if constants_ is not None:
        made = constants_.compute(*(values[place] for place in constants_.places))
        weights.depend([values[place] for place in constants_.places])
        names = weights.add_constants(made, constants_.packed)
        found += (["weight", name] for name in names)
    return found


def _count(captured: WholeCall) -> int:
    """How many results of the program are looked at."""
    slots = captured.program.imported.outputs
    numbers = [slot.value for slot in slots if slot.kind == "result"]
    return 1 + max(numbers, default=-1)


def _results(
    captured: WholeCall,
    arguments: ExampleArguments,
    weights: Weights,
    symbols: _Symbols,
) -> tuple[list, pytree.TreeSpec]:
    """Where each leaf of what the function returned is found, and their structure."""
    leaves, tree = pytree.tree_flatten(captured.result)
    markers = {id(marker): n for n, marker in enumerate(captured.markers)}
    slots = captured.program.imported.outputs
    found = []
    for value in leaves:
        if id(value) in markers:
            found.append(
                _of_slot(slots[markers[id(value)]], captured, arguments, weights)
            )
        elif id(value) in arguments.numbers:
            found.append(["input", arguments.numbers[id(value)]])
        elif isinstance(value, torch.Tensor):
            found.append(["weight", weights.add(value)])
        elif symbols.table and type(value) in (int, float, complex):
            _refuse(
                "a package that returns a number with symbolic sizes",
                f"It returned {value!r}, which may depend on sizes.",
                "Return torch.tensor(number), or compute it from the result's sizes.",
            )
        else:
            try:
                found.append(["constant", constants.encode(value, {})])
            except constants.UnknownConstant:
                raise TypeError(
                    f"girih.package can't describe a result: {type(value).__name__}"
                ) from None
    return found, tree


def _of_slot(
    slot: Any, captured: WholeCall, arguments: ExampleArguments, weights: Weights
) -> list:
    if slot.bits is not NONE:
        why = "A result is a lazily conjugated or negated tensor."
        how = "Return x.resolve_conj().resolve_neg()."
        _refuse("a package of lazily conjugated tensors", why, how)
    if slot.kind == "result":
        return ["result", slot.value]
    if slot.kind == "input":
        value = captured.inputs[slot.value]
        number = arguments.numbers.get(id(value))
        is_input = number is not None
        return ["input", number] if is_input else ["weight", weights.add(value)]
    if slot.kind == "constant":
        try:
            return ["constant", constants.encode(slot.value, {})]
        except constants.UnknownConstant as error:
            _refuse("a constant that no package can hold", str(error))
    why = "The returned number is computed from sizes."
    how = "Return torch.tensor(number)."
    _refuse("a package that returns a computed number", why, how)
    raise AssertionError("girih bug: refused, and not raised")


def _text_of(tree: pytree.TreeSpec, what: str) -> str:
    try:
        text = pytree.treespec_dumps(tree)
        if pytree.treespec_loads(text) == tree:
            return text
        reason = "torch reads another structure from the text that it writes"
    except (NotImplementedError, TypeError, ValueError, KeyError) as error:
        reason = str(error)
    raise TypeError(f"girih.package can't write how {what} are nested: {reason}")


class _Symbols:
    """Symbolic sizes, as the manifest has them."""

    def __init__(self, arguments: ExampleArguments, gpu: torch.device | None):
        self._arguments = arguments
        self._gpu = gpu
        self._environment: Any = None
        self._dims: dict[str, list[tuple[Any, str]]] = {}
        self._computed: list[tuple[Any, Any]] = []
        self._sizes: dict[str, Any] = {}
        self.table: dict[str, dict] = {}

    def leaf(self, number: int, example: Any, is_written: bool) -> dict[str, Any]:
        """An argument, as the manifest has it."""
        value, name = self._arguments.leaves[number], self._arguments.names[number]
        if not isinstance(value, torch.Tensor):
            written = constants.encode(value, {})
            return {"kind": "constant", "name": name, "value": written}
        first = self._arguments.numbers[id(value)]
        like = value if example is None else example
        self._bind(number, name, value, like)
        on_gpu = value.device == self._gpu
        if value.device.type != "cpu" and not on_gpu:
            why = f"{name} is on {value.device}."
            _refuse("a package with tensors of another device", why)
        return {
            "kind": "tensor",
            "name": name,
            "dtype": constants.encode(value.dtype, {}),
            "sizes": [self._size(size) for size in like.shape],
            "strides": [self._size(step) for step in like.stride()],
            "written": is_written,
            "same_as": None if first == number else first,
            **({"device": ON_GPU} if on_gpu else {}),
        }

    def _bind(self, number: int, name: str, value: torch.Tensor, like: Any) -> None:
        marked = self._arguments.dims.get(id(value), {})
        for dim, size in enumerate(like.shape):
            written = self._size(size)
            self._sizes.setdefault(f"{name}.size({dim})", written)
            if dim not in marked:
                continue
            text = f"{name}.size({dim})"
            if like is value:
                _refuse(
                    "a Dim of an argument that is not read",
                    f"The program does not read {name}.",
                    "Leave it out of dynamic_shapes, or the argument out of the call.",
                )
            if type(written) is str and written not in self.table:
                least, most = self._range(size, marked[dim])
                self.table[written] = {"min": least, "max": most, "text": text}
            computed = getattr(marked[dim], "expression", None)
            if computed is not None:
                self._computed.append((written, computed))
                continue
            label = getattr(marked[dim], "__name__", "")
            self._dims.setdefault(label, []).append((written, text))

    def _range(self, size: torch.SymInt, declared: Any) -> tuple[int, int | None]:
        """The sizes for which the program holds, of those that were declared."""
        least, most = capturing.range_of(declared)
        self._environment = size.node.shape_env
        limits = self._environment.var_to_range[size.node.expr]
        lower, upper = int(limits.lower), limits.upper
        least = max(least, lower)
        if upper.is_number and upper.is_finite and int(upper) < 1 << 62:
            most = int(upper) if most is None else min(most, int(upper))
        return least, most

    def _size(self, size: Any) -> Any:
        if isinstance(size, int):
            return size
        known = size.node.maybe_as_int()
        try:
            return sizes.encode(size.node.expr if known is None else known)
        except sizes.UnknownExpression as error:
            _refuse("a size that no package can hold", str(error))

    def guards(self) -> list:
        """Conditions on sizes: those of the program, and that one Dim is one size."""
        found = []
        for label, places in self._dims.items():
            (first, _), *others = places
            if label:
                found += [["==", first, other] for other, _ in others if other != first]
        found += [
            ["==", written, self._of_dims(computed)]
            for written, computed in self._computed
        ]
        found += [
            _renamed(condition, self._sizes) for condition in self._arguments.conditions
        ]
        if self._environment is None:
            return found
        for guard in self._environment.guards:
            expression = self._environment.simplify(guard.expr)
            if expression.is_Boolean and expression in (True, False):
                continue
            try:
                found.append(sizes.encode(expression))
            except sizes.UnknownExpression as error:
                _refuse("a condition that no package can hold", str(error))
        unique: list = []
        for condition in found:
            if condition not in unique:
                unique.append(condition)
        return unique

    def _of_dims(self, computed: Any) -> Any:
        """A size that is computed from other Dims, with the symbols of this file."""
        names = {label: places[0][0] for label, places in self._dims.items()}
        try:
            return _renamed(sizes.encode(computed), names)
        except (KeyError, sizes.UnknownExpression):
            _refuse(
                "a package with a size that is computed from others",
                f"No argument has the sizes in {computed}, or it can't be written.",
            )


def _renamed(written: Any, names: Mapping[str, Any]) -> Any:
    """An expression with other symbols."""
    if type(written) is list:
        return [written[0], *(_renamed(each, names) for each in written[1:])]
    return names[written] if type(written) is str else written


def _refuse(kind: str, explanation: str, *hints: str) -> None:
    unsupported(kind=kind, explanation=explanation, hints=hints)
