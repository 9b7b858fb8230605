#!/usr/bin/env python3
"""Measures Weft beside the limits of the machine and, on request, beside other libraries.

usage: scripts/bench [ID...] [--peers] [--json FILE] [--from FILE] [--quick] [--rounds N] [--clean-build] [--profile] [--report]
                     [--list]

  ID            only these workloads (see --list); all of them otherwise
  --peers       measures TensorFlow, JAX, PyTorch, LibTorch and oneDNN as well; installs them if they are missing
  --json FILE   writes the rows: id, case, ours_ns, limit_ns, of_limit, peers (name -> ns, ratio, low, high)
  --from FILE   takes the rows of all other workloads from what --json wrote in an earlier run; for --report docs/benchmarks.json otherwise
  --quick       few short rounds: shows that everything runs, not how fast
  --rounds N    rounds for each row, 15 otherwise
  --clean-build with T19: builds library and tests in an empty folder as well, without ccache, which takes ten minutes and more
  --profile     prints what the time of our training steps is made of, and measures nothing
  --report      writes docs/benchmarks.md, and, unless the run was quick, its rows to docs/benchmarks.json; a full run with --peers does so anyway

A ratio is ours / theirs, the median over rounds with its 95 % interval: below 1 we are faster. See protocol.h and measure.py.
"""
import argparse
import dataclasses
import datetime
import json
import os
import subprocess
import sys

import compiling
import install_peers
import report
import sizes
from contestant import Contestant, Declined
from measure import Protocol, measure
from suite import CASES, IDS, LESS, NOBODY, ONE_THREAD, PASSES, PEERS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
LOGS = os.path.join(ROOT, "build", "bench")
DATA = os.path.join(ROOT, "docs", "benchmarks.json")
THREADS = 2  # the cores that every contestant may use


