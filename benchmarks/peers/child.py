"""A Python contestant's side of the protocol in protocol.h."""
import gc
import itertools
import os
import subprocess
import sys
import time

import numpy


def fill(word, seed):
    """An input such as f32:4096x1024:-4:4, with the numbers that protocol.cc computes."""
    dtype, shape, low, high = word.split(":")
    shape = [] if shape == "scalar" else [int(size) for size in shape.split("x")]
    n = int(numpy.prod(shape, dtype=numpy.int64))
    with numpy.errstate(over="ignore"):
        h = (numpy.arange(n, dtype=numpy.uint32) + numpy.uint32(1)) * numpy.uint32(0x9E3779B1)
        h += numpy.uint32(seed * 0x85EBCA77 & 0xFFFFFFFF)
        h = (h ^ (h >> numpy.uint32(15))) * numpy.uint32(0xC2B2AE3D)
        h ^= h >> numpy.uint32(13)
    x = (h >> numpy.uint32(8)).astype(numpy.float32) * numpy.float32(2.0**-24)
    if dtype == "zipf":
        power = 1 - float(low)
        x = (1 + x.astype(numpy.float64) * ((1 + float(high)) ** power - 1)) ** (1 / power)
        return (x.astype(numpy.int32) - 1).reshape(shape)
    x = x * numpy.float32(float(high) - float(low)) + numpy.float32(float(low))
    return (x if dtype == "f32" else numpy.floor(x).astype(numpy.int32)).reshape(shape)


class Refused(Exception):
    """The workload is not for this library; the text says why."""


def check(results):
    line = ""
    for y in results:
        y = numpy.asarray(y, dtype=numpy.float32).reshape(-1)
        words = [numpy.mean(numpy.abs(y), dtype=numpy.float64)] + [y[(2 * i + 1) * y.size // 16] for i in range(8)] + [y[-1]]
        line += " ".join(f"{float(word):.9g}" for word in words) + ";"
    return line


def start(*command):
    """Starts a Python program again and again, each time after the end of the time before."""
    def run(count):
        for _ in range(count):
            subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    return run, list


def training(step, wait=lambda loss: None):
    """Steps, one after the other: step() gives the loss, wait(loss) returns when it is known. The result is the losses of the first 20."""
    losses = []

    def run(count):
        for _ in range(count):
            loss = step()
            if len(losses) < 20:
                losses.append(float(loss))
        wait(loss)

    def results():
        if len(losses) < 20:
            run(20 - len(losses))
        return [losses]
    return run, results


def chain(x, count):
    """`count` multiplications and additions, each of what the one before gave."""
    y = x
    for i in range(count):
        y = y + x if i % 2 else y * x
    return y


def tree(x, count):
    """The sum of x / count, 2 x / count and so on as a tree of `count` calls."""
    row = [x * (i / count) for i in range(count // 2 + 1)]
    while len(row) > 1:
        row = [a + b for a, b in zip(row[::2], row[1::2])] + row[len(row) // 2 * 2:]
    return row[0]


PROGRAMS = {"first_call_of_chain": chain, "first_call_of_tree": tree}
TURNS = 100_000  # of while_turns


def first_calls(op, scalar, count, compiled, most):
    """New functions of one scalar and their first calls: compiled(f) is what this library makes of a function. Of more than `most` ops one
    call takes it many seconds, and a row needs dozens of calls."""
    if count > most:
        raise Refused(f"of more than {most:,} ops a first call takes many seconds, and a row needs dozens")
    program = PROGRAMS[op]

    def call():
        return compiled(lambda x: program(x, count))(scalar)

    def run(times):
        for _ in range(times):
            float(call())
    return run, lambda: [call()]


def turns(*streams):
    """What each step is given: one batch of each stream, in turn."""
    return zip(*map(itertools.cycle, streams))


def best_effort():
    """Whether this child plays with the settings that a patient user would find, or with the library's own."""
    return os.environ.get("WEFT_BENCH_VARIANT") == "best effort"


# What is a workload of its own only where programs can run traced or not: peers run theirs as they run it best.
SAME = {"traced_mlp": "mlp", "traced_expression": "expression"}


def serve(module, version, make):
    """Answers until the driver ends. make(op, inputs) gives run(count) and results(); it raises to decline."""
    def prepared(op, *inputs):
        if op == "start":
            return start("-c", f"import {module}")
        if op == "once":
            return start("-B", *sys.argv, "once", *inputs)
        return make(SAME.get(op, op), [fill(word, 1 + i) for i, word in enumerate(inputs)])

    if "once" in sys.argv:
        prepared(*sys.argv[sys.argv.index("once") + 1:])[0](1)
        return
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints must not look like an answer

    def say(text):
        out.write(text.replace("\n", " ") + "\n")
        out.flush()

    say(f"hello {version}")
    run = results = None
    for line in sys.stdin:
        verb, *words = line.split()
        try:
            if verb == "quit":
                return
            if verb == "prepare":
                run = results = None
                run, results = prepared(*words)
                if words[0] not in ("start", "once"):
                    run(2)  # what is compiled is compiled now
                say("ok")
            elif verb == "forget":
                run = results = None
                gc.collect()  # functions that refer to themselves
                say("ok")
            elif verb == "check":
                say(check(results()))
            else:
                count = int(words[0])
                begin = time.perf_counter_ns()
                run(count)
                say(str(time.perf_counter_ns() - begin))
        except KeyError as error:
            say(f"no there is no workload {error.args[0]}")
        except Refused as error:
            say(f"no {error}")
        except Exception as error:  # whatever a library raises, it means that this workload is not for it
            say(f"no {type(error).__name__}: {error}"[:300])
