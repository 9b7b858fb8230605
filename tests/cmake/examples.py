#!/usr/bin/env python3
"""Runs every program of one file in the folders of examples/ and compares what it prints with the comment `/* prints: ... */` at the end of its source.

usage: examples.py EXAMPLES_DIR PROGRAMS_DIR

A time, which is another one at each run, stands in the comment as `... ms` or `... us`; everything else must agree to the letter. The table in
examples/README.md must name every program, and what it quotes in the last column must be printed. WEFT_UPDATE_EXAMPLES=1 rewrites the comments.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys

examples, programs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
TIME = re.compile(r"\d+\.\d+ (ms|us)\b")
COMMENT = re.compile(r"\n/\* prints:\n(.*)\*/\n\Z", re.S)
failures = []
rows = dict(re.findall(r"^\| \[[^\]]*\]\((\w+/\w+\.cc)\) .*?\| ([^|]*) \|$", (examples / "README.md").read_text(), re.M))


def check(source):
    done = subprocess.run([programs / source.stem], capture_output=True, text=True, timeout=600)
    if done.returncode or done.stderr:
        return f"ended with status {done.returncode} and said\n{done.stderr}"
    printed = TIME.sub(r"... \1", done.stdout)
    text = source.read_text()
    if os.environ.get("WEFT_UPDATE_EXAMPLES"):
        text = COMMENT.sub("\n", text).rstrip("\n") + f"\n\n/* prints:\n{printed}*/\n"
        source.write_text(text)
    comment = COMMENT.search(text)
    if not comment:
        return "does not end with a comment `/* prints: ... */`"
    if printed != comment[1]:
        return "prints something else:\n" + "\n".join(difflib.unified_diff(comment[1].splitlines(), printed.splitlines(), "comment", "program", lineterm="", n=0))
    name = str(source.relative_to(examples))
    if name not in rows:
        return "is not in the table of examples/README.md"
    quotes = re.findall(r"`([^`]*)`", rows[name])
    missing = [quote for quote in quotes if quote not in printed]
    if missing or not quotes:
        return f"does not print what examples/README.md quotes: {missing or 'nothing is quoted'}"


sources = sorted(source for source in examples.glob("*/*.cc") if not (source.parent / "main.cc").exists())
for source in sources:
    failure = check(source)
    if failure:
        failures.append(f"{source.relative_to(examples)} {failure}")
for name in rows.keys() - {str(source.relative_to(examples)) for source in sources}:
    failures.append(f"examples/README.md names {name}, which is not there")
for failure in failures:
    print("FAILED:", failure)
print(f"{len(sources)} programs, {len(failures)} failures")
sys.exit(bool(failures) or not sources)
