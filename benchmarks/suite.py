"""The workloads: ids as in docs/benchmarks.md, inputs, and what no machine can avoid for them.

A workload is an op that every contestant implements under that name, and its inputs. `limit` counts what must happen at least: calls, bytes
read, written and updated in place, floating-point operations; benchmarks/limit.cc turns that into a time on this machine.
"""
import random
from dataclasses import dataclass, replace
from math import prod


@dataclass(frozen=True)
class Input:
    shape: tuple
    low: float = -1
    high: float = 1
    dtype: str = "f32"

    @property
    def bytes(self):
        return 4 * prod(self.shape)

    def __str__(self):
        return f"{self.dtype}:{'x'.join(map(str, self.shape)) or 'scalar'}:{self.low}:{self.high}"


@dataclass(frozen=True)
class Limit:
    calls: int = 1
    read: int = 0
    written: int = 0
    updated: int = 0       # read and written at the same place
    flops: int = 0
    in_turn: bool = False  # one kind of work must wait for the other: their times add up. Otherwise the slowest alone counts

    @property
    def moved(self):
        return self.read + self.written + 2 * self.updated

    def __str__(self):
        return f"limit {'sum' if self.in_turn else 'slowest'} {self.calls} {self.read} {self.written} {self.updated} {self.flops}"


PEERS, ONE_THREAD, LESS, NOBODY = "other libraries", "itself on one thread", "itself without a pass", "nobody but the limit"


@dataclass(frozen=True)
class Case:
    id: str
    name: str
    op: str
    inputs: tuple
    limit: Limit
    many_calls: bool = False  # so short that a block must hold a million of them
    rivals: str = PEERS       # whom it is compared with

    @property
    def prepare(self):
        return " ".join(["prepare", self.op, *map(str, self.inputs)])

    @property
    def prepare_triad(self):
        """For work that is nothing but moving bytes: as many of them in a triad."""
        return f"prepare triad {self.limit.moved}" if self.limit and self.limit.moved and not self.limit.flops else None

    @property
    def prepare_limit(self):
        """What is done by a program that is started for it needs at least a start and the work."""
        return f"prepare {'once ' if self.op == 'once' else ''}{self.limit}" if self.limit else self.prepare


def f32(*shape, low=-1, high=1):
    return Input(shape, low, high)


def streams(inputs, results):
    """The limit of an op that reads its inputs once and writes results of these shapes once."""
    return Limit(read=sum(i.bytes for i in inputs), written=4 * sum(prod(shape) for shape in results))


def eager_add():
    a, b = f32(), f32()
    yield Case("T1", "eager add of two f32 scalars", "eager_add", (a, b), Limit(), many_calls=True)
    yield Case("T1", "eager add of two f32 scalars, recorded by a tape", "recorded_add", (a, b), Limit(), many_calls=True)


def state():
    x = f32()
    yield Case("T2", "reading a Variable, f32 scalar", "read_variable", (x,), Limit(), many_calls=True)
    yield Case("T2", "assign_add of 1, f32 scalar", "assign_add", (x,), Limit(), many_calls=True)
    yield Case("T2", "assign_add of 1 by 8 threads, f32 scalar", "assign_add_by_8_threads", (x,), Limit(), many_calls=True)
    for name, op in (("in a vector", "snapshot_of_list"), ("in 50 structs of 2 structs", "snapshot_of_tree")):
        yield Case("T2", f"snapshot of 200 Variables {name}", op, (x,) * 200, Limit(calls=200))
    yield Case("T2", "traced assign_add of 1, f32 scalar", "traced_assign_add", (x,), Limit(), many_calls=True)


def traced():
    x = f32()
    yield Case("T3", "traced identity, f32 scalar", "traced_identity", (x,), Limit(), many_calls=True)
    yield Case("T3", "traced chain of 10 ops, f32 scalar", "traced_chain", (x,), Limit(calls=10), many_calls=True)
    for name, op in (("200 captured Variables", "traced_sum_of_variables"), ("200 times its argument", "traced_sum_of_input")):
        yield Case("T3", f"traced sum of {name}, f32 scalars", op, (x,) * 201, Limit(calls=200))


