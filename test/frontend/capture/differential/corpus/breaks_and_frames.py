"""What can be seen of frames, and what lives how long, across breaks."""

import inspect
import sys
import traceback
import weakref

import torch

from differential.program import program, rand

TOTAL = 0
ITEMS = []
CURRENT = None


class Thing:
    """Can be referenced weakly."""

    level = 0

    def __init__(self, value=0):
        self.value = value

    def __repr__(self):
        return f"Thing({self.value!r})"


@program(rand(3))
def locals_after_a_break(x):
    a = 1
    y = x + a
    print("break")
    b = [2]
    return y * 2, sorted(locals()), locals()["b"] is b


@program(rand(3))
def locals_are_the_break(x):
    a, b = 1, "two"
    y = x + a
    seen = {k: v for k, v in locals().items() if k in "ab"}
    return y * 2, seen


@program(rand(3))
def locals_with_cells(x):
    a = 1

    def inner():
        return a

    print("break")
    names = sorted(locals())
    return x + inner(), names


@program(rand(3))
def globals_after_a_break(x):
    global TOTAL
    TOTAL += 1
    y = x + TOTAL
    print(globals()["TOTAL"])
    TOTAL += 1
    globals()["ITEMS"].append(TOTAL)
    return y * TOTAL, ITEMS


@program(rand(3))
def global_changes_on_both_sides(x):
    global TOTAL, CURRENT
    TOTAL = 5
    CURRENT = x + 1
    print(TOTAL)
    TOTAL += 1
    y = CURRENT * TOTAL
    CURRENT = None
    return y


@program(rand(3))
def global_is_read_by_a_callee_natively(x):
    global TOTAL

    def show():
        print("total", TOTAL)

    TOTAL = 7
    y = x + TOTAL
    show()
    TOTAL += 1
    show()
    return y * TOTAL


@program(rand(3))
def frame_of_the_caller(x):
    def name_of_caller():
        return sys._getframe(1).f_code.co_name, sys._getframe(0).f_code.co_name

    y = x + 1
    names = name_of_caller()
    return y * 2, names


@program(rand(3))
def line_of_the_frame(x):
    y = x + 1
    first = sys._getframe().f_lineno
    y = y * 2
    second = inspect.currentframe().f_lineno
    return y, first, second


@program(rand(3))
def stack_of_functions(x):
    def inner():
        print("inner")
        frames = traceback.extract_stack()
        return [(f.name, f.lineno) for f in frames if f.filename == __file__][-2:]

    y = x + 1
    return y * 2, inner(), [e.function for e in inspect.stack(0)][:1]


@program(rand(3))
def traceback_has_the_lines(x):
    def inner(v):
        print("inner")
        v = v + 1
        raise KeyError("deep")

    def middle(v):
        print("middle")
        return inner(v)

    y = x + 1
    print("outer")
    return middle(y)


@program(rand(3))
def traceback_has_the_lines_of_loops(x):
    for i in range(3):
        x = x + i
        print(i)
        if i == 2:
            raise ValueError(i)


@program(rand(3))
def printed_traceback(x):
    def inner(v):
        print("inner")
        v = v.relu()
        return [1][v.dim()]

    y = x + 1
    print("outer")
    try:
        return inner(y)
    except IndexError as error:
        frames = traceback.extract_tb(error.__traceback__)
        shown = [(f.name, f.lineno, f.line) for f in frames if f.filename == __file__]
    return y * 2, shown


@program(rand(3))
def dead_locals_are_freed(x):
    thing = Thing(x + 1)
    reference = weakref.ref(thing)
    y = thing.value * 2
    del thing
    return y, reference() is None


@program(rand(3))
def replaced_locals_are_freed(x):
    thing = Thing(1)
    reference = weakref.ref(thing)
    print("alive", reference() is not None)
    thing = Thing(2)
    print("alive", reference() is not None)
    return x + thing.value


@program(rand(3))
def living_locals_are_kept(x):
    thing = Thing(x + 1)
    reference = weakref.ref(thing)
    print("break")
    alive = reference() is thing
    print("again")
    return thing.value * 2, alive


@program(rand(3))
def tensors_are_freed(x):
    y = x + 1
    reference = weakref.ref(y)
    z = y * 2
    print("alive", reference() is not None)
    del y
    print("alive", reference() is not None)
    return z


@program(rand(3))
def destructor_runs(x):
    log = []

    class Notes:
        def __del__(self):
            log.append("deleted")

    thing = Notes()
    y = x + 1
    log.append("before")
    print("before")
    del thing
    log.append("after")
    return y * 2, log


@program(rand(3))
def unbound_after_a_break(x):
    if x.dim() == 5:
        late = 1
    print("break")
    try:
        return x + late
    except UnboundLocalError as error:
        text = str(error)
    late = 2
    print("again")
    return x + late, text


@program(rand(3))
def unbound_leaves_the_function(x):
    y = x + 1
    print("break")
    del y
    return y


@program(rand(3))
def deleted_before_a_break(x):
    a = x + 1
    b = a * 2
    del a
    print(sorted(locals()))
    a = b + 1
    return a, b


@program(rand(3))
def aliases_of_a_list(x):
    a = b = [x]
    holder = Thing(a)
    print("break")
    a.append(1)
    b.append(x * 2)
    return a, b, holder, holder.value is a


@program(rand(3), [1], Thing())
def aliases_of_an_argument(x, items, thing):
    thing.value = items
    same = items
    items.append(2)
    print(len(thing.value))
    same.append(x + 1)
    thing.value.append(3)
    return items is thing.value


@program(rand(3), [[1], [2]])
def inner_list_is_changed_after_a_break(x, items):
    first = items[0]
    items[0] = first + [5]
    print("break", items)
    first.append(7)
    items[1] += [8]
    return x + 1, first, items


