"""Keys of the attributes of `@main`, of its arguments and of its results.

They are the contract of a graph function with the run time. `graph.signature` checks
it; passes and the driver read it. One more stands on ops, while derivatives are taken.
"""

SYMBOLS = "graph.symbols"
"""Function: the symbols of sizes, each with its range `{s0 = [2,
9223372036854775807]}`."""

DEVICE = "graph.device"
"""Function: where it computes, `"cuda:0"`; absent: on the CPU."""

STRIDES = "graph.strides"
"""Argument, result: strides in elements; absent: contiguous."""

NAME = "graph.name"
"""Argument: its name, for messages."""

STATIC = "graph.static"
"""Argument: a parameter or buffer: the same tensor at each call."""

SYMBOL = "graph.symbol"
"""Argument of type index: the symbol that the integer binds; absent: it is not used."""

NUMBER = "graph.number"
"""Argument: the caller gives a Python number, whose value is a tensor without dims."""

REQUIRES_GRAD = "graph.requires_grad"
"""Argument: its gradient is wanted."""

DONATED = "graph.donated"
"""Argument: the caller gives the tensor away: it dies when nothing needs it any
more."""

STORAGE = "graph.storage"
"""Result: `"arg0"` or `"out3"`: eager's shares storage with that; absent: it is
fresh."""

OFFSET = "graph.offset"
"""Result: the storage offset relative to that owner's, in elements."""

WRITES = "graph.writes"
"""Result: not returned: the new content of this argument."""

UPDATE = "graph.update"
"""Result: what this argument holds after the call, for autograd."""

SIZE = "graph.size"
"""Result of type index: the size that the integer is, `"s0*2"`."""

DETACHED = "graph.detached"
"""Result: eager's needs no gradient, whatever it depends on."""

VIEW = "graph.view"
"""Result: eager's is a view (`_is_view()`), and is made again as one."""

SPLIT = "graph.split"
"""Result: eager's is one of several views of one operation, and refuses writes."""

UNRECORDED = "graph.unrecorded"
"""Result: eager's is a view made without grad mode, or a view of one."""

SEVERED = "graph.severed"
"""Result: all that eager's depends on are such views."""

COTANGENT = "graph.cotangent"
"""Argument of a joint or backward function: the result whose cotangent it is."""

GRADIENT = "graph.gradient"
"""Result of a joint or backward function: the argument whose gradient it is."""

REACHED_BY = "graph.reached_by"
"""Gradient: the results that depend on the argument; absent: all do."""

KEPT = "graph.kept"
"""Argument, result: the derivative reads it, and eager keeps it, too."""

UNKEPT = "graph.unkept"
"""Argument, result: eager keeps no such tensor, so the user may write to it."""

SAVED = "graph.saved"
"""Result of @main, argument of @backward: it is passed from one to the other; there
`"arg0"` or `"out3"`."""

CHECKPOINT = "graph.checkpoint"
"""Op: the region of `torch.utils.checkpoint` that it belongs to."""

BEFORE_WRITE = "graph.before_write"
"""Argument: while a gradient function is made: it is what the program found before
it wrote."""

VALUE = "graph.value"
"""Argument: while a gradient function is made: it is the value of a result."""
