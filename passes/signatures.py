"""What a user's pass must leave as it is: how functions are called."""

from __future__ import annotations

import hashlib
import io

from girih.dialects.bindings import ir
from girih.dialects.verifier import Problem

_KEPT = ("function_type", "arg_attrs", "res_attrs")


class State:
    """A module before a pass: its signatures, and whether it changes."""

    def __init__(self, module: ir.Operation):
        self._signatures = _signatures(module)
        self._digest = _digest(module)

    def problems(self, module: ir.Operation) -> list[Problem]:
        """What the pass has changed of the functions that the driver calls."""
        now = _signatures(module)
        found = []
        for name, (signature, location) in self._signatures.items():
            if name not in now:
                message = f"expected the pass to keep the function @{name}, it is gone"
                found.append(Problem(location, message))
            elif now[name][0] != signature:
                message = (
                    "expected the pass to keep the types and attributes of arguments "
                    f"and results of @{name}: {signature}, got {now[name][0]}"
                )
                found.append(Problem(now[name][1], message))
        return found

    def has_changed(self, module: ir.Operation) -> bool:
        """Whether the module is another one now, apart from locations."""
        return _digest(module) != self._digest


def _signatures(module: ir.Operation) -> dict[str, tuple[str, ir.Location]]:
    found = {}
    for op in module.regions[0].blocks[0].operations:
        attributes = op.operation.attributes
        if op.operation.name == "func.func":
            kept = [_text(attributes[key]) for key in _KEPT if key in attributes]
            name = ir.StringAttr(attributes["sym_name"]).value
            found[name] = (" ".join(filter(None, kept)), op.operation.location)
    return found


def _text(attribute: ir.Attribute) -> str:
    """An attribute as text; "" for a list of empty dictionaries, which no file has.

    MLIR prints a function without such a list, so the parser does not make it.
    """
    if isinstance(attribute, ir.ArrayAttr) and not any(map(len, attribute)):
        return ""
    return str(attribute)


def _digest(module: ir.Operation) -> bytes:
    """A digest of all but the locations, which bytecode would have, too."""
    text = io.BytesIO()
    form = {"print_generic_op_form": True, "assume_verified": True}
    module.print(file=text, binary=True, **form)
    return hashlib.sha256(text.getvalue()).digest()
