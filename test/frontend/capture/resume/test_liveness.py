"""Which locals may still be read."""

from girih.frontend.capture.resume.instructions import decode
from girih.frontend.capture.resume.liveness import live_locals


def live_here(function):
    """What is live where a function loads the global ``here``."""
    code = function.__code__
    for index, instruction in enumerate(decode(code)):
        if instruction.name == "LOAD_GLOBAL":
            if code.co_names[instruction.arg >> 1] == "here":
                return set(live_locals(code)[index])
    raise AssertionError


def test_only_what_is_read_later():
    def f(a, b, c):
        d = a + b
        here()  # noqa: F821
        b = 1
        return c, b, d

    assert live_here(f) == {"c", "d"}


def test_around_a_loop():
    def f(a, b):
        for i in a:
            here(i)  # noqa: F821
            b = b + 1
            c = b
        return c

    assert live_here(f) == {"b", "i"}


def test_handlers_read_too():
    def f(a, b, c):
        try:
            here()  # noqa: F821
            b = 1
        except ValueError:
            return a, b
        finally:
            print(c)
        return None

    assert live_here(f) == {"a", "b", "c"}


def test_behind_a_return_nothing_is_live():
    def f(a, b):
        if a:
            here()  # noqa: F821
            return 1
        return b

    assert live_here(f) == set()


def test_deleting_is_reading():
    def f(a):
        here()  # noqa: F821
        del a

    assert live_here(f) == {"a"}


def test_cells_are_left_out():
    def f(a, b):
        here()  # noqa: F821
        return lambda: a + b

    assert live_here(f) == set()


def test_who_looks_at_its_locals_needs_all():
    def f(a, b):
        here()  # noqa: F821
        return locals()

    assert live_here(f) == {"a", "b"}


def test_a_frame_that_is_asked_for_needs_all():
    def f(a, b):
        here()  # noqa: F821
        return sys._getframe()  # noqa: F821

    assert live_here(f) == {"a", "b"}


def test_super_reads_the_first_argument():
    class A:
        def f(self, b):
            here()  # noqa: F821
            return super().f

    assert live_here(A.f) == {"self"}


def test_comprehensions_of_a_variable_that_is_bound():
    def f(x, y):
        here()  # noqa: F821
        found = [x for x in y]  # noqa: C416
        return x, found

    assert live_here(f) == {"x", "y"}


def test_as_many_as_instructions():
    code = live_here.__code__
    assert len(live_locals(code)) == len(decode(code))
    assert live_locals(code) is live_locals(code)
