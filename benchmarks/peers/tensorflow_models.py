"""Training with TensorFlow: each step is one tf.function. The optimizer is that of Keras by default and raw ops with best effort."""
import child
import tensorflow as tf


def layer_norm(x, scale, offset, epsilon=1e-3):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)


def cross_entropy(labels, logits):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


def slots(variables, value=0.0):
    return [tf.Variable(tf.fill(v.shape, value)) for v in variables]


def adam(p, epsilon=1e-7, decay=0.0):
    """update(gradients), by one op for each variable."""
    m, s, powers = slots(p), slots(p), [tf.Variable(0.9), tf.Variable(0.999)]

    def update(gradients):
        b1, b2 = (power.read_value() for power in powers)
        for v, mean, square, g in zip(p, m, s, gradients):
            if decay:
                v.assign_sub(v * (1e-3 * decay))
            tf.raw_ops.ResourceApplyAdam(var=v.handle, m=mean.handle, v=square.handle, beta1_power=b1, beta2_power=b2, lr=1e-3, beta1=0.9,
                                         beta2=0.999, epsilon=epsilon, grad=tf.convert_to_tensor(g))
        powers[0].assign(b1 * 0.9)
        powers[1].assign(b2 * 0.999)
    return update


def sgd(p):
    m = slots(p)

    def update(gradients):
        for v, momentum, g in zip(p, m, gradients):
            tf.raw_ops.ResourceApplyKerasMomentum(var=v.handle, accum=momentum.handle, lr=0.01, grad=g, momentum=0.9)
    return update


def adagrad(p):
    s = slots(p, 0.1)

    def update(gradients):
        for v, squares, g in zip(p, s, gradients):
            if isinstance(g, tf.IndexedSlices):
                squares.scatter_add(tf.IndexedSlices(g.values * g.values, g.indices))
                v.scatter_sub(tf.IndexedSlices(0.01 * g.values * tf.math.rsqrt(tf.gather(squares, g.indices) + 1e-7), g.indices))
            else:
                tf.raw_ops.ResourceApplyAdagradV2(var=v.handle, accum=squares.handle, lr=0.01, epsilon=1e-7, grad=g)
    return update


def updating(p, keras, raw):
    """update(gradients) of these variables: keras() is an optimizer, raw(variables) an update."""
    if child.best_effort():
        return raw(p)
    optimizer = keras()
    optimizer.build(p)
    return lambda gradients: optimizer.apply_gradients(zip(gradients, p))


def trained(loss_of, keras, raw, streams=2):
    """Streams of batches, then the parameters; loss_of(parameters, batches...). keras and raw as for updating."""
    def make(x, xla):
        batches, p = [tf.unstack(stream) for stream in x[:streams]], [tf.Variable(v) for v in x[streams:]]
        update = updating(p, keras, raw)

        @tf.function(jit_compile=xla, input_signature=[tf.TensorSpec(parts[0].shape, parts[0].dtype) for parts in batches])
        def step(*batch):
            with tf.GradientTape() as tape:
                loss = loss_of(p, *batch)
            update(tape.gradient(loss, p))
            return loss
        call = step.get_concrete_function() if child.best_effort() else step
        turns = child.turns(*batches)
        return child.training(lambda: call(*next(turns)), lambda loss: loss.numpy())
    return make


def layers(x, p):
    for weight, bias in zip(p[:-2:2], p[1:-2:2]):
        x = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, weight), bias))
    return tf.nn.bias_add(tf.matmul(x, p[-2]), p[-1])


def mlp(p, images, labels):
    return tf.reduce_mean(cross_entropy(labels, layers(images, p)))


def cnn(p, images, labels):
    def conv(x, i):
        return tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, p[2 * i], 1, "SAME"), p[2 * i + 1]))
    x = tf.nn.max_pool2d(conv(conv(images, 0), 1), 2, 2, "VALID")
    x = tf.nn.max_pool2d(conv(conv(x, 2), 3), 2, 2, "VALID")
    return tf.reduce_mean(cross_entropy(labels, layers(tf.reshape(x, [images.shape[0], -1]), p[8:])))


