"""Launch tables as data."""

import json
from contextlib import nullcontext

import pytest

from girih.codegen.gpu import tables
from girih.codegen.gpu.cards import CARDS, runs_on
from girih.codegen.gpu.products import Product
from girih.codegen.gpu.tables import (
    Launch,
    PlannedProduct,
    ProductCall,
    Table,
    TableWriter,
)

PRODUCT = Product(
    (0, 68, 0), (False, True), (8, 4, 2, 1), (8, 2, 8), (0, 0, 0), True, False
)
TABLE = Table(
    5,
    (Launch(0, 2, 128, (0, 1, -1, -1)), ProductCall(PRODUCT, 1 << 10, (0, 1, 3, 2, 4))),
)


def test_what_is_written_is_read():
    text = json.dumps(tables.encode(TABLE))
    assert tables.decode(json.loads(text)) == TABLE


def test_a_writer_takes_the_place_of_a_driver():
    launches = ((0, 2, 128, (0, 1, -1, -1)), (PlannedProduct(PRODUCT, 1 << 10),) * 1)
    launches = (launches[0], (*launches[1], (0, 1, 3, 2, 4)))
    assert TableWriter().table(None, launches, 5) == TABLE


def changed(change):
    written = json.loads(json.dumps(tables.encode(TABLE)))
    change(written["entries"])
    return written


WRONG = {
    "a word before the first": lambda e: e[0].update(arguments=[-2]),
    "a grid that is no number": lambda e: e[0].update(grid="x"),
    "a large number": lambda e: e[0].update(grid=1 << 70),
    "no threads": lambda e: e[0].pop("threads"),
    "a large workspace": lambda e: e[1].update(workspace_bytes=1 << 40),
    "a workspace without a word": lambda e: e[1].update(arguments=[]),
    "a product without sizes": lambda e: e[1]["product"].pop("sizes"),
    "a negative size": lambda e: e[1]["product"].update(sizes=[-1, 1, 1, 1]),
    "a size too few": lambda e: e[1]["product"].update(sizes=[1, 1, 1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name):
    with pytest.raises((LookupError, TypeError, ValueError)):
        maker = tables.TableLoader(_Driver(), 0, ["f"], nullcontext(), "no library")
        maker.made(tables.decode(changed(WRONG[name])))


class _Driver:
    """Takes any table."""

    def table(self, device, launches, words):
        return launches


@pytest.mark.parametrize("launch", [Launch(1, 0, 32, ()), Launch(0, 0, 2048, ())])
def test_kernels_and_threads_are_checked(launch):
    maker = tables.TableLoader(_Driver(), 0, ["f"], nullcontext())
    assert maker.made(Table(1, (Launch(0, 0, 32, ()),))) == (("f", 0, 32, ()),)
    with pytest.raises(ValueError, match="there is no kernel 1|has 2048 threads"):
        maker.made(Table(1, (launch,)))


def test_capabilities():
    assert runs_on((8, 0), (8, 9)) and not runs_on((8, 9), (8, 6))
    assert not runs_on((8, 0), (9, 0))
    # Triton makes code for 9.0 alone: sm_90a.
    assert runs_on((9, 0), (9, 0)) and not runs_on((10, 0), (10, 3))
    assert list(CARDS) == sorted(CARDS)
