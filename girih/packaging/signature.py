"""Arguments of a call of a package: checked, and handed to its program.

A package was made with example arguments. Other arguments have the same structure, and
tensors of the same dtypes and ranks; sizes are the same where they are not symbolic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from girih.codegen.runtime import torch_entry
from girih.errors import PackageError
from girih.packaging import constants, sizes
from girih.packaging.gpus import ON_GPU

_FORWARD_AD = vars(forward_ad)
_PLAIN = (torch.Tensor, torch.nn.Parameter)
CPU = torch.device("cpu")


class Symbol(NamedTuple):
    """A size that may differ from call to call.

    Attributes:
        least: The smallest one.
        most: The largest one, or None.
        text: What messages call it.
    """

    least: int
    most: int | None
    text: str


@dataclass(frozen=True)
class Leaf:
    """An argument, or a part of one.

    Attributes:
        name: How messages name it.
        dtype: Of a tensor; None for constants.
        sizes: Of a tensor: numbers and expressions.
        strides: Likewise.
        is_written: Whether the program writes the tensor.
        same_as: Which leaf before it is the same tensor, or None.
        constant: What it has to be, if it is no tensor.
        device: Where a tensor has to be.
    """

    name: str
    dtype: torch.dtype | None = None
    sizes: tuple = ()
    strides: tuple = ()
    is_written: bool = False
    same_as: int | None = None
    constant: Any = None
    device: torch.device = CPU

    @property
    def is_repeated(self) -> bool:
        """Whether several of its elements may be one in memory."""
        return 0 in self.strides


@dataclass(frozen=True)
class Signature:
    """What a package is called with.

    Attributes:
        where: The package, for messages.
        parameters: Names of the arguments that were given by position.
        tree: The structure of the arguments.
        leaves: The arguments.
        symbols: Symbolic sizes.
        guards: Conditions on these.
    """

    where: str
    parameters: tuple[str, ...]
    tree: pytree.TreeSpec
    leaves: tuple[Leaf, ...]
    symbols: Mapping[str, Symbol]
    guards: tuple

    @classmethod
    def read(
        cls, where: str, written: Mapping, gpu: torch.device | None = None
    ) -> Signature:
        """The signature in a manifest.

        Args:
            where: The package, for messages.
            written: What the manifest says.
            gpu: The device of tensors that are on the GPU, if there is one.

        Raises:
            ValueError: There is none; so do LookupError and TypeError.
        """
        symbols = {
            name: Symbol(entry["min"], entry["max"], entry["text"])
            for name, entry in written["symbols"].items()
        }
        for expression in written["guards"]:
            sizes.check(expression, symbols)
        tree = tree_of(where, written["tree"])
        leaves = tuple(_leaf(entry, symbols, gpu) for entry in written["inputs"])
        if tree.num_leaves != len(leaves):
            raise ValueError("the structure of arguments has other leaves")
        parameters = tuple(written["parameters"])
        guards = tuple(written["guards"])
        return cls(where, parameters, tree, leaves, symbols, guards)

    def leaves_of(self, args: tuple, kwargs: Mapping) -> list[Any]:
        """The leaves of the arguments of a call, all checked.

        Tensors whose elements lie in another order in memory are copied.

        Raises:
            TypeError: Another structure, type, dtype, rank, layout or device.
            ValueError: Another size or constant, or tensors that need gradients.
        """
        if _FORWARD_AD["_current_level"] >= 0:
            raise self._refused(ValueError, "packages have no forward-mode derivatives")
        given = self._flat(args, kwargs)
        known: dict[str, int] = {}
        for number, leaf in enumerate(self.leaves):
            value = given[number]
            if leaf.dtype is None:
                self._check_constant(leaf, value)
            else:
                self._check_tensor(leaf, value)
                self._check_sizes(leaf, value, known)
                if leaf.same_as is not None and value is not given[leaf.same_as]:
                    other = self.leaves[leaf.same_as].name
                    what = f"{leaf.name} must be the same tensor as {other}"
                    raise self._refused(ValueError, what)
        for guard in self.guards:
            if not sizes.value_of(guard, known):
                names = {name: symbol.text for name, symbol in self.symbols.items()}
                what = f"the program needs sizes with {sizes.text_of(guard, names)}"
                got = ", ".join(f"{names[name]} is {n}" for name, n in known.items())
                raise self._refused(ValueError, f"{what}; {got}")
        for number, leaf in enumerate(self.leaves):
            if leaf.dtype is not None:
                given[number] = self._laid_out(leaf, given[number], known)
        return given

    def _refused(self, kind: type[Exception], what: str) -> Exception:
        return kind(f"{self.where}: {what}")

    def _flat(self, args: tuple, kwargs: Mapping) -> list[Any]:
        leaves, tree = pytree.tree_flatten((args, dict(kwargs)))
        if tree == self.tree:
            return leaves
        args, kwargs = self._as_packaged(args, dict(kwargs))
        leaves, other = pytree.tree_flatten((args, kwargs))
        if other != self.tree:
            raise self._refused(TypeError, self._difference(args, kwargs))
        return leaves

    def _difference(self, args: Sequence, kwargs: Mapping) -> str:
        """What is wrong with the arguments of a call, as Python says it."""
        positional, named = (self.tree.child(n) for n in range(2))
        names = [*self.parameters, *(named.context or ())]
        given = [*self.parameters[: len(args)], *kwargs]
        extra = len(args) > positional.num_children
        missing = [name for name in names if name not in given]
        if missing and not extra:
            return f"missing arguments: {', '.join(missing)}"
        if unknown := [name for name in kwargs if name not in names]:
            return f"unexpected arguments: {', '.join(unknown)}"
        if extra:
            count = positional.num_children
            return f"expected {count} arguments by position, got {len(args)}"
        wanted = {
            **{self.parameters[n]: positional.child(n) for n in range(len(args))},
            **dict(zip(named.context or (), named.children(), strict=True)),
        }
        values = {**dict(zip(self.parameters, args, strict=True)), **kwargs}
        for name, value in values.items():
            if pytree.tree_structure(value) != wanted[name]:
                given_as = _nested(pytree.tree_structure(value))
                return f"{name} must be {_nested(wanted[name])}, got {given_as}"
        raise AssertionError("the arguments are as they should be")

    def _as_packaged(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Arguments by position and by name, as they were when it was made."""
        names = self.tree.child(1).context or []
        count = len(self.parameters)
        positional, extra = list(args[:count]), list(args[count:])
        for name in self.parameters[len(positional) :]:
            if name not in kwargs:
                break
            positional.append(kwargs.pop(name))
        missing = [name for name in names if name not in kwargs]
        if len(extra) > len(missing):
            return args, kwargs
        kwargs |= dict(zip(missing, extra, strict=False))
        order = {name: kwargs[name] for name in names if name in kwargs}
        return tuple(positional), order | kwargs

    def _check_constant(self, leaf: Leaf, value: Any) -> None:
        wanted = leaf.constant
        is_same = type(value) is type(wanted) and (
            value == wanted or (value != value and wanted != wanted)
        )
        if not is_same:
            what = f"{leaf.name} is fixed: expected {wanted!r}, got {value!r}"
            raise self._refused(ValueError, what)

    def _check_tensor(self, leaf: Leaf, value: Any) -> None:
        if type(value) not in _PLAIN:
            what = f"{leaf.name} must be a tensor, got {type(value).__name__}"
            raise self._refused(TypeError, what)
        if value.device != leaf.device:
            on = "the cpu" if leaf.device == CPU else leaf.device
            what = f"{leaf.name} must be on {on}, got a tensor on {value.device}"
            raise self._refused(TypeError, what)
        if value.layout is not torch.strided:
            what = f"{leaf.name} must be strided, got {value.layout}"
            raise self._refused(TypeError, what)
        if value.dtype is not leaf.dtype:
            what = (
                f"{leaf.name} must be {_short(leaf.dtype)}, got {_short(value.dtype)}"
            )
            raise self._refused(TypeError, what)
        if value.dim() != len(leaf.sizes):
            expected = f"must have {len(leaf.sizes)} dims, got {value.dim()}"
            what = f"{leaf.name} {expected}, of shape {tuple(value.shape)}"
            raise self._refused(TypeError, what)
        if value.requires_grad and torch.is_grad_enabled():
            what = (
                f"{leaf.name} requires a gradient, which packages don't compute. Call "
                "it under torch.no_grad(), or detach the tensor"
            )
            raise self._refused(ValueError, what)

    def _check_sizes(self, leaf: Leaf, value: Any, known: dict[str, int]) -> None:
        for dim, (size, wanted) in enumerate(zip(value.shape, leaf.sizes, strict=True)):
            if type(wanted) is str and wanted not in known:
                symbol = self.symbols[wanted]
                if size < symbol.least or (symbol.most or size) < size:
                    most = f"to {symbol.most}" if symbol.most else "on"
                    allowed = f"from {symbol.least} {most}"
                    text = f"{leaf.name}.size({dim}) must be {allowed}, got {size}"
                    raise self._refused(ValueError, text)
                known[wanted] = size
                continue
            expected = wanted if type(wanted) is int else sizes.value_of(wanted, known)
            if size != expected:
                text = f"{leaf.name}.size({dim}) must be {expected}"
                if type(wanted) is not int:
                    names = {name: each.text for name, each in self.symbols.items()}
                    text += f", as {sizes.text_of(wanted, names)}"
                raise self._refused(ValueError, f"{text}, got {size}")

    def _laid_out(self, leaf: Leaf, value: Any, known: Mapping[str, int]) -> Any:
        """The tensor with the strides for which the program was compiled."""
        wanted = tuple(
            x if type(x) is int else sizes.value_of(x, known) for x in leaf.strides
        )
        if value.is_neg() or value.is_conj():
            if leaf.is_written:
                what = f"{leaf.name} is written, and must not be conjugated lazily"
                raise self._refused(ValueError, what)
            value = value.resolve_neg().resolve_conj()
        if value.stride() == wanted:
            return value
        if leaf.is_repeated or leaf.is_written:
            if _differ(value, wanted):
                what = f"{leaf.name} must have the strides {wanted}"
                raise self._refused(ValueError, f"{what}, got {value.stride()}")
            return value
        return torch_entry.restride(value.detach(), wanted)


