"""Defects that are planted into girih, and the nets that have to find them.

* ``defects``   what is planted: each changes girih in the running process
* ``nets``      short forms of the nets, small enough for a second each
* ``__main__``  runs each net without a defect and with each of its own, in children
"""
