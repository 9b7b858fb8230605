#!/usr/bin/env python3
"""Objects compiled for a higher instruction set define nothing that the rest of the program could end up using.

Each defines symbols of its own namespace kernels::<set> and no weak ones: a weak symbol is an inline function or template whose
copy the linker may choose for everybody, and older processors would stop at it.

usage: isa_symbols.py SET OBJECT...
"""
import re
import subprocess
import sys

isa, objects = sys.argv[1], sys.argv[2:]
own = re.compile(rf"_ZN4weft2v07kernels{len(isa)}{isa}")
failures = tables = 0
for path in objects:
    listing = subprocess.run(["nm", "--defined-only", path], capture_output=True, text=True, check=True).stdout
    for line in listing.splitlines():
        kind, symbol = line.split()[-2:]
        if kind.islower() and kind not in "uvw":
            continue
        if kind not in "VvWwu" and own.match(symbol):
            tables += 1
            continue
        failures += 1
        print(f"FAILED: {path} gives away {symbol} ({kind})")
print(f"{len(objects)} objects for {isa} with {tables} tables, {failures} symbols too many")
sys.exit(bool(failures) or not tables)
