#!/usr/bin/env python3
"""Counts what ctest and GoogleTest left in <build>/results, names the failures, and ends with `N passed, N failed`.

usage: results.py BUILD_DIR...

A shard of the unit tests counts as the tests in it, any other entry of ctest as one. A build folder without results
did not build: one failure.
"""
import json
import os
import sys
import xml.etree.ElementTree as ElementTree

passed, skipped, failed = 0, 0, []


def count_shard(path):
    """Adds the tests of one shard; returns how many of them failed."""
    global passed, skipped
    before = len(failed)
    with open(path) as file:
        suites = json.load(file)["testsuites"]
    for suite in suites:
        for test in suite["testsuite"]:
            if test["status"] != "RUN":
                continue
            if test.get("failures"):
                failed.append(f"{suite['name']}.{test['name']}")
            elif test["result"] == "SKIPPED":
                skipped += 1
            else:
                passed += 1
    return len(failed) - before


for folder in sys.argv[1:]:
    entries = f"{folder}/results/ctest.xml"
    if not os.path.exists(entries):
        failed.append(f"{folder} did not build")
        continue
    for entry in ElementTree.parse(entries).getroot().iter("testcase"):
        name, status = entry.get("name"), entry.get("status")
        shard = f"{folder}/results/{name}.json"
        if os.path.exists(shard):
            # A shard whose tests passed can still fail as a whole: a leak at its end, a crash after its last test.
            if not count_shard(shard) and status == "fail":
                failed.append(f"{name} of {folder}")
        elif status == "run":
            passed += 1
        elif status == "disabled":
            skipped += 1
        else:
            failed.append(f"{name} of {folder}")

for name in failed:
    print("FAILED:", name)
if not passed and not failed:
    print("No test was run.")
print(f"{passed} passed, {len(failed)} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(bool(failed) or not passed)
