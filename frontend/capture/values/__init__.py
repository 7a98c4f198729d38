"""Values of the traced program.

* ``base``        the protocol of a value; traced exceptions in flight
* ``constant``    immutable values that are known
* ``tensor``      tensors and symbolic numbers
* ``sequence``, ``mapping``, ``iterator``  containers, iterators, generators
* ``function``, ``builtin``  functions, methods, partials; C functions, modules
* ``lookup``, ``classes``, ``object``, ``instance_dict``  classes and their objects
* ``exception``, ``module``  exceptions; ``nn.Module``
"""
