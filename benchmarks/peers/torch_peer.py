"""PyTorch as a contestant: eager, or torch.compile if the argument says so. Images are NHWC in the protocol; here they are NCHW, stored
channels last with best effort."""
import os
import sys

import child
import torch
import torch.nn.functional as F
from torch_models import TRAINED, compiled_if

COMPILED = sys.argv[1:2] == ["compiled"]
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
torch.set_num_interop_threads(1)
if child.best_effort():
    torch.set_flush_denormal(True)


def layer_norm(x, scale, offset):
    return F.layer_norm(x, x.shape[-1:], scale, offset, 1e-3)


def cross_entropy(labels, logits):
    return F.cross_entropy(logits, labels, reduction="none")


def conv(x, w):
    return F.conv2d(x, w, padding=1)


def conv_backward(dy, x, w, mask):
    return torch.ops.aten.convolution_backward(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1, mask)


def batch_jacobian(x, w1, w2):
    with torch.inference_mode(False):
        return torch.func.vmap(torch.func.jacrev(lambda row: torch.tanh(torch.tanh(row @ w1) @ w2)))(x)


def while_turns(start):
    turn, value = torch.tensor(0), start
    while turn < child.TURNS:
        turn, value = turn + 1, value * 0.9999
    return value


def compiled_while_turns():
    """The library's own loop. Imported here, because what only some workloads need is no part of a start."""
    from torch._higher_order_ops.while_loop import while_loop
    return lambda start: while_loop(lambda turn, value: turn < child.TURNS, lambda turn, value: (turn + 1, value * 0.9999),
                                    (torch.tensor(0), start))[1]


def sum_of(x, others):
    for other in others:
        x = x + other
    return x


OPS = {
    "while_turns": while_turns,
    "traced_identity": lambda x: x,
    "traced_chain": lambda x: child.chain(x, 10),
    "eager_add": torch.add,
    "add": torch.add,
    "multiply": torch.mul,
    "relu": torch.relu,
    "expression": lambda a, b, c, x, z: torch.relu(a * x + b) * x + c * z,
    "exp": torch.exp,
    "log": torch.log,
    "tanh": torch.tanh,
    "erf": torch.erf,
    "gelu": F.gelu,
    "softmax": lambda x: torch.softmax(x, -1),
    "softmax_backward": lambda y, dy: torch.ops.aten._softmax_backward_data(dy, y, -1, torch.float32),
    "layer_norm": layer_norm,
    "cross_entropy": cross_entropy,
    "sum_axis_0": lambda x: torch.sum(x, 0),
    "sum_axis_1": lambda x: torch.sum(x, 1),
    "sum_all": torch.sum,
    "matmul": torch.matmul,
    "batch_jacobian": batch_jacobian,
    "conv": conv,
    "conv_input": lambda dy, w, x: conv_backward(dy, x, w, [True, False, False])[0],
    "conv_filter": lambda x, dy, w: conv_backward(dy, x, w, [False, True, False])[1],
}
ONLY_EAGER = ("eager_add", "recorded_add", "assign_add")
ONLY_COMPILED = ("traced_identity", "traced_chain", "traced_assign_add", "traced_sum_of_variables", "traced_sum_of_input", *child.PROGRAMS)
FILTERS = {"conv": (1,), "conv_input": (1,), "conv_filter": (2,)}  # inputs that are HWIO here and OIHW there


def to_torch(op, arrays):
    x = [torch.from_numpy(a) for a in arrays]
    if op in FILTERS:
        x = [v.permute(3, 2, 0, 1) if i in FILTERS[op] else v.permute(0, 3, 1, 2) for i, v in enumerate(x)]
        form = torch.channels_last if child.best_effort() else torch.contiguous_format
        x = [v.contiguous(memory_format=form) for v in x]
    return [v.long() if v.dtype == torch.int32 else v for v in x]


def from_torch(op, y):
    if op in FILTERS:
        y = y.permute(2, 3, 1, 0) if op == "conv_filter" else y.permute(0, 2, 3, 1)
    return y.detach().numpy()


