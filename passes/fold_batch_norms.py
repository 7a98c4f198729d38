"""``fold-batch-norms``: convolutions do what the batch norms after them did.

In evaluation a batch norm multiplies each channel by a number and adds another one.
Both depend on weights alone, and so do the weights of a convolution that does it. A
batch norm of several convolutions side by side is one of each.

Requires: batch norms as the importer makes them, so before ``decompose``.
Establishes: no batch norm in evaluation stands after a convolution of float32 or
float64 whose result only it reads, or after several side by side, where all weights are
``graph.static``.

Results differ by rounding: the sum of x * w, times a scale, is now that of
x * (w * scale). Weights that are infinite or NaN may differ in which of them comes out.

Before::

    %0 = "graph.convolution"(%x, %w) {...} : ...
    %1 = "graph.batch_norm"(%0, %gamma, %beta, %mean, %var) {eps = 1.0e-05 : f64} : ...

After::

    %w2, %b2 = "graph.extern"(%w, %gamma, %beta, %mean, %var)
        {op = "girih.fold_batch_norm.default", ...} : ...
    %1 = "graph.convolution"(%x, %w2, %b2) {...} : ...

It leaves a transposed convolution with groups as it is.
"""

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS
from girih.passes.constant_values import constant_values
from girih.passes.graph_builder import GraphBuilder, has_one_use
from girih.passes.registry import register_pass

_ELEMENTS = ("f32", "f64")


@register_pass("fold-batch-norms")
def run(op: ir.Operation, options: None) -> None:
    """Folds batch norms in evaluation into the convolutions before them."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func" and len(function.regions[0].blocks):
            _fold_in(function)


def _fold_in(function: ir.OpView) -> None:
    constants = constant_values(function)
    for norm in list(function.regions[0].blocks[0].operations):
        if norm.operation.name != "graph.batch_norm":
            continue
        if not all(value in constants for value in list(norm.operands)[1:]):
            continue
        if _takes(norm.x, norm, constants):
            _fold(norm, norm.x.owner.opview)
        elif _is_beside(norm, constants):
            for part in _parts(norm):
                _fold(part, part.x.owner.opview)


def _takes(x: ir.Value, norm: ir.OpView, constants: set[ir.Value]) -> bool:
    """Whether a value is made by a convolution that can do a norm's work."""
    if isinstance(x.owner, ir.Block) or not has_one_use(x):
        return False
    convolution, element = x.owner.opview, x.type.element_type
    if convolution.operation.name != "graph.convolution":
        return False
    if str(element) not in _ELEMENTS:
        return False
    if convolution.transposed and convolution.groups != 1:
        return False
    of_norm, of_convolution = (list(op.operands)[1:] for op in (norm, convolution))
    return all(value in constants for value in of_convolution) and all(
        value.type.element_type == element for value in (*of_norm, *of_convolution)
    )


def _is_beside(norm: ir.OpView, constants: set[ir.Value]) -> bool:
    """Whether a norm is one of several convolutions' channels, side by side."""
    if isinstance(norm.x.owner, ir.Block) or not has_one_use(norm.x):
        return False
    concat = norm.x.owner.opview
    if concat.operation.name != "graph.concat" or concat.dim != 1:
        return False
    return all(_takes(x, norm, constants) for x in concat.operands)


def _parts(norm: ir.OpView) -> list[ir.OpView]:
    """A norm of each of the values that stood side by side, in place of one of all."""
    b, concat, start = GraphBuilder(norm), norm.x.owner.opview, 0
    weights = (norm.weight, norm.bias, norm.running_mean, norm.running_var)
    made = []
    for x in concat.operands:
        count = ty.shape_of(x.type)[1]
        own = [
            None if value is None else _slice(b, value, start, count)
            for value in weights
        ]
        made.append(b.op("batch_norm", x, *own, eps=norm.eps))
        start += count
    b.replace(norm, b.op("concat", made, dim=1))
    concat.operation.erase()
    return [value.owner.opview for value in made]


def _slice(b: GraphBuilder, value: ir.Value, start: int, count: int) -> ir.Value:
    element = value.type.element_type
    bounds = {"starts": (start,), "steps": (1,)}
    return b.typed("slice", [value], (count,), element, **bounds)


def _fold(norm: ir.OpView, convolution: ir.OpView) -> None:
    weight = convolution.weight
    given = (
        weight,
        convolution.bias,
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
    )
    inputs = [value for value in given if value is not None]
    numbers = iter(range(len(inputs)))
    arguments = [None if each is None else OperandRef(next(numbers)) for each in given]
    # Here all numbers of the norm have been made.
    b = GraphBuilder(norm)
    b.loc = convolution.location
    folded = OPS["graph.extern"].build(
        [inputs],
        {
            "op": "girih.fold_batch_norm.default",
            "args": (*arguments, norm.eps, int(convolution.transposed)),
        },
        results=[weight.type, norm.running_mean.type],
        loc=b.loc,
        ip=b.ip,
    )
    b.mark(folded)
    names = type(convolution).ATTRIBUTES
    attributes = {name: getattr(convolution, name) for name in names}
    made = b.typed(
        "convolution",
        [convolution.x, *folded.results],
        ty.shape_of(norm.x.type),
        norm.x.type.element_type,
        **{name: value for name, value in attributes.items() if value is not None},
    )
    b.replace(norm, made)
    convolution.operation.erase()
