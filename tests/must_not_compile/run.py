#!/usr/bin/env python3
"""Programs that must be refused, with the words in which they are refused.

usage: run.py SOURCE_DIR COMPILER...

Each .cc beside this file holds cases and what the compiler has to say about them:

    // EXPECT(assign): hold state in a Variable
    #ifdef CASE_assign
      t.assign(2.f);
    #endif

Every compiler must accept the file without any case, refuse it with each single case, and say the expected text. Two
EXPECT lines for one case are both required; EXPECT(assign, clang++) binds only compilers whose name begins so.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

root, compilers = os.path.abspath(sys.argv[1]), sys.argv[2:]


def compile_case(compiler, path, case):
    define = [f"-DCASE_{case}"] if case else []
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-fdiagnostics-color=never", f"-I{root}/include",
                           *define, path], capture_output=True, text=True)
    return done.returncode, done.stderr


def beginning(said):
    lines = said.splitlines()
    return "\n".join(lines[:15] + ["..."] * (len(lines) > 15))


def judge(compiler, path, case, expected):
    """What is wrong with the compiler's answer; nothing if it is right."""
    status, said = compile_case(compiler, path, case)
    if not case:
        return f"does not compile without any case:\n{beginning(said)}" if status else None
    if not status:
        return "compiles"
    if not re.search(r"\berror: ", said):
        return f"the compiler itself failed:\n{beginning(said)}"
    name = os.path.basename(compiler)
    missing = [text for only, text in expected if name.startswith(only) and text not in said]
    return f"is refused without the words {missing}:\n{beginning(said)}" if missing else None


failures, jobs = [], []
for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "*.cc"))):
    with open(path) as file:
        text = file.read()
    cases = re.findall(r"^#if(?:def| defined)\W*CASE_(\w+)", text, re.M)
    expects = {}
    for name, only, words in re.findall(r"^\s*// EXPECT\((\w+)(?:, *([^)]+))?\): *(.*?) *$", text, re.M):
        expects.setdefault(name, []).append((only, words))
    for name in set(cases) ^ set(expects):
        failures.append(f"{os.path.basename(path)}: {name} needs both a CASE and an EXPECT")
    for compiler in compilers:
        jobs += [(compiler, path, case, expects.get(case, [])) for case in [None, *cases]]

with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for (compiler, path, case, _), wrong in zip(jobs, pool.map(lambda job: judge(*job), jobs)):
        if wrong:
            where = f"{os.path.basename(path)}{' ' + case if case else ''}"
            failures.append(f"{where} with {os.path.basename(compiler)}: {wrong}")

for failure in failures:
    print("FAILED:", failure)
print(f"{sum(1 for job in jobs if job[2])} refusals expected, {len(failures)} failures")
sys.exit(bool(failures) or not jobs)
