"""TensorFlow as a contestant: every workload is one tf.function, compiled by XLA if the argument says so; only the eager adds are not."""
import os
import sys

import child
import tensorflow as tf

XLA = sys.argv[1:] == ["xla"]
THREADS = int(os.environ["OMP_NUM_THREADS"])
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.threading.set_inter_op_parallelism_threads(1)


def layer_norm(x, scale, offset):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)


def cross_entropy(labels, logits):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


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


OPS = {
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


def make(op, arrays):
    x = [tf.constant(a) for a in arrays]
    if op in ("eager_add", "recorded_add"):
        if XLA:
            raise KeyError(op)
        return eager(op, *x)
    f = tf.function(OPS[op], input_signature=[tf.TensorSpec(v.shape, v.dtype) for v in x], jit_compile=XLA)
    f = f.get_concrete_function() if child.best_effort() else f
    f(*x)

    def run(count):
        for _ in range(count):
            f(*x)

    def results():
        y = f(*x)
        return y if isinstance(y, (list, tuple)) else [y]
    return run, results


child.serve("tensorflow", tf.__version__, make)
