"""What others add to girih: ops, rules for them, and passes, collected by a plugin.

::

    mine = girih.plugin("mine")

    class SoftclipOp(mine.Unary, name="softclip"):
        '''limit * tanh(x / limit)'''
        limit = attribute(FLOAT, default=1.0)

    @mine.emits(SoftclipOp)
    def emit_softclip(b, node, values): ...

The ops are of a dialect that has the plugin's name. A plugin is found where its module
is imported, where a package names that module in the entry-point group
``girih.plugins``, and by ``--load`` of ``girih-opt`` and ``girih-translate``. This
module imports no torch, and of girih only what a plugin uses.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any, TypeVar

from girih.dialects import additions, definition, graph
from girih.dialects.assembly.modules import parse_module, print_module
from girih.dialects.attributes import (
    BOOL,
    FLOAT,
    INT,
    INTS,
    SIZE,
    SIZES,
    STRING,
    TYPE,
    UNIT,
)
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, Op
from girih.dialects.fields import (
    attribute,
    operand,
    optional_attribute,
    optional_operand,
    region,
    result,
    variadic_operand,
    variadic_result,
)
from girih.dialects.graph.base import CompositeOp, GraphOp, LibraryOp
from girih.dialects.graph.elementwise_classes import Binary, Unary
from girih.dialects.rules import InvalidOp, expect
from girih.dialects.traits import Cost, Trait
from girih.dialects.types import shape_of, tensor_type

__all__ = [
    "BOOL",
    "FLOAT",
    "GROUP",
    "INT",
    "INTS",
    "SIZE",
    "SIZES",
    "STRING",
    "TYPE",
    "UNIT",
    "Cost",
    "Effects",
    "InvalidOp",
    "Plugin",
    "PluginWarning",
    "Trait",
    "attribute",
    "expect",
    "functions_of",
    "ir",
    "load_installed",
    "operand",
    "optional_attribute",
    "optional_operand",
    "parse_module",
    "plugin",
    "print_module",
    "region",
    "result",
    "rewriter",
    "shape_of",
    "tensor_type",
    "variadic_operand",
    "variadic_result",
]

GROUP = "girih.plugins"
"""The entry-point group that installed plugins stand in."""

_TAKEN = frozenset(
    "aten arith builtin cf func girih graph host linalg llvm math memref omp prim scf "
    "tensor tile torch tt ub vector".split()
)
_KEBAB_CASE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_plugins: dict[str, Plugin] = {}

Rule = TypeVar("Rule", bound=Callable)
OpName = str | type[Op]
"""An op: its class, its name in the plugin's dialect, or its full name."""


class PluginWarning(UserWarning):
    """An installed plugin can't be loaded; girih works without it."""


def plugin(name: str) -> Plugin:
    """Returns the plugin of this name, which is made if it is new.

    Args:
        name: Of the plugin, and of the dialect of its ops: a Python identifier.

    Raises:
        ValueError: A dialect of girih or MLIR has this name, or it is no identifier.
    """
    if name in _TAKEN:
        reason = "a dialect of girih or MLIR has this name"
        raise ValueError(f"a plugin can't be called {name!r}: {reason}")
    if not name.isidentifier():
        raise ValueError(f"a plugin's name must be an identifier, got {name!r}")
    if name not in _plugins:
        _plugins[name] = Plugin(name)
    return _plugins[name]


