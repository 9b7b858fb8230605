"""The workloads: ids as in docs/benchmarks.md, inputs, and what no machine can avoid for them.

A workload is an op that every contestant implements under that name, and its inputs. `limit` counts what must happen at least: calls, bytes
read, written and updated in place, floating-point operations; benchmarks/limit.cc turns that into a time on this machine.
"""
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Case:
    id: str
    name: str
    op: str
    inputs: tuple
    limit: Limit
    many_calls: bool = False  # so short that a block must hold a million of them

    @property
    def prepare(self):
        return " ".join(["prepare", self.op, *map(str, self.inputs)])

    @property
    def prepare_triad(self):
        """For work that is nothing but moving bytes: as many of them in a triad."""
        return f"prepare triad {self.limit.moved}" if self.limit and self.limit.moved and not self.limit.flops else None

    @property
    def prepare_limit(self):
        return f"prepare {self.limit}" if self.limit else self.prepare


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


def mlp(layers, batch):
    """Inputs and limit of a step of training."""
    weights = [f32(*size, low=-bound, high=bound) for size in layers for bound in [(6 / sum(size)) ** 0.5]]  # as Glorot
    inputs = [input for weight in weights for input in (weight, f32(weight.shape[1], low=0, high=0))]
    parameters = sum(prod(input.shape) for input in inputs)
    # 8 batches of images and 9 of labels take turns: no net can learn that by heart, so gradients never fade away.
    images, labels = f32(8, batch, layers[0][0]), Input((9, batch), 0, 10, "i32")
    products = 3 * sum(prod(size) for size in layers) - prod(layers[0])  # forward, to weights, and to inputs but for the first layer's
    return (images, labels, *inputs), Limit(read=4 * parameters, updated=12 * parameters, flops=2 * batch * products, in_turn=True)


def training():
    layers = ((784, 512), (512, 512), (512, 10))
    for batch in (32, 128, 1024):
        for how in ("", "traced "):
            yield Case("T13", f"{how}step of an MLP 784-512-512-10 with Adam, batch {batch}", f"{how.strip()}{'_' if how else ''}mlp", *mlp(layers, batch))


def scaling():
    for how in ("", "_on_1_thread"):
        yield Case("T20", f"traced step of an MLP, batch 1024, on {1 if how else 2} threads", f"traced_mlp{how}", *mlp(((784, 512), (512, 512), (512, 10)), 1024))
    for depth in (2, 8, 32):
        layers = ((256, 256),) * depth + ((256, 10),)
        yield Case("T20", f"traced step of an MLP, {depth} hidden layers of 256, batch 128", "traced_mlp", *mlp(layers, 128))


PASSES = ("fold_constants", "simplify", "share_equal", "drop_dead", "fuse")


def passes():
    inputs, limit = mlp(((784, 512), (512, 512), (512, 10)), 32)
    yield Case("passes", "traced step of an MLP, batch 32, with all passes", "traced_mlp_with_all_passes", inputs, limit)
    for name in PASSES:
        yield Case("passes", f"the same without {name}", f"traced_mlp_without_{name}", inputs, limit)


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


WORKLOADS = (eager_add, state, traced, first_calls, loops, maps, fused_maps, gelu, rows, sums, optimizers, matmuls, training, scaling, passes, convolutions, start, elementary)
CASES = [case for workload in WORKLOADS for case in workload()]
IDS = list(dict.fromkeys([case.id for case in CASES] + ["T19"]))  # T19, sizes on disk, is no matter of time: see sizes in driver.py

# Geometric means are given for groups, never for all.
GROUPS = {"single calls": ("T1",), "state": ("T2",), "traced calls": ("T3",), "first calls": ("T4",), "loops": ("T6",), "maps": ("T7", "T8", "math"), "rows and sums": ("T9", "T10"),
          "optimizers": ("T11",), "products": ("T12",), "training": ("T13",), "scaling": ("T20",), "passes": ("passes",), "convolutions": ("T14",), "start": ("T18",)}
