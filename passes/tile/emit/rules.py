"""The table of emission rules: one for each elementwise primitive.

A rule gets the builder, the node and its operands' values (all scalars, or all
vectors of the builder's width, in computing types) and returns the node's value in
the computing type of the node's element.
"""

from collections.abc import Callable, Sequence

from girih.dialects.bindings import ir
from girih.dialects.rule_table import RuleMistake, RuleTable
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.precision import decided_on
from girih.passes.tile.nodes import ComputeNode

Rule = Callable[[Builder, ComputeNode, Sequence[Value]], Value]

RULES: dict[str, Rule] = RuleTable("emission rule of graph.", "@plugin.emits({name!r})")


def emits(*names: str) -> Callable[[Rule], Rule]:
    """Registers the rule for the ``graph`` ops with these names."""
    return RULES.registering(*names)


def emit_elementwise(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """Makes the ops of one elementwise node.

    Raises:
        MissingRule: for an op that no rule makes code of.
    """
    value = RULES[node.name](b, node, decided_on(b, node, values))
    if "." in node.name and not isinstance(value, Value):
        text = f"expected the emission rule of {node.name} to return a value"
        raise RuleMistake(f"{text}, got {value!r}", node.name)
    if "." in node.name:
        _expect_valid(node.name, value, values)
    return value


def _expect_valid(name: str, value: Value, given: Sequence[Value]) -> None:
    """Verifies what a rule from outside of girih has made."""
    todo, seen = [value], [*given]
    while todo:
        made = todo.pop()
        if made in seen or isinstance(made.owner, ir.Block):
            continue
        seen.append(made)
        op = made.owner
        dialect = op.name.partition(".")[0]
        is_known = op.context.is_registered_operation(op.name)
        if dialect in ("arith", "math", "vector") and not is_known:
            text = f"the emission rule of {name} made {op.name}, which is no op of MLIR"
            raise RuleMistake(text, name)
        try:
            op.verify()
        except ir.MLIRError as error:
            text = f"the emission rule of {name} made an invalid op: {error}"
            raise RuleMistake(text, name) from error
        todo += op.operands
