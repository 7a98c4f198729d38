"""convert-graph-to-host: the graph function becomes a launch program and kernels.

Requires:
    A function `@main` of one block of graph ops without composites; fusions are in
    the normal form that docs/inside/graph.md describes.

Establishes:
    `@main` is a function of host ops over `!tile.buffer` values; each fusion is an
    unscheduled `tile.kernel`, equal ones only once; everything else is a view or a
    call of an ATen op. Results keep eager's strides and share storage as in eager.

Before::

    func.func @main(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
      %0 = "graph.fusion"(%x) <{domain = [4, 8]}> ({ ... graph.exp ... })
      %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>}
      return %1
    }

After::

    "tile.kernel"() ({ ... }) {sym_name = "k0", ...}
    func.func @main(%x: !tile.buffer<f32, [4, 8], [8, 1]>) -> ... {
      %0 = "host.alloc"() : () -> !tile.buffer<f32, [4, 8], [8, 1]>
      "host.launch"(%x, %0) {kernel = @k0, outputs = 1}
      %1 = "host.view"(%0) {offset = 0} : (...) -> !tile.buffer<f32, [8, 4], [1, 8]>
      "host.return"(%1)
    }

It does not decide what is fused (`fuse`), nor lifetimes (`plan-memory`).

What lives here, in the order to read it:

* ``layout``      strides of views, as ATen computes them
* ``signature``   what the function's attributes promise
* ``kernel_ops``  which ops become generated code
* ``prepare``     copies of constants that the program writes or repeats
* ``copied``      copies that kernels make of what they read
* ``in_place``    which kernels write straight into mutated arguments
* ``inserted``    which writes to parts change a tensor's own memory
* ``padding``     rows that begin at multiples of 16 bytes
* ``plan``        where each tensor lies: the facts
* ``kernels``     fusions into kernels
* ``reuse``       which ATen calls write into a buffer of the program's own
* ``externs``     the rule table for ATen calls
* ``conversion``  the launch program that is being written
* ``convert``     applies the plan
* ``results``     what the program returns
* ``print_layouts``  a test pass
"""

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.choices import ChoiceOptions, Choices
from girih.passes.registry import register_pass
from girih.passes.remarks import remark

from .convert import convert
from .plan import plan_layouts
from .prepare import prepare
from .print_layouts import layout_lines


@dataclass(frozen=True)
class ConvertGraphToHostOptions(ChoiceOptions):
    """Options of `convert-graph-to-host`."""

    pad_products: bool = False
    """Whether the pass pads rows of matrices of 16-bit floats to multiples of 16 bytes,
    where products read or write them."""

    reuse_buffers: bool = False
    """Whether a kernel may write its result over a buffer that nothing reads later,
    where the kernel reads that buffer point by point."""

    concat_operands: int = 0
    """Most tensors that one kernel concatenates. Launches of their own copy more
    tensors, because Triton takes seconds to compile a hundred. 0 sets no limit."""

    concat_row: int = 0
    """Elements of the result's row along the dim of the concat, from which on launches
    of their own copy more than concat-operands tensors. Where each tensor has eight
    times as many in it on average, they copy any number. 0: rows of any length, and no
    fewer tensors."""


@register_pass("convert-graph-to-host", options=ConvertGraphToHostOptions)
def run(op: ir.OpView, options: ConvertGraphToHostOptions) -> None:
    """Turns the graph function into a launch program and unscheduled kernels."""
    choices = Choices(options)
    for function in list(op.regions[0].blocks[0].operations):
        if function.operation.name == "func.func":
            prepare(function)
            plan = plan_layouts(
                function,
                pad_products=options.pad_products,
                reuse_buffers=options.reuse_buffers,
                choices=choices,
            )
            remark(lambda plan=plan: "\n".join(layout_lines(plan)))
            convert(function, plan, options.concat_operands, options.concat_row)
