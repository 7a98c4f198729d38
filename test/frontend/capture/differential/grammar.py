"""A grammar of random Python programs, as hypothesis strategies of AST nodes.

Every variable keeps its kind: tensors of three whole numbers (so that any order of
additions gives the same bits), small integers, lists, a table and an object. So
programs rarely fail, and where they do, plain Python fails in the same way.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from hypothesis import strategies as st


@dataclass(frozen=True)
class Scope:
    """What may stand at a place in a program.

    Attributes:
        tensors: Names of tensors.
        integers: Names of integers.
        assignable: Which of them may be assigned.
        depth: Levels of statements and expressions that may still be nested.
        in_loop: Whether ``break`` and ``continue`` may stand here.
        helpers: Whether the helper functions may be called.
        level: Number of enclosing loops, which makes names.
    """

    tensors: tuple[str, ...] = ("x", "y")
    integers: tuple[str, ...] = ("n", "k")
    assignable: tuple[str, ...] = ("x", "y", "n", "k")
    depth: int = 3
    in_loop: bool = False
    helpers: bool = True
    level: int = 0

    def inner(self, **changes) -> Scope:
        """The scope one level deeper."""
        return replace(self, depth=self.depth - 1, **changes)


class _Fill(ast.NodeTransformer):
    """Puts nodes in the place of the names that stand for them."""

    def __init__(self, parts: dict):
        self.parts = parts

    def visit_Name(self, node: ast.Name):
        part = self.parts.get(node.id, node)
        return ast.Name(part, node.ctx) if isinstance(part, str) else part

    def visit_Expr(self, node: ast.Expr):
        block = node.value
        if isinstance(block, ast.Name) and isinstance(self.parts.get(block.id), list):
            return self.parts[block.id]
        return self.generic_visit(node)


def expression(template: str, **parts) -> ast.expr:
    """An expression from a template whose upper-case names stand for ``parts``."""
    return _Fill(parts).visit(ast.parse(template, mode="eval").body)


def statement(template: str, **parts) -> list[ast.stmt]:
    """Statements from a template; parts that are lists of statements are blocks."""
    module = _Fill(parts).visit(ast.parse(template))
    return module.body


_TENSORS = """A + B|A - B|A * I|-A|A.relu()|A.abs()|A.flip(0)|A.clone()|A.view(-1)
torch.where(A > B, A, B)|torch.maximum(A, B)|A.sum() + B|A[0] + B|A if C else B
table.get(K, A)|tensors[I % len(tensors)] if tensors else A|sum(tensors, A)|box.value
box.scaled(A)|(lambda v: v + I)(A)|max(tensors, key=len, default=A)|A.clamp(max=I)
torch.stack([A, B]).sum(0)|A * (B > 0)|next(iter(table.values()), A)|A.add(B, alpha=2)
torch.cat([A, B])[1:4]|[A, B][I % 2]|{'a': A, 'b': B}.get(K, A)|A[I % 3 :].sum() - B"""
_HELPED = """bump(A)|bump(heard(A), I)|bump(A, I)|bump(A, m=I)
sum((A * i for i in numbers(I)), B)
maker(I)(A)|sum(vectors(A), B)|Local(A, I).grown(J)"""
_BREAKING = """heard(A)|A + heard(B)|[A, heard(B)][I % 2]
heard(A if C else B)|loud.scaled(A)|(lambda v: heard(v) + I)(A)
sum([heard(A), B])|heard(A)[:] + heard(B)"""
_INTEGERS = """I + J|I - J|I * J % 7|-I|abs(I)|max(I, J)|min(I, J)|len(items)|len(table)
items[I % len(items)] if items else J|sum(items)|items.count(I)|I if C else J
int(C)|sum(v for v in items if v > I)|A.shape[0] + I|A.dim() * I|box.count|I // 3|I % 5
len([v for v in items if C])|I ** 2 % 11|(I or J)|(C and I)|len({I, J, 1})
sorted([I, J])[0]|divmod(I, 4)[1]|{0: I}.get(J, I)|I << 1|I & J
len(f'{I}-{J!r}')|A.numel() - I|box[I]"""
_HELPED_INTEGERS = """sum(numbers(I))|len([*numbers(I)])|max(numbers(I), default=J)
Local(A, I).count"""
_BREAKING_INTEGERS = """heard(I)|heard(I) + heard(J)|int(A[I % 3].item())
len(A.tolist()) - I|sum(heard(v) for v in items)|[heard(v) for v in (I, J)][0]
crc32(b'ab') % 5 + I
I if heard(C) else J|heard(items or [I])[0]|len(f'{heard(I)}-{J}')|loud.count"""
_CONDITIONS = """flag|I < J|I == J|I != J|I in items|not C|C and D|C or D|K in table
items|A is B|isinstance(box, Box)|0 < I <= J|I not in (1, 2, J)
any(v == I for v in items)|all(v > I for v in items)|hasattr(box, K)|box.count > I
table|tensors == []|len(items) < I"""
_VALUE_CONDITIONS = "bool(A.sum() > B.sum())|heard(C)|not heard(C)|I < heard(J) < 9"
_KEYS = "'a'|'b'|'abc'[I % 3]|f'k{I % 2}'|'a' if C else 'b'"


def _templates(*texts: str):
    return st.sampled_from(
        [t for text in texts for t in text.replace("\n", "|").split("|")]
    )


@st.composite
def _filled(draw, templates: str, scope: Scope):
    """An expression from one of the templates, with random parts."""
    template = draw(_templates(templates))
    names = {n.id for n in ast.walk(ast.parse(template)) if isinstance(n, ast.Name)}
    inner = scope.inner()
    parts = {}
    for name in sorted(names & _PARTS.keys()):
        parts[name] = draw(_PARTS[name](inner))
    return expression(template, **parts)


def _names(names: tuple[str, ...]):
    return st.sampled_from(names).map(lambda name: ast.Name(name, ast.Load()))


def tensors(scope: Scope):
    """Expressions for tensors of three numbers."""
    if scope.depth <= 0:
        return _names(scope.tensors)
    templates = _TENSORS + ("|" + _HELPED if scope.helpers else "")
    return _names(scope.tensors) | _or_breaking(templates, _BREAKING, scope)


def integers(scope: Scope):
    """Expressions for integers."""
    literals = st.integers(-2, 5).map(ast.Constant)
    if scope.depth <= 0:
        return _names(scope.integers) | literals
    templates = _INTEGERS + ("|" + _HELPED_INTEGERS if scope.helpers else "")
    filled = _or_breaking(templates, _BREAKING_INTEGERS, scope)
    return _names(scope.integers) | literals | filled


def _or_breaking(templates: str, breaking: str, scope: Scope):
    """Expressions, in one of ten cases one that breaks."""
    return st.integers(0, 9).flatmap(
        lambda i: _filled(templates if i else breaking, scope)
    )


def conditions(scope: Scope):
    """Expressions whose truth is asked for."""
    if scope.depth <= 0:
        return st.just(ast.Name("flag", ast.Load()))
    # Values of tensors are asked for rarely: each asks for a break.
    return st.integers(0, 15).flatmap(
        lambda i: _filled(_CONDITIONS if i else _VALUE_CONDITIONS, scope)
    )


def keys(scope: Scope):
    """Expressions for keys of the table."""
    return _filled(_KEYS, scope) if scope.depth > 0 else st.just(ast.Constant("a"))


_PARTS = {
    "A": tensors,
    "B": tensors,
    "I": integers,
    "J": integers,
    "C": conditions,
    "D": conditions,
    "K": keys,
}

_BREAKS = """speak('a')|speak(I, J)|speak(items, len(tensors))|print(I, box.log[-3:])
torch._dynamo.graph_break()|heard(box).count += 1|items[heard(0) : 1] = [I % 5]
box.count += heard(1)|speak(sorted(table))|table[heard(K)] = heard(A.clamp(-9, 9))
foreign.level = I % 7|box.log.append(foreign.level)|speak(f'{I}', end=';')
loud.value = A.clamp(-9, 9)|loud.note(I)|items.sort(key=lambda v: heard(-v))
import math as imported|del heard(items)[3:]|speak(*items, sep='-')"""
_SIMPLE = """items.append(I % 9)|items.insert(I % 3, J % 9)|items and items.pop()
items.sort()|items.reverse()|items[:] = items[:3]|items += [I % 5]
items[1:2] = [I % 7, 2]
tensors.append(A.clamp(-9, 9))|tensors and tensors.pop()|del tensors[2:]
table[K] = A.clamp(-9, 9)|table.pop(K, None)|table.setdefault(K, A.clamp(-9, 9))
table.update(a=A.clamp(-9, 9))|box.count = I % 13|box.value = A.clamp(-9, 9)
box.count += 1|box.value.mul_(-1)|items.extend(sorted([J % 5, I % 5]))
box.log.append(I % 13)|setattr(box, 'late', I % 13)|del items[4:]|box(I)
pass|assert I < 1000, 'too large'|log.extend([I % 5, J % 5])
if tensors: tensors[0] = tensors[-1]
if items: items[0], items[-1] = items[-1], items[0]"""
_TENSOR_ASSIGNMENTS = """X = A.clamp(-99, 99)|X = A.clamp(-99, 99)|X += B.clamp(-9, 9)
X = X * 2 - B.clamp(-9, 9)|X.add_(I % 5).clamp_(-99, 99)|X.mul_(-1)|X[I % 3] = J % 7
X[1:] += I % 3|X = (X + B).clamp(-50, 50)|X, box.value = A.clamp(-9, 9), X.clamp(-9, 9)
X.copy_(A.clamp(-9, 9).clone())|X = A.clamp(-9, 9)[:]|X[X > I] = 1"""
_INTEGER_ASSIGNMENTS = """N = I % 97|N += J % 7|N, box.count = I % 97, J % 13
N -= 1|N ^= 3
N = (M := I % 97) + 1|(N, *rest) = [I % 97, *items]|N = len(items) if C else J % 97
N = [v * 2 for v in items][I % len(items)] % 97 if items else 1"""
_BLOCKS = """if C: BODY
if C: BODY
else: OTHER
if C: BODY
elif D: OTHER
else: THIRD
for NAME in range(I % 4): LOOP
for NAME in range(J % 3, I % 5): LOOP
else: OTHER
for NAME in items[:4]: LOOP
for NAME, TENSOR in enumerate(tensors[:3]): LOOP
for NAME, TENSOR in zip(items[:3], tensors): LOOP
for KEY, TENSOR in list(table.items()): LOOP
for NAME in numbers(I): LOOP
while NAME > 0: LOOP
try: BODY
finally: OTHER
try: FAILING
except (ValueError, ZeroDivisionError) as error: HANDLER
else: OTHER
try: FAILING
except ValueError: OTHER
except ZeroDivisionError: THIRD
finally: BODY
for NAME in vectors_of(items): LOOP
for TENSOR in vectors(A): LOOP
for NAME in loud.numbers(I): LOOP
try: BODY
except KeyError: OTHER
finally: speak('finally')
try: FAILING
except* ValueError as error: HANDLER
except* ZeroDivisionError: THIRD
with LoudScope(box): BODY
with LoudScope(box), swallowing(box): FAILING
with torch.no_grad(): BODY
with Scope(box): BODY
with bracketed(box, I % 13) as NAME: BOUND
with swallowing(box): FAILING
match I % 4:
    case 0: BODY
    case 1 | 2: OTHER
    case _: THIRD
