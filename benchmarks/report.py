"""Writes docs/benchmarks.md and its plots from the rows of a full run."""
import math
import os
import platform
import subprocess

import plot
import targets
from suite import CASES, GROUPS, MODELS

INTRODUCTION = """# Benchmarks

Written by `./scripts/bench --peers`; do not edit. Every ratio is **ours / theirs**: below 1 Weft is faster. A row is measured side by side
in one run; which rows come from which run, and how many rounds they had, is said under *Machine*.

Contestants are processes that take turns in rounds of rotated order and are stopped while others run. A ratio is formed from two
blocks that ran one right after the other, so that drifts of the machine cancel; the tables give the median over rounds and its 95 %
bootstrap interval. Pairs of blocks in which the host took more than 1 % of the machine are discarded ({discarded} here), but for the
three in which it took least. Contestants compute the same values from the same inputs, and a ratio is void if the results differ by more than
0.1 %. Each library plays with its defaults and with settings that help it; the faster counts. The *limit* is what the machine needs for
the unavoidable calls, bytes and floating-point operations alone, done in the fastest way found for just that, measured in the same
rounds; of a training step it is the sum of its products and its update. *Triad* is the time in which a = b + s c, compiled as it stands,
moves as many bytes on all cores: what is commonly called the bandwidth of a machine. Work that only moves bytes is compared with both.
A cell is empty where a library has nothing of the kind, or for a reason that stands under *Not compared*: LibTorch traces no functions,
JAX has neither Variables nor a tape, what is compiled is compared where ours is traced, and oneDNN has products, convolutions and a
start.
"""


MARK = " †"  # of rows that were measured on another machine than the newest


def seconds(ns):
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def megabytes(size):
    return f"{size / 1e6:.0f} MB" if size >= 1e8 else f"{size / 1e6:.3g} MB"


