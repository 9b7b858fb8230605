"""JAX as a contestant: every workload is one jitted function; only the eager add is not."""
import child
import jax
import jax.numpy as jnp
import jax_models
from jax import lax
from jax_models import cross_entropy, layer_norm


def conv(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def gelu(x):
    return jax.nn.gelu(x, approximate=False)


def both_ways(f):
    """Forward and backward: f of all arguments but the last, which is the gradient of the result."""
    def g(*arguments):
        *x, dy = arguments
        at = [i for i, v in enumerate(x) if jnp.issubdtype(v.dtype, jnp.floating)]

        def of_floats(*floats):
            whole = list(x)
            for i, v in zip(at, floats):
                whole[i] = v
            return f(*whole)
        y, pull = jax.vjp(of_floats, *(x[i] for i in at))
        return (y, *pull(dy))
    return g


OPS = {
    "add": lambda x, y: x + y,
    "multiply": lambda x, y: x * y,
    "relu": jax.nn.relu,
    "expression": lambda a, b, c, x, z: jax.nn.relu(a * x + b) * x + c * z,
    "exp": jnp.exp,
    "log": jnp.log,
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
    "gelu": gelu,
    "gelu_both": both_ways(gelu),
    "softmax": jax.nn.softmax,
    "softmax_both": both_ways(jax.nn.softmax),
    "softmax_backward": lambda y, dy: y * (dy - jnp.sum(dy * y, -1, keepdims=True)),
    "layer_norm": layer_norm,
    "layer_norm_both": both_ways(layer_norm),
    "cross_entropy": cross_entropy,
    "cross_entropy_both": both_ways(cross_entropy),
    "sum_axis_0": lambda x: jnp.sum(x, 0),
    "sum_axis_1": lambda x: jnp.sum(x, 1),
    "sum_all": jnp.sum,
    "matmul": jnp.matmul,
    "batch_jacobian": lambda x, w1, w2: jax.vmap(jax.jacrev(lambda row: jnp.tanh(jnp.tanh(row @ w1) @ w2)))(x),
    "conv": conv,
    "conv_input": lambda dy, w, x: jax.vjp(lambda v: conv(v, w), x)[1](dy)[0],
    "conv_filter": lambda x, dy, w: jax.vjp(lambda v: conv(x, v), w)[1](dy)[0],
}


def while_turns(start):
    return lax.while_loop(lambda state: state[0] < child.TURNS, lambda state: (state[0] + 1, state[1] * 0.9999), (0, start))[1]


def sum_of(x, others):
    for other in others:
        x = x + other
    return x


# JAX has no Variables: what a program keeps is handed to it at each call.
OPS |= {
    "while_turns": while_turns,
    "traced_identity": lambda x: x,
    "traced_chain": lambda x: child.chain(x, 10),
    "traced_sum_of_variables": lambda x, *others: sum_of(x, others),
    "traced_sum_of_input": lambda x, *others: sum_of(x, [x] * len(others)),
}


def assign_add(x):
    """A jitted function that is given the old value for good."""
    add, one = jax.jit(lambda x, y: x + y, donate_argnums=0), jnp.float32(1)

    def add_ones(v, count):
        for _ in range(count):
            v = add(v, one)
        return jax.block_until_ready(v)
    state = [jnp.array(x)]

    def run(count):
        state[0] = add_ones(state[0], count)
    return run, lambda: [add_ones(jnp.array(x), 800)]


def make(op, arrays):
    if op in child.PROGRAMS:
        return child.first_calls(op, jnp.asarray(arrays[0]), arrays[1].size, jax.jit, most=1000)
    if op == "traced_assign_add":
        return assign_add(arrays[0])
    if op == "adam":
        return jax_models.adam_steps(arrays)
    if op in jax_models.TRAINED:
        return jax_models.TRAINED[op](arrays)
    f = (lambda x, y: x + y) if op == "eager_add" else jax.jit(OPS[op])
    x = [jnp.asarray(a) for a in arrays]
    jax.block_until_ready(f(*x))

    def run(count):
        for _ in range(count):
            y = f(*x)
        jax.block_until_ready(y)

    def results():
        y = f(*x)
        return y if isinstance(y, tuple) else [y]
    return run, results


child.serve("jax", f"{jax.__version__}", make)