def _differ(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    """Whether strides of more than one element differ."""
    found = zip(tensor.shape, tensor.stride(), strides, strict=True)
    return any(size > 1 and here != there for size, here, there in found)


def _leaf(
    entry: Mapping, symbols: Mapping[str, Symbol], gpu: torch.device | None
) -> Leaf:
    if entry["kind"] == "constant":
        return Leaf(entry["name"], constant=constants.decode(entry["value"]))
    for expression in (*entry["sizes"], *entry["strides"]):
        sizes.check(expression, symbols)
    return Leaf(
        entry["name"],
        constants.decode(entry["dtype"]),
        tuple(entry["sizes"]),
        tuple(entry["strides"]),
        entry["written"],
        entry["same_as"],
        device=device_of(entry, gpu),
    )


def device_of(entry: Mapping, gpu: torch.device | None) -> torch.device:
    """Where a tensor is that the manifest describes.

    Raises:
        ValueError: The package has no such device.
    """
    name = entry.get("device")
    if name is None:
        return CPU
    if name != ON_GPU or gpu is None:
        raise ValueError(f"there is no device {name!r}")
    return gpu


def _nested(tree: pytree.TreeSpec) -> str:
    """How values are nested: ``a tuple of 2: (*, [*, *])``."""

    def text(each: pytree.TreeSpec) -> str:
        if each.is_leaf():
            return "*"
        inner = [text(child) for child in each.children()]
        if each.type is dict:
            pairs = zip(each.context, inner, strict=True)
            return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
        left, right = {tuple: "()", list: "[]"}.get(
            each.type, (f"{each.type.__name__}(", ")")
        )
        return f"{left}{', '.join(inner)}{right}"

    return "one value" if tree.is_leaf() else f"nested as {text(tree)}"


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def tree_of(where: str, text: str) -> pytree.TreeSpec:
    """A structure, as ``treespec_dumps`` of ``torch.utils._pytree`` writes it.

    Raises:
        PackageError: A class in it is not there.
        ValueError: There is no structure; so do LookupError and TypeError.
    """
    try:
        return pytree.treespec_loads(text)
    except NotImplementedError as error:
        raise PackageError(
            f"{where} has arguments or results of a class that is not there: {error} "
            "Import the library that registers it before girih.load."
        ) from error


def outputs_of(
    written: Mapping, leaves: int, weights: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """Where each leaf of a result is found.

    Returns:
        For each ``result`` or ``input`` and its number, or ``value`` and the value.

    Raises:
        ValueError: There is no such thing; so do LookupError and TypeError.
    """
    counts = {"result": written["results"], "input": leaves}
    found = []
    for kind, value in written["outputs"]:
        if kind == "constant":
            found.append(("value", constants.decode(value)))
        elif kind == "weight":
            found.append(("value", weights[value]))
        elif type(value) is int and 0 <= value < counts[kind]:
            found.append((kind, value))
        else:
            raise ValueError(f"there is no {kind} {value!r}")
    return found