match items:
    case [NAME, *_]: BOUND
    case []: BODY"""
_FAILING = """raise ValueError(I)|I // (J % 3)|int('x')|N = 1 // 0|fail(I)
raise ValueError(I) from ZeroDivisionError(heard(J))|speak(1 // 0)"""


def _block_templates() -> list[str]:
    """The templates of compound statements; a new one starts at each header."""
    headers = ("if", "for", "while", "try", "with", "match")
    found: list[str] = []
    for line in _BLOCKS.splitlines():
        if line.startswith(headers):
            found.append(line)
        else:
            found[-1] += "\n" + line
    return found


_BLOCK_TEMPLATES = _block_templates()


@st.composite
def simple(draw, scope: Scope):
    """A simple statement."""
    targets = [name for name in scope.assignable if name in scope.tensors]
    numbers = [name for name in scope.assignable if name in scope.integers]
    choices = [_SIMPLE, _SIMPLE, _BREAKS]
    choices += [_TENSOR_ASSIGNMENTS] * 4 if targets else []
    choices += [_INTEGER_ASSIGNMENTS] * 2 if numbers else []
    template = draw(_templates(draw(st.sampled_from(choices))))
    parts = {}
    names = {n.id for n in ast.walk(ast.parse(template)) if isinstance(n, ast.Name)}
    inner = scope.inner()
    for name in sorted(names & _PARTS.keys()):
        parts[name] = draw(_PARTS[name](inner))
    if "X" in names:
        parts["X"] = draw(st.sampled_from(targets))
    if "N" in names:
        parts["N"] = draw(st.sampled_from(numbers))
    return statement(template, **parts, M="walrus", rest="rest")


@st.composite
def compound(draw, scope: Scope):
    """A compound statement, with random blocks."""
    template = draw(st.sampled_from(_BLOCK_TEMPLATES))
    if "numbers" in template and not scope.helpers:
        template = _BLOCK_TEMPLATES[0]
    number, tensor, key = (f"{kind}{scope.level}" for kind in "itw")
    name = key if template.startswith("while") else number
    inner = scope.inner(level=scope.level + 1)
    if "except*" in template:  # may not be left by a jump
        inner = replace(inner, in_loop=False)
    bound = (
        replace(inner, integers=(*inner.integers, number))
        if "NAME" in template
        else inner
    )
    looped = replace(bound, in_loop=True)
    if template.startswith("while"):
        looped = inner.inner(in_loop=True)
    if "TENSOR" in template:
        looped = replace(looped, tensors=(*looped.tensors, tensor))
    if "KEY" in template:
        looped = replace(looped, integers=inner.integers)
    blocks = {"BODY": inner, "OTHER": inner, "THIRD": inner, "LOOP": looped}
    parts = {"NAME": name, "TENSOR": tensor, "KEY": f"key{scope.level}"}
    for part, block_scope in {**blocks, "BOUND": bound}.items():
        if part in template:
            parts[part] = draw(block(block_scope))
    _add_special_blocks(draw, template, parts, inner)
    for part in sorted(_PARTS):
        parts[part] = draw(_PARTS[part](inner))
    made = statement(template, **parts)
    if template.startswith("match"):
        _rename_patterns(made, parts)
    if template.startswith("while"):
        made[0].body[:0] = statement("NAME -= 1", NAME=name)
        made[:0] = statement("NAME = I % 4", NAME=name, I=draw(integers(inner)))
    return made


def _add_special_blocks(draw, template: str, parts: dict, scope: Scope) -> None:
    if "FAILING" in template:
        failing = draw(_filled_statement(_FAILING, scope))
        parts["FAILING"] = [*draw(block(scope)), *failing]
    if "HANDLER" in template:
        seen = statement("box.log.append(str(error))")
        parts["HANDLER"] = [*seen, *draw(block(scope))]


@st.composite
def _filled_statement(draw, templates: str, scope: Scope):
    template = draw(_templates(templates))
    parts = {part: draw(_PARTS[part](scope)) for part in ("I", "J")}
    return statement(template, N="unused", **parts)


def _rename_patterns(statements: list[ast.stmt], parts: dict) -> None:
    """Gives the names that patterns bind, which are no ``Name`` nodes."""
    for node in ast.walk(ast.Module(statements, [])):
        if isinstance(node, ast.MatchAs) and node.name == "NAME":
            node.name = parts["NAME"]


@st.composite
def block(draw, scope: Scope):
    """Up to three statements."""
    made: list[ast.stmt] = []
    for _ in range(draw(st.integers(1, 2) if scope.level else st.integers(2, 3))):
        kinds = simple(scope)
        if scope.depth > 1 and scope.level < 3:
            kinds = kinds | compound(scope)
        made += draw(kinds)
    if scope.in_loop and draw(st.integers(0, 4)) == 0:
        leave = draw(st.sampled_from(["break", "continue"]))
        made += statement(f"if C: {leave}", C=draw(conditions(scope.inner())))
    return made
