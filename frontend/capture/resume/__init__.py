"""Code objects that continue a frame from its middle.

Pure functions from code to code; nothing here knows tracing or torch. What lives here,
in the order to read it:

* ``layout``        what of a frame is alive, and how it is passed as arguments
* ``code``          ``resume_code`` and ``generator_code``: go on at an instruction
* ``step``          ``step_code``: run one instruction, then go on in a tail call
* ``liveness``      which locals may still be read
* ``origin``        which code was made from which; the cache
* ``builder``       writes a prologue; ``body`` the original instructions after it
* ``stack_effect``  what each instruction takes, leaves, and where it goes on
* ``instructions``, ``tables``  the encoding of bytecode, handlers and positions
* ``identity``      what belongs to a code object
"""
