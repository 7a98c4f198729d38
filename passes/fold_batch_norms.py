"""``fold-batch-norms``: convolutions do what the batch norms after them did.

In evaluation a batch norm multiplies each channel by a number and adds another one.
Both depend on weights alone, and so do the weights of a convolution that does it.

Requires: batch norms as the importer makes them, so before ``decompose``.
Establishes: no batch norm in evaluation stands after a convolution of float32 or
float64 whose result only it reads, where all weights of both are ``graph.static``.

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
        convolution = norm.x.owner
        if not isinstance(convolution, ir.Block) and _folds(norm, constants):
            _fold(norm, convolution.opview)


def _folds(norm: ir.OpView, constants: set[ir.Value]) -> bool:
    convolution = norm.x.owner.opview
    if convolution.operation.name != "graph.convolution" or not has_one_use(norm.x):
        return False
    if str(norm.x.type.element_type) not in _ELEMENTS:
        return False
    if convolution.transposed and convolution.groups != 1:
        return False
    weights = [*list(norm.operands)[1:], *list(convolution.operands)[1:]]
    element = norm.x.type.element_type
    return all(
        value in constants and value.type.element_type == element for value in weights
    )


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
