"""What all tests share."""

import faulthandler
import gc
import os
import sys

import hypothesis
import pytest
import sampling


class _NoTraceback:
    """In the place of ``traceback`` where torch notes who seeds a missing device."""

    @staticmethod
    def format_stack() -> list[str]:
        return []


@pytest.fixture(autouse=True)
def _same_numbers_each_time():
    # Tests of dialects and passes run without torch.
    if not (torch := sys.modules.get("torch")):
        return
    # A seed for devices that are not there waits for them, with the stack as text: with
    # the frames of pytest that was 3 % of the processor time of all tests (2026-11-27).
    if torch.cuda.traceback is not _NoTraceback:
        if not torch.accelerator.is_available():
            torch.cuda.traceback = torch.xpu.traceback = _NoTraceback
            torch.mtia.traceback = _NoTraceback
    torch.manual_seed(0)


@pytest.fixture(autouse=True, scope="module")
def _little_to_collect():
    # Hundreds of tests collect garbage, and each time looked at what all tests before
    # them had left alive: half a million objects.
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _warns_anew():
    # What ran eager in a test before this one has been told there.
    if fallbacks := sys.modules.get("girih.fallbacks"):
        fallbacks.forget()


def _dump_where_the_test_prints():
    # pytest lets dumps of stacks pass by what it captures. A child that a test crashes
    # on purpose would print one in a run without failures.
    if faulthandler.is_enabled():
        faulthandler.enable(1)


def pytest_configure(config):
    config.addinivalue_line("markers", "whole: `make test` tries all its parameters")
    os.register_at_fork(after_in_child=_dump_where_the_test_prints)
    # `make test` tries the same random programs each time; others are for the long form
    # and for the fuzzers.
    is_long = bool(os.environ.get("GIRIH_TEST_LONG"))
    hypothesis.settings.register_profile("girih", derandomize=not is_long)
    hypothesis.settings.load_profile("girih")
    # What collection makes stays until the end. Looking for garbage in it took a fifth
    # of the time that each process needs to collect tests (2026-11-28).
    gc.disable()
    # Before modules make tensors: `make test-gpu` runs suites with theirs on a device.
    if name := os.environ.get("GIRIH_TEST_DEVICE"):
        import torch

        torch.set_default_device(name)


def pytest_collection_modifyitems(config, items):
    # Processes that run tests side by side have to name them alike.
    if named := [item.nodeid for item in items if " at 0x" in item.nodeid]:
        raise pytest.UsageError(f"an address in the name of a test: {named[0]}")
    # `make test`. Who names files, or asks for the long form, gets all of them.
    if os.environ.get("GIRIH_TEST_SAMPLE") and not os.environ.get("GIRIH_TEST_LONG"):
        many = (i.nodeid for i in items if not i.get_closest_marker("whole"))
        left_out = set(sampling.left_out(many))
        config.hook.pytest_deselected(
            items=[item for item in items if item.nodeid in left_out]
        )
        items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_collection_finish():
    # A million objects: looking at them again and again took a tenth of all time.
    gc.enable()
    gc.collect()
    gc.freeze()


def pytest_addoption(parser):
    parser.addoption(
        "--emulated",
        action="store_true",
        help="programs of CPU tensors run on an emulated GPU",
    )


@pytest.fixture
def caplog():
    """What the test logs; in place of pytest's own, see ``logs``."""
    from logs import kept

    with kept() as logs:
        yield logs


@pytest.fixture
def device():
    """An emulated GPU, for which all programs are made meanwhile."""
    from emulated_device import MultiplyingDevice, emulated_device

    with emulated_device(MultiplyingDevice) as device:
        yield device


@pytest.fixture(autouse=True)
def _emulated(request):
    if not request.config.getoption("--emulated"):
        yield
        return
    device = request.getfixturevalue("device")
    yield
    # Tests that expect eager's exceptions say nothing of what comes before them.
    if type(device.failure).__name__ == "DeviceAssertion":
        device.failure = None


@pytest.fixture(autouse=True, scope="session")
def _own_code_cache(tmp_path_factory):
    """Compiled code of the tests neither comes from nor goes to the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIRIH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
