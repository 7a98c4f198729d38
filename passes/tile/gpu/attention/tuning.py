"""What may be measured of attention ops, before they are kernels."""

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.passes.tile.gpu.attention.policy import Problem, padded
from girih.passes.tile.gpu.attention.source import BACKWARD, FORWARD

_GRIDS = {FORWARD: ("rows",), BACKWARD: ("keys", "queries")}


@dataclass(frozen=True)
class TunableAttention:
    """An attention op whose sizes are known.

    Attributes:
        name: what it is, for people.
        problem: what sizes are chosen for.
        grids: the grids of its kernel, by name.
    """

    name: str
    problem: Problem
    grids: tuple[str, ...]

    def settings(self, grid: str) -> list[dict[str, int]]:
        """What to try of a grid: values of ``girih.tuning``."""
        return [sizes.as_tuning(grid) for sizes in self.problem.candidates(grid)]


def tunable_attention(op: ir.OpView, shared_bytes: int) -> TunableAttention | None:
    """What may be measured of an op; None where it is no attention of known sizes."""
    grids = _GRIDS.get(op.operation.name)
    if grids is None:
        return None
    query, key, value = (ty.shape_of(v.type) for v in (op.query, op.key, op.value))
    if any(isinstance(size, Dim) for size in (*query, *key)):
        return None
    width = max(padded(query[3]), padded(value[3]))
    bytes_ = width * ty.byte_width(op.query.type.element_type)
    problem = Problem(bytes_, query[2], key[2], shared_bytes)
    sizes = "x".join(map(str, (*query[:3], key[2], query[3])))
    return TunableAttention(f"attention {sizes}", problem, grids)
