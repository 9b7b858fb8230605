#!/usr/bin/env python3
"""The benchmark driver keeps its rules with contestants that misbehave. Asserts nothing about time.

usage: bench_driver.py SOURCE_DIR
"""
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import time

source = sys.argv[1]
sys.path.insert(0, f"{source}/benchmarks")
import measure  # noqa: E402
import report  # noqa: E402
import suite  # noqa: E402
from contestant import Contestant, Declined  # noqa: E402

# A contestant that takes NS for a repetition and whose result is VALUE; after that, what goes wrong.
FAKE = """
import os, sys, time
ns, value, fault = float(sys.argv[1]), sys.argv[2], sys.argv[3]
if fault == "mute": time.sleep(1000)
print("hello fake", flush=True)
for line in sys.stdin:
    verb, *words = line.split()
    if verb == "prepare": print("no thanks" if fault == "declines" else "ok", flush=True)
    if verb == "forget": print("ok", flush=True)
    if verb == "check": print("1 " + " ".join([value] * 8) + ";", flush=True)
    if verb == "run":
        if fault == "dies": sys.exit("out of luck")
        print(float(words[0]) * ns, flush=True)
"""
CASE = suite.Case("T0", "fake", "fake", (), suite.Limit())
PROTOCOL = measure.Protocol(rounds=4, block=1e-6, warm_up=0.1, patience=60)
failures = []


def expect(what, condition):
    print("ok:    " if condition else "FAILED:", what)
    if not condition:
        failures.append(what)


def state(pid):
    """The letter that the kernel gives the state of a process; none if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def comes_true(condition, patience=30):
    """Signals take their time on a busy machine."""
    deadline = time.monotonic() + patience
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def fake(ns, value="2", fault="none"):
    return Contestant("fake", [sys.executable, "-c", FAKE, str(ns), value, fault], log=f"{folder}/{len(os.listdir(folder))}.log")


with tempfile.TemporaryDirectory() as folder:
    peers = {"slow": [fake(400)], "same": [fake(900), fake(100)], "wrong": [fake(100, "2.01")], "nan": [fake(100, "nan")],
             "close": [fake(100, "2.001")], "declines": [fake(100, fault="declines")], "dies": [fake(100, fault="dies")]}
    ours, limit, triad = [fake(100)], [fake(25)], [fake(50)]
    row = measure.measure(CASE, ours, limit, triad, peers, PROTOCOL)
    expect("ours and limit", (row["ours_ns"], row["limit_ns"], row["of_limit"]) == (100, 25, 0.25))
    expect("work with flops has no triad", "of_triad" not in row)
    moves = measure.measure(dataclasses.replace(CASE, limit=suite.Limit(read=64)), ours, limit, triad, {}, PROTOCOL)
    expect("work that moves bytes has one", (moves["triad_ns"], moves["of_triad"]) == (50, 0.5))
    slow = row["peers"]["slow"]
    expect("a ratio is ours / theirs, with its interval", [slow[k] for k in ("ns", "ratio", "low", "high")] == [400, 0.25, 0.25, 0.25])
    expect("the fastest variant of a peer counts", row["peers"]["same"]["ratio"] == 1)
    expect("results that differ make a ratio void", set(row["void"]) == {"wrong", "nan"} and not {"wrong", "nan"} & set(row["peers"]))
    expect("results that differ by rounding do not", "close" in row["peers"])
    expect("who declines or dies is not measured, with the reason",
           row["not_measured"] == {"declines": "thanks", "dies": "ended: out of luck"})
    expect("rounds are counted", row["rounds"] >= 3 and row["rounds"] + row["discarded"] >= 4)
    expect("the fastest blocks are kept, too", (row["ours_least_ns"], row["limit_least_ns"]) == (100, 25))

    quiet, measure.STEAL = measure.STEAL, -1
    noisy = measure.measure(CASE, ours, limit, triad, {}, PROTOCOL)
    expect("of a host that steals all the time three rounds count", (noisy["rounds"], noisy["discarded"], noisy["ours_ns"]) == (3, 13, 100))
    measure.STEAL = quiet
    meeting = measure.Meeting()
    meeting.pairs = [measure.Pair(mine, 1, stolen, 0) for mine, stolen in ((1, 0), (9, 0.5), (2, 0.01), (8, 0.02))]
    expect("of a host that leaves two pairs alone the third best counts", [pair.mine for pair in meeting.counted()] == [1, 2, 8])
    meeting.pairs.append(measure.Pair(3, 1, 0, 0))
    expect("of one that leaves three alone those do", [pair.mine for pair in meeting.counted()] == [1, 2, 3] and meeting.quiet() == 3)

    everyone = [*ours, *limit, *triad, *(v for variants in peers.values() for v in variants)]
    expect("whose turn it is not is stopped", comes_true(lambda: {state(c.child.pid) for c in everyone if c.child} == {"T"}))
    ours[0].end()
    expect("after its end it starts anew", measure.measure(CASE, ours, limit, triad, {}, PROTOCOL)["ours_ns"] == 100)
    try:
        measure.measure(CASE, [fake(100, fault="dies")], limit, triad, {}, PROTOCOL)
        expect("a row without us is none", False)
    except Declined as why:
        expect("a row without us is none", "out of luck" in str(why))
    try:
        fake(1, fault="mute").start(timeout=0.5)
        expect("silence ends", False)
    except Declined as why:
        expect("silence ends", "no answer" in str(why))
    for contestant in everyone:
        contestant.end()

    # Nothing stays behind when the driver is killed.
    script = (f"import sys, time; sys.path.insert(0, '{source}/benchmarks'); from contestant import Contestant\n"
              f"c = Contestant('fake', [sys.executable, '-c', {FAKE!r}, '1', '1', 'none'])\n"
              "c.start(); print(c.child.pid, flush=True); time.sleep(1000)")
    driver = subprocess.Popen([sys.executable, "-B", "-c", script], stdout=subprocess.PIPE, text=True)
    child = int(driver.stdout.readline())
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    expect("children end with the driver", comes_true(lambda: state(child) in ("", "Z")))

    os.mkdir(f"{folder}/docs")
    row["id"] = "T1"
    report.write(folder, [{**row, "on": "a new machine", "date": "2"}, {**row, "case": "fake of old", "on": "an old machine", "date": "1"}], [], quick=True)
    with open(f"{folder}/docs/benchmarks.md") as file:
        text = file.read()
    expect("the report has the row and names what was not compared", "| T1 | fake | 100 ns |" in text and "out of luck" in text)
    expect("rows of another machine are marked, and it is named", "| T1 † | fake of old | 100 ns |" in text and "Rows marked † are" in text and "an old machine" in text)

    eager, recorded = (case.name for case in suite.CASES if case.op in ("eager_add", "recorded_add"))
    rows = [{**row, "case": eager}, {**row, "case": recorded, "ours_ns": 150, "peers": {"slow": {**slow, "ns": 600}}}]
    expect("the cost of a tape is a line of its own", "| 50 ns |  |  |  | 0.25 |" in "\n".join(report.group_table(rows, ["slow"])))

expect("a limit counts work in place twice and says whether kinds of work add up",
       (suite.Limit(read=1, updated=3, in_turn=True).moved, str(suite.Limit(flops=5))) == (7, "limit slowest 1 0 0 0 5"))
expect("cases have unique names", len({case.name for case in suite.CASES}) == len(suite.CASES))
grouped = sorted(id for ids in suite.GROUPS.values() for id in ids)
expect("every id belongs to one group", grouped == sorted({case.id for case in suite.CASES}))
sys.exit(bool(failures))
