"""The garbage collector is paused while girih compiles, and only then."""

import gc
from threading import Barrier, Thread

import pytest

from girih import collector


def test_pauses_and_resumes():
    assert gc.isenabled()
    with collector.paused():
        assert not gc.isenabled()
        with collector.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_resumes():
    with pytest.raises(KeyError), collector.paused():
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    try:
        with collector.paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_threads_resume_together():
    inside, done = Barrier(2), Barrier(2)

    def other():
        with collector.paused():
            inside.wait()
            done.wait()

    thread = Thread(target=other)
    thread.start()
    with collector.paused():
        inside.wait()
    assert not gc.isenabled()
    done.wait()
    thread.join()
    assert gc.isenabled()