def geometric_mean(values):
    values = [value for value in values if value and value > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def first_line(command, fallback="unknown"):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return fallback


def cpu_model():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def machine_name(isa):
    return f"{cpu_model()}, {isa}"


def machines(rows):
    """What rows were measured on, the newest first: days differ in the machine they are given."""
    newest = {}
    for row in rows:
        on = row.get("on", "an unknown machine")
        newest[on] = max(newest.get(on, ""), row.get("date", ""))
    return sorted(newest, key=newest.get, reverse=True)


def marked(row):
    return row["id"] + row.get("mark", "")


def rates(rows):
    """The limits as rates, from the rows that show them best."""
    limits = {row["case"]: row["limit_ns"] for row in rows if row["limit_ns"]}
    found = {}
    for case in CASES:
        ns = limits.get(case.name)
        if not ns or not case.limit:
            continue
        if case.id == "T1":
            found["indirect call with a free list"] = f"{ns:.2g} ns"
        elif case.op == "multiply" and len(case.inputs[0].shape) == 1:
            moved = case.limit.moved
            found[f"memory, {megabytes(moved)} read and written"] = f"{moved / ns:.3g} GB/s"
        elif case.name == "matmul 2048x2048x2048":
            found["f32 multiply-adds in registers"] = f"{case.limit.flops / ns:.4g} GFLOP/s"
    return found


def tree(root):
    return first_line(["git", "-C", root, "describe", "--always", "--dirty"])


def span(numbers):
    return f"{min(numbers)} to {max(numbers)}" if len(set(numbers)) > 1 else f"{numbers[0]}"


def runs(rows):
    """What was measured when: the tree, the date, the rounds (rows of T19 have none) and, if there were several runs, which rows."""
    found = {}
    for row in rows:
        found.setdefault((row.get("tree", "unknown"), row.get("date", "date not kept"), row.get("mark", "")), []).append(row)
    for (name, date, _), of in found.items():
        rounds = [row["rounds"] for row in of if row.get("rounds")]
        ids = f": {', '.join(dict.fromkeys(marked(row) for row in of))}" if len(found) > 1 else ""
        yield f"{name}, {date}{f', {span(rounds)} rounds' if rounds else ''}{ids}"


def machine(rows):
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    here, *others = machines(rows)
    facts = {"CPU": f"{here}, {cores} cores used", "memory": f"{memory / 2**30:.0f} GB", "kernel": platform.release(),
             "compiler": first_line(["g++", "--version"]), "flags": "-O3 -DNDEBUG; kernels choose the instruction set at run time",
             "measured": "; ".join(runs(rows)), **rates([row for row in rows if row["ours_ns"] is not None and not row.get("mark")])}
    yield "## Machine\n"
    yield "| | |\n|---|---|"
    yield from (f"| {key} | {value} |" for key, value in facts.items())
    isa = here.rpartition(", ")[2]
    yield f"\n{'Figures without a mark' if others else 'All figures'} were measured with the kernels for {isa}." + ("" if isa == "AVX-512" else (
        " This CPU has no AVX-512: the kernels for it are compiled into the same library, passed most unit tests on an emulated processor, and were not measured."))
    if others:
        yield f"Rows marked {MARK.strip()} are of an earlier run on another machine: {'; '.join(others)}, two cores as well; what they say of targets holds there."
    load = max((row.get("other_load", 0) for row in rows), default=0)
    if load > 0.05:
        yield f"\n**Other programs used up to {100 * load:.0f} % of the machine during this run: read the figures with care.**"


def versions(peers, rows):
    yield "\n## Libraries\n"
    yield "| Library | Version | Settings that were fastest in a row |\n|---|---|---|"
    for peer in peers:
        used = {row["peers"][peer.name].get("variant") for row in rows if peer.name in row["peers"]} - {None}
        reason = peer.reason.partition(" (see ")[0]  # the log is on this machine only
        yield f"| {peer.name} | {peer.version or f'not measured: {reason}'} | {'; '.join(sorted(used))} |"
    yield "\nPart of the distance to the Python libraries is Python. LibTorch and oneDNN are programs in C++ like ours."


def cell(row, name):
    entry = row["peers"].get(name)
    if entry:
        bold = "**" if entry["low"] > 1 else ""
        return f"{bold}{entry['ratio']:.3g}{bold} ({entry['low']:.3g}–{entry['high']:.3g})"
    return "void" if name in row.get("void", {}) else ""


def line(*cells):
    return "| " + " | ".join(cells) + " |"


def group_table(rows, names):
    yield line("", "Case", "Ours", "Limit", "Of limit", "Of triad", *names)
    yield "|" + "---|" * (6 + len(names))
    for row in rows:
        if row["ours_ns"] is None:
            yield line(marked(row), row["case"], f"not measured: {row.get('failed', '')}", "", "", "", *("" for _ in names))
        else:
            yield line(marked(row), row["case"], seconds(row["ours_ns"]), seconds(row["limit_ns"]), f"{100 * row['of_limit']:.3g} %",
                       f"{100 * row['of_triad']:.3g} %" if "of_triad" in row else "", *(cell(row, name) for name in names))
    yield from recording(rows, names)
    means = [geometric_mean([row["peers"].get(name, {}).get("ratio") for row in rows]) for name in names]
    of_limit = geometric_mean([row["of_limit"] for row in rows])
    of_triad = geometric_mean([row.get("of_triad") for row in rows])
    yield line("", "*geometric mean*", "", "", f"*{100 * of_limit:.3g} %*" if of_limit else "", f"*{100 * of_triad:.3g} %*" if of_triad else "",
               *(f"*{mean:.3g}*" if mean else "" for mean in means))


def recording(rows, names):
    """What a tape adds to one op: the difference of two rows, as a line of its own."""
    ops = {case.name: case.op for case in CASES}
    by_op = {ops.get(row["case"]): row for row in rows if row["ours_ns"] is not None}
    if not {"eager_add", "recorded_add"} <= set(by_op):
        return
    eager, recorded = by_op["eager_add"], by_op["recorded_add"]
    ours = recorded["ours_ns"] - eager["ours_ns"]

    def ratio(name):
        both = [row["peers"].get(name, {}).get("ns") for row in (recorded, eager)]
        return f"{ours / (both[0] - both[1]):.3g}" if all(both) and both[0] > both[1] else ""
    yield line("T1", "what the tape adds: the difference of these two", seconds(ours), "", "", "", *(ratio(name) for name in names))


def losses(rows):
    yield "\n## Rows we lose\n"
    yield "A row is lost if the whole interval lies above 1, and won if all of it lies below; every other is undecided.\n"
    pairs = [(entry, row, name) for row in rows for name, entry in row["peers"].items() if "low" in entry]
    pairs.sort(key=lambda pair: -pair[0]["ratio"])
    lost = [pair for pair in pairs if pair[0]["low"] > 1]
    even = [pair for pair in pairs if pair[0]["low"] <= 1 <= pair[0]["high"]]
    above = [pair for pair in even if pair[0]["ratio"] > 1]

    def listed(some):
        yield "| | Case | Against | Ours / theirs |\n|---|---|---|---|"
        for entry, row, name in some:
            yield f"| {marked(row)} | {row['case']} | {name} | {entry['ratio']:.3g} ({entry['low']:.3g}–{entry['high']:.3g}) |"
    if lost:
        yield from listed(lost)
        yield "\nWhy:\n"
        for case in dict.fromkeys(row["case"] for _, row, _ in lost):
            yield f"- {case}: {next((why for start, why in targets.BEHIND if case.startswith(start)), 'the cause has not been measured.')}"
    else:
        yield "None is lost."
    if above:
        yield "\nUndecided, with the median above 1:\n"
        yield from listed(above)
    if len(even) > len(above):
        yield "\nUndecided, with the median at 1 or below: " + "; ".join(
            f"{row['case']} against {name}" for entry, row, name in even if entry["ratio"] <= 1) + "."


def beside(title, note, rows, figure):
    """A table of what is no matter of time: `figure` shows ours, or with a peer's entry theirs."""
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row["peers"]))
    yield f"\n## {title}\n"
    yield note + "\n"
    yield line("", "What", "Ours", *names)
    yield "|" + "---|" * (3 + len(names))
    for row in rows:
        what = row["case"].removeprefix("compiling ")
        theirs = (figure(entry) if entry else "" for entry in map(row["peers"].get, names))
        ours = {key.removeprefix("ours_"): value for key, value in row.items() if key.startswith("ours_")}
        yield line(marked(row), f"`{what}`" if what.startswith("#") else what, figure(ours), *theirs)


