"""Mutation of tensors, views, and what shares memory with what."""

import torch

from differential.program import ints, program, rand


@program(rand(3))
def in_place_on_argument(x):
    x.add_(1)
    return x * 2


@program(rand(3))
def in_place_operators(x):
    x += 1
    x *= 2
    x -= 3
    x /= 4
    return x


@program(rand(3))
def in_place_on_fresh(x):
    y = x + 1
    y.mul_(2).sub_(1)
    y += x
    return y


@program(rand(3))
def argument_is_returned(x):
    return x


@program(rand(3))
def argument_is_returned_twice(x):
    y = x + 1
    return x, x, y, y


@program(rand(3))
def argument_is_returned_after_mutation(x):
    return x.mul_(2)


@program(rand(2, 3))
def views_of_argument(x):
    return x.view(6), x.reshape(3, 2), x.t(), x[0], x[:, 1:], x.unsqueeze(0)


@program(rand(2, 3))
def views_that_cover_everything(x):
    return x.view(2, 3), x[:], x[...], x.expand(2, 3), x.view_as(x), x.detach()


@program(rand(2, 3))
def reshape_of_same_shape(x):
    return x.reshape(2, 3), x.squeeze(), x.flatten().view(2, 3), x.contiguous()


@program(rand(2, 3))
def views_of_fresh(x):
    y = x + 1
    return y, y[0], y.view(-1), y.t()


@program(rand(2, 3))
def only_view_of_fresh(x):
    return (x * 2)[1], (x * 3).t()


@program(rand(4))
def view_is_mutated(x):
    v = x[1:3]
    v.add_(10)
    return x * 2, v


@program(rand(2, 3))
def view_of_view_is_mutated(x):
    v = x.view(-1)[2:5]
    v.zero_()
    return x.sum()


@program(rand(2, 3))
def fresh_view_is_mutated(x):
    y = x + 1
    y[0].mul_(5)
    y.t()[2] = 0
    return y


@program(rand(3))
def view_sees_later_mutation(x):
    v = x[:2]
    x.add_(1)
    return v + 1, v


@program(rand(4))
def set_item(x):
    x[0] = 5
    x[1:3] = x[0]
    x[-1] += 1
    return x * 1


@program(rand(3, 3), rand(3))
def set_item_with_tensors(x, row):
    x[0] = row
    x[:, 1] = row
    x[x > 1] = 0
    return x.sum()


@program(rand(3), ints(2, high=3))
def set_item_by_index(x, index):
    x[index] = 7
    return x + 0


@program(rand(3), rand(3))
def copies(x, y):
    x.copy_(y)
    y.fill_(3)
    return x + y


@program(rand(3))
def fills(x):
    y = torch.empty_like(x).fill_(2)
    z = x.clone().zero_()
    return y, z, torch.empty(2).zero_()


_BASE = rand(6)


@program(_BASE[:3], _BASE[3:])
def arguments_share_storage(x, y):
    return x + y


@program(_BASE[:4], _BASE[2:])
def arguments_overlap_and_are_mutated(x, y):
    x.add_(1)
    return y * 2


@program(_BASE, _BASE)
def same_argument_twice(x, y):
    x.mul_(2)
    return y + 1, x is y


@program(_BASE, _BASE[:2])
def argument_and_its_view(x, v):
    v.zero_()
    return x.sum(), v


@program(rand(3), torch.zeros(3))
def out_argument(x, out):
    y = torch.add(x, 1, out=out)
    return y is out, y


@program(rand(3), torch.zeros(3))
def out_argument_of_fresh(x, buffer):
    y = torch.empty(3)
    torch.mul(x, 2, out=y)
    torch.sin(x, out=buffer)
    return y


@program(rand(3), torch.zeros(0))
def out_argument_is_resized(x, out):
    torch.add(x, 1, out=out)
    return out


@program([rand(3), rand(3)])
def mutated_in_a_list(items):
    for item in items:
        item.mul_(2)
    items[0] = items[0] + 1
    return sum(items)


@program({"a": rand(3)})
def mutated_in_a_dict(table):
    table["a"] += 1
    table["a"].sub_(2)
    return table["a"] * 2


