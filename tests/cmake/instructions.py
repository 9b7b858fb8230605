#!/usr/bin/env python3
"""Fixed workloads take no more instructions than they used to. Unlike time, instructions do not depend on who else uses the machine.

usage: instructions.py VALGRIND WEFT_BENCH FIGURES

Runs the contestant of the benchmarks under callgrind, on one core and with the instruction set that valgrind knows, and compares the
instructions of one repetition with the committed figures. More by 5 % fails. Fewer by 10 % fails as well, because a figure that is too
high guards nothing: WEFT_UPDATE_COUNTS=1 writes the new ones. Tracing is linear: ten times the ops take at most 5 % more for each.
"""
import os
import re
import subprocess
import sys
import tempfile

valgrind, program, figures = sys.argv[1:]
MORE, FEWER = 1.05, 0.90
BLOCK = "bench::timed(bench::Workload const&, long)"  # callgrind wants the whole name
WORKLOADS = {  # the repetitions, and the line of the protocol
    "eager add of two scalars": (1000, "eager_add f32:scalar:-1:1 f32:scalar:-1:1"),
    "recorded add of two scalars": (1000, "recorded_add f32:scalar:-1:1 f32:scalar:-1:1"),
    "traced identity of a scalar": (1000, "traced_identity f32:scalar:-1:1"),
    "traced chain of 10 ops on a scalar": (1000, "traced_chain f32:scalar:-1:1"),
    "traced assign_add of a scalar": (1000, "traced_assign_add f32:scalar:-1:1"),
    "traced sum of 20 captured Variables": (100, "traced_sum_of_variables" + " f32:scalar:-1:1" * 21),
    "first call of a chain of 100 ops": (2, "first_call_of_chain f32:scalar:-1:1 f32:100:-1:1"),
    **{f"first call of a {shape} of {ops:,} ops": (1, f"first_call_of_{shape} f32:scalar:-1:1 f32:{ops}:-1:1")
       for shape in ("chain", "tree") for ops in (1000, 10_000)},
    "matmul 16x16x16": (100, "matmul f32:16x16:-1:1 f32:16x16:-1:1"),
    "matmul 64x64x64": (5, "matmul f32:64x64:-1:1 f32:64x64:-1:1"),
    "multiply of 4096 elements": (20, "multiply f32:4096:-1:1 f32:4096:-1:1"),
    "exp of 4096 elements": (20, "exp f32:4096:-1:1"),
    "softmax of 32 x 128": (20, "softmax f32:32x128:-1:1"),
    "sum of 64 x 64 over axis 0": (20, "sum_axis_0 f32:64x64:-1:1"),
}


def count():
    """Instructions of one repetition of each workload. Every block is collected and dumped by itself; the first of two warms up."""
    script = "".join(f"prepare {line}\nrun {min(times, 2)}\nrun {times}\n" for times, line in WORKLOADS.values())
    with tempfile.TemporaryDirectory() as folder:
        options = ["--tool=callgrind", f"--callgrind-out-file={folder}/out", f"--toggle-collect={BLOCK}", f"--dump-after={BLOCK}"]
        done = subprocess.run(
            [valgrind, *options, program], input=script, capture_output=True, text=True, env={**os.environ, "WEFT_ISA": "v3"},
            preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        answers = done.stdout.splitlines()[1:]
        if done.returncode or len(answers) != 3 * len(WORKLOADS) or any(answer.startswith("no ") for answer in answers):
            sys.exit(f"FAILED: {program} under valgrind:\n{done.stdout}{done.stderr}")
        totals = []
        for number in range(2 * len(WORKLOADS)):
            with open(f"{folder}/out.{number + 1}") as file:
                totals.append(int(re.search(r"^totals: (\d+)", file.read(), re.M)[1]))
    return {name: totals[2 * i + 1] // times for i, (name, (times, _)) in enumerate(WORKLOADS.items())}


found = count()
if os.environ.get("WEFT_UPDATE_COUNTS"):
    with open(figures, "w") as file:
        file.writelines(f"{instructions:9}  {name}\n" for name, instructions in found.items())
with open(figures) as file:
    expected = {name: int(number) for number, name in (line.strip().split("  ", 1) for line in file)}

failures = unlinear = 0
for name in {**expected, **found}:
    now, before = found.get(name), expected.get(name)
    change = f"{now:9}  {name}, was {before}: {100 * (now / before - 1):+.1f} %" if now and before else f"{name} is in one list only"
    wrong = not now or not before or now > MORE * before or now < FEWER * before
    failures += wrong
    print("FAILED:" if wrong else "ok:    ", change)
for shape in ("chain", "tree"):
    few, many = (found[f"first call of a {shape} of {ops:,} ops"] / ops for ops in (1000, 10_000))
    linear = many <= MORE * few
    unlinear += not linear
    print("ok:    " if linear else "FAILED:", f"{few:9.0f}  for each op of a {shape} of 1,000, {many:.0f} of 10,000")
if failures:
    print("If this is meant, set WEFT_UPDATE_COUNTS=1 for one run of this test and commit", os.path.basename(figures))
sys.exit(bool(failures + unlinear))
