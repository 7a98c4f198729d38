"""Keys of the attributes of `@main`, of its arguments and of its results.

They are the contract of a graph function with the run time. `graph.signature` checks
it; passes and the driver read it. One more stands on ops, while derivatives are taken.
"""

SYMBOLS = "graph.symbols"
"""Function: the symbols of sizes, each with its range: `{s0 = [2,
9223372036854775807]}`."""

DEVICE = "graph.device"
"""Function: the device on which it computes, such as `"cuda:0"`. Without it that is
the CPU."""

DIFFERENTIABLE = "host.differentiable"
"""Function: in a training program, it is the forward function, whose results get a
history of autograd. So it keeps the strides that the backward function relies on, and
makes no views of its own."""

TRAINING = "host.training"
"""Function: in a host program, it keeps values for a backward function, or is one. Its
workspace does not stay for the next call."""

STRIDES = "graph.strides"
"""Argument, result: the strides in elements. Without it the tensor is contiguous."""

NAME = "graph.name"
"""Argument: its name in the user's program, for messages."""

STATIC = "graph.static"
"""Argument: it is a parameter or buffer, so each call gets the same tensor."""

ARGUMENT = "graph.argument"
"""Argument: in `@constants`, it is the argument of `@main` with this index."""

CONSTANT = "graph.constant"
"""Argument: in `@main`, it is a result of `@constants`, so no other tensor shares its
memory. Only oneDNN can read some of them."""

SYMBOL = "graph.symbol"
"""Argument: it is of type `index`, and its value is that of this symbol. An `index`
argument without the attribute is an integer that nothing uses."""

NUMBER = "graph.number"
"""Argument: the caller gives a Python number, which is a tensor of rank 0 here."""

REQUIRES_GRAD = "graph.requires_grad"
"""Argument: the caller wants its gradient."""

DONATED = "graph.donated"
"""Argument: the caller gives the tensor away. The program frees it after its last
use."""

STORAGE = "graph.storage"
"""Result: in eager it shares the storage of this argument or result: `"arg0"` or
`"out3"`. Without it the storage is fresh."""

OFFSET = "graph.offset"
"""Result: its storage offset minus that of the tensor that `graph.storage` names, in
elements."""

WRITES = "graph.writes"
"""Result: it is the new content of the argument with this index. The program does
not return it."""

UPDATE = "graph.update"
"""Result: it is what the argument with this index holds after the call. Only the
derivative needs it."""

SIZE = "graph.size"
"""Result: it is of type `index`, and its value is this size: `"s0*2"`."""

DETACHED = "graph.detached"
"""Result: in eager it needs no gradient, whatever it depends on."""

VIEW = "graph.view"
"""Result: in eager it is a view (`_is_view()`), so girih makes it as a view, too."""

SPLIT = "graph.split"
"""Result: in eager it is one of several views that one operation returns (`chunk`,
`unbind`), or a view of one, so eager refuses writes to it. It gives what the error
names, the operation and the number of the result, and the dim that is taken apart:
`"Split 1 0"`."""

UNRECORDED = "graph.unrecorded"
"""Result: in eager it is a view that was made under `no_grad`, or a view of such a
view. It requires a gradient if its base does, and has no history."""

SEVERED = "graph.severed"
"""Result: it requires a gradient, and its `backward()` gives none to any argument. In
eager it depends on results with `graph.unrecorded` alone, or it has `graph.linked`."""

LINKED = "graph.linked"
"""Result: eager's backward pass comes from it to these arguments without a gradient of
it, so what is behind them runs, too: backward functions may give something for None."""

COTANGENT = "graph.cotangent"
"""Argument: in a joint or backward function, it is the cotangent of the result with
this index."""

GRADIENT = "graph.gradient"
"""Result: in a joint or backward function, it is the gradient of the argument with
this index."""

REACHED_BY = "graph.reached_by"
"""Result: it is a gradient, and these are the indices of the forward results that
depend on its argument. Without the attribute all of them do."""

NONZERO = "graph.nonzero"
"""Argument: it is a cotangent, and these are numbers of derivatives that are not known
to be zero where it is. If all arguments with one of the numbers are absent, there is no
such derivative, and a backward function that computes it is another function."""

EQUAL = "graph.equal"
"""Result: it is a gradient, which in eager is one tensor with those of the same number,
or a constant. Results of one number that are one value are one tensor. Without the
attribute a result has memory of its own, whatever it is equal to."""

PASSED = "graph.passed"
"""Result: it is a gradient, which in eager is a view of a cotangent. So it may share
memory with the argument of that cotangent."""

KEPT = "graph.kept"
"""Argument, result: eager keeps it for its derivative, or is taken to, because girih's
reads it. So a write to it before the backward pass is an error in both."""

UNKEPT = "graph.unkept"
"""Argument, result: eager does not keep it for its derivative. So the user may write to
it before the backward pass, and girih must not fail."""

UNCOUNTED = "graph.uncounted"
"""Argument: eager writes it without a new version, as a batch norm in training its
statistics. So autograd does not notice that write, and notices others."""

SAVED = "graph.saved"
"""Result, argument: on a result of `@main`, a unit: the value goes to `@backward`, not
to the user. On an argument of `@backward`, a string: it is this argument or result of
`@main`, `"arg0"` or `"out3"`."""

CHECKPOINT = "graph.checkpoint"
"""Op: it belongs to the call of `torch.utils.checkpoint` with this number."""

BEFORE_WRITE = "graph.before_write"
"""Op: on an `alias`, while girih makes a gradient function: the index of the
argument that the program overwrites. The alias is its old value."""

VALUE = "graph.value"
"""Argument: while girih makes a gradient function, it is the value of a result."""
