"""``shapes_spec`` of ``torch.compile``: which sizes and numbers of arguments vary.

torch's objects say it (``torch.fx.experimental.dynamic_spec``, from torch 2.13 on).
What they don't name is fixed. What they say of sizes (a range, that two are equal, a
formula) becomes guards, so a call for which it does not hold finds no entry, and the
attempt to capture it is an error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

import sympy
import torch
from torch.fx.experimental import dynamic_spec as torchs

from girih.frontend.capture.sizes import spec_fixed, spec_violated
from girih.frontend.capture.source import Source
from girih.frontend.capture.values.constant import Constant


class ShapesSpec:
    """What a program says of the arguments of one compiled callable.

    Args:
        given: ``ShapesSpec``, ``ParamsSpec`` or a dictionary.
        target: The function or module whose parameters it names.

    Raises:
        TypeError: It is something else.
    """

    def __init__(self, given: Any, target: Callable):
        if not isinstance(given, torchs.ShapesSpec):
            given = torchs.ShapesSpec(given)
        self._params = given._params or torchs.ParamsSpec()
        self._assumptions = [each.node.expr for each in given.assumptions]
        function = target.forward if isinstance(target, torch.nn.Module) else target
        function = getattr(function, "__func__", function)
        self._own = getattr(function, "__code__", None)
        self._positional = _positional(target)
        self._code: CodeType | None = None
        self._numbers: dict[Source, tuple[torch.SymInt, Any]] = {}
        self._symbols: list[tuple[Source, torch.SymInt, Any]] = []

    def begin(self, function: FunctionType) -> None:
        """Begins the capture of a call."""
        self._code = function.__code__
        self._numbers.clear()
        self._symbols.clear()

    # What is said of one argument

    def dims(self, tensor: torch.Tensor, source: Source) -> dict[int, bool]:
        """The dims that vary, each with whether it has to; checks the others."""
        leaf = self._leaf(source)
        if leaf is None:
            return {}
        if not isinstance(leaf, torchs.TensorSpec):
            raise spec_violated(source, f"it is {_text(leaf)}, but a tensor is given")
        if len(leaf) != tensor.ndim:
            raise spec_violated(
                source, f"it has {len(leaf)} dims, but {tensor.ndim} are given"
            )
        for dim, size in enumerate(tensor.shape):
            _check_constant(f"{source}.size({dim})", size, leaf[dim])
        return {
            dim: isinstance(how, torchs.IntVar)
            for dim, how in enumerate(leaf)
            if isinstance(how, torch.SymInt)
        }

    def varies(self, number: int | float, source: Source) -> bool:
        """Whether a number varies; checks it where it does not."""
        if type(number) is not int:
            return False
        leaf = self._leaf(source)
        if isinstance(leaf, torchs.TensorSpec):
            raise spec_violated(source, f"it is {_text(leaf)}, but {number} is given")
        _check_constant(source, number, leaf)
        return isinstance(leaf, torch.SymInt)

    def note(self, source: Source, value: Any) -> None:
        """Notes what stands for a number, if that varies."""
        leaf = self._leaf(source)
        if isinstance(leaf, torch.SymInt):
            self._numbers[source] = leaf, value

    # What is said of several

    def hold(self, graph: Any) -> None:
        """Guards what is said of ranges and relations, of inputs of a graph."""
        variables: dict[sympy.Symbol, sympy.Expr] = {}
        conditions = []
        for text, leaf, value in self._placed(graph):
            if not isinstance(leaf, torchs.IntVar):
                conditions.append((text, sympy.Eq(value, leaf.node.expr)))
            elif leaf.sympy_sym in variables:
                conditions.append((text, sympy.Eq(value, leaf.sympy_sym)))
            else:
                variables[leaf.sympy_sym] = value
                conditions += [(text, limit) for limit in _limits(leaf)]
        conditions += [("an assumption", each) for each in self._assumptions]
        environment = getattr(graph.evaluator, "environment", None)
        for text, condition in conditions:
            _hold(text, condition, variables, environment)

    def _placed(self, graph: Any) -> Iterator[tuple]:
        """What is said of each size and number that varies, and what it is."""
        for given in graph.tensors:
            leaf = self._leaf(given.source)
            for dim, how in enumerate(leaf or ()):
                if isinstance(how, torch.SymInt):
                    size = given.value.fake.size(dim)
                    yield f"{given.source}.size({dim})", how, _expression(size)
        for source, (leaf, value) in self._numbers.items():
            if not isinstance(value, Constant):
                known = (g.value for g in graph.placed if g.number is value)
                value = next(known, None) or graph.place_number(value)
                self._symbols.append((source, leaf, value))
            yield str(source), leaf, _expression(value)

    def check_fixed(self) -> None:
        """Raises where a number that varies had to be fixed."""
        for source, leaf, value in self._symbols:
            found = _expression(value)
            if found.is_number and isinstance(leaf, torchs.IntVar):
                raise spec_fixed(source, found)

    # Paths

    def _leaf(self, source: Source) -> Any:
        """What is said of a value by the path to it; None where nothing is."""
        steps = []
        while source.base is not None:
            steps.append(source)
            source = source.base
        if source.access != "local" or self._code is None:
            return None
        steps.reverse()
        found = self._parameter(source.key, steps)
        for step in steps:
            if found is None:
                return None
            found = _inside(found, step)
        containers = (torchs.ObjectSpec, torchs.DictSpec, torchs.SeqSpec)
        return None if isinstance(found, containers) else found

    def _parameter(self, index: int, steps: list[Source]) -> Any:
        """What is said of an argument; of variadic ones the first step is taken."""
        code, params = self._code, self._params
        named = code.co_argcount + code.co_kwonlyargcount
        if index < named:
            return params._named_args.get(code.co_varnames[index])
        if not steps:
            return None
        key = steps.pop(0).key
        is_positional = code.co_flags & inspect.CO_VARARGS and index == named
        if code is self._own:
            given = params._varargs if is_positional else params._varkw
            return _item(given, key)
        if not is_positional:
            found = params._named_args.get(key)
            return _item(params._varkw, key) if found is None else found
        if key < len(self._positional):
            return params._named_args.get(self._positional[key])
        return _item(params._varargs, key - len(self._positional))


def _positional(target: Callable) -> list[str]:
    """The names of the arguments that may be given by position."""
    is_module = isinstance(target, torch.nn.Module)
    try:
        signature = inspect.signature(target.forward if is_module else target)
    except (TypeError, ValueError):
        return []
    kinds = (
        inspect.Parameter.POSITIONAL_ONLY,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
    )
    return [name for name, p in signature.parameters.items() if p.kind in kinds]


def _item(given: Any, key: Any) -> Any:
    if isinstance(given, dict):
        return given.get(key)
    return given[key] if given is not None and 0 <= key < len(given) else None


def _inside(found: Any, step: Source) -> Any:
    """What is said of a part of a value."""
    if step.access == "dict":  # of the instance, which has the attributes
        return found
    if isinstance(found, torchs.ObjectSpec):
        return found._fields.get(step.key)
    if isinstance(found, torchs.DictSpec):
        return found._entries.get(step.key)
    if isinstance(found, torchs.SeqSpec):
        return _item(found._entries, step.key)
    return None


def _expression(size: Any) -> sympy.Expr:
    if isinstance(size, Constant):
        return sympy.Integer(size.value)
    fake = getattr(size, "fake", size)
    return fake.node.expr if isinstance(fake, torch.SymInt) else sympy.Integer(fake)


def _limits(leaf: torchs.IntVar) -> Iterator[sympy.Expr]:
    if leaf.min is not None:
        yield sympy.Ge(leaf.sympy_sym, leaf.min)
    if leaf.max is not None:
        yield sympy.Le(leaf.sympy_sym, leaf.max)


def _hold(text: str, condition: Any, variables: dict, environment: Any) -> None:
    placed = condition.xreplace(variables)
    unbound = [each for each in placed.free_symbols if "#" in each.name]  # torch's
    if unbound:
        names = ", ".join(sorted(map(_text, unbound)))
        raise spec_violated(
            text, f"it depends on {names}, which is the size of no input"
        )
    holds = placed if environment is None else environment.evaluate_expr(placed)
    if not bool(holds):
        raise spec_violated(text, f"it has to satisfy {_text(condition)}")


def _check_constant(text: Any, value: int, leaf: Any) -> None:
    if type(leaf) is int and leaf != value:
        raise spec_violated(text, f"it is {leaf}, but {value} is given")


def _text(given: Any) -> str:
    """Without the numbers that torch puts behind names."""
    return re.sub(r"#\d+", "", str(given))
