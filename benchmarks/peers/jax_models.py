"""Training with JAX: each step is one jitted function that is given its state for good."""
import functools

import child
import jax
import jax.numpy as jnp
from jax import lax


def layer_norm(x, scale, offset, epsilon=1e-3):
    mean = jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(jnp.square(x - mean), -1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + epsilon) * scale + offset


def cross_entropy(labels, logits):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]


def adam(rate=1e-3, epsilon=1e-7, decay=0.0):
    """The new parameter, momentum and velocity from the old ones and the gradient."""
    def rule(count, p, m, v, g):
        m, v = m + (g - m) * 0.1, v + (g * g - v) * 0.001
        corrected = rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        return p - rate * decay * p - corrected * m / (jnp.sqrt(v) + epsilon), m, v
    return rule, 2


def sgd(count, p, m, g):
    m = 0.9 * m - 0.01 * g
    return p + m, m


def adagrad(x, squares, g):
    squares = squares + g * g
    return x - 0.01 * g * lax.rsqrt(squares + 1e-7), squares


def steps(step, state, streams):
    """Steps of a function of state and batches that gives new state and the loss."""
    step = jax.jit(step, donate_argnums=0)
    turns = child.turns(*([jnp.asarray(part) for part in stream] for stream in streams))

    def one():
        nonlocal state
        state, loss = step(state, *next(turns))
        return loss
    return child.training(one, jax.block_until_ready)


def trained(loss_of, rule, slots, streams=2):
    """Streams of batches, then the parameters; loss_of(parameters, batches...). A rule keeps so many numbers beside each parameter."""
    def make(arrays):
        def step(state, *batch):
            count, *lists = state
            loss, gradients = jax.value_and_grad(loss_of)(lists[0], *batch)
            updated = [rule(count + 1, *parts) for parts in zip(*lists, gradients)]
            return (count + 1, *map(list, zip(*updated))), loss
        p = [jnp.array(a) for a in arrays[streams:]]
        return steps(step, (jnp.float32(0), p, *([jnp.zeros_like(a) for a in p] for _ in range(slots))), arrays[:streams])
    return make


def adam_steps(arrays):
    """Adam on the first half with the second half as gradients; the result is that of the first step."""
    half, (rule, _) = len(arrays) // 2, adam()
    gradients = [jnp.asarray(a) for a in arrays[half:]]

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, gradients):
        count, *lists = state
        updated = [rule(count + 1, *parts) for parts in zip(*lists, gradients)]
        return (count + 1, *map(list, zip(*updated)))

    p = [jnp.array(a) for a in arrays[:half]]
    state = (jnp.float32(0), p, *([jnp.zeros_like(a) for a in p] for _ in range(2)))

    def run(count):
        nonlocal state
        for _ in range(count):
            state = step(state, gradients)
        jax.block_until_ready(state)
    run(1)
    first = [jnp.array(a) for a in state[1]]
    return run, lambda: first


def layers(x, parameters):
    for weight, bias in zip(parameters[:-2:2], parameters[1:-2:2]):
        x = jax.nn.relu(x @ weight + bias)
    return x @ parameters[-2] + parameters[-1]


def mlp(parameters, images, labels):
    return jnp.mean(cross_entropy(labels, layers(images, parameters)))


def cnn(parameters, images, labels):
    def conv(x, i):
        y = lax.conv_general_dilated(x, parameters[2 * i], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return jax.nn.relu(y + parameters[2 * i + 1])

    def pool(x):
        return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = pool(conv(conv(images, 0), 1))
    x = pool(conv(conv(x, 2), 3))
    return jnp.mean(cross_entropy(labels, layers(x.reshape(len(x), -1), parameters[8:])))


def recommender(arrays):
    """Only the rows that are named take part: their gradients, added up where they were found, and theirs alone."""
    def loss_of(rows, parameters, numbers, clicked):
        logits, labels = layers(jnp.concatenate([numbers, *rows], 1), parameters)[:, 0], clicked.astype(jnp.float32)
        return jnp.mean(jnp.maximum(logits, 0) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits))))

    def step(state, numbers, ids, clicked):
        tables, squares, p, s = state
        rows = [table[of] for table, of in zip(tables, ids)]
        loss, (by_row, gradients) = jax.value_and_grad(loss_of, (0, 1))(rows, p, numbers, clicked)
        squares = [s.at[of].add(g * g) for s, of, g in zip(squares, ids, by_row)]
        tables = [t.at[of].add(-0.01 * g * lax.rsqrt(s[of] + 1e-7)) for t, s, of, g in zip(tables, squares, ids, by_row)]
        updated = [adagrad(*parts) for parts in zip(p, s, gradients)]
        return (tables, squares, *map(list, zip(*updated))), loss
    tables, p = ([jnp.array(a) for a in part] for part in (arrays[3:11], arrays[11:]))
    return steps(step, (tables, *([jnp.full_like(a, 0.1) for a in tables], p, [jnp.full_like(a, 0.1) for a in p])), arrays[:3])


def lstm(parameters, sequences, labels):
    inputs, recurrent, bias, *top = parameters

    def turn(state, x):
        h, c = state
        i, f, g, o = jnp.split(x + h @ recurrent, 4, 1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None
    start = jnp.zeros((sequences.shape[1], recurrent.shape[0]))
    (h, _), _ = lax.scan(turn, (start, start), sequences @ inputs + bias)
    return jnp.mean(cross_entropy(labels, layers(h, top)))


def gpt(parameters, text, following):
    tokens, positions, *rest = parameters
    norm = functools.partial(layer_norm, epsilon=1e-5)
    x, (batch, time), heads = tokens[text] + positions, text.shape, 4
    mask = jnp.where(jnp.tril(jnp.ones((time, time), bool)), 0, -1e9)
    for i in range(0, len(rest) - 3, 12):
        s1, o1, w_qkv, b_qkv, w_join, b_join, s2, o2, w_up, b_up, w_down, b_down = rest[i:i + 12]
        qkv = (norm(x, s1, o1) @ w_qkv + b_qkv).reshape(batch, time, 3, heads, -1)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1]**-0.5 + mask
        seen = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(batch, time, -1)
        x = x + seen @ w_join + b_join
        x = x + jax.nn.gelu(norm(x, s2, o2) @ w_up + b_up, approximate=True) @ w_down + b_down
    scale, offset, head = rest[-3:]
    return jnp.mean(cross_entropy(following, norm(x, scale, offset) @ head))


TRAINED = {
    "mlp": trained(mlp, *adam()),
    "cnn": trained(cnn, sgd, 1),
    "recommender": recommender,
    "lstm": trained(lstm, *adam(epsilon=1e-8)),
    "gpt": trained(gpt, *adam(epsilon=1e-8, decay=0.01)),
}
