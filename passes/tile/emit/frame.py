"""The nest of regions that code is being put into.

A frame is one region: the kernel, a grid's program, a loop's body. It knows which
coordinates it binds and which values were computed in it. A value is computed in the
outermost frame that binds all it depends on, so nothing is computed again inside a
loop that does not change it.
"""

from dataclasses import dataclass, field

from girih.dialects.bindings import ir
from girih.passes.tile.index import Coordinate


@dataclass(slots=True)
class Frame:
    """One region being filled.

    Attributes:
        point: where the next op goes: the block's end, or before the inner region.
        coordinates: the scalar index of each coordinate bound here; of the lanes'
            coordinate, the index of lane 0.
        values: what was computed here, by node number or index key.
        mask: the lanes that are inside, where this frame binds the lanes.
        width: the number of lanes, where this frame binds them.
    """

    block: ir.Block
    point: ir.InsertionPoint
    coordinates: dict[Coordinate, ir.Value] = field(default_factory=dict)
    values: dict[object, ir.Value] = field(default_factory=dict)
    mask: ir.Value | None = None
    width: int = 0


class FrameStack:
    """The frames from the kernel inwards."""

    def __init__(self, block: ir.Block) -> None:
        self.frames = [Frame(block, ir.InsertionPoint(block))]

    @property
    def top(self) -> Frame:
        """The innermost frame."""
        return self.frames[-1]

    @property
    def depth(self) -> int:
        """The number of the innermost frame."""
        return len(self.frames) - 1

    def push(self, op: ir.Operation, block: ir.Block) -> Frame:
        """Enters a region of an op that was just made in the innermost frame."""
        self.top.point = ir.InsertionPoint(op)
        frame = Frame(block, ir.InsertionPoint(block))
        self.frames.append(frame)
        return frame

    def pop(self) -> None:
        """Leaves the innermost region: what follows goes after its op."""
        self.frames.pop()
        self.top.point = ir.InsertionPoint(self.top.block)

    def find(
        self, key: object, innermost: int | None = None
    ) -> tuple[ir.Value, int] | None:
        """A value computed in an open frame, and the number of that frame.

        Frames within the one numbered ``innermost`` are not looked at.
        """
        start = self.depth if innermost is None else innermost
        for depth in range(start, -1, -1):
            value = self.frames[depth].values.get(key)
            if value is not None:
                return value, depth
        return None

    def depth_of(self, coordinate: Coordinate) -> int:
        """The number of the frame that binds a coordinate."""
        for depth in range(self.depth, -1, -1):
            if coordinate in self.frames[depth].coordinates:
                return depth
        raise AssertionError(f"girih bug: {coordinate} is bound by no open loop")
