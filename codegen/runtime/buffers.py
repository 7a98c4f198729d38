"""Buffers of a host function, as the program that is being built sees them.

A buffer becomes a tensor or a pointer only where something needs it: ATen calls and
results need tensors, generated code needs pointers. So a view of an input that a kernel
reads costs one addition, and an intermediate in the workspace has no tensor at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.dims import Size, minimum, product
from girih.dialects.types import BufferParts, byte_width, is_single

from . import torch_entry
from .assembler import Assembler, Constant, Register, RegisterItem, Value, ValueItem
from .sizes import Sizes


@dataclass
class Buffer:
    """What the program knows of a buffer while it is built.

    Attributes:
        parts: element type, sizes and strides.
        tensor: the value slot that holds it as a tensor, if any.
        pointer: the register with the address of its first element, if any.
        base: for a view, the buffer it is a view of.
        offset: elements from the start of `base`.
        is_input: whether it is an argument of the program.
        number: the value slot that holds it as a Python number, if it is an argument
            of that kind.
        is_own: whether the program made its memory, which is aligned then.
        is_written: whether it is an argument that something writes.
    """

    parts: BufferParts
    tensor: Value | None = None
    pointer: Register | None = None
    base: Buffer | None = None
    offset: Size = 0
    is_input: bool = False
    number: Value | None = None
    is_own: bool = False
    is_written: bool = False

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return byte_width(self.parts.element_type)


class Buffers(dict[ir.Value, Buffer]):
    """The buffers by their values in the host function.

    Args:
        assembler: takes the instructions that make tensors and pointers.
        sizes: gives the registers of symbolic sizes.
        make_scalar: where kernels cannot read the program's own memory, makes a tensor
            of a number and a dtype.
        aligned: whether kernels rely on pointers that are multiples of 16.
    """

    def __init__(
        self,
        assembler: Assembler,
        sizes: Sizes,
        make_scalar: Callable | None = None,
        *,
        aligned: bool = False,
    ):
        super().__init__()
        self._aligned = aligned
        self._make_scalar = make_scalar
        self._assembler = assembler
        self._sizes = sizes

    def tensor(self, buffer: Buffer) -> Value:
        """The value slot with the buffer as a tensor; made on first use."""
        if buffer.tensor is None and buffer.number is not None:
            number = ValueItem(buffer.number)
            buffer.tensor = self._assembler.call(torch_entry.tensor_of_number, [number])
        elif buffer.tensor is None:
            assert buffer.base is not None, "girih bug: a workspace has no tensor"
            buffer.tensor = self._reinterpreted(
                buffer.base, buffer.parts, buffer.offset
            )
        return buffer.tensor

    def shown(self, buffer: Buffer) -> Value:
        """Another tensor with the memory of an argument, and a version of its own."""
        return self._reinterpreted(buffer, buffer.parts, 0)

    def _reinterpreted(self, buffer: Buffer, parts: BufferParts, offset: Size) -> Value:
        return self._assembler.call(
            torch_entry.reinterpret,
            [
                ValueItem(self.tensor(buffer)),
                self._sizes.items(parts.shape),
                self._sizes.items(parts.strides),
                self._sizes.item(offset),
            ],
        )

    def item(self, buffer: Buffer) -> ValueItem:
        """The Python number in a buffer without dims."""
        if buffer.number is not None:
            return ValueItem(buffer.number)
        tensor = ValueItem(self.tensor(buffer))
        return ValueItem(self._assembler.call(torch_entry.item, [tensor]))

    def aliased(self, buffer: Buffer, returned: Sequence[Buffer | None]) -> Value:
        """A value slot with a view in the sense of autograd, as eager returns one.

        Args:
            buffer: What it shows.
            returned: The results: it is a view of the one that it was made from.
        """
        owner, shift = buffer, 0
        while owner.base is not None:
            owner, shift = owner.base, owner.offset + shift
            if any(owner is other for other in returned):
                break
        base = ValueItem(self.tensor(owner))
        offset = self._sizes.register(shift)
        start = self._assembler.call_int(torch_entry.storage_offset, [base])
        return self._assembler.call(
            torch_entry.as_strided,
            [
                base,
                self._sizes.items(buffer.parts.shape),
                self._sizes.items(buffer.parts.strides),
                RegisterItem(self._assembler.arithmetic("+", start, offset)),
            ],
        )

    def pointer(self, buffer: Buffer) -> Register:
        """The register with the address of the first element; made on first use."""
        if buffer.pointer is None:
            if buffer.base is not None:
                start = self.pointer(buffer.base)
                buffer.pointer = self.advance(start, buffer.offset * buffer.itemsize)
            elif buffer.number is not None:
                is_float = str(buffer.parts.element_type) == "f64"
                buffer.pointer = self._assembler.load_number(
                    buffer.number, is_float=is_float
                )
                if self._make_scalar is not None:  # the load has checked the number
                    dtype = Constant(torch_entry.dtype(str(buffer.parts.element_type)))
                    scalar = self._assembler.call(
                        self._make_scalar, [ValueItem(buffer.number), dtype]
                    )
                    buffer.pointer = self._assembler.call_int(
                        torch_entry.data_ptr, [ValueItem(scalar)]
                    )
            else:
                buffer.pointer = self._address(buffer)
        return buffer.pointer

    def _address(self, buffer: Buffer) -> Register:
        """The address of a tensor's first element."""
        tensor = self.tensor(buffer)
        if not self._aligned or buffer.is_own or is_single(buffer.parts.shape):
            return self._assembler.call_int(torch_entry.data_ptr, [ValueItem(tensor)])
        # Nobody else may write to memory that only kernels see through a copy.
        repair = None if buffer.is_written else torch_entry.aligned_copy
        return self._assembler.aligned_pointer(tensor, torch_entry.data_ptr, repair)

    def advance(self, pointer: Register, count: Size) -> Register:
        """`pointer` moved by `count` bytes."""
        if isinstance(count, int) and count == 0:
            return pointer
        return self._assembler.arithmetic("+", pointer, self._sizes.register(count))

    def range(self, buffer: Buffer) -> tuple[Register, Register]:
        """Registers with the address of a buffer and the bytes that it spans.

        The address is its own, not that of an aligned copy.
        """
        parts = buffer.parts
        span: Size = 1
        for size, stride in zip(parts.shape, parts.strides, strict=True):
            span = span + (size - 1) * stride
        count = span * minimum(product(parts.shape), 1) * buffer.itemsize
        if self._aligned and not buffer.is_written:
            tensor = ValueItem(self.tensor(buffer))
            start = self._assembler.call_int(torch_entry.data_ptr, [tensor])
        else:
            start = self.pointer(buffer)
        return start, self._sizes.register(count)
