"""``girih.report(f, html=FILE)``: what girih compiled, as one page for a browser.

What lives here, in the order to read it:

* ``page``          the page: ``written`` makes its text
* ``captures``      what capture knows of a function: graphs, guards, breaks
* ``dumps``         texts of IR of a program: read from its dump, and pass by pass
* ``symbols``       the functions and kernels in a text of IR
* ``differences``   what changed between two texts of IR, numbers of values aside
* ``overview``      the page's overview, with breaks and fallbacks
* ``programs``      the page's sections on compiled programs
* ``places``        lines of the user's program, and what belongs to them
* ``markup``        HTML, escaped

``page.css`` and ``page.js`` stand in the page as they are. The page loads nothing.
"""