class Plugin:
    """A dialect of one's own, rules for its ops, and passes; made by ``plugin``.

    Attributes:
        name: Also that of the dialect.
        Op: The base of ops that a pass or a decomposition replaces: no code is made
            of them.
        Primitive: The base of ops on tensors that kernels compute.
        Unary, Binary: Elementwise primitives: of one operand ``x``, and of two, ``lhs``
            and ``rhs``, that broadcast. The result is ``y``.
        Composite: The base of ops that a decomposition writes with others.
        Library: The base of ops that are calls of a torch operator.
    """

    def __init__(self, name: str):
        self.name = name
        graph.load()
        definition.register(name)
        self.Op = self._base(Op, "Op")
        self.Primitive = self._base(GraphOp, "Primitive")
        self.Unary = self._base(Unary, "Unary")
        self.Binary = self._base(Binary, "Binary")
        self.Composite = self._base(CompositeOp, "Composite")
        self.Library = self._base(LibraryOp, "Library")

    def __repr__(self) -> str:
        return f"<girih plugin {self.name!r}>"

    def _base(self, cls: type[Op], name: str) -> Any:
        given = {"DIALECT": self.name, "__doc__": cls.__doc__, "__module__": __name__}
        return type(name, (cls,), given)

    def _names(self, ops: Iterable[OpName]) -> list[str]:
        """The names of ops, as the tables of rules have them."""
        return [self._name(op) for op in ops]

    def _name(self, op: OpName) -> str:
        if not isinstance(op, str):
            if not isinstance(op, type) or not getattr(op, "OPERATION_NAME", ""):
                text = "the class of an op (defined with name=) or the name of an op"
                raise TypeError(f"expected {text}, got {op!r}")
            return op.OPERATION_NAME.removeprefix("graph.")
        name = op if "." in op else f"{self.name}.{op}"
        if name not in definition.OPS:
            close = difflib.get_close_matches(name, definition.OPS)
            hint = f"; did you mean {' or '.join(close)}?" if close else ""
            raise ValueError(f"no op is called {name!r}{hint}")
        return name.removeprefix("graph.")

    # Passes -----------------------------------------------------------------------

    def compiler_pass(
        self,
        name: str,
        *,
        place: str | Iterable[str] = (),
        options: type | None = None,
    ) -> Callable[[Rule], Rule]:
        """A decorator that makes a function a pass.

        The function takes a module, and its options if it has a second parameter.

        Args:
            name: Kebab-case; what ``girih-opt`` and ``options={"passes": ...}`` take.
            place: Where it runs in every compilation, such as ``"before:fuse"``: one
                place or several; none: where it is asked for.
            options: A frozen dataclass whose fields all have defaults.

        Raises:
            TypeError: The options are no such dataclass.
            ValueError: A pass of another module or of MLIR has this name, it is not in
                kebab-case, or a place is unknown.
        """
        from girih.passes import registry, user_passes

        if not _KEBAB_CASE.fullmatch(name):
            text = f"a pass is named in kebab-case, such as 'fast-gelu', got {name!r}"
            raise ValueError(text)
        if registry.is_upstream_pass(name):
            raise ValueError(f"MLIR has a pass called {name!r}")
        places = [place] if isinstance(place, str) else list(place)

        def register(function: Rule) -> Rule:
            registry.register_function(name, function, options)
            user_passes.add_everywhere(places, name)
            return function

        return register

    # From torch to the graph ------------------------------------------------------

    def imports(self, *operators: str) -> Callable[[Rule], Rule]:
        """A decorator for the rule that imports calls of torch operators.

        ``rule(b, *args, **kwargs)`` gets a builder and the arguments of the call:
        tensors as operands, everything else as it is. It returns what the results are:
        ``b.op("mine.softclip", [x], {"limit": limit})``. ``NotImplemented`` leaves the
        call to torch.

        Args:
            operators: Such as ``"mylib::softclip"`` or ``"aten::add.Tensor"``, with the
                overload where that is not the default one.
        """
        from girih.frontend.importer import registry

        return registry.imports(*map(_existing, operators))

    # On graphs --------------------------------------------------------------------

    def vjp(self, *ops: OpName) -> Callable[[Rule], Rule]:
        """A decorator for the rule that derives ops.

        ``rule(op, cotangents, b)`` gets a cotangent for each result and a builder. It
        returns a gradient for each declared operand, of its type, or None. What it
        makes has derivatives itself, so one rule gives every order.
        """
        from girih.passes.autograd import rules

        return _taking("op, cotangents, b", rules.vjp(*self._names(ops)))

    def not_differentiable(self, reason: str, *ops: OpName) -> None:
        """Says that ops have no derivative, and why: one sentence.

        A backward pass that comes to such an op is left to eager, with the reason.
        Where a derivative is zero, a rule of ``vjp`` returns zeros.
        """
        from girih.passes.autograd import rules

        def refuse(op: ir.OpView, cotangents: Sequence, b: Any) -> list:
            text = f"'{op.operation.name}' has no derivative: {reason}"
            raise rules.NotDifferentiable(text)

        refuse.__module__ = sys._getframe(1).f_globals.get("__name__", "__main__")
        refuse.__qualname__ = "not_differentiable"
        rules.vjp(*self._names(ops))(refuse)

    def decomposes(self, op: OpName) -> Callable[[Rule], Rule]:
        """A decorator for the rule that writes a composite op with others.

        ``rule(op, b)`` returns one value for each result.
        """
        from girih.passes.decompose import rules

        return _taking("op, b", rules.decomposes(self._name(op)))

    def canonicalizes(self, *ops: OpName) -> Callable[[Rule], Rule]:
        """A decorator for a rule that simplifies ops.

        ``rule(op, b)`` returns the value that replaces the op's only result, or None.
        ``b.producer(value, "mine.softclip")`` is the op that makes a value,
        ``b.number(value)`` the number that all its elements are.
        """
        from girih.passes.canonicalize_graph import rules

        return _taking("op, b", rules.canonicalizes(*self._names(ops)))

    # Code -------------------------------------------------------------------------

    def emits(self, *ops: OpName) -> Callable[[Rule], Rule]:
        """A decorator for the rule that computes elementwise ops in kernels.

        It serves both targets. ``rule(b, node, values)`` gets a builder of scalars or
        vectors, what is computed (``node.element``, ``node.attribute("limit")``) and
        the operands' values; it returns the result's.
        """
        from girih.passes.tile.emit import rules

        return _taking("b, node, values", rules.emits(*self._names(ops)))

    def reads(self, *ops: OpName) -> Callable[[Rule], Rule]:
        """A decorator for the rule that finds an op's element at some coordinates.

        It is what makes views free: ``rule(evaluator, record, at, guards)`` returns the
        node of an operand's element. The op has ``traits={Trait.REINDEXES}``.
        """
        from girih.passes.tile.access import evaluator

        names = (definition.full_name(name) for name in self._names(ops))
        return _taking("evaluator, record, at, guards", evaluator.reads(*names))

    def calls(self, op: OpName, operator: str) -> None:
        """Says that a library op is a call of a torch operator.

        Its operands in order, then its attributes in order, are the arguments.

        Args:
            op: The op.
            operator: Such as ``"mylib::spectrum"``, with the overload if need be.

        Raises:
            ValueError: torch has no such operator, or it takes other arguments.
        """
        from girih.passes.convert_graph_to_host.externs import rules

        _existing(operator)
        name = definition.full_name(self._name(op))
        _expect_arguments(definition.OPS[name], operator)
        rules.calls_with_attributes(name, _overload(operator))

    def lowers(self, name: str, *, target: str) -> Callable[[Rule], Rule]:
        """A decorator for the rule that lowers an op that emission rules made.

        Args:
            name: The op's full name.
            target: ``"cpu"``: to LLVM's dialect and upstream's; ``"gpu"``: to Triton's.

        Raises:
            ValueError: There is no such target.
        """
        if target == "cpu":
            from girih.passes.convert_tile_to_cpu import lowering
        elif target == "gpu":
            from girih.passes.convert_tile_to_tt import lowering
        else:
            raise ValueError(f"a target is 'cpu' or 'gpu', got {target!r}")
        return _taking("lowering, op", lowering.lowers(name))


