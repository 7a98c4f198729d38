"""``girih.run`` and ``girih-run``: IR of any level is executed, edited or not.

What lives here, in the order to read it:

* ``api``        ``run``
* ``arguments``  what ``@main`` takes; given values are checked against it
* ``made``       random values for it
* ``command``    ``girih-run``
"""