def first_calls():
    for shape in ("chain", "tree"):
        for n in (10, 100, 1000, 10_000, 100_000):
            name = f"trace, plan and first call of a {shape} of {n:,} ops"
            yield Case("T4", name, f"first_call_of_{shape}", (f32(), f32(n)), Limit(calls=n))


def jacobians():
    x, w = f32(32, 64), f32(64, 64, low=-0.2, high=0.2)
    # Two products of 64 rows for each of the 32 entries and of 64 outputs; forward is small beside that.
    limit = Limit(read=x.bytes + 2 * w.bytes, written=4 * 32 * 64 * 64, flops=2 * (2 * 32 * 64 * 64 * 64))
    yield Case("T5", "traced batch Jacobian of a tanh MLP 64-64-64, batch 32", "batch_jacobian", (x, w, w), limit)


def loops():
    yield Case("T6", "100,000 turns of a traced while_loop, two scalars", "while_turns", (f32(),), Limit(calls=100_000))


def fused_maps():
    for n in (16_777_216, 67_108_864):
        x, scalar = f32(n), f32()
        inputs = (scalar, scalar, scalar, x, x)
        yield Case("T7", f"traced relu(a * x + b) * x + c * z, f32[{n}]", "traced_expression", inputs, streams(inputs, [(n,)]))


def maps():
    n = (16_777_216,)
    x, scalar = f32(*n), f32()
    for name, op, inputs in (("a * x", "multiply", (scalar, x)), ("x + b", "add", (x, scalar)), ("relu(x)", "relu", (x,)),
                             ("x * z", "multiply", (x, x)), ("x + z", "add", (x, x)),
                             ("relu(a * x + b) * x + c * z", "expression", (scalar, scalar, scalar, x, x))):
        yield Case("T7", f"{name}, f32[16777216]", op, inputs, streams(inputs, [n]))


def gelu():
    n = (4_194_304,)
    x = f32(*n, low=-4, high=4)
    yield Case("T8", "gelu (erf) forward, f32[4194304]", "gelu", (x,), streams((x,), [n]))
    yield Case("T8", "gelu (erf) forward and backward, f32[4194304]", "gelu_both", (x, f32(*n)), streams((x, x), [n, n]))


def rows():
    shape = (4096, 1024)
    x, dy = f32(*shape, low=-4, high=4), f32(*shape)
    yield Case("T9", "softmax forward, f32[4096,1024]", "softmax", (x,), streams((x,), [shape]))
    yield Case("T9", "softmax forward and backward, f32[4096,1024]", "softmax_both", (x, dy), streams((x, dy), [shape, shape]))
    y = f32(*shape, low=0, high=0.002)
    yield Case("T9", "softmax backward, f32[4096,1024]", "softmax_backward", (y, dy), streams((y, dy), [shape]))

    wide = (8192, 768)
    x, scale, offset, dy = f32(*wide), f32(768, low=0.5, high=1.5), f32(768), f32(*wide)
    inputs = (x, scale, offset)
    yield Case("T9", "layer norm forward, f32[8192,768]", "layer_norm", inputs, streams(inputs, [wide]))
    yield Case("T9", "layer norm forward and backward, f32[8192,768]", "layer_norm_both", (*inputs, dy),
               streams((*inputs, dy), [wide, wide, (768,), (768,)]))

    labels, logits, dy = Input((4096,), 0, 1024, "i32"), f32(*shape, low=-4, high=4), f32(4096)
    yield Case("T9", "cross entropy forward, f32[4096,1024]", "cross_entropy", (labels, logits), streams((labels, logits), [(4096,)]))
    yield Case("T9", "cross entropy forward and backward, f32[4096,1024]", "cross_entropy_both", (labels, logits, dy),
               streams((labels, logits, dy), [(4096,), shape]))


