"""Differential tests: small programs, plain against captured.

Read ``program`` (how a program is declared), ``observation`` (what is compared),
``session`` (how it is run), then any file of ``corpus``, which has one file a family.
``variation`` makes arguments that test guards; ``grammar`` and ``random_programs``
make programs.

Each program runs plain, captured with the backend "eager" and compiled with "girih",
and each call is compared: results with their sharing, changes of arguments, globals
and modules, printed text, exceptions, torch's state.

To run some programs, to rewrite ``graphs.txt`` (the programs that ``fullgraph=True``
rejects, with the number of their graphs and of the operations in those), and to run
random programs for as long as wanted::

    python test/frontend/capture/differential/run.py closures classes.slots
    python test/frontend/capture/differential/run.py --quick --update
    python test/frontend/capture/differential/fuzz.py --seconds 600
"""
