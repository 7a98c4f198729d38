"""Measurements of eager PyTorch, Inductor and girih side by side.

Run one of these; each has ``--help``:

* ``python -m benchmarks.kernels``   single kernels, in and out of cache
* ``python -m benchmarks.access``    how kernels read memory: strides, windows, padding
* ``python -m benchmarks.models``    BERT and GPT-2: time of a call, cold compile time
* ``python -m benchmarks.training``  training steps: time, peak memory, compile time
* ``python -m benchmarks.startup``   import time, first call in a fresh process
* ``python -m benchmarks.overhead``  cost of one call on 16 floats
* ``python -m benchmarks.gpu``       kernels, overhead and models on a GPU
* ``python -m benchmarks.gate``      hand-written kernels' sweeps on a GPU
* ``python -m benchmarks.rivals``    networks on the CPU, beside other runtimes
* ``python -m benchmarks.capture``   capture and guards, beside TorchDynamo's

``python -m benchmarks.readme`` puts their tables into docs/benchmarks.md.

What they share: ``cases``, ``model_table`` and ``training_cases`` hold the tables of
what is measured, ``engines`` what it is measured with, ``agreement`` the check that
comes before any measurement, ``measure`` the alternating rounds, ``memory`` the peak
of a process, ``fresh`` the runs in new processes, ``results`` tables and JSON, ``plot``
and ``curves`` charts as SVG, ``options`` the command line.
"""
