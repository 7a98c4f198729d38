"""The importer: a torch FX graph becomes a ``graph`` module.

What lives here, in the order to read it:

* ``masks``       masks of attention that say nothing
* ``importer``    ``import_graph`` and what it returns
* ``execution``   runs the nodes, with the user's locations
* ``recorder``    the dispatch mode that imports each ATen call
* ``tracking``    storages, views and versions: how writes become values
* ``differentiation``   where derivatives go, and where they end
* ``transforms``  what programs say about gradients
* ``asked_gradients``   ``torch.autograd.grad``
* ``functions``   ``autograd.Function``
* ``checkpoints`` checkpoints that TorchDynamo wrote
* ``registry``    the tables of rules
* ``builder``     makes ops
* ``ranges``, ``unused``    what nobody uses, and may raise
* ``outputs``     results, aliasing, writes to inputs
* ``schema``      what an ATen overload writes, and its functional twin
* ``extern``      calls of ATen ops without a rule
* ``writing_calls``   the same for operators that write their arguments
* ``seeds``       what random numbers are made of, where that is not left to ATen
* ``devices``     on which device what has to be
* ``elements``, ``symbols``, ``scalars``   dtypes, symbolic sizes, numbers
* ``floats``      calls with numbers that ATen takes as Python floats
* ``tensor_checks``      kinds of tensors and calls that are taken
* ``gradients``   gradients that rules give themselves, and gradients of rules
* ``declared``    rules that the classes of ops say
* rules by family: ``views``, ``elementwise``, ``logarithms``, ``logic``,
  ``activation``, ``losses``, ``reduction``, ``contraction``, ``normalization``,
  ``classification``, ``shape``, ``borders``, ``indexing``, ``searching``, ``creation``,
  ``random``, ``pooling``, ``resizing``, ``foreach`` (lists of tensors), ``backward``
  (of activations and losses), ``view_gradients`` (of views)
"""

from girih.frontend.importer import (  # noqa: F401  (they register their rules)
    activation,
    backward,
    borders,
    classification,
    contraction,
    creation,
    declared,
    elementwise,
    foreach,
    indexing,
    logarithms,
    logic,
    losses,
    normalization,
    pooling,
    random,
    reduction,
    resizing,
    searching,
    shape,
    view_gradients,
    views,
)
from girih.frontend.importer.importer import ImportedGraph, import_graph
from girih.frontend.importer.outputs import OutputSlot

__all__ = ["ImportedGraph", "OutputSlot", "import_graph"]
