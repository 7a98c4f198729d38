"""Special methods that are methods of C, values that say odd things of themselves."""

import abc
import collections
import weakref

import torch

from differential.program import program, rand


class Attributes(dict):
    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)

    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


class Ordered(collections.OrderedDict):
    __setattr__ = collections.OrderedDict.__setitem__


class Noted:
    log: list = []
    __setattr__ = staticmethod(lambda *given: Noted.log.append(given[0]))


class Length(int):
    def __repr__(self):
        return "a length"


class Part(float):
    def __repr__(self):
        return "0"


class Way(str):
    def __repr__(self):
        return "way"

    __str__ = __repr__


class Refusing:
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return NotImplemented


class Claiming(Exception, metaclass=abc.ABCMeta):
    pass


Claiming.register(ValueError)


class Thing:
    pass


THING = Thing()


@program(rand(3), Attributes(k=1))
def attributes_are_items_of_a_dict(x, d):
    d.k += 1
    d.out = x * 2
    del d.out
    return x * d["k"], dict(d), vars(d)


@program(rand(3), Ordered())
def attributes_are_items_of_an_ordered_dict(x, d):
    d.a = x + 1
    return d["a"], list(d), vars(d)


@program(rand(3))
def attributes_are_items_of_a_dict_that_is_made(x):
    d = Attributes()
    d.a = x
    return d


@program(rand(3))
def attributes_are_given_to_a_static_method(x):
    Noted.log.clear()
    noted = Noted()
    noted.a = 1
    noted.b = 2
    return x + 1, list(Noted.log), vars(noted)


@program(rand(4, 4), Length(2))
def an_int_that_is_not_written_as_one(x, n):
    return x[n], x[n:], x.view(n, -1), torch.ones(n), x.roll(n), x[[n, n]]


@program(rand(3), Part(1.2345))
def a_float_that_is_not_written_as_one(x, part):
    return torch.full((2,), part), x.clamp(max=part), x * part


@program(rand(3), Way("tanh"), Way("floor"))
def a_text_that_is_not_written_as_one(x, approximate, mode):
    gelu = torch.nn.functional.gelu(x, approximate=approximate)
    return gelu, x.div(3, rounding_mode=mode)


@program(rand(3), rand(3))
def a_tensor_named_self(x, self):
    return x + self


@program(rand(3), Refusing())
def an_argument_refuses_all_functions(x, refusing):
    try:
        return torch.add(x, refusing)
    except TypeError as error:
        return str(error)[:40]


@program(rand(3))
def except_does_not_ask_the_class(x):
    try:
        raise ValueError("v")
    except Claiming:
        return x + 1
    except Exception:
        return x + 2


@program(rand(3), torch.nn.Buffer(rand(3)), torch.nn.Parameter(rand(3)))
def a_buffer_is_one(x, buffer, parameter):
    found = [isinstance(given, torch.nn.Buffer) for given in (x, buffer, parameter)]
    return x + buffer, found


@program(rand(3), weakref.proxy(THING))
def a_proxy_has_the_class_of_its_object(x, proxy):
    return x + 1, isinstance(proxy, Thing)