def arguments():
    parser = argparse.ArgumentParser("scripts/bench", usage=__doc__.split("\n\n")[1].removeprefix("usage: "), add_help=False)
    parser.add_argument("ids", nargs="*")
    for flag in ("--peers", "--quick", "--clean-build", "--profile", "--report", "--list", "--help", "-h"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--from", dest="earlier")
    parser.add_argument("--rounds", type=int)
    options = parser.parse_args()
    if options.help or options.h:
        print(__doc__.strip())
        sys.exit()
    if options.list:
        for case in CASES:
            print(f"{case.id:4}  {case.name}")
        print("T19   sizes on disk and in memory, and what compiling takes; --clean-build for all of the library and its tests")
        sys.exit()
    unknown = [id for id in options.ids if id not in IDS]
    if unknown:
        parser.error(f"there is no workload {' '.join(unknown)}; known: {' '.join(IDS)}")
    if options.clean_build and options.ids and "T19" not in options.ids:
        parser.error("--clean-build belongs to T19")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds needs a positive number")
    if options.report and options.ids and not options.earlier:
        options.earlier = DATA
    elif options.earlier:
        options.earlier = os.path.join(os.environ.get("WEFT_BENCH_FROM", ""), options.earlier)
    if options.earlier:
        if not os.access(options.earlier, os.R_OK):
            parser.error(f"cannot read {options.earlier}")
    if options.json:
        options.json = os.path.join(os.environ.get("WEFT_BENCH_FROM", ""), options.json)
        if not os.access(os.path.dirname(options.json) or ".", os.W_OK):
            parser.error(f"cannot write {options.json}")
    return options


def untimed(id, name):
    return {"id": id, "case": name, "ours_ns": None, "limit_ns": None, "of_limit": None, "peers": {}}


def print_row(row, peers):
    if row.get("failed"):
        print(f"{row['id']:4} {row['case']:56} not measured: {row['failed']}")
        return
    if row["ours_ns"] is None:
        seconds = f"{row['ours_seconds']:.2f} s" if "ours_seconds" in row else ""
        print(f"{row['id']:4} {row['case']:56} {row['ours_bytes']:>12} {seconds:>12} {'':>8} {'':>8}", end="")
    else:
        print(f"{row['id']:4} {row['case']:56} {row['ours_ns']:12.1f} {row['limit_ns']:12.1f} {100 * row['of_limit']:7.1f}%", end="")
        print(f" {100 * row['of_triad']:7.1f}%" if "of_triad" in row else f" {'':8}", end="")
    for peer in peers:
        entry = row["peers"].get(peer.name, {})
        text = f"{entry['ratio']:.3g}" if entry else "void" if peer.name in row.get("void", {}) else "-"
        print(f" {text:>{max(6, len(peer.name))}}", end="")
    known = {peer.name for peer in peers}
    others = [f"{entry['ratio']:.3g} of {name}" for name, entry in row["peers"].items() if name not in known]
    notes = others + ([f"discarded pairs: {row['discarded']}"] if row.get("discarded") else [])
    if row.get("other_load", 0) > 0.05:
        notes.append(f"other programs used {100 * row['other_load']:.0f} % of the machine")
    notes += [f"{name}: {why}" for name, why in row.get("void", {}).items()]
    print(f"   ({'; '.join(notes)})" if notes else "", flush=True)


def profile(ids):
    """The steps of the plans of traced training."""
    for case in CASES:
        if case.id in ids and case.name.startswith("traced step"):
            print(f"\n{case.id} {case.name}: ", end="", flush=True)
            subprocess.run([f"{BUILD}/weft_bench", *case.prepare.replace("prepare", "profile", 1).split()], check=True)


def write_json(path, rows):
    """After every row, so that a run that is cut short keeps what it has."""
    with open(f"{path}.new", "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")
    os.replace(f"{path}.new", path)


def run(options):
    cores = sorted(os.sched_getaffinity(0))[:THREADS]
    os.sched_setaffinity(0, cores)  # the children inherit it
    os.makedirs(LOGS, exist_ok=True)
    ours = [Contestant("Weft", [f"{BUILD}/weft_bench"], log=f"{LOGS}/weft.log")]
    slow = [Contestant("Weft on 1 thread", ours[0].command, {"WEFT_NUM_THREADS": "1"}, f"{LOGS}/weft_1.log")]
    lacking = {f"Weft without {name}": [Contestant(f"Weft without {name}", ours[0].command, {"WEFT_BENCH_WITHOUT": name}, f"{LOGS}/weft_without_{name}.log")]
               for name in PASSES}
    limit = [Contestant("limit", [f"{BUILD}/weft_limit"], log=f"{LOGS}/limit.log")]
    triad = [Contestant("triad", [f"{BUILD}/weft_limit"], log=f"{LOGS}/triad.log")]
    peers = install_peers.peers(LOGS, len(cores)) if options.peers else []
    protocol = Protocol.quick() if options.quick else Protocol()
    if options.rounds:
        protocol = dataclasses.replace(protocol, rounds=options.rounds)
    for peer in peers:
        print(f"{peer.name}: {peer.version or 'not measured: ' + peer.reason}")
    everyone, peers = peers, [peer for peer in peers if peer.variants]

    rows, chosen = [], options.ids or IDS
    origin = {"tree": report.tree(ROOT), "date": datetime.date.today().isoformat()}
    print(f"{'id':4} {'case':56} {'ours ns':>12} {'limit ns':>12} {'of limit':>8} {'of triad':>8}", *(f"{peer.name:>6}" for peer in peers), flush=True)
    try:
        limit[0].wake()
        origin["on"] = report.machine_name(limit[0].version)
        for case in (case for case in CASES if case.id in chosen):
            try:
                rivals = {PEERS: {peer.name: peer.variants for peer in peers}, ONE_THREAD: {slow[0].name: slow}, LESS: lacking,
                          NOBODY: {}}[case.rivals]
                rows.append(measure(case, ours, limit, triad, rivals, protocol))
            except Declined as why:
                rows.append({**untimed(case.id, case.name), "failed": str(why)})
            rows[-1] |= origin
            print_row(rows[-1], peers)
            if options.json:
                write_json(options.json, rows)
        if "T19" in chosen:
            libtorch = install_peers.LIBTORCH_HEADERS if any(peer.name == "LibTorch" for peer in peers) else None
            built = (compiling.clean_build(ROOT, f"{LOGS}/clean") for _ in range(options.clean_build))
            for row in (sizes.on_disk(f"{BUILD}/libweft.so", peers), *sizes.in_memory(ours[0], peers), *compiling.rows(ROOT, libtorch),
                        *built):
                rows.append({**row, **origin})
                print_row(rows[-1], peers)
            if options.json:
                write_json(options.json, rows)
        return rows, everyone
    finally:
        for contestant in ours + slow + limit + triad + [variant for rival in (*lacking.values(), *(peer.variants for peer in peers)) for variant in rival]:
            contestant.end()


def with_earlier(rows, path):
    """The rows of this run in the places of those they repeat, and behind them what is new. Cases that are no more are left out."""
    fresh, known = {(row["id"], row["case"]): row for row in rows}, {(case.id, case.name) for case in CASES}
    with open(path) as file:
        earlier = [row for row in json.load(file) if row["id"] == "T19" or (row["id"], row["case"]) in known]
    return [fresh.pop((row["id"], row["case"]), row) for row in earlier] + list(fresh.values())


def main():
    options = arguments()
    if options.profile:
        profile(options.ids or IDS)
        return False
    rows, peers = run(options)
    if options.earlier:
        rows = with_earlier(rows, options.earlier)
        if options.json:
            write_json(options.json, rows)
    if options.report or (options.peers and not options.ids and not options.quick):
        report.write(ROOT, rows, peers, quick=options.quick)
        if not options.quick:
            write_json(DATA, rows)
        print("Wrote docs/benchmarks.md")
    return any(row.get("failed") for row in rows)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