def sums():
    x = f32(4096, 4096, low=0, high=1)  # of one sign, so that every sum has a value to be compared
    for name, op, shape in (("over axis 0", "sum_axis_0", (4096,)), ("over axis 1", "sum_axis_1", (4096,)), ("of all", "sum_all", ())):
        yield Case("T10", f"sum {name}, f32[4096,4096]", op, (x,), streams((x,), [shape]))


def optimizers():
    for name, count, n in (("1 x 10,000,000", 1, 10_000_000), ("200 x 50,000", 200, 50_000), ("1 x 64,000,000", 1, 64_000_000)):
        parameters, gradients = (f32(n),) * count, (f32(n),) * count
        # Parameter, momentum and velocity are changed, the gradient is read.
        yield Case("T11", f"Adam, {name}", "adam", parameters + gradients, Limit(read=4 * n * count, updated=12 * n * count))


def matmuls():
    shapes = [((), n, n, n) for n in (16, 32, 64, 128, 256, 512, 1024, 2048)]
    shapes += [((), 128, 784, 512), ((), 8, 4096, 1024), ((32,), 128, 64, 128)]
    for batch, m, k, n in shapes:
        a, b = f32(*batch, m, k), f32(*batch, k, n)
        limit = Limit(read=a.bytes + b.bytes, written=4 * prod(batch) * m * n, flops=2 * prod(batch) * m * k * n)
        prefix = f"{batch[0]} x " if batch else ""
        yield Case("T12", f"matmul {prefix}{m}x{k}x{n}", "matmul", (a, b), limit)


def glorot(*shape):
    """A weight, spread as Glorot does; a filter's receptive field counts."""
    bound = (6 / (sum(shape[-2:]) * prod(shape[:-2]))) ** 0.5
    return f32(*shape, low=-bound, high=bound)


def zeros(*shape):
    return f32(*shape, low=0, high=0)


def ones(*shape):
    return f32(*shape, low=1, high=1)


def dense(*size):
    return glorot(*size), zeros(size[1])


def step(streams, parameters, flops, slots):
    """Inputs and limit of a step of training by an optimizer that keeps so many numbers beside each parameter."""
    n = sum(input.bytes for input in parameters)
    return (*streams, *parameters), Limit(read=n, updated=(1 + slots) * n, flops=flops, in_turn=True)


# 8 batches of inputs and 9 of labels take turns: no net can learn that by heart, so gradients never fade away.
def batches(*shape, classes=None):
    return Input((9, *shape), 0, classes, "i32") if classes else f32(8, *shape)


def products(layers, first=True):
    """Multiply-adds of an example: forward, to weights, and to inputs, but for the first layer's unless somebody wants them."""
    return 3 * sum(prod(size) for size in layers) - (0 if first else prod(layers[0]))


def mlp(layers, batch):
    parameters = [input for size in layers for input in dense(*size)]
    return step((batches(batch, layers[0][0]), batches(batch, classes=10)), parameters, 2 * batch * products(layers, first=False), slots=2)


MLP = ((784, 512), (512, 512), (512, 10))


def cnn(batch=64):
    convs, layers = ((32, 3, 32), (32, 32, 32), (16, 32, 64), (16, 64, 64)), ((8 * 8 * 64, 256), (256, 10))
    parameters = [input for _, *channels in convs for input in (glorot(3, 3, *channels), zeros(channels[1]))]
    parameters += [input for size in layers for input in dense(*size)]
    of_convs = [(3 * size - 2) ** 2 * prod(channels) for size, *channels in convs]  # as in convolutions()
    flops = 2 * batch * (3 * sum(of_convs) - of_convs[0] + products(layers))
    return step((batches(batch, 32, 32, 3), batches(batch, classes=10)), parameters, flops, slots=1)


