"""The encoding of bytecode, and what is known about each instruction."""

import dis

import pytest
from frame_driver import PROGRAM_IDS
from frame_programs import PROGRAMS

from girih.frontend.capture.resume import stack_effect
from girih.frontend.capture.resume.body import rewrite
from girih.frontend.capture.resume.instructions import (
    EXTENDED_ARG,
    JUMPS,
    OPS,
    PREFIXES,
    decode,
    decode_bytes,
    encode,
)
from girih.frontend.capture.resume.tables import (
    encode_handlers,
    encode_positions,
    handlers_of,
)

CODES = [function.__code__ for function, _, _ in PROGRAMS]
codes = pytest.mark.parametrize("code", CODES, ids=PROGRAM_IDS)


@codes
def test_decodes_as_dis(code):
    expected = list(dis.get_instructions(code))
    got = decode(code)
    assert [i.offset for i in got] == [i.offset for i in expected]
    assert [i.name for i in got] == [i.opname for i in expected]
    for mine, theirs in zip(got, expected, strict=True):
        if mine.op in JUMPS:
            assert mine.target() == theirs.argval
        elif theirs.arg is not None:
            assert mine.arg == theirs.arg


@codes
def test_encodes_what_it_decodes(code):
    data = b"".join(
        encode(ins.op, ins.arg) for ins in decode(code) if ins.op != EXTENDED_ARG
    )
    again = [i[:2] for i in decode_bytes(data) if i.op != EXTENDED_ARG]
    assert again == [i[:2] for i in decode(code) if i.op != EXTENDED_ARG]


@codes
def test_exception_table_there_and_back(code):
    assert encode_handlers(handlers_of(code)) == code.co_exceptiontable


@codes
def test_line_table_there_and_back(code):
    positions = list(code.co_positions())
    table, _ = encode_positions([(1, p) for p in positions], code.co_firstlineno)
    again = code.replace(co_linetable=table)
    assert list(again.co_positions()) == positions


@codes
def test_a_body_that_is_written_anew(code):
    """With room before each instruction: jumps, handlers and lines follow."""
    room = 60
    instructions = decode(code)
    pieces = [[(OPS["NOP"], 0)] * room + [ins[:2]] for ins in instructions]
    body = rewrite(code, pieces)
    assert body.units is not None
    again = code.replace(
        co_code=body.data,
        co_linetable=body.positions,
        co_exceptiontable=encode_handlers(body.handlers),
    )
    where, before = list(again.co_positions()), list(code.co_positions())
    index_at = {ins.offset: i for i, ins in enumerate(decode(again))}
    for mine, instruction in enumerate(decode(again)):
        original = body.indices[mine]
        if instruction.op in (OPS["NOP"], EXTENDED_ARG):
            continue
        old = instructions[original]
        assert instruction.op == old.op
        assert where[instruction.offset // 2] == before[old.offset // 2]
        if old.op in JUMPS:
            assert instruction.target() == 2 * body.unit(old.target() // 2)
            assert instruction.target() in index_at
        else:
            assert instruction.arg == old.arg


# ---- what each instruction does ------------------------------------------------------

INTERNAL = {
    "CACHE",
    "RESERVED",
    "INTERPRETER_EXIT",
    "ENTER_EXECUTOR",
    "EXIT_INIT_CHECK",
}
REAL = sorted(
    name
    for name, op in OPS.items()
    if name not in INTERNAL and op not in PREFIXES and "INSTRUMENTED" not in name
)


@pytest.mark.parametrize("name", REAL)
def test_each_opcode_is_known_in_one_way(name):
    ways = [
        name in stack_effect._EFFECTS,
        name in stack_effect._MOVES,
        name in stack_effect.CANNOT,
        name in stack_effect.RAISING,
        name in stack_effect.ALWAYS_JUMPS,
        stack_effect._is_conditional(name),
    ]
    assert sum(ways) == 1


@pytest.mark.parametrize("name", sorted(stack_effect._EFFECTS.keys() & OPS.keys()))
def test_heights_are_those_of_dis(name):
    op = OPS[name]
    takes_arg = op in getattr(dis, "hasarg", range(dis.HAVE_ARGUMENT, 256))
    arguments = [0, 1, 2, 3, 5, 258] if takes_arg else [0]
    if name == "CALL" and "PRECALL" in OPS:
        return  # dis counts a part of the call for PRECALL
    if name == "BUILD_SLICE":
        arguments = [2, 3]
    if name == "FORMAT_VALUE":
        arguments = [0, 1, 4]
    if name == "CALL_FUNCTION_EX":
        arguments = [0, 1]
    if name == "MAKE_FUNCTION":
        arguments = [0] if "SET_FUNCTION_ATTRIBUTE" in OPS else range(16)
    for arg in arguments:
        pops, pushes = (
            stack_effect._count(c, arg) for c in stack_effect._EFFECTS[name]
        )
        if name in stack_effect.PUSHES_NULL and arg & 1 or name == "LOAD_METHOD":
            pushes += 1
        assert pushes - pops == dis.stack_effect(op, arg if takes_arg else None), arg
