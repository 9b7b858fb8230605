#!/usr/bin/env python3
"""Rules about the text of the sources.

usage: lint.py lines SOURCE_DIR       no file is longer than its budget; prints the sum of each layer
       lint.py includes SOURCE_DIR    includes are written "layer/file.h" or <weft/file.h>, and public headers are cheap
"""
import glob
import os
import re
import sys

rule, root = sys.argv[1], os.path.abspath(sys.argv[2])
os.chdir(root)
failures = []
FOLDERS = ("include", "src", "tests", "tools", "examples", "benchmarks")


def sources(*folders):
    """Every .h and .cc below the folders."""
    return sorted(f for folder in folders for f in glob.glob(f"{folder}/**/*", recursive=True)
                  if f.endswith((".h", ".cc")))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def budget(path):
    if "/generated/" in path:
        return None
    if path.endswith(".h"):
        return 300
    return 800 if re.fullmatch(r"src/ops/\w+\.cc", path) and not path.endswith("_test.cc") else 400


def check_lines():
    totals = {}
    for path in sources(*FOLDERS):
        lines, limit = read(path).count("\n"), budget(path)
        if limit and lines > limit:
            failures.append(f"{path}: {lines} lines, and its budget is {limit}")
        kind = "tests" if path.endswith("_test.cc") or path.startswith("tests/") else (
            "generated" if limit is None or path.startswith("include/weft/ops/") else os.path.dirname(path))
        totals[kind] = totals.get(kind, 0) + lines
    for kind, lines in sorted(totals.items()):
        print(f"{lines:7} {kind}")


def check_includes():
    layers = {f for f in os.listdir("src") if os.path.isdir(f"src/{f}")}
    dear = {"iostream", "regex", "filesystem"}
    for path in sources(*FOLDERS):
        is_public, is_user = path.startswith("include/"), path.startswith(("examples/", "benchmarks/"))
        for number, line in enumerate(read(path).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
            if not match:
                continue
            quoted, name = match[1] == '"', match[2]
            first = name.split("/")[0]

            def complain(why):
                failures.append(f"{path}:{number}: {line.strip()}: {why}")

            if ".." in name.split("/") or name.startswith("/"):
                complain("a path out of its own layer is not allowed")
            elif first == "weft" and quoted:
                complain("write <weft/...> for a public header")
            elif is_public and (quoted or ("/" in name or name.endswith(".h")) and first != "weft"):
                complain("a public header includes only <weft/...> and the C++ standard library")
            elif is_public and name in dear:
                complain("too dear for a public header")
            elif path.startswith("src/") and quoted and first not in layers:
                if not (path.endswith("_test.cc") and first == "tests"):
                    complain('write "layer/file.h"')
            elif is_user and quoted and "/" in name:
                complain("programs of users see public headers only")


{"lines": check_lines, "includes": check_includes}[rule]()
for failure in failures:
    print("FAILED:", failure)
sys.exit(bool(failures))