def recommender(batch=512, tables=8, rows=100_000, width=32):
    layers, exponent = ((tables * width + 13, 128), (128, 64), (64, 1)), 1.05
    streams = (batches(batch, 13), Input((8, tables, batch), exponent, rows, "zipf"), batches(batch, classes=2))
    parameters = [f32(rows, width, low=-0.05, high=0.05)] * tables + [input for size in layers for input in dense(*size)]
    # Of a table only the rows that are named move, each once, and so do the sums of squares beside them.
    draw, span = random.Random(0), (1 + rows) ** (1 - exponent) - 1
    named = len({int((1 + draw.random() * span) ** (1 / (1 - exponent))) for _ in range(batch)})
    moved = 4 * tables * named * width + sum(input.bytes for input in parameters[tables:])
    return (*streams, *parameters), Limit(updated=2 * moved, flops=2 * batch * products(layers), in_turn=True)


def lstm(time=64, batch=64, features=128, width=256):
    gates, top = ((features, 4 * width), (width, 4 * width)), (width, 10)
    parameters = [glorot(*gates[0]), glorot(*gates[1]), zeros(4 * width), *dense(*top)]
    flops = 2 * batch * (time * products(gates, first=False) + products([top]))
    return step((batches(time, batch, features), batches(batch, classes=10)), parameters, flops, slots=2)


def gpt(batch=8, time=128, width=256, blocks=4, inner=1024, tokens=256):
    layers = ((width, 3 * width), (width, width), (width, inner), (inner, width))
    norm = (ones(width), zeros(width))
    block = [*norm, *dense(*layers[0]), *dense(*layers[1]), *norm, *dense(*layers[2]), *dense(*layers[3])]
    table = f32(tokens, width, low=-0.05, high=0.05)
    parameters = [table, f32(time, width, low=-0.05, high=0.05), *block * blocks, *norm, glorot(width, tokens)]
    of_heads = 3 * 2 * time * width * blocks  # queries times keys, and that times values
    flops = 2 * batch * time * (products(layers * blocks + ((width, tokens),)) + of_heads)
    streams = (Input((8, batch, time), 0, tokens, "i32"), batches(batch, time, classes=tokens))
    return step(streams, parameters, flops, slots=2)


TRAINED = {  # id: name, op, inputs and limit
    "T14": ("a CNN with SGD, batch 64", "cnn", cnn()),
    "T15": ("a recommender with Adagrad, batch 512", "recommender", recommender()),
    "T16": ("an LSTM with Adam, batch 64", "lstm", lstm()),
    "T17": ("a GPT with AdamW, batch 8", "gpt", gpt()),
}
MODELS = """The MLP has relu between its layers. The CNN (among the convolutions, below) takes images 32x32x3: convolutions 3x3 to 32 and 32
channels, a pool, to 64 and 64, a pool, and dense layers of 256 and 10. The recommender looks up a row of 32 numbers in each of 8 tables of
100,000, by ids that follow Zipf's law with exponent 1.05; with 13 more numbers they go through an MLP 269-128-64-1. The LSTM reads 128
numbers 64 times, has a state of 256, and a dense layer of 10 on the last one. The GPT has 4 blocks of width 256 with 4 heads, 1024 numbers
inside each, 128 tokens of context, and 256 different tokens.
"""


def training():
    for batch in (32, 128, 1024):
        for how in ("", "traced "):
            op = "traced_mlp" if how else "mlp"
            yield Case("T13", f"{how}step of an MLP 784-512-512-10 with Adam, batch {batch}", op, *mlp(MLP, batch))
    for id, (name, op, inputs_and_limit) in TRAINED.items():
        yield Case(id, f"traced step of {name}", op, *inputs_and_limit)


def scaling():
    """On one thread and on two; and how a step grows with its batch and with its depth."""
    for case in (*fused_maps(), *matmuls(), *training()):
        if case.name in SCALED:
            name = f"2 threads: {case.name.removeprefix('traced ').removeprefix('step of ')}"
            yield replace(case, id="T20", name=name, rivals=ONE_THREAD)
    for batch in (1, 4, 16, 64, 256):
        yield Case("T20", f"traced step of an MLP 784-512-512-10, batch {batch}", "traced_mlp", *mlp(MLP, batch), rivals=NOBODY)
    for depth in (2, 8, 32, 64):
        layers = ((256, 256),) * depth + ((256, 10),)
        yield Case("T20", f"traced step of an MLP, {depth} hidden layers of 256, batch 128", "traced_mlp", *mlp(layers, 128), rivals=NOBODY)