def compared(entry):
    return f" ({entry['ratio']:.3g})" if "ratio" in entry else ""


def sizes(rows, peers):
    with_cuda = [peer.name for peer in peers if "+cu" in peer.version]
    note = f" {' and '.join(with_cuda)}: the wheel from PyPI, with code for CUDA that nothing here runs." if with_cuda else ""
    return beside("Sizes", "Bytes, and in brackets ours / theirs. Peak memory is that of a process that does nothing else, inputs included."
                  + note,
                  [row for row in rows if row.get("ours_bytes") and "ours_seconds" not in row],
                  lambda entry: megabytes(entry["bytes"]) + compared(entry))


def compiling(rows):
    built = [row for row in rows if row.get("ours_seconds") and row["case"].startswith("compiling library")]
    note = "".join(f" The clean build is of {row.get('date', 'an unknown day')}, without ccache; its memory is that of the largest process."
                   for row in built[:1])
    return beside("Compiling", "Seconds of processor time of `g++ -std=c++20 -O2 -c`, in brackets ours / theirs, and the most memory it held."
                  + note,
                  [row for row in rows if row.get("ours_seconds")],
                  lambda entry: f"{entry['seconds']:.3g} s{compared(entry)}, {megabytes(entry['bytes'])}")


def doubts(rows):
    void = [f"- {row['case']}, {name}: {why}" for row in rows for name, why in row.get("void", {}).items()]
    reasons = {}
    for row in rows:
        for name, why in row.get("not_measured", {}).items():
            if not why.startswith("there is no workload"):
                reasons.setdefault((name, why), []).append(row["case"])
    if void or reasons:
        yield "\n## Not compared\n"
        yield from void
        yield from (f"- {name}: {', '.join(cases)}: {why}" for (name, why), cases in reasons.items())


def write(root, rows, peers, quick):
    here = machines(rows)[0]
    rows = [{**row, "mark": "" if row.get("on") == here else MARK} for row in rows]
    timed = [row for row in rows if "ours_bytes" not in row]
    measured = [row for row in timed if row["ours_ns"] is not None]
    met = dict.fromkeys(name for row in timed for name in row["peers"])  # also Weft itself on one thread, which is no library
    names = [name for name in dict.fromkeys([*(peer.name for peer in peers), *met]) if name in met]
    lines = [INTRODUCTION.format(discarded=sum(row["discarded"] for row in measured))]
    if quick:
        lines.append("**This run was made with `--quick`: it shows that everything works, not how fast.**\n")
    lines += machine([row for row in rows if not row.get("failed")])
    if peers:
        lines += versions(peers, rows)
    for group, ids in GROUPS.items():
        of_group = [row for row in timed if row["id"] in ids]
        if not of_group:
            continue
        lines.append(f"\n## {group.capitalize()}\n")
        if group == "training":
            lines.append(MODELS)
        # A column for those alone who take part.
        present = [name for name in names if any(name in row["peers"] or name in row.get("void", {}) for row in of_group)]
        if present:
            file = f"benchmarks-{group.lower().replace(' ', '-')}.svg"
            with open(f"{root}/docs/{file}", "w") as out:
                out.write(plot.ratios([row for row in of_group if row["peers"]], names))
            lines.append(f"![Ours / theirs, {group}]({file})\n")
        lines += group_table(of_group, present)
    lines += [*targets.table(rows), *sizes(rows, peers), *compiling(rows), *losses(timed), *doubts(timed)]
    with open(f"{root}/docs/benchmarks.md", "w") as out:
        out.write("\n".join(lines) + "\n")
