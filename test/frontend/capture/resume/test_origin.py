"""What is made is found again as long as it is used, and holds nothing."""

import gc
import threading
import types
import weakref

import pytest
from frame_driver import Tail

from girih.frontend.capture.resume import origin, step
from girih.frontend.capture.resume.code import resume_code
from girih.frontend.capture.resume.instructions import decode
from girih.frontend.capture.resume.layout import Layout, Slot

SOURCE = """
def f(x, y):
    def g():
        return y
    return h(x, g(), k(x))
"""


@pytest.fixture(autouse=True)
def _tail(monkeypatch):
    monkeypatch.setattr(step, "_tail_type", lambda: Tail)


def fresh(name="a.py"):
    space = {}
    exec(compile(SOURCE, name, "exec"), space)
    return space["f"].__code__


def call_in(code):
    return next(i for i, ins in enumerate(decode(code)) if ins.name == "CALL")


def some_frame(code):
    """The frame at the first call: ``g()``."""
    pair = (Slot.VALUE, Slot.NULL)
    pair = pair[::-1] if step.NULL_IS_FIRST else pair
    return call_in(code), Layout(("x",), ("y",), (*pair, Slot.VALUE, *pair))


def test_equal_requests_give_the_same_code():
    code = fresh()
    index, layout = some_frame(code)
    resumed = resume_code(code, index, layout)
    stepped = step.step_code(code, index, layout)
    assert resume_code(code, index, layout) is resumed
    assert step.step_code(code, index, layout).code is stepped.code
    assert resume_code(code, index + 1, layout) is not resumed
    other = Layout(("x",), (), layout.stack)
    assert resume_code(code, index, other) is not resumed


def test_equal_code_of_another_file_is_another_code():
    one, two = fresh("one.py"), fresh("two.py")
    assert one == two
    index, layout = some_frame(one)
    made = [resume_code(code, index, layout) for code in (one, two)]
    assert [code.co_filename for code in made] == ["one.py", "two.py"]
    assert [origin.original_code(code) for code in made] == [one, two]
    assert origin.original_code(made[1]) is two


def test_resuming_resume_code_is_resuming_the_original():
    code = fresh()
    index, layout = some_frame(code)
    made = resume_code(code, index, layout)
    start = origin.origin_of(made).prologue
    assert resume_code(made, start + index, layout) is made
    assert origin.original_position(made, start + index) == (code, index)
    again = step.step_code(made, start + index, layout)
    assert again == step.step_code(code, index, layout)
    assert origin.original_code(again.code) is code
    moment = origin.origin_of(again.code).moment
    assert origin.original_position(again.code, moment) == (code, index)


def test_every_index_of_the_body_has_its_original():
    code = fresh()
    index, layout = some_frame(code)
    made = resume_code(code, index, layout)
    start = origin.origin_of(made).prologue
    new, old = decode(made), decode(code)
    assert len(new) == start + len(old)
    for i, instruction in enumerate(old):
        assert origin.original_position(made, start + i) == (code, i)
        assert new[start + i].op == instruction.op
    assert origin.original_position(code, 3) == (code, 3)
    assert origin.origin_of(code) is None


def test_only_what_restores_is_prologue():
    code = fresh()
    index, layout = some_frame(code)
    made = resume_code(code, index, layout)
    instructions = decode(made)
    start = origin.origin_of(made).prologue
    moment = origin.origin_of(made).moment
    free = [i for i in range(start) if not origin.in_prologue(made, i)]
    assert free == [moment]
    assert instructions[moment].name in ("JUMP_FORWARD", "EXTENDED_ARG")
    assert not origin.in_prologue(made, start)
    assert not origin.in_prologue(code, 0)
    waiting = resume_code(code, index + 1, Layout(("x",), ("y",)), calls=index)
    moment = origin.origin_of(waiting).moment
    assert decode(waiting)[moment].name == "CALL_FUNCTION_EX"
    assert not origin.in_prologue(waiting, moment)
    assert origin.in_prologue(waiting, moment - 1)
    stepped = step.step_code(code, index, layout).code
    moment = origin.origin_of(stepped).moment
    assert decode(stepped)[moment].name == "CALL"
    assert not origin.in_prologue(stepped, moment)


def test_what_nobody_uses_is_freed():
    code = fresh()
    index, layout = some_frame(code)
    made = resume_code(code, index, layout)
    stepped = step.step_code(code, index, layout).code
    ghosts = [weakref.ref(one) for one in (code, made, stepped)]
    del made
    gc.collect()
    assert ghosts[1]() is None
    assert ghosts[2]() is stepped
    del code
    gc.collect()
    assert ghosts[0]() is not None  # step code knows what it was made from
    del stepped
    gc.collect()
    assert [ghost() for ghost in ghosts] == [None, None, None]


def test_nothing_is_left_behind():
    def use():
        code = fresh()
        index, layout = some_frame(code)
        resume_code(code, index, layout)
        step.step_code(code, index, layout)

    use()
    gc.collect()
    before = len(origin._ORIGINS), len(origin._MADE)
    for _ in range(50):
        use()
    gc.collect()
    assert (len(origin._ORIGINS), len(origin._MADE)) == before


def test_threads_get_the_same_code():
    code = fresh()
    index, layout = some_frame(code)
    barrier = threading.Barrier(8)
    found = []

    def ask():
        barrier.wait()
        found.append(resume_code(code, index, layout))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(one) for one in found}) == 1


def test_new_code_is_hashable_and_distinct():
    code = fresh()
    index, layout = some_frame(code)
    made = resume_code(code, index, layout)
    assert {made: 1, code: 2}[made] == 1
    assert isinstance(made, types.CodeType)
    assert (made.co_name, made.co_filename) == (code.co_name, code.co_filename)
    assert made.co_firstlineno == code.co_firstlineno
