"""``replace-module``: the module becomes the one in a file, such as edited IR.

Somebody edits dumped IR, and gives this pass for the place from which it goes on, in
the option ``passes``::

    {"before:tile": "replace-module{file=dump/000-graph0/3-host.mlir}"}

Requires: The file has a module of the same level, whose functions have the same names,
types and attributes.
Establishes: The module has the ops of the file. Nothing else is the same.
"""

from dataclasses import dataclass

from girih.dialects.assembly.modules import PARSED, parse_module, read_text
from girih.dialects.bindings import ir
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class ReplaceModuleOptions:
    """Options of replace-module."""

    file: str = ""
    """The file with the module. Its name has no space and no comma."""


@register_pass("replace-module", options=ReplaceModuleOptions)
def run(op: ir.Operation, options: ReplaceModuleOptions) -> None:
    """Puts the ops of a file in the place of the module's."""
    if not options.file:
        raise ValueError("replace-module needs a file: replace-module{file=NAME}")
    found = module_of(read_text(options.file), op.context, options.file)
    block = op.regions[0].blocks[0]
    for old in list(block.operations):
        old.operation.erase()
    for new in list(found.body.operations):
        new.operation.detach_from_parent()
        block.append(new)


def module_of(text: str, context: ir.Context, file: str) -> ir.Module:
    """Parses the text of a file.

    Args:
        text: The text.
        context: Where the module lives.
        file: The file's name, which errors and locations have.

    Raises:
        ValueError: The text is no module.
    """
    try:
        return parse_module(text, context, file=file)
    except ir.MLIRError as error:
        raise ValueError(str(error).replace(f'"{PARSED}":', f'"{file}":')) from error