SCALED = ("traced relu(a * x + b) * x + c * z, f32[16777216]", "matmul 128x784x512", "matmul 1024x1024x1024",
          *(f"traced step of an MLP 784-512-512-10 with Adam, batch {batch}" for batch in (128, 1024)),
          *(f"traced step of {name}" for name, *_ in TRAINED.values()))
PASSES = ("fold_constants", "simplify", "share_equal", "drop_dead", "count_turns", "fuse", "overlap")


def passes():
    """What each pass is worth."""
    steps = ("an MLP 784-512-512-10 with Adam, batch 32", TRAINED["T15"][0], TRAINED["T17"][0])
    for case in (*fused_maps(), *training()):
        if case.name in (SCALED[0], *(f"traced step of {name}" for name in steps)):
            yield replace(case, id="passes", name=case.name.replace("traced", "all passes:"), rivals=LESS)


def convolutions():
    for size, channels, filters in ((32, 3, 32), (32, 32, 32), (16, 32, 64), (16, 64, 64)):
        x, w, dy = f32(64, size, size, channels), f32(3, 3, channels, filters), f32(64, size, size, filters)
        name = f"64 x {size}x{size}, {channels} -> {filters}"
        # A tap outside the image is no work: per axis 3 * size - 2 of 3 * size taps remain.
        flops = 2 * 64 * (3 * size - 2) ** 2 * channels * filters
        for way, op, inputs, result in (("forward", "conv", (x, w), dy), ("backward to input", "conv_input", (dy, w, x), x),
                                        ("backward to filter", "conv_filter", (x, dy, w), w)):
            limit = Limit(read=inputs[0].bytes + inputs[1].bytes, written=result.bytes, flops=flops)
            yield Case("T14", f"conv 3x3 {way}, {name}", op, inputs, limit)


def elementary():
    n = (16_777_216,)
    for op, low, high in (("exp", -5, 5), ("log", 0.01, 10), ("tanh", -4, 4), ("erf", -3, 3)):
        x = f32(*n, low=low, high=high)
        yield Case("math", f"{op}(x), f32[16777216]", op, (x,), streams((x,), [n]))


def start():
    # The limit is a program of the same kind that links nothing.
    yield Case("T18", "start and end of a program linked with it", "start", (), None)
    (images, labels, *parameters), limit = mlp(MLP, 128)
    images, labels = (replace(stream, shape=(1, *stream.shape[1:])) for stream in (images, labels))
    yield Case("T18", "start, one traced step of an MLP with Adam, batch 128, end", "once",
               ("traced_mlp", images, labels, *parameters), limit)


WORKLOADS = (eager_add, state, traced, first_calls, jacobians, loops, maps, fused_maps, gelu, rows, sums, optimizers, matmuls, training,
             convolutions, scaling, passes, start, elementary)
CASES = [case for workload in WORKLOADS for case in workload()]
IDS = list(dict.fromkeys([case.id for case in CASES] + ["T19"]))  # T19, sizes on disk and in memory, is no matter of time: see sizes.py
IN_MEMORY = [case for case in CASES if case.id in ("T13", "T14", "T17") and case.name.startswith("traced step")
             and not case.name.endswith(("batch 32", "batch 1024"))]

# Geometric means are given for groups, never for all.
GROUPS = {"single calls": ("T1",), "state": ("T2",), "traced calls": ("T3",), "first calls": ("T4",), "Jacobians": ("T5",),
          "loops": ("T6",),
          "maps": ("T7", "T8", "math"), "rows and sums": ("T9", "T10"), "optimizers": ("T11",), "products": ("T12",),
          "training": ("T13", "T15", "T16", "T17"), "convolutions": ("T14",), "scaling": ("T20",), "passes": ("passes",), "start": ("T18",)}
