"""Capture: from a Python call to a ``torch.fx`` graph and guards.

``api.compile_callable`` makes the compiled callable. What lives here, in the order to
read it:

* ``api``, ``module``   compiled functions and modules; the policy of recompilation
* ``_frame`` (C)        guards, dispatch of a call, the PEP 523 hook
* ``capture``           one capture: trace, compile the graph, make a cache entry
* ``tracer``            the symbolic interpreter; ``calls`` and ``operators`` are parts
* ``budget``, ``refusals``  what a trace may cost; why one was stopped
* ``frame``             the state of an interpreted frame; decoded code objects
* ``bytecode/``         handlers of the opcodes, by family
* ``values/``           what the interpreter computes with
* ``wrap``              from Python objects to values
* ``models/``           functions whose meaning is known
* ``graph``, ``evaluate``, ``shapes``  the FX graph; evaluation on fake tensors
* ``source``, ``guard`` where values came from, and what must hold at a call
* ``effects``, ``rebuild``  changes to outside objects; the code around the graph
* ``rebuilding/``       writers of that code, one for each kind of value
* ``break_point``, ``continuation``, ``resume/``  going on after a graph break
* ``repeatable``, ``run_time_errors``  graphs that fail on their data
* ``blocks``, ``handlers``, ``data_errors``  which blocks would see such errors
* ``state``, ``switches``, ``sizes``  torch's global state; which sizes are symbolic
* ``subgraph``          functions that operations call, as graph modules of their own
"""
