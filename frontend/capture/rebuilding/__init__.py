"""How values are rebuilt: one writer for each kind, by family.

A writer is ``f(rebuilder, value) -> expression``; it may add statements that make the
object. ``rebuild.Rebuilder`` drives them.

* ``registry``   the table of writers
* ``code``       short forms of AST nodes
* ``values``     tensors, constants, what the code holds
* ``containers`` lists, tuples, dicts, sets, slices, views
* ``objects``    objects of classes
* ``exceptions`` exceptions
* ``iterators``  iterators in their present state
* ``generators`` generators that are suspended
* ``functions``  functions, cells, methods, partials
"""
