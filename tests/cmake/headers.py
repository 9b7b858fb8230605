#!/usr/bin/env python3
"""Every public header compiles alone, without a warning.

usage: headers.py SOURCE_DIR COMPILER...

Also prints, without judging it, what <weft/weft.h> costs to include.
"""
import concurrent.futures
import os
import subprocess
import sys
import time

include, compilers = os.path.abspath(sys.argv[1]) + "/include", sys.argv[2:]
headers = sorted(os.path.relpath(os.path.join(at, f), include)
                 for at, _, files in os.walk(include) for f in files if f.endswith(".h"))
FLAGS = "-std=c++20 -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Werror".split()


def compile_alone(compiler, header):
    # Twice, so that a forgotten include guard shows.
    text = f"#include <{header}>\n#include <{header}>\n"
    return subprocess.run([compiler, *FLAGS, "-fsyntax-only", f"-I{include}", "-x", "c++", "-"],
                          input=text, capture_output=True, text=True)


failures = 0
pairs = [(c, h) for h in headers for c in compilers]
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for (compiler, header), done in zip(pairs, pool.map(lambda pair: compile_alone(*pair), pairs)):
        if done.returncode:
            failures += 1
            print(f"FAILED: <{header}> alone with {os.path.basename(compiler)}:\n{done.stderr}")

if "weft/weft.h" in headers:
    for compiler in compilers:
        begin = time.monotonic()
        compile_alone(compiler, "weft/weft.h")
        print(f"{os.path.basename(compiler)} takes {time.monotonic() - begin:.2f} s for <weft/weft.h>")
print(f"{len(headers)} headers, {len(compilers)} compilers, {failures} failures")
sys.exit(bool(failures) or not pairs)