def recommender(p, numbers, ids, clicked):
    rows = [tf.gather(table, of) for table, of in zip(p[:8], tf.unstack(ids))]
    logits = layers(tf.concat([numbers, *rows], 1), p[8:])[:, 0]
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(tf.cast(clicked, tf.float32), logits))


def lstm(p, sequences, labels):
    inputs, recurrent, bias, *top = p
    h = c = tf.zeros([sequences.shape[1], recurrent.shape[0]])
    for x in tf.unstack(tf.tensordot(sequences, inputs, 1) + bias):
        i, f, g, o = tf.split(x + tf.matmul(h, recurrent), 4, 1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return tf.reduce_mean(cross_entropy(labels, layers(h, top)))


def gpt(p, text, following):
    tokens, positions, *rest = p
    (batch, time), width, heads = text.shape, tokens.shape[1], 4

    def product(x, weight):
        return tf.matmul(tf.reshape(x, [batch * time, -1]), weight)

    def dense(x, weight, bias):
        return tf.nn.bias_add(product(x, weight), bias)
    mask = (1 - tf.linalg.band_part(tf.ones([time, time]), -1, 0)) * -1e9
    x = tf.gather(tokens, text) + positions
    for i in range(0, len(rest) - 3, 12):
        s1, o1, w_qkv, b_qkv, w_join, b_join, s2, o2, w_up, b_up, w_down, b_down = rest[i:i + 12]
        qkv = tf.reshape(dense(layer_norm(x, s1, o1, 1e-5), w_qkv, b_qkv), [batch, time, 3, heads, width // heads])
        q, k, v = tf.unstack(tf.transpose(qkv, [2, 0, 3, 1, 4]))
        scores = tf.matmul(q, k, transpose_b=True) * (width // heads)**-0.5 + mask
        seen = tf.transpose(tf.matmul(tf.nn.softmax(scores), v), [0, 2, 1, 3])
        x = x + tf.reshape(dense(seen, w_join, b_join), x.shape)
        inner = tf.nn.gelu(dense(layer_norm(x, s2, o2, 1e-5), w_up, b_up), approximate=True)
        x = x + tf.reshape(dense(inner, w_down, b_down), x.shape)
    scale, offset, head = rest[-3:]
    logits = product(layer_norm(x, scale, offset, 1e-5), head)
    return tf.reduce_mean(cross_entropy(tf.reshape(following, [-1]), logits))


def keras(name, rate, **options):
    return lambda: getattr(tf.keras.optimizers, name)(rate, **options)


def adam_steps(x, xla):
    """Adam on the first half with the second half as gradients; the result is that of the first step."""
    p, gradients = [tf.Variable(v) for v in x[:len(x) // 2]], x[len(x) // 2:]
    update = updating(p, keras("Adam", 1e-3, epsilon=1e-7), adam)

    @tf.function(jit_compile=xla, input_signature=[])
    def step():
        update(gradients)
    call = step.get_concrete_function() if child.best_effort() else step

    def run(count):
        for _ in range(count):
            call()
    run(1)
    first = [v.numpy() for v in p]
    return run, lambda: first


TRAINED = {
    "adam": adam_steps,
    "mlp": trained(mlp, keras("Adam", 1e-3, epsilon=1e-7), adam),
    "cnn": trained(cnn, keras("SGD", 0.01, momentum=0.9), sgd),
    "recommender": trained(recommender, keras("Adagrad", 0.01), adagrad, streams=3),
    "lstm": trained(lstm, keras("Adam", 1e-3, epsilon=1e-8), lambda p: adam(p, epsilon=1e-8)),
    "gpt": trained(gpt, keras("AdamW", 1e-3, epsilon=1e-8, weight_decay=0.01), lambda p: adam(p, epsilon=1e-8, decay=0.01)),
}