def _taking(
    parameters: str, register: Callable[[Rule], Rule]
) -> Callable[[Rule], Rule]:
    """The decorator, for rules that can be called with these arguments."""

    def checked(rule: Rule) -> Rule:
        try:
            inspect.signature(rule).bind(*parameters.split(", "))
        except TypeError as error:
            name = getattr(rule, "__qualname__", repr(rule))
            text = f"the rule {name} is called as rule({parameters}): {error}"
            raise TypeError(text) from None
        return register(rule)

    return checked


def _existing(name: str) -> str:
    """An operator that torch knows, as the importer's tables name it.

    Raises:
        ValueError: There is none.
    """
    import torch

    found = _operator(name)
    namespace, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    operators = getattr(torch.ops, namespace)
    if not hasattr(operators, packet):
        raise ValueError(f"torch has no operator {name!r}; define it first")
    known = getattr(operators, packet).overloads()
    if (overload or "default") not in known:
        names = ", ".join(f"{namespace}::{packet}.{each}" for each in known)
        raise ValueError(f"torch has no overload {name!r}; it has {names}")
    return found


def _expect_arguments(cls: type[Op], operator: str) -> None:
    """Compares the declared operands and attributes with what an operator takes."""
    from girih.codegen.runtime import torch_entry

    given = [(field.name, True) for field in cls.OPERANDS]
    given += [(name, False) for name in cls.ATTRIBUTES]
    taken = torch_entry.overload(_overload(operator))._schema.arguments
    taken = [each for each in taken if not each.kwarg_only]
    needed = [each for each in taken if not each.has_default_value()]
    names = ", ".join(name for name, _ in given) or "nothing"
    text = f"{cls.OPERATION_NAME} is called with {names}, but {operator} takes "
    text += ", ".join(f"{each.type} {each.name}" for each in taken) or "nothing"
    if not len(needed) <= len(given) <= len(taken):
        raise ValueError(text)
    for (_, is_operand), argument in zip(given, taken, strict=False):
        if is_operand != ("Tensor" in str(argument.type)):
            raise ValueError(text)


