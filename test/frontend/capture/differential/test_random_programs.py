"""Random programs with control flow, containers, closures and mutation."""

from hypothesis import HealthCheck, given, note, settings

from differential import session
from differential.random_programs import programs

BOUNDED = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


@BOUNDED
@given(programs())
def test_same_as_plain(drawn):
    source, program = drawn
    note(source)
    session.check(program)
