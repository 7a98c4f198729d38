"""Fake tensors that are quick to make, without Dynamo and without sympy.

What lives here, in the order to read it:

* ``mode``         the fake tensor mode; ``make_fake_mode`` and ``fake_like``
* ``demands``      what eager demands of sizes and meta kernels do not
* ``floats``       floats that vary, where ATen takes Python floats
* ``rules``        the table of shape rules, and the form of a result
* ``promotion``    dtypes of results, by torch's rules of type promotion
* ``layout``       sizes after broadcasting, and strides of results
* ``geometry``     views with symbolic sizes
* ``declared``     shape rules that the classes of ops say
* ``elementwise``  shape rules: arithmetic, comparison, functions, activations
* ``reduction``    shape rules: sums, extrema, scans, softmax
* ``contraction``  shape rules: matrix products, attention
* ``structure``    shape rules: concatenation, indexing, padding, normalisation
* ``recurrent``    recurrent layers, one after the other
* ``window``       shape rules: convolution, pooling
* ``creation``     shape rules: new tensors, random numbers
"""

from girih.frontend.fake import (  # noqa: F401  (they register their rules)
    contraction,
    creation,
    declared,
    elementwise,
    reduction,
    structure,
    window,
)
from girih.frontend.fake.mode import (
    LightFakeTensorMode,
    SizesAreSymbols,
    fake_like,
    make_fake_mode,
    python_dispatcher,
)
from girih.frontend.fake.promotion import promote

__all__ = [
    "LightFakeTensorMode",
    "SizesAreSymbols",
    "fake_like",
    "make_fake_mode",
    "promote",
    "python_dispatcher",
]
