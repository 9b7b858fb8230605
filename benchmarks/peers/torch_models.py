"""Training with PyTorch, eager or compiled. Where it is compiled, the optimizer is so, too, by default, and fused with best effort."""
import child
import torch
import torch.nn.functional as F
from torch.nn import Parameter


def compiled_if(wanted, f, **options):
    return torch.compile(f, **options) if wanted else f


def trained(parameters_of, loss_of, rule, **options):
    """Two streams of batches, then what parameters_of makes the parameters of; loss_of(parameters, batches...)."""
    def make(x, compiled):
        p = [Parameter(v.clone(memory_format=torch.preserve_format)) for v in parameters_of(x[2:])]
        fused = child.best_effort() or not compiled
        optimizer = rule(p, fused=fused or None, **options)
        loss_once = compiled_if(compiled, lambda *batch: loss_of(p, *batch), fullgraph=True)
        update = compiled_if(compiled and not fused, optimizer.step)
        turns = child.turns(x[0].unbind(), x[1].unbind())

        def step():
            loss = loss_once(*next(turns))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            update()
            return loss.detach()
        return child.training(step)
    return make


def dense(x):
    """Weights of dense layers, stored as [outputs, inputs] as PyTorch does, and biases."""
    return [v.t().contiguous() if v.dim() == 2 else v for v in x]


def layers(x, p):
    for weight, bias in zip(p[:-2:2], p[1:-2:2]):
        x = F.relu(F.linear(x, weight, bias))
    return F.linear(x, p[-2], p[-1])


def mlp(p, images, labels):
    return F.cross_entropy(layers(images, p), labels)


def form():
    return torch.channels_last if child.best_effort() else torch.contiguous_format


def cnn_parameters(x):
    """Images and filters are NHWC and HWIO in the protocol, NCHW and OIHW here; the first dense layer reads pixels in that order, too."""
    filters = [v.permute(3, 2, 0, 1).contiguous(memory_format=form()) if v.dim() == 4 else v for v in x[:8]]
    first = x[8].reshape(8, 8, 64, -1).permute(2, 0, 1, 3).reshape(x[8].shape)
    return filters + dense([first, *x[9:]])


def cnn(p, images, labels):
    def conv(x, i):
        return F.relu(F.conv2d(x, p[2 * i], p[2 * i + 1], padding=1))
    x = F.max_pool2d(conv(conv(images, 0), 1), 2)
    x = F.max_pool2d(conv(conv(x, 2), 3), 2)
    return F.cross_entropy(layers(x.flatten(1), p[8:]), labels)


def train_cnn(x, compiled):
    images = x[0].permute(0, 1, 4, 2, 3)  # still stored channels last
    images = images if child.best_effort() else images.contiguous()
    return trained(cnn_parameters, cnn, torch.optim.SGD, lr=0.01, momentum=0.9)([images, *x[1:]], compiled)


def recommender(x, compiled):
    """By default tables with sparse gradients. Else, since what is compiled knows none, only the rows that are named take part."""
    numbers, ids, clicked = (stream.unbind() for stream in x[:3])
    clicked = [labels.float() for labels in clicked]
    p, turns = [Parameter(v.clone()) for v in dense(x[11:])], child.turns(numbers, ids, clicked)
    options = {"lr": 0.01, "initial_accumulator_value": 0.1, "eps": 1e-7}

    def loss_of(rows, numbers, labels):
        return F.binary_cross_entropy_with_logits(layers(torch.cat([numbers, *rows], 1), p)[:, 0], labels)
    if not compiled and not child.best_effort():
        tables = [Parameter(v.clone()) for v in x[3:11]]
        optimizer = torch.optim.Adagrad([*p, *tables], **options)

        def step():
            numbers, ids, labels = next(turns)
            loss = loss_of([F.embedding(of, table, sparse=True) for of, table in zip(ids, tables)], numbers, labels)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            return loss.detach()
        return child.training(step)

    tables = [v.clone() for v in x[3:11]]
    squares = [torch.full_like(v, 0.1) for v in tables]
    fused = child.best_effort() or not compiled
    optimizer = torch.optim.Adagrad(p, fused=fused or None, **options)

    def change(ids, gradients):
        for table, sums, of, g in zip(tables, squares, ids, gradients):
            sums.index_add_(0, of, g * g)
            table.index_add_(0, of, g * torch.rsqrt(sums[of] + 1e-7), alpha=-0.01)
    loss_of = compiled_if(compiled, loss_of, fullgraph=True)
    change = compiled_if(compiled and not fused, change, fullgraph=True)
    update = compiled_if(compiled and not fused, optimizer.step)

    def step():
        numbers, ids, labels = next(turns)
        ids = ids.unbind()
        rows = [table[of].requires_grad_() for table, of in zip(tables, ids)]
        loss = loss_of(rows, numbers, labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        with torch.no_grad():
            change(ids, [row.grad for row in rows])
        update()
        return loss.detach()
    return child.training(step)


def lstm(p, sequences, labels):
    inputs, recurrent, bias, *top = p
    start = sequences.new_zeros(1, sequences.shape[1], recurrent.shape[1])
    h = torch.lstm(sequences, (start, start), [inputs, recurrent, bias, torch.zeros_like(bias)], True, 1, 0.0, True, False, False)[1][0]
    return F.cross_entropy(layers(h, top), labels)


def unrolled_lstm(p, sequences, labels):
    inputs, recurrent, bias, *top = p
    h = c = sequences.new_zeros(sequences.shape[1], recurrent.shape[1])
    for x in F.linear(sequences, inputs, bias).unbind():
        i, f, g, o = (x + F.linear(h, recurrent)).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
    return F.cross_entropy(layers(h, top), labels)


def train_lstm(x, compiled):
    """One call of the library for all times when eager; one program of all times when compiled."""
    return trained(dense, unrolled_lstm if compiled else lstm, torch.optim.Adam, lr=1e-3, eps=1e-8)(x, compiled)


def gpt_parameters(x):
    return [*x[:2], *dense(x[2:])]


def gpt(p, text, following):
    tokens, positions, *rest = p
    (batch, time), width, heads = text.shape, tokens.shape[1], 4
    x = F.embedding(text, tokens) + positions
    for i in range(0, len(rest) - 3, 12):
        s1, o1, w_qkv, b_qkv, w_join, b_join, s2, o2, w_up, b_up, w_down, b_down = rest[i:i + 12]
        qkv = F.linear(F.layer_norm(x, (width,), s1, o1, 1e-5), w_qkv, b_qkv).view(batch, time, 3, heads, width // heads)
        seen = F.scaled_dot_product_attention(*qkv.permute(2, 0, 3, 1, 4).unbind(), is_causal=True)
        x = x + F.linear(seen.transpose(1, 2).reshape(batch, time, width), w_join, b_join)
        x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,), s2, o2, 1e-5), w_up, b_up), approximate="tanh"), w_down, b_down)
    scale, offset, head = rest[-3:]
    return F.cross_entropy(F.linear(F.layer_norm(x, (width,), scale, offset, 1e-5), head).view(batch * time, -1), following.reshape(-1))


TRAINED = {
    "mlp": trained(dense, mlp, torch.optim.Adam, lr=1e-3, eps=1e-7),
    "cnn": train_cnn,
    "recommender": recommender,
    "lstm": train_lstm,
    "gpt": trained(gpt_parameters, gpt, torch.optim.AdamW, lr=1e-3, eps=1e-8, weight_decay=0.01),
}
