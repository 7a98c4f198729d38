"""Compiled graphs beside eager, on copies: ``girih.check``, and the option ``check``.

What lives here, in the order to read it:

* ``found``       what came of it
* ``copies``      inputs of a graph again, sharing memory as the originals do
* ``runs``        one run of a graph, forward and backward, and what came of it
* ``arithmetic``  eager's arithmetic, changed: in float64, and with noise
* ``closeness``   what float arithmetic explains, and what it does not
* ``comparison``  the runs of one call, and where they part
* ``parting``     the operations at which they part
* ``checked``     the compiled graph that compares its first calls
* ``api``         ``check``
"""
