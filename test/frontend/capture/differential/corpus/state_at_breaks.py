"""Branches on data inside of regions of torch's state, taken both ways.

Results tell whether they require gradients; writes after a region tell whether they
were recorded.
"""

import contextlib

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from differential.program import compiles, program, rand

UP = torch.linspace(0.5, 1.5, 6).reshape(2, 3)
DOWN = -UP


def leaf(values):
    return values.clone().requires_grad_()


def kernels():
    cuda = torch.backends.cuda
    return cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()


def settings():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        kernels(),
    )


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def write_after_no_grad(x, y):
    with torch.no_grad():
        x = torch.sin(x)
        if x.sum() > 0:
            x = torch.sin(x)
    x[0] = y[1] * 1
    return x, torch.is_grad_enabled()


@program(leaf(UP), leaf(UP)).then(leaf(DOWN), leaf(UP))
def both_branches_have_code(x, y):
    with torch.no_grad():
        x = torch.sin(x)
        if x.sum() > 0:
            x = torch.cos(x)
        else:
            x = torch.exp(x)
        z = x * y
    x[0] = y[1] * 1
    return x, z, z * y, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def writes_inside_and_after_no_grad(x, y):
    with torch.no_grad():
        z = torch.sin(x)
        if z.sum() > 0:
            z = torch.cos(z)
        z.mul_(y)
        w = z + y
        w.add_(y)
    z.mul_(y)
    return z, w, w * y, torch.is_grad_enabled()


@compiles(DOWN, leaf(UP)).then(UP, leaf(UP))
def written_inside_keeps_its_history(compile, x, y):
    def scale(v, y):
        with torch.no_grad():
            if v.sum() > 0:
                v = v.view(3, 2)
            v.mul_(3)
        w = v * y.view(v.shape)
        with torch.no_grad():
            v.add_(1)
        return w, v

    given = x * y
    w, v = compile(scale)(given, y)
    given.sum().backward()
    return w, v, given, y.grad


@program(DOWN, leaf(UP)).then(UP, leaf(UP))
def argument_is_written_after_no_grad(x, y):
    with torch.no_grad():
        x.mul_(2)
        if x.sum() > 0:
            x.add_(1)
    x.mul_(y)
    return x * 2, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def leaf_is_updated_at_both_sides(x, y):
    loss = (x * y).sum()
    with torch.no_grad():
        x.sub_(0.1)
        if x.sum() > 0:
            x.mul_(2)
        x.add_(y)
    return loss, x * y, torch.is_grad_enabled()


@compiles(DOWN, leaf(UP)).then(UP, leaf(UP))
def gradients_of_what_is_written_after(compile, x, y):
    def write(v, y):
        with torch.no_grad():
            v = torch.sin(v)
            if v.sum() > 0:
                v = torch.cos(v)
        v[0] = y[1] * y[0]
        return v

    written = compile(write)(x, y)
    (written * written).sum().backward()
    return written, y.grad


@compiles(DOWN, leaf(UP)).then(UP, leaf(UP))
def enable_grad_in_a_call_without(compile, x, y):
    def recorded(v, y):
        with torch.enable_grad():
            v = v * y
            if v.sum() > 0:
                v = v.sin()
            w = v * 2
        v[0] = y[1] * 1
        return v, w, w * y, torch.is_grad_enabled()

    with torch.no_grad():
        v, w, z, mode = compile(recorded)(x, y)
    return v, w, z, mode, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def set_grad_enabled_as_a_region(x, y):
    for mode in (False, True, False):
        with torch.set_grad_enabled(mode):
            x = x.detach() * 2
            if x.sum() > 0:
                x = x + y
        x[0] = y[0] * 1
    return x, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def set_grad_enabled_is_called_in_a_branch(x, y):
    if x.sum() > 0:
        torch.set_grad_enabled(False)
    z = x * y
    if z.sum() > 0:
        torch.set_grad_enabled(not torch.is_grad_enabled())
    return z, z * y, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def nested_regions(x, y):
    with torch.no_grad():
        a = x * 2
        with torch.enable_grad():
            b = a * y
            if b.sum() > 0:
                b = b.sin()
            with torch.no_grad():
                c = b * y
                if c.sum() > 0:
                    c = c.cos()
            c[0] = y[0] * 1
        d = b * y
        a[0] = y[0] * 1
    a[1] = y[0] * 1
    return a, b, c, d, torch.is_grad_enabled()