@program(rand(3))
def mutated_in_a_callee(x):
    def grow(y):
        y.add_(1)
        return y

    return grow(x), grow(x + 1)


@program(rand(3), 3)
def mutated_in_a_loop(x, n):
    for i in range(n):
        x.add_(i)
    return x * 1


@program(rand(3), True).then(rand(3), False)
def mutated_on_a_branch(x, flag):
    if flag:
        x.mul_(3)
    return x + 1


@program(rand(3))
def mutated_then_fails(x):
    x.add_(1)
    return x.view(7)


@program(rand(2, 3))
def transposed_in_place(x):
    y = x.clone()
    y.t_()
    z = x.clone().unsqueeze_(0)
    return y, z, x.clone().squeeze_()


@program(rand(2, 3))
def argument_is_transposed_in_place(x):
    x.t_()
    return x + 1


@program(rand(3))
def data_is_assigned(x):
    x.data.add_(1)
    return x * 2


@program(rand(3), rand(3))
def data_is_replaced(x, y):
    x.data = y
    return x + 1


@program(rand(3))
def result_aliases_container(x):
    y = x + 1
    items = [y, y[:2]]
    y.add_(1)
    return items, y


@program(rand(4, 4))
def strides_of_results(x):
    y = x.t() + 1
    return y, (x.t() * 2).contiguous(), x.permute(1, 0).exp(), x[:, ::2] + 1


@program(rand(2, 3, 4, 5).to(memory_format=torch.channels_last))
def channels_last(x):
    return x + 1, x.contiguous(), x.is_contiguous(memory_format=torch.channels_last)


@program(rand(1).expand(3))
def expanded_argument(x):
    return x + 1, x.stride(), x.contiguous()


@program(rand(1, 3))
def expands(x):
    y = x.expand(2, 3)
    return (
        y,
        y + 1,
        x.expand(2, -1).sum(0),
        x.expand_as(y),
        torch.broadcast_to(x, (2, 3)),
    )


@program(rand(6))
def as_strided(x):
    return x.as_strided((2, 2), (2, 1), 1), x.unfold(0, 2, 2), x.view(2, 3).diagonal()


@program(rand(4, 2))
def splits(x):
    a, b = x.split(2)
    c, d = x.chunk(2, dim=1)
    a.add_(1)
    return a, b, c, d, torch.unbind(x)[0]


@program(rand(3), rand(3))
def swapped(x, y):
    x, y = y, x
    x.add_(1)
    return y * 2


@program(rand(3))
def version_dependent_order(x):
    a = x * 2
    x.add_(1)
    b = x * 2
    x.add_(1)
    return a, b, a + b


@program(rand(3), ints(3, high=3), rand(3))
def scatter_family(x, index, source):
    x.scatter_(0, index, source)
    y = x.index_add(0, index, source)
    return y, x.index_copy(0, index[:1], source[:1]), x.scatter_add(0, index, source)


@program(rand(3))
def random_in_place(x):
    x.normal_()
    y = torch.empty(3).uniform_(1, 2)
    return x + y


@program(rand(3))
def masked_in_place(x):
    x.masked_fill_(x > 0, -1)
    x.clamp_(min=-0.5).relu_()
    return x


@program(rand(3))
def aliases_of_argument_in_structures(x):
    return {"same": x, "view": x[:1], "fresh": x + 0, "nested": [x, (x,)]}


@program(rand(3), rand(3))
def swap_through_temporary(x, y):
    t = x.clone()
    x.copy_(y)
    y.copy_(t)


@program(rand(3).double(), rand(3))
def mutation_keeps_dtype(d, x):
    d.add_(x)
    x.mul_(2)
    return d


@program(ints(3), rand(3))
def mutation_cannot_cast(n, x):
    n.add_(x)
    return n


@program(rand(3, requires_grad=True))
def leaf_cannot_be_mutated(x):
    x.add_(1)
    return x


@program(rand(3, requires_grad=True))
def leaf_mutated_without_grad(x):
    with torch.no_grad():
        x.mul_(2)
    return x * 3
