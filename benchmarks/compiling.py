"""The rows of T19 about compiling: seconds and memory that a program takes which uses a library, and that all of ours takes."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

COMPILER = ["g++", "-std=c++20", "-O2", "-c", "-o", os.devnull, "-x", "c++", "-"]
TIMES = 3
EVERYTHING = "library and tests: a clean build on two cores, by the clock"
# A process of its own, whose children are those of one command alone: seconds of processor time, and the most memory that one of them held.
WATCH = ("import resource, subprocess, sys; "
         "done = subprocess.run(sys.argv[1:], input=sys.stdin.buffer.read(), stdout=sys.stderr).returncode; "
         "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024); sys.exit(done)")


def watched(command, code="", log=subprocess.DEVNULL):
    """Seconds and bytes, or None, if the command fails."""
    done = subprocess.run([sys.executable, "-c", WATCH, *command], input=code.encode(), stdout=subprocess.PIPE, stderr=log)
    return [float(word) for word in done.stdout.split()] if done.returncode == 0 else None


def measured(code, flags):
    """The median of a few runs, in seconds of processor time, and the most memory in bytes. None, if it does not compile."""
    runs = [watched([*COMPILER, *flags], code) for _ in range(TIMES)]
    if not all(runs):
        return None
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
            yield row(name, ours["bytes"], ours["seconds"], compared)


def row(name, size, seconds, compared):
    return {"id": "T19", "case": f"compiling {name}", "ours_ns": None, "limit_ns": None, "of_limit": None, "peers": compared,
            "ours_bytes": size, "ours_seconds": seconds}


def clean_build(root, folder):
    """The row of a build of library and tests in an empty folder, as the preset for every day has it, without ccache; by the clock."""
    shutil.rmtree(folder, ignore_errors=True)
    log = f"{folder}.log"
    with open(log, "w") as out:
        subprocess.run(["cmake", "--preset", "dev", "-S", root, "-B", folder, "-DWEFT_CCACHE=OFF"], cwd=root, check=True,
                       stdout=out, stderr=out)
        begin = time.monotonic()
        used = watched(["ninja", "-C", folder, "-j", "2", "weft", "weft_static", "weft_tests"], log=out)
        seconds = time.monotonic() - begin
    shutil.rmtree(folder)
    if not used:
        return {**row(EVERYTHING, None, None, {}), "failed": f"see {log}"}
    return row(EVERYTHING, int(used[1]), round(seconds, 1), {})
