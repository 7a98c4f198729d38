"""Launch tables as data, for files: which kernels and products, with which words.

A program that is compiled for this machine has the driver make its tables at once. One
that is written to a file has ``TableWriter`` in the place of the driver; who reads the
file has its own driver make them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from girih.codegen.gpu.products import (
    MAX_WORKSPACE_BYTES,
    Plan,
    Product,
    plan_described,
)

MOST_THREADS = 1024
"""Of a program, on every GPU."""


class Launch(NamedTuple):
    """A grid of a kernel.

    Attributes:
        kernel: Its number among those of the program.
        grid: Which word holds the number of programs.
        threads: How many run a program.
        arguments: Which word each is; -1 for a null pointer.
    """

    kernel: int
    grid: int
    threads: int
    arguments: tuple[int, ...]


class ProductCall(NamedTuple):
    """A product of matrices.

    Attributes:
        product: What is multiplied.
        workspace_bytes: What the program has for the library; 0 for nothing.
        arguments: Which word each is; that of the workspace is the last one.
    """

    product: Product
    workspace_bytes: int
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """A launch table.

    Attributes:
        words: How many words it is launched with.
        entries: What it launches, in order.
    """

    words: int
    entries: tuple[Launch | ProductCall, ...]


class PlannedProduct(NamedTuple):
    """What stands for a plan where a program is written.

    Attributes:
        product: What is multiplied.
        workspace_bytes: What the program is to have for the library.
    """

    product: Product
    workspace_bytes: int


class TableWriter:
    """Takes the place of a driver; functions are the numbers of kernels."""

    def table(self, device: int | None, launches: tuple, words: int) -> Table:
        """A table, which is not made yet."""
        return Table(words, tuple(map(_entry, launches)))


def _entry(launch: tuple) -> Launch | ProductCall:
    if len(launch) == 2:
        planned, arguments = launch
        return ProductCall(*planned, arguments)
    return Launch(*launch)


@dataclass
class TableLoader:
    """Makes tables of a device.

    Attributes:
        driver: Its driver.
        device: Its number.
        functions: The kernels of the program, loaded there.
        entered: A context in which the device is current.
        library: The file that multiplies matrices, else torch's.
    """

    driver: Any
    device: int
    functions: Sequence[Any]
    entered: AbstractContextManager
    library: str | None = None
    _plans: dict[tuple, Plan] = field(default_factory=dict)

    def made(self, table: Table) -> object:
        """The table, ready for programs.

        Raises:
            CodegenError: The library is missing, or refused a product.
            ValueError: The table is wrong.
        """
        entries = tuple(
            self._launch(entry) if isinstance(entry, Launch) else self._call(entry)
            for entry in table.entries
        )
        return self.driver.table(self.device, entries, table.words)

    def _launch(self, launch: Launch) -> tuple:
        if not 0 <= launch.kernel < len(self.functions):
            raise ValueError(f"there is no kernel {launch.kernel}")
        if not 0 < launch.threads <= MOST_THREADS:
            raise ValueError(f"no program has {launch.threads} threads")
        return (self.functions[launch.kernel], *launch[1:])

    def _call(self, call: ProductCall) -> tuple:
        plan, arguments = self._plan(call), call.arguments
        if call.workspace_bytes and not plan.workspace_bytes:
            arguments = arguments[:-1]  # here the library needs none
        return plan.call, arguments

    def _plan(self, call: ProductCall) -> Plan:
        key = (call.product, call.workspace_bytes)
        if key not in self._plans:
            with self.entered:
                plan = self._planned(call.product, MAX_WORKSPACE_BYTES)
                if plan.workspace_bytes > call.workspace_bytes:
                    # Another card or library than where the program was made.
                    plan = self._planned(call.product, call.workspace_bytes)
            self._plans[key] = plan
        return self._plans[key]

    def _planned(self, product: Product, most: int) -> Plan:
        return plan_described(
            self.device, product, most_workspace=most, library=self.library
        )


# As JSON ------------------------------------------------------------------------------


def encode(table: Table) -> dict[str, Any]:
    """A table as JSON."""
    return {"words": table.words, "entries": [_encoded(e) for e in table.entries]}


def _encoded(entry: Launch | ProductCall) -> dict[str, Any]:
    found = entry._asdict() | {"arguments": list(entry.arguments)}
    if isinstance(entry, ProductCall):
        found["product"] = entry.product._asdict()
    return found


def decode(written: Mapping[str, Any]) -> Table:
    """The table that ``encode`` wrote.

    Raises:
        ValueError: It is no table; so do LookupError and TypeError.
    """
    entries = tuple(map(_decoded, written["entries"]))
    return Table(_number(written["words"]), entries)


def _decoded(written: Mapping[str, Any]) -> Launch | ProductCall:
    arguments = tuple(_number(word, -1) for word in written["arguments"])
    if "product" not in written:
        first = (_number(written[name]) for name in ("kernel", "grid", "threads"))
        return Launch(*first, arguments)
    workspace_bytes = _number(written["workspace_bytes"])
    if workspace_bytes > MAX_WORKSPACE_BYTES or (workspace_bytes and not arguments):
        raise ValueError(f"no product has {workspace_bytes} bytes of workspace")
    fields = written["product"]
    lists = ("kinds", "turned", "sizes", "leading", "strides")
    numbers = [tuple(_number(x) for x in fields[name]) for name in lists]
    flags = [bool(_number(fields[name])) for name in ("has_bias", "adds")]
    return ProductCall(Product(*numbers, *flags), workspace_bytes, arguments)


def _number(value: Any, least: int = 0) -> int:
    if not isinstance(value, int) or not least <= value < 1 << 62:
        raise ValueError(f"expected a number, got {value!r}")
    return value
