"""Instructions of many kinds that can't be in a graph, at all places of a function."""

import binascii
import ctypes
import io
import logging
import math
import os
import random
import struct
import sys
import tempfile
import threading
import time
import types
import unicodedata
import uuid
import warnings
import weakref
import zlib

import numpy
import torch

from differential.program import ints, program, rand

FOREIGN = types.SimpleNamespace(level=0)
LOGGER = logging.getLogger("differential.breaks")
LOGGER.propagate = False


class Listed(logging.Handler):
    """Keeps the texts of log records."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(self.format(record))


@program(rand(3)).graphs(1)
def print_at_the_start(x):
    print("start")
    y = x + 1
    return y * 2


@program(rand(3)).graphs(2)
def print_in_the_middle(x):
    y = x + 1
    print("middle")
    return y * 2


@program(rand(3)).graphs(1)
def print_at_the_end(x):
    y = (x + 1) * 2
    print("end")
    return y


@program(rand(3)).graphs(2)
def only_prints_between_returns(x):
    y = x.sin()
    return (print("a"), y.cos())


@program(rand(3)).graphs(3)
def prints_three_times(x):
    x = x + 1
    print("one", end=", ")
    x = x * 2
    print("two", "three", sep="; ")
    x = x - 3
    print()
    return x


@program(rand(3)).graphs(2)
def prints_a_tensor(x):
    y = x.round() + 1
    print(y)
    return y * 2


@program(rand(3)).graphs(2)
def prints_to_a_file(x):
    y = x + 1
    file = io.StringIO()
    print("written", y.shape, file=file)
    return y * 2, file.getvalue()


@program(rand(3)).graphs(2)
def writes_to_stdout(x):
    y = x + 1
    count = sys.stdout.write("text\n")
    return y * count


@program(rand(3)).graphs(2)
def asks_for_a_break(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


@program(rand(3)).graphs(2)
def asks_for_a_break_with_a_message(x):
    y = x + 1
    torch._dynamo.graph_break(msg="here")
    return y * 2


@program(rand(3)).graphs(2)
def item(x):
    y = x + 1
    n = y[0].item()
    return x * n


@program(rand(3)).graphs(2)
def item_decides(x):
    y = x * 2
    if y.sum().item() > 0:
        return y + 1
    return y - 1


@program(ints(4)).graphs(2)
def tolist(n):
    m = n + 1
    first, *rest = m.tolist()
    return n * first, rest


@program(rand(3)).then(-rand(3)).graphs(2)
def truth_of_a_tensor(x):
    y = x + 1
    if y.sum() > 0:
        y = y * 2
    else:
        y = y * 3
    return y - 1


@program(rand(3)).graphs(2)
def truth_is_called_for(x):
    flag = bool((x + 1 > 0).all())
    return x * 2 if flag else x * 3


@program(rand(3)).graphs(2)
def number_of_a_tensor(x):
    n = int(x.abs().sum() * 10)
    return x + n, float(x[0] * 2)


@program(rand(3)).graphs(2)
def numpy_call(x):
    y = x + 1
    a = numpy.sort(y.numpy())
    return torch.from_numpy(a) * 2, y


@program(rand(3))
def numpy_random(x):
    y = x + 1
    generator = numpy.random.default_rng(0)
    return y * float(generator.normal())


@program(rand(3)).graphs(2)
def file_is_written_and_read(x):
    y = x + 1
    with tempfile.TemporaryFile("w+") as file:
        file.write("12")
        file.seek(0)
        n = int(file.read())
    return y * n, file.closed


@program(rand(3)).graphs(2)
def file_is_opened_and_closed(x):
    y = x + 1
    file = open(os.devnull)
    z = y * 2
    text = file.read()
    file.close()
    return z, text


@program(rand(3)).graphs(2)
def unknown_c_function(x):
    y = x + 1
    n = zlib.crc32(b"abc") % 7
    return y * n


@program(rand(3))
def many_unknown_c_functions(x):
    a = binascii.hexlify(b"ab").decode()
    b = struct.pack("<h", x.shape[0])
    c = unicodedata.name("a")
    d = ctypes.c_int(5).value
    return x * len(c) + d, a, b, c


@program(rand(3)).graphs(2)
def identity_is_asked_for(x):
    y = x + 1
    same = id(y) == id(y)
    return y * 2, same, id(x) == id(y)


@program(rand(3)).graphs(2)
def logged(x):
    handler = Listed()
    LOGGER.addHandler(handler)
    y = x + 1
    LOGGER.warning("shape %s", tuple(y.shape))
    LOGGER.removeHandler(handler)
    return y * 2, handler.texts


@program(rand(3)).graphs(2)
def warned(x):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        y = x + 1
        warnings.warn("careful", UserWarning, stacklevel=1)
        z = y * 2
    return z, [(str(w.message), w.category, w.lineno) for w in seen]


@program(rand(3)).graphs(2)
def times(x):
    start = time.perf_counter()
    y = x + 1
    elapsed = time.perf_counter() - start
    return y * 2, elapsed >= 0


@program(rand(3)).graphs(2)
def random_numbers_of_python(x):
    random.seed(3)
    y = x + 1
    n = random.randint(0, 100)
    return y * n, random.random()


@program(rand(3)).graphs(2)
def environment(x):
    y = x + 1
    os.environ["DIFFERENTIAL"] = "5"
    try:
        z = y * int(os.environ["DIFFERENTIAL"])
    finally:
        del os.environ["DIFFERENTIAL"]
    return z, os.environ.get("DIFFERENTIAL", "gone")


@program(rand(3)).graphs(2)
def class_statement(x):
    y = x + 1

    class Local:
        factor = 3

        def scaled(self, v):
            return v * self.factor

    return Local().scaled(y), Local.__name__


@program(rand(3)).graphs(2)
def attribute_of_foreign_object(x):
    FOREIGN.level = 1
    y = x + 1
    setattr(FOREIGN, "tensor", y)
    z = FOREIGN.tensor * 2
    level = FOREIGN.level
    del FOREIGN.tensor
    FOREIGN.level = 0
    return z, level


@program(rand(3)).graphs(2)
def import_inside(x):
    y = x + 1
    import fractions

    third = fractions.Fraction(1, 3)
    return y * float(third), str(third)


@program(rand(3))
def import_fails(x):
    y = x + 1
    try:
        import there_is_no_such_module  # noqa: F401
    except ImportError as error:
        return y * 2, str(error), error.name


@program(rand(3)).graphs(2)
def weak_reference(x):
    y = x + 1
    reference = weakref.ref(y)
    z = y * 2
    alive = reference() is y
    del y
    return z, alive, reference() is None


@program(rand(3)).graphs(2)
def thread_is_started(x):
    y = x + 1
    seen = []
    thread = threading.Thread(target=lambda: seen.append(y * 3))
    thread.start()
    thread.join()
    return y * 2, seen


@program(rand(3)).graphs(2)
def lock_is_held(x):
    lock = threading.Lock()
    with lock:
        y = x + 1
        held = lock.locked()
    return y * 2, held, lock.locked()


@program(rand(3)).graphs(2)
def unique_name(x):
    y = x + 1
    name = uuid.UUID(int=5).hex
    return y * 2, name


@program(rand(3)).graphs(2)
def code_is_evaluated(x):
    y = x + 1
    z = eval("y * 2 + n", {"y": y, "n": 3})
    exec("made = 1", namespace := {})
    return z + 1, namespace["made"]


@program(rand(4)).graphs(2)
def size_depends_on_data(x):
    y = x + 1
    positive = y[y > 0]
    return positive * 2, positive.shape


@program(rand(4))
def nonzero_then_indexed(x):
    where = (x > 0).nonzero().squeeze(-1)
    return x[where] + 1, len(where), math.prod(where.shape)


@program(rand(3)).graphs(2)
def debugger_like_frame_access(x):
    y = x + 1
    name = sys._getframe().f_code.co_name
    return y * 2, name


@program(rand(3))
def breaks_in_a_row(x):
    y = x + 1
    print("a"), print("b")
    zlib.crc32(b"")
    torch._dynamo.graph_break()
    n = y[0].item() + y[1].item() + y[2].item()
    return y * n


@program(rand(3))
def nothing_but_a_break_and_a_constant(x):
    print("called")
    return 5


@program(rand(3), "a").then(rand(3), "b")
def break_in_one_branch_only(x, which):
    y = x + 1
    if which == "b":
        print("b")
        y = y * 2
    return y - 1


@program(rand(3)).then(rand(5)).then(rand(7)).then(rand(2, 2))
def sizes_change_between_calls(x):
    y = x + 1
    print(y.shape)
    return y * y.shape[0]


@program(rand(3), 1).then(rand(3), 2).then(rand(3), 3).then(rand(3), 1)
def numbers_change_between_calls(x, n):
    y = x + n
    print(n)
    return y * n
