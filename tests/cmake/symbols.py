#!/usr/bin/env python3
"""A shared library exports what belongs to namespace weft, and nothing else.

usage: symbols.py LIBRARY
"""
import re
import subprocess
import sys

listing = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
symbols = [line.split()[-1] for line in listing.splitlines()]

# A mangled name: type information, table, guard or thunk; local to a function; qualifiers; then the namespace.
OURS = re.compile(r"_Z(T[ISVT]|GV|Th\w*?_|Tv\w*?_)?Z?N[rVKRO]*4weft")
foreign = [s for s in symbols if not OURS.match(s)]
if foreign:
    readable = subprocess.run(["c++filt"], input="\n".join(foreign), capture_output=True, text=True).stdout
    for symbol in readable.splitlines():
        print("FAILED: exports", symbol)
print(f"{len(symbols)} exported symbols, {len(foreign)} foreign")
sys.exit(bool(foreign) or not symbols)
