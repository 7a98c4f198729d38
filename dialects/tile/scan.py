"""Scans of blocks by combinations that the vector dialect has no name for."""

from girih.dialects import types as ty
from girih.dialects.attributes import INT, STRING
from girih.dialects.bindings import ir
from girih.dialects.fields import attribute, operand, result
from girih.dialects.rules import expect
from girih.dialects.tile.base import TileOp, element_and_shape

COMBINATIONS = ("logaddexp",)
"""logaddexp: log(e**lhs + e**rhs)."""


class BlockScanOp(TileOp, name="block_scan"):
    """value[i] = before combined with source[0], ..., source[i] along ``dim``.

    As an inclusive ``vector.scan``: source and value are blocks of f32 or f64; before
    and after, of the source's sizes without that of ``dim``, are what comes before the
    block and what the next one begins with. GPUs only.
    """

    source = operand()
    before = operand()
    combines = attribute(STRING)
    dim = attribute(INT)
    value = result()
    after = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The types of ``source`` and ``before``."""
        source, before = types
        element, shape = element_and_shape(source)
        rule = "be a vector of f32 or f64"
        expect(bool(shape) and str(element) in ("f32", "f64"), "source", rule, source)
        dim, combines = attributes["dim"], attributes["combines"]
        expect(0 <= dim < len(shape), "dim", f"be below {len(shape)}", dim)
        wanted = ty.vector_type(shape[:dim] + shape[dim + 1 :], element)
        expect(before == wanted, "before", f"have type {wanted}", before)
        names = " or ".join(COMBINATIONS)
        expect(combines in COMBINATIONS, "combines", f"be {names}", combines)
        return [source, before]
