"""TensorFlow as a contestant: every workload is one tf.function, compiled by XLA if the argument says so; only the eager adds are not."""
import os
import sys
import threading

import child
import tensorflow as tf
from tensorflow_models import TRAINED, cross_entropy, layer_norm

XLA = sys.argv[1:2] == ["xla"]
THREADS = int(os.environ["OMP_NUM_THREADS"])
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(1)


def gelu(x):
    return tf.nn.gelu(x, approximate=False)


def conv_input(dy, w, x):
    return tf.raw_ops.Conv2DBackpropInput(input_sizes=tf.shape(x), filter=w, out_backprop=dy, strides=[1, 1, 1, 1], padding="SAME")


def conv_filter(x, dy, w):
    return tf.raw_ops.Conv2DBackpropFilter(input=x, filter_sizes=tf.shape(w), out_backprop=dy, strides=[1, 1, 1, 1], padding="SAME")


def both_ways(f):
    """Forward and backward: f of all arguments but the last, which is the gradient of the result."""
    def g(*arguments):
        *x, dy = arguments
        sources = [v for v in x if v.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = f(*x)
        return [y, *tape.gradient(y, sources, output_gradients=dy)]
    return g


def batch_jacobian(x, w1, w2):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.tanh(tf.tanh(x @ w1) @ w2)
    return tape.batch_jacobian(y, x)


def while_turns(start):
    return tf.while_loop(lambda turn, value: turn < child.TURNS, lambda turn, value: (turn + 1, value * 0.9999), (tf.constant(0), start))[1]


OPS = {
    "while_turns": while_turns,
    "traced_identity": lambda x: x,
    "traced_chain": lambda x: child.chain(x, 10),
    "add": tf.add,
    "multiply": tf.multiply,
    "relu": tf.nn.relu,
    "expression": lambda a, b, c, x, z: tf.nn.relu(a * x + b) * x + c * z,
    "exp": tf.exp,
    "log": tf.math.log,
    "tanh": tf.tanh,
    "erf": tf.math.erf,
    "gelu": gelu,
    "gelu_both": both_ways(gelu),
    "softmax": tf.nn.softmax,
    "softmax_both": both_ways(tf.nn.softmax),
    "softmax_backward": lambda y, dy: y * (dy - tf.reduce_sum(dy * y, -1, keepdims=True)),
    "layer_norm": layer_norm,
    "layer_norm_both": both_ways(layer_norm),
    "cross_entropy": cross_entropy,
    "cross_entropy_both": both_ways(cross_entropy),
    "sum_axis_0": lambda x: tf.reduce_sum(x, 0),
    "sum_axis_1": lambda x: tf.reduce_sum(x, 1),
    "sum_all": tf.reduce_sum,
    "matmul": tf.matmul,
    "batch_jacobian": batch_jacobian,
    "conv": lambda x, w: tf.nn.conv2d(x, w, 1, "SAME"),
    "conv_input": conv_input,
    "conv_filter": conv_filter,
}


def eager(op, x, y):
    def run(count):
        if op == "eager_add":
            for _ in range(count):
                tf.add(x, y)
            return
        for done in range(0, count, 1000):
            with tf.GradientTape() as tape:
                tape.watch(x)
                for _ in range(done, min(done + 1000, count)):
                    tf.add(x, y)
    return run, lambda: [tf.add(x, y)]


def variables(op, x):
    """Reads and changes of a tf.Variable, eagerly; assign_add locks it, so that several threads may do so."""
    def add_ones(v, count):
        for _ in range(count):
            v.assign_add(1.0)

    def by_8_threads(v, count):
        parts = [count * (t + 1) // 8 - count * t // 8 for t in range(8)]
        threads = [threading.Thread(target=add_ones, args=(v, part)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def read(v, count):
        for _ in range(count):
            v.read_value()
    work = {"read_variable": read, "assign_add": add_ones, "assign_add_by_8_threads": by_8_threads}[op]
    v = tf.Variable(x)

    def results():
        fresh = tf.Variable(x)
        work(fresh, 800)
        return [fresh.read_value()]
    return lambda count: work(v, count), results


def function(f, *x):
    f = tf.function(f, input_signature=[tf.TensorSpec(v.shape, v.dtype) for v in x], jit_compile=XLA)
    return f.get_concrete_function() if child.best_effort() else f


def traced_assign_add(x):
    def adding(v):
        return function(v.assign_add, one)

    def add_ones(add, count):
        for _ in range(count):
            add(one)
    one, v = tf.constant(1.0), tf.Variable(x)
    add = adding(v)

    def results():
        fresh = tf.Variable(x)
        add_ones(adding(fresh), 800)
        return [fresh.read_value()]
    return lambda count: add_ones(add, count), results


def traced_sum(of_variables, x):
    """The first input plus all others: Variables that a function has captured, or the input itself as often."""
    others = [tf.Variable(v) for v in x[1:]]

    def f(y):
        first = y
        for other in others:
            y = y + (other if of_variables else first)
        return y
    return repeated(function(f, x[0]), x[:1])


def repeated(f, x):
    f(*x)

    def run(count):
        for _ in range(count):
            f(*x)

    def results():
        y = f(*x)
        return y if isinstance(y, (list, tuple)) else [y]
    return run, results


def make(op, arrays):
    x = [tf.constant(a) for a in arrays]
    if op in child.PROGRAMS:
        return child.first_calls(op, x[0], arrays[1].size, lambda f: tf.function(f, jit_compile=XLA), most=1000)
    if op == "traced_assign_add":
        return traced_assign_add(*x)
    if op in ("traced_sum_of_variables", "traced_sum_of_input"):
        return traced_sum(op == "traced_sum_of_variables", x)
    if op in ("eager_add", "recorded_add"):
        if XLA:
            raise KeyError(op)
        return eager(op, *x)
    if op in ("read_variable", "assign_add", "assign_add_by_8_threads"):
        if XLA:
            raise KeyError(op)
        return variables(op, *x)
    if op in TRAINED:
        return TRAINED[op](x, XLA)
    return repeated(function(OPS[op], *x), x)


child.serve("tensorflow", tf.__version__, make)