@torch.no_grad()
def without_grad(x, y):
    x = torch.sin(x)
    if x.sum() > 0:
        x = torch.sin(x)
    return x * y


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def decorated_callee(x, y):
    z = without_grad(x, y)
    z[0] = y[1] * 1
    return z, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def callee_is_called_in_a_region(x, y):
    def step(v):
        return v.sin() if v.sum() > 0 else v.cos()

    with torch.no_grad():
        z = step(x * 2)
    z[0] = y[1] * 1
    return z, step(z), torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def loop_inside(x, y):
    with torch.no_grad():
        x = x * 1
        for i in range(3):
            if x.sum() > 8:
                break
            x = x + i + 1
    x[0] = y[1] * 1
    return x, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def loop_around(x, y):
    x = x * 1
    for i in range(3):
        with torch.no_grad():
            z = x + i
            if z.sum() > 8:
                break
            if z.sum() > 5:
                continue
        z[0] = y[1] * 1
        x = z * 1
    z[1] = y[0] * 1
    return x, z, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def returns_out_of_the_region(x, y):
    with torch.no_grad():
        x = x * 2
        if x.sum() > 0:
            return x * y, "inside"
    x[0] = y[1] * 1
    return x, "behind"


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def exception_leaves_the_region(x, y):
    try:
        with torch.no_grad():
            x = x * 2
            if x.sum() > 0:
                raise ValueError("positive")
            x = x * 3
    except ValueError as error:
        x[1] = y[0] * 1
        return x, str(error), torch.is_grad_enabled()
    x[0] = y[1] * 1
    return x, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def exception_leaves_the_function(x, y):
    with torch.no_grad():
        x = x * 2
        if x.sum() > 0:
            raise ValueError("positive")
    x[0] = y[1] * 1
    return x, torch.is_grad_enabled()


def halves(x):
    with torch.no_grad():
        x = x * 2
        if x.sum() > 0:
            x = x * 3
        yield x, torch.is_grad_enabled()
        yield x + 1, torch.is_grad_enabled()


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def generator_has_a_region(x, y):
    made = []
    for half, mode in halves(x):
        if half.sum() > 8:
            made.append(y * 2)
        made += [half, half * y, mode, torch.is_grad_enabled()]
    half[0] = y[1] * 1
    return made, torch.is_grad_enabled()


@contextlib.contextmanager
def graded(mode):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(mode)
    try:
        yield
    finally:
        torch.set_grad_enabled(before)


@program(leaf(DOWN), leaf(UP)).then(leaf(UP), leaf(UP))
def own_manager(x, y):
    with graded(False):
        x = x * 2
        if x.sum() > 0:
            x = x * 3
        with graded(True):
            z = x * y
            if z.sum() > 0:
                z = z * 2
    x[0] = y[1] * 1
    return x, z, torch.is_grad_enabled()


# Other state ------------------------------------------------------------------------


@program(DOWN, leaf(UP)).then(UP, leaf(UP))
def inference_mode(x, y):
    with torch.inference_mode():
        x = torch.sin(x)
        if x.sum() > 0:
            x = torch.cos(x)
        inside = settings()
    z = torch.ones(2, 3)
    z[0] = y[1] * 1
    return x, z, inside, settings()


@program(DOWN, leaf(UP)).then(UP, leaf(UP))
def out_of_inference_mode(x, y):
    with torch.inference_mode():
        x = torch.sin(x)
        with torch.inference_mode(False):
            z = y * 2
            if z.sum() > 10:
                z = z * 3
            inside = settings()
        if x.sum() > 0:
            x = torch.cos(x)
    z[0] = y[1] * 1
    return x, z, inside, settings()


@program(rand(3, 3).abs(), rand(3, 3)).then(-rand(3, 3).abs(), rand(3, 3))
def autocast(x, y):
    with torch.autocast("cpu", torch.bfloat16):
        z = x @ y
        if x.sum() > 0:
            z = z @ y
        inside = settings()
    return z, x @ y, inside, settings()


@program(rand(3, 3).abs(), leaf(rand(3, 3))).then(-rand(3, 3).abs(), leaf(rand(3, 3)))
def autocast_without_grad(x, y):
    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        z = x @ y
        with torch.autocast("cpu", enabled=False):
            if x.sum() > 0:
                x = x @ y
            w = x @ y
        v = z @ y
    z[0] = y[1] * 1
    return z, w, v, x @ y, settings()


@program(DOWN).then(UP)
def default_dtype(x):
    torch.set_default_dtype(torch.float64)
    try:
        x = x + torch.ones(3)
        if x.sum() > 8:
            return x + torch.zeros(3), settings()
        inside = settings()
    finally:
        torch.set_default_dtype(torch.float32)
    return x + torch.ones(3), torch.ones(3), inside, settings()


@program(DOWN).then(UP)
def deterministic_algorithms(x):
    torch.use_deterministic_algorithms(True)
    y = x * 2
    if y.sum() > 0:
        torch.use_deterministic_algorithms(False)
    between = settings()
    z = y + 1
    torch.use_deterministic_algorithms(False)
    return z, between, settings()


@program(DOWN).then(UP)
def attention_kernels(x):
    with sdpa_kernel([SDPBackend.MATH]):
        y = x * 2
        if y.sum() > 0:
            y = y * 3
        inside = settings()
    return y * 2, inside, settings()


@program(DOWN, leaf(UP)).then(UP, leaf(UP))
def many_regions_are_left_by_an_exception(x, y):
    seen = []
    try:
        with (
            torch.no_grad(),
            torch.autocast("cpu", torch.bfloat16),
            sdpa_kernel([SDPBackend.MATH]),
            torch.inference_mode(),
        ):
            x = x * 2
            seen.append(settings())
            if x.sum() > 0:
                raise KeyError("out")
            x = x * 3
    except KeyError:
        seen.append(settings())
    z = torch.ones(2, 3)
    z[0] = y[1] * 1
    return x, z, seen, settings()
