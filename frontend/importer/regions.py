"""The user's ``record_function`` blocks, which give names to what is inside of them.

girih's capture notes them with each node; TorchDynamo puts calls into the graph, if
``torch._dynamo.config.capture_profiler_record_function`` is set.
"""

from __future__ import annotations

import torch

_ENTER = torch.ops.profiler._record_function_enter_new
_EXIT = torch.ops.profiler._record_function_exit
_ENTERS = (_ENTER, _ENTER.default)
_EXITS = (_EXIT, _EXIT._RecordFunction)


class Regions:
    """The blocks that are open while a graph is executed, node by node."""

    def __init__(self) -> None:
        self._open: dict[torch.fx.Node, str] = {}

    def around(self, node: torch.fx.Node) -> tuple[str, ...]:
        """The names of the blocks around the next node, the outermost first."""
        captured = node.meta.get("girih_regions")
        if captured is not None:
            return captured
        if node.target in _ENTERS:
            self._open[node] = node.args[0]
        elif node.target in _EXITS:
            self._open.pop(node.args[0], None)
        return tuple(self._open.values())