def _operator(name: str) -> str:
    """An operator as the importer's tables name it."""
    if "::" not in name:
        raise ValueError(f"an operator is named 'namespace::name', got {name!r}")
    return name.removeprefix("aten::").removesuffix(".default")


def _overload(name: str) -> str:
    """An operator as the run time names it: with dots, and with its overload."""
    name = name.replace("::", ".", 1)
    return name if name.count(".") > 1 else f"{name}.default"


def functions_of(module: ir.Operation) -> list[ir.Block]:
    """The bodies of the functions of a module, each a block of ops in order."""
    from girih.passes.graph_builder import function_bodies

    return list(function_bodies(module))


def rewriter(op: ir.OpView) -> Any:
    """A builder that makes ops before one, at its place in the user's program.

    ``b.op("mine.softclip", x, limit=2.0)`` and ``b.op("exp", x)``, of ``graph``, return
    the result; ``b.replace(op, value)`` puts a value in the place of the op's result.
    """
    from girih.passes.graph_builder import GraphBuilder

    return GraphBuilder(op)


@functools.cache
def load_installed() -> Mapping[str, Any]:
    """Imports the plugins that installed packages name; later calls do nothing.

    One that can't be imported is left out whole, with a warning: the ops, rules and
    passes that it defined before it failed are taken back.

    Returns:
        By the name of its entry point what was imported.
    """
    loaded = {}
    for point in metadata.entry_points(group=GROUP):
        try:
            with additions.all_or_nothing():
                loaded[point.name] = point.load()
        except Exception as error:
            text = (
                f"the girih plugin {point.name!r} ({point.value}) can't be loaded: "
                f"{type(error).__name__}: {error}"
            )
            warnings.warn(text, PluginWarning, stacklevel=2)
    return loaded
