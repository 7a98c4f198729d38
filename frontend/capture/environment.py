"""A ``ShapeEnv`` that is made and used without loading TorchDynamo.

torch's own asks two settings in a module that imports Dynamo, and looks for the user's
line of each guard with Dynamo's list of files: three seconds in a fresh process. The
environment made here knows the settings, and does without the lines: girih has its own.
"""

from __future__ import annotations

import builtins
import inspect
import types
from collections.abc import Callable
from typing import Any

from torch._guards import SLoc
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from girih.errors import SourceLocation

_VALIDATOR = "torch.fx.experimental.validator"
_NOT_VALIDATED = types.SimpleNamespace(translation_validation_enabled=lambda: False)


def _import(name, globals=None, locals=None, fromlist=(), level=0):
    if name == _VALIDATOR:
        return _NOT_VALIDATED
    return builtins.__import__(name, globals, locals, fromlist, level)


def _trace_nothing(*args, **kwargs) -> None:
    """In place of records for torch's log analysers, with a stack in each."""


def _light(original: types.FunctionType) -> types.FunctionType:
    """The same function, with ``import`` statements of its own."""
    scope = {**vars(builtins), "__import__": _import}
    names = {**original.__globals__, "__builtins__": scope}
    names["trace_structured"] = _trace_nothing
    light = types.FunctionType(
        original.__code__,
        names,
        original.__name__,
        original.__defaults__,
        original.__closure__,
    )
    light.__kwdefaults__ = original.__kwdefaults__
    return light


class LightShapeEnv(ShapeEnv):
    """A ``ShapeEnv`` that notes no places of the program, unless it is asked to.

    Attributes:
        place: Where set, it says which line is being run when a symbol is fixed.
    """

    place: Callable[[], SourceLocation | None] | None = None
    _fixed_at: dict[Any, SourceLocation | None]
    _narrowed_at: dict[Any, SourceLocation | None]
    _replaced_by: dict[Any, Any]

    __init__ = _light(ShapeEnv.__init__)
    _init = _light(ShapeEnv._init)
    create_symbol = _light(inspect.unwrap(ShapeEnv.create_symbol))
    _replace = _light(ShapeEnv._set_replacement)

    def _set_replacement(self, a: Any, tgt: Any, msg: str) -> None:
        self._replace(a, tgt, msg)
        if self.place is None:
            return
        if tgt.is_number:
            self._fixed_at.setdefault(a, self.place())
        else:
            self._replaced_by.setdefault(a, tgt)

    def _update_var_to_range(self, symbol: Any, *args: Any, **kwargs: Any) -> None:
        before = self.var_to_range.get(symbol)
        super()._update_var_to_range(symbol, *args, **kwargs)
        if self.place is None or before is None:
            return
        if self.var_to_range[symbol] != before:
            self._narrowed_at.setdefault(symbol, self.place())

    def note_places(self, place: Callable[[], SourceLocation | None]) -> None:
        """From now on it notes the lines that fix symbols, or bound them."""
        if self.place is None:
            self.place = place
            self._fixed_at, self._narrowed_at, self._replaced_by = {}, {}, {}

    def place_of(self, symbol: Any) -> SourceLocation | None:
        """The line that fixed a symbol, or that bounded it first, where noted."""
        if self.place is None:
            return None
        while symbol in self._replaced_by:  # by an expression of others, fixed later
            others = self._replaced_by[symbol].free_symbols
            known = [s for s in others if s in self._fixed_at or s in self._replaced_by]
            if symbol in self._fixed_at or not known:
                break
            symbol = known[0]
        return self._fixed_at.get(symbol) or self._narrowed_at.get(symbol)

    def _log_guard(self, *args, **kwargs) -> None:
        """No log: girih prints the guards of an entry."""

    def _get_user_frame(self) -> None:
        """No frame: girih's nodes know the user's line."""

    def _get_stack_summary(self, is_debug=False, framework_loc=None):
        """No place, and no further text for logs."""
        return SLoc(framework_loc, None), ""
