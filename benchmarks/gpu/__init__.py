"""Measurements on a GPU: eager PyTorch, Inductor and girih in one run.

``python -m benchmarks.gpu --help``. Read in this order:

* ``cases``      the kernels: functions, sizes, dtypes
* ``models``     the models: how they are built, a step of inference and of training
* ``engines``    what a function is run with
* ``clock``      how device and host times are measured
* ``kernels``, ``overhead``, ``model_runs``   the three parts: one row after the other
* ``worker``     what runs in a process of its own, and prints rows as JSON
* ``supervisor`` starts workers, and goes on behind a case that took one down
* ``report``     tables and summaries
* ``__main__``   the command

Everything but Inductor also runs with ``--device cpu``, which is how it is tested where
no GPU is.
"""
