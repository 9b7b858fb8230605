"""The rows of T19 about compiling: seconds and memory that a program takes which uses a library."""
import os
import re
import statistics
import subprocess
import sys

COMPILER = ["g++", "-std=c++20", "-O2", "-c", "-o", os.devnull, "-x", "c++", "-"]
TIMES = 3


def measured(code, flags):
    """The median of a few runs, in seconds of processor time, and the most memory in bytes. None, if it does not compile."""
    runs = []
    for _ in range(TIMES):
        # A process of its own, whose children are this compiler alone.
        child = ("import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], input=sys.stdin.buffer.read()).returncode; "
                 "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024); sys.exit(done)")
        done = subprocess.run([sys.executable, "-c", child, *COMPILER, *flags], input=code.encode(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if done.returncode != 0:
            return None
        seconds, peak = done.stdout.split()
        runs.append((float(seconds), float(peak)))
    return {"seconds": round(statistics.median(run[0] for run in runs), 3), "bytes": int(max(run[1] for run in runs))}


def trainer(root):
    """The second program of README."""
    with open(f"{root}/README.md") as file:
        return next(code for code in re.findall(r"```cpp\n(.*?)```", file.read(), re.S) if "Function step" in code)


def rows(root, libtorch):
    """`libtorch` is the flags with which its programs compile, or None."""
    with open(f"{root}/benchmarks/peers/libtorch_trainer.cc") as file:
        theirs = file.read()
    for name, code, other in (("#include <weft/weft.h>", "#include <weft/weft.h>\n", "#include <torch/torch.h>\n"), ("README's trainer", trainer(root), theirs)):
        ours = measured(code, [f"-I{root}/include"])
        peer = measured(other, libtorch) if libtorch is not None else None
        if ours:
            compared = {"LibTorch": {**peer, "ratio": round(ours["seconds"] / peer["seconds"], 6)}} if peer else {}
            yield {"id": "T19", "case": f"compiling {name}", "ours_ns": None, "limit_ns": None, "of_limit": None, "peers": compared,
                   "ours_bytes": ours["bytes"], "ours_seconds": ours["seconds"]}
