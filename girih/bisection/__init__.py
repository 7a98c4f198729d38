"""``girih.bisect`` and ``girih-bisect``: the pass after which a program is wrong.

::

    call ── recording ──► IR after each pass, arguments, results
      IR ── values ──► what it computes ── search ──► the first pass that is at fault
        fault ── parts, reduction ──► a few ops that show it ── writing ──► files

What lives here, in the order to read it:

* ``values``      what IR computes, evaluated or executed, by name of result
* ``recording``   a program's IR after each pass, from a compilation; ``dumped`` the
  same from files
* ``search``      the first step whose values differ
* ``parts``       some ops of a function, as a module of their own
* ``reduction``   the fewest ops that still show a fault
* ``writing``     files that repeat it
* ``found``       what came of it, as an object that prints well
* ``api``         ``bisect``; ``command`` ``girih-bisect``
"""