@program(rand(4))
def tensor_and_its_view(x):
    y = x + 1
    view = y[:2]
    print("break")
    view.add_(10)
    y[2] = 0
    return y, view


@program(rand(4))
def view_of_an_argument(x):
    view = x[1:3]
    view.mul_(2)
    print(x.shape, view.storage_offset())
    x.add_(1)
    again = view.view(2, 1)
    print("again")
    again.zero_()
    return x, view, again


@program(rand(4))
def changed_tensor_is_seen_by_the_break(x):
    y = x * 1
    y.zero_()
    print(y)
    y.add_(1)
    print(y.tolist())
    return y


@program(rand(3), [])
def pending_effects_are_seen_by_the_break(x, log):
    log.append(1)
    log.append({"a": [2]})
    print(log)
    log[1]["a"].append(3)
    print(log)
    log.insert(0, "first")
    return x + len(log)


@program(rand(3), Thing())
def pending_attributes_are_seen_by_the_break(x, thing):
    thing.value = 5
    thing.extra = [1]
    Thing.level = 3
    print(thing, thing.extra, Thing.level)
    thing.value += 1
    Thing.level += 1
    del thing.extra
    print(vars(thing), Thing.level)
    return x * thing.value


@program(rand(3))
def order_of_texts_and_effects(x):
    log = []

    class Tells:
        def __setattr__(self, name, value):
            print("set", name)
            log.append(name)
            object.__setattr__(self, name, value)

    tells = Tells()
    print("a")
    tells.one = x + 1
    print("b")
    tells.two = tells.one * 2
    print("c")
    return tells.two, log


@program(rand(3))
def objects_made_before_are_used_after(x):
    thing = Thing(x)
    table = {"t": thing, "l": [thing]}
    pair = (thing, table)
    print("break")
    pair[0].value = x * 2
    table["l"].append(pair[1]["t"].value)
    return pair, thing.value is table["l"][1]


@program(rand(3))
def cycles_survive(x):
    a, b = [x], {}
    a.append(b)
    b["a"] = a
    thing = Thing()
    thing.value = thing
    print("break")
    a.append(len(b["a"]))
    return a[1]["a"] is a, a[2], thing.value.value is thing, x + 1


@program(rand(3))
def functions_made_before_are_used_after(x):
    scale = 2

    def g(v, n=[1]):
        n.append(len(n))
        return v * scale + n[-1]

    h = lambda v: g(v) + 1
    print("break")
    scale = 3
    return h(x), g(x), g.__defaults__


@program(rand(3))
def classes_made_before_are_used_after(x):
    class Local(Thing):
        def scaled(self, n):
            print("scaled")
            return super().__repr__(), self.value * n

    made = Local(x + 1)
    print("break")
    return made.scaled(2)[1], isinstance(made, Thing), Local.__mro__[1] is Thing


@program(rand(3))
def many_locals(x):
    a, b, c, d, e, f, g, h = range(8)
    i = j = k = x + a
    l, m, n = [x, x + b], {"c": c}, (d, e)
    print("break")
    o = i * f + j * g + k * h
    return o, l, m, n, i is j is k


@program(rand(3), 1, 2, 3, extra=4, other=5)
def all_kinds_of_parameters(x, a, /, *args, extra, **others):
    y = x + a
    print(args, extra, others)
    others["new"] = extra
    return y * sum(args), others, args


@program(rand(3))
def default_argument_is_changed(x, seen=[]):
    seen.append(len(seen))
    y = x + seen[-1]
    print("break")
    seen.append(5)
    result = y * len(seen), list(seen), default_argument_is_changed.__defaults__
    del seen[1:]
    return result, seen.pop()


@program(rand(3))
def parameter_is_rebound(x):
    y = x
    x = x + 1
    print("break")
    x = x * 2
    y = y - 1
    print("again")
    return x, y


@program(rand(3))
def random_state_across_a_break(x):
    a = torch.rand(3)
    print("break")
    b = torch.rand(3)
    torch.manual_seed(5)
    print("seeded")
    c = torch.rand(3)
    return a, b, c, x + 1


@program(rand(3, requires_grad=True))
def gradients_across_a_break(x):
    y = x * x
    print("break")
    z = (y * 3).sum()
    (gradient,) = torch.autograd.grad(z, x)
    print("gradient")
    return gradient * 2, z.grad_fn is not None


@program(rand(3, requires_grad=True))
def hook_of_a_tensor_across_a_break(x):
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g * 1))
    print("break")
    (y * y).sum().backward()
    gradient, x.grad = x.grad, None
    return gradient, seen


@program(rand(3))
def attributes_of_tensors(x):
    y = x + 1
    y.note = "kept"
    print(y.note)
    y.note += "!"
    return y * 2, y.note, hasattr(x, "note")


@program(rand(3))
def name_of_the_function(x):
    y = x + 1
    print("break")
    me = name_of_the_function
    return y * 2, me.__name__, me.__qualname__, __name__


@program(rand(3))
def slices_and_ranges_live_across(x):
    s, r, e = slice(1, 3), range(5, 0, -2), ...
    print("break")
    return x[s], list(r), x[e, None]


@program(rand(3))
def modules_and_builtins_live_across(x):
    t, p, i, c = torch, print, int, Thing
    print("break")
    p(i("5"))
    return t.sin(x), c(3)


@program(rand(3))
def bound_methods_live_across(x):
    items = []
    append, add, shape = items.append, x.add, x.shape
    print("break")
    append(add(1))
    append(shape[0])
    return items


@program(rand(3))
def types_of_numbers_live_across(x):
    n, f, c, b, big = 3, 2.5, 1 + 2j, True, 10**30
    print("break")
    return x * n + f, c * 2, b + 1, big + 1, f / n
