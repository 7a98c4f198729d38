"""Models of public libraries, compiled and compared with eager; ``make breadth``.

What lives here, in the order to read it:

* ``model``        what a library's file gives: a module and its inputs
* ``*_models``     the models of each library, tiny and with random weights
* ``step``         a call of a model, and a step of training
* ``comparison``   how far results are from eager's
* ``precision``    whether a computation in float64 really was one
* ``notices``      what girih says, and which graphs run as eager
* ``measure``      the parts of a measurement: forward, training, symbolic sizes
* ``run``          all models, each in a child process
* ``table``        the page in docs
* ``__main__``     the command line
"""