def recorded_add(x, y):
    x.requires_grad_()

    def run(count):
        for _ in range(count):
            torch.add(x, y)
    return run, lambda: [torch.add(x, y).detach()]


def adam(x):
    """Adam on the first half with the second half as gradients; the result is that of the first step. Fused, but by default the compiler is
    given what is not."""
    parameters = [torch.nn.Parameter(v.clone()) for v in x[:len(x) // 2]]
    for p, g in zip(parameters, x[len(x) // 2:]):
        p.grad = g
    fused = child.best_effort() or not COMPILED
    optimizer = torch.optim.Adam(parameters, lr=1e-3, eps=1e-7, fused=fused or None, foreach=None if fused else True)
    step = compiled_if(COMPILED, optimizer.step)

    def run(count):
        for _ in range(count):
            step()
    run(1)
    first = [p.detach().clone() for p in parameters]
    return run, lambda: first


def assign_add(x):
    """In one thread only: nothing is promised about several that change one tensor."""
    def add_ones(v, count):
        with torch.inference_mode(child.best_effort()), torch.no_grad():
            for _ in range(count):
                v.add_(1)
        return v
    v = x.clone()
    return lambda count: add_ones(v, count), lambda: [add_ones(x.clone(), 800)]


def traced_assign_add(x):
    def adding(v):
        return torch.compile(lambda value: v.add_(value), fullgraph=True)

    def add_ones(add, count):
        with torch.inference_mode(child.best_effort()), torch.no_grad():
            for _ in range(count):
                add(one)
    one, add = torch.tensor(1.0), adding(x.clone())

    def results():
        fresh = x.clone()
        add_ones(adding(fresh), 800)
        return [fresh]
    return lambda count: add_ones(add, count), results


def compiled_anew(f):
    """Nothing that was compiled before is found again."""
    from torch._inductor.utils import fresh_cache

    def call(x):
        torch._dynamo.reset()
        with torch.no_grad(), fresh_cache():
            return torch.compile(f, fullgraph=True)(x)
    return call


def compiled(f):
    return compiled_if(COMPILED, lambda *a: f(*a), fullgraph=True)


def repeated(op, f, x):
    f = compiled(f)

    def run(count):
        with torch.inference_mode(child.best_effort()), torch.no_grad():
            for _ in range(count):
                f(*x)
    run(1)
    return run, lambda: [from_torch(op, f(*x))]


def both_ways(f, x, dy):
    sources = [v.requires_grad_() for v in x if v.is_floating_point()]

    def once():
        y = f(*x)
        return [y, *torch.autograd.grad(y, sources, dy)]

    def run(count):
        for _ in range(count):
            once()
    once()
    return run, lambda: [y.detach() for y in once()]


def make(op, arrays):
    torch._dynamo.reset()
    x = to_torch(op, arrays)
    if op in (ONLY_EAGER if COMPILED else ONLY_COMPILED):
        raise KeyError(op)
    if op in child.PROGRAMS:
        return child.first_calls(op, x[0], arrays[1].size, compiled_anew, most=100)
    if op == "traced_assign_add":
        return traced_assign_add(*x)
    if op == "assign_add":
        return assign_add(*x)
    if op in TRAINED:
        return TRAINED[op](x, COMPILED)
    if op == "recorded_add":
        return recorded_add(*x)
    if op == "adam":
        return adam(x)
    if op in ("traced_sum_of_variables", "traced_sum_of_input"):
        first, *others = x  # tensors that are not arguments are what it has for Variables
        return repeated(op, lambda y: sum_of(y, others if op == "traced_sum_of_variables" else [y] * len(others)), [first])
    if COMPILED and op == "while_turns":
        return repeated(op, compiled_while_turns(), x)
    f = OPS[op.removesuffix("_both")]
    if op.endswith("_both"):
        return both_ways(compiled(f), x[:-1], x[-1])
    return repeated(op, f, x)


child.serve("torch", torch.__version__, make)
