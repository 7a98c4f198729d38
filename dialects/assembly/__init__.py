"""The readable form of girih's ops, beside MLIR's generic form.

::

    %1 = "graph.sum"(%0) {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<1xf32>
    %1 = graph.sum %0 dims [1] : (tensor<4xf32>) -> tensor<1xf32>

MLIR's own tables know no op of girih's (see [Note: how ops are registered] in
``definition``), so MLIR prints and parses them in the generic form only. It prints
everything else in a module well. So the readable form is made from the printed text
and read back into it, by ``readable_text`` and ``generic_text``. Whatever is no
statement of an op that girih or a plugin defines stays as it is. The form follows from
the declared fields::

    RESULTS = DIALECT.OP @SYMBOL OPERANDS GROUP(OPERANDS) ATTRIBUTE VALUE ...
        attributes {OTHERS} : TYPES {REGION}, {REGION}

* Operands that always are one value stand first. An optional or variadic group stands
  in parentheses behind its name, unless the op has no other operands.
* Attributes stand in the order of their declaration. Numbers are i64 or f64, lists of
  integers ``[1, 2]``, a unit attribute is its name; what would not end by itself
  stands in ``<...>``. ``attributes`` has those that the op does not declare.
* One type is that of all operands and results. Otherwise they are all written, as a
  function's type.

Here:

* ``brackets``  what each bracket of a text encloses
* ``values``    how single attributes are written
* ``printing``  ``readable_text``
* ``parsing``   ``generic_text``, ``AssemblyError``
* ``modules``   ``print_module`` and ``parse_module``, which tools use
"""
