"""What the rows are to reach, and why those that do not reach it fall short."""
import os
import re
from dataclasses import dataclass, replace

COUNTS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "data", "instruction_counts.txt")


@dataclass(frozen=True)
class Target:
    what: str
    cases: tuple      # beginnings of names; $ is the end of one
    measure: str      # a key of a row, the name of a peer: then ours / theirs, over_limit: ours - limit, or what rows that `cases` names
                      # in full make: the difference of two, or the growth since the first of their time, of the limit of it, or of
                      # the instructions in tests/data for one unit of size; or the slope: what one more unit takes from row to row, against
                      # what it takes from the first to the second, and the same of the limit
    least: float = 0  # what is measured is at least this, or
    most: float = 0   # at most this; without either it is only told
    cause: str = ""   # of falling short, as measured

    def values(self, rows):
        if self.measure in ("difference", "growth", "growth_of_limit", "growth_of_instructions", "slope", "slope_of_limit"):
            of = "limit" if self.measure.endswith("_of_limit") else "ours"
            # Rows are measured minutes apart, and whoever disturbs them only adds: growth is that of the fastest blocks.
            kind = "ns" if self.measure == "difference" else "least_ns"
            by_name = {row["case"]: row.get(f"{of}_{kind}", row[f"{of}_ns"]) for row in rows}
            times = [instructions(case) if self.measure == "growth_of_instructions" else by_name.get(case) for case in self.cases]
            if not all(times):
                return []
            if self.measure == "difference":
                return [times[0] - times[1]]
            if self.measure.startswith("slope"):
                sizes = [size(case) for case in self.cases]
                slopes = [(times[i + 1] - times[i]) / (sizes[i + 1] - sizes[i]) for i in range(len(times) - 1)]
                return [slope / slopes[0] for slope in slopes[1:]]
            units = [time / size(case) for time, case in zip(times, self.cases)]
            return [unit / units[0] for unit in units[1:]]
        id = self.what.split()[0] if self.what[0] == "T" else None
        found = [row for row in rows if row["id"] == (id or row["id"]) and not row.get("failed")]
        found = [row for row in found if any(f"{row['case']}$".startswith(case) for case in self.cases)]
        if self.measure == "of_limit_at_best":
            return [row["limit_least_ns"] / row["ours_least_ns"] for row in found if "limit_least_ns" in row]
        if self.measure == "over_limit":
            return [row["ours_ns"] - row["limit_ns"] for row in found]
        if self.measure in ("ours_ns", "ours_bytes", "ours_seconds", "of_limit", "of_triad"):
            return [row[self.measure] for row in found if row.get(self.measure) is not None]
        return [row["peers"][self.measure]["ratio"] for row in found if self.measure in row["peers"]]

    def reached(self, values):
        """1 if every value is good enough, else the share of the target that the worst one reaches."""
        if self.least:
            return min(1, min(values) / self.least)
        return min(1, self.most / max(values)) if self.most and max(values) > 0 else 1


def size(case):
    """The number in a name that grows from row to row."""
    return int(re.search(r"([\d,]+) (ops|hidden layers)|batch (\d+)$", case).expand(r"\1\3").replace(",", ""))


def instructions(workload):
    with open(COUNTS) as file:
        return next((int(line.split()[0]) for line in file if line.split(maxsplit=1)[1].strip() == workload), None)


ARITHMETIC = ("Arithmetic, not memory, as measured with AVX2: in the first-level cache one core needs {} ns for an element, which on two cores was {} of "
              "the time.")
RECORDED = (f"A recorded add takes {instructions('recorded add of two scalars'):,} instructions and an eager one "
            f"{instructions('eager add of two scalars'):,}: the record, 136 bytes, and the table of the values it knows.")
SHAPES = ("chain", "tree")
SINGLE = ("a * x", "x + b", "relu(x), ", "x * z", "x + z")
LINEAR = 1.25  # what is linear grows by no more than this for one unit: the suite asks for linearity and names no figure
BIG = tuple(f"matmul {n}x{n}x{n}" for n in (256, 512, 1024, 2048))
WIDE = ("64 x 32x32, 32 -> 32", "64 x 16x16, 32 -> 64", "64 x 16x16, 64 -> 64")

MLP = "an MLP 784-512-512-10"
STEPS = {id: f"traced step of {what}" for id, what in (("T13", "an MLP"), ("T14", "a CNN"), ("T15", "a recommender"), ("T16", "an LSTM"),
                                                       ("T17", "a GPT"))}
CAUSES = {"T13": "Of a batch of 32 products take four fifths of the time and Adam one. The multiply-adds alone take 520 us at the peak. Weights, gradients and "
                 "the state of Adam are 11 MB, which are found in the last-level cache at best, and that is shared with other guests of the host: the steps of "
                 "the plan, each at its fastest of 30 calls (--profile), add up to 0.79 to 0.87 ms, and blocks of calls take 0.86 to 1.1 ms each.",
          "T14": "The convolutions by themselves reach 0.6 (three channels) to 0.9 of their limits, see their rows; with AVX2 the step reached 0.76.",
          "T15": "121 short steps, as measured with AVX2: looking up and adding up rows of 128 bytes takes two fifths of the time, products of matrices half. Next to try: "
                 "sums of rows that are grouped once for the gradient and its square.",
          "T16": "Three products of 64 rows in each of 64 turns, which wait for each other: with AVX2 0.29 to 0.32 ms each, where the peak allows 0.17. "
                 "One product for the gradient of the recurrent weights after the loop would be faster, but adds in another order than the tape of an eager "
                 "step: its bits would differ."}
THREADS = {"T15": "With AVX2 products are half of the step on one thread and take 0.57 to 0.67 of their time on two, the one for f32[128,64] as long as before; lookups and sums "
                  "of rows run two at a time, each a quarter slower than alone.",
           "T16": "With AVX2 the three products of a turn, which wait for each other, take 0.57 to 0.6 of their time on one thread: 0.26 to 0.29 ms, where the peak "
                  "allows 0.17."}
TURNS = ("A turn is two links of a chain, 1.9 ns at its fastest of 200 runs: a product, whose result stays in a register for the next turn, and a store.")
LIBRARIES = ("TensorFlow", "TensorFlow XLA", "JAX", "PyTorch", "PyTorch compiled", "LibTorch")

# Why rows are behind other libraries, by the beginnings of their names, and what to try next.
BEHIND = (
    ("relu(a * x + b) * x + c * z", "Six calls, one after the other, read and write 14 times 67 MB, and take as long as the rows of such calls add up to (14.4 of 14.6 ms); what is compiled goes "
     "over x and z once and writes y, 3 times 67 MB. So does the traced row, which is ahead. Eager calls are not held back to be joined: an error would come late."),
    ("matmul 32 x 128x64x128", "Each product takes 9 us of a thread, in strips of 12 rows that reach 0.89 of the peak, whether their sums have 64, 128 or 256 "
     "products; larger products reach 0.96. b is read where it lies, 512 bytes from row to row. Next to try: copying it to panels, as larger products do."),
)

TARGETS = (
    Target("T1 eager scalar add, ns", ("eager add of two f32 scalars$",), "ours_ns", most=100),
    Target("T1 recorded by a tape, ns", ("eager add of two f32 scalars, recorded",), "ours_ns", most=200, cause=RECORDED),
    Target("T1 what a tape adds to an op, ns", ("eager add of two f32 scalars, recorded by a tape", "eager add of two f32 scalars"), "difference", most=80,
           cause=RECORDED),
    Target("T1 against LibTorch", ("eager add",), "LibTorch", most=0.2),
    Target("T2 reading a Variable, ns", ("reading a Variable",), "ours_ns", most=25,
           cause="Not found yet: on another processor, whose instructions take longer, it took 20 ns."),
    Target("T2 assign_add alone, ns", ("assign_add of 1, ",), "ours_ns", most=100),
    Target("T2 assign_add by 8 threads, ns", ("assign_add of 1 by 8",), "ours_ns", most=400),
    Target("T2 snapshot of 200 Variables, ns", ("snapshot of 200 Variables in a vector",), "ours_ns", most=10_000),
    Target("T2 traced assign_add, ns", ("traced assign_add",), "ours_ns", most=250),
    Target("T3 traced identity, ns", ("traced identity",), "ours_ns", most=250),
    Target("T3 traced chain of 10 ops, ns", ("traced chain",), "ours_ns", most=350),
    Target("T3 what 200 captured Variables add to a call, ns",
           tuple(f"traced sum of 200 {summed}, f32 scalars" for summed in ("captured Variables", "times its argument")), "difference", most=5000),
    *(Target(f"T4 first call of {n:,} ops, ns", tuple(f"trace, plan and first call of a {shape} of {n:,} ops$" for shape in SHAPES), "ours_ns",
             most=5000 * n) for n in (10, 100, 1000, 10_000, 100_000)),
    *(Target(f"T4 instructions for an op of a {shape}, of 10,000 ops against 1,000",
             tuple(f"first call of a {shape} of {n:,} ops" for n in (1000, 10_000)), "growth_of_instructions", most=1.05) for shape in SHAPES),
    *(Target(f"T4 time for an op of a {shape}, of 10,000 and 100,000 ops against 1,000",
             tuple(f"trace, plan and first call of a {shape} of {n:,} ops" for n in (1000, 10_000, 100_000)), "growth", most=LINEAR,
             cause="The work is linear, see the instructions. What grows is the time for memory that no cache holds any more, and for getting it "
                   "from the system: of a tree of 100,000 ops a seventh.")
      for shape in SHAPES),
    Target("T6 100,000 turns of while_loop, ns", ("100,000 turns",), "ours_ns", most=2_000_000, cause=TURNS),
    *(Target(f"T6 against {peer}", ("100,000 turns",), peer, most=1, cause=TURNS) for peer in LIBRARIES),
    Target("T7 single ops, of triad", SINGLE, "of_triad", least=0.9),
    Target("T7 as one Function, of triad", ("traced relu(a * x + b)",), "of_triad", least=0.9,
           cause="One pass, in which ten links take turns with eight vectors. Each of three tensors is read by instructions of its own: one that read them in turns "
                 "hid from the processor where each goes on, and took up to 1.9 times as long with AVX-512."),
    Target("T8 forward, of triad", ("gelu (erf) forward, ",), "of_triad", least=0.7, cause=ARITHMETIC.format("0.35", "two thirds")),
    Target("T8 forward and backward, of triad", ("gelu (erf) forward and",), "of_triad", least=0.6,
           cause=ARITHMETIC.format("0.35 + 0.44", "three fifths")),
    Target("T9 forward, of triad", ("softmax forward, ", "layer norm forward, "), "of_triad", least=0.7,
           cause="A row is passed over three times while it is in the first-level cache. " + ARITHMETIC.format("0.37 (for exp alone)", "three fifths")),
    Target("T9 forward and backward, of triad", ("softmax forward and", "layer norm forward and"), "of_triad", least=0.6,
           cause="Not measured yet with AVX-512, where memory is faster; with AVX2 both reached 0.62."),
    Target("T10 sums, of limit", ("sum ",), "of_limit", least=0.85),  # they only read, which alone does not reach the triad
    Target("T11 Adam, of triad", ("Adam, 1 x 10", "Adam, 200"), "of_triad", least=0.9),
    Target("T11 against fused Adam of PyTorch", ("Adam",), "PyTorch", most=1, cause="With 64,000,000 parameters both wait for memory: 28 bytes each."),
    Target("T12 from 512 on, of limit", BIG[1:], "of_limit", least=0.85,
           cause="Of 1024 rows packing takes 7 %, most of it reading rows that lie 4096 bytes apart; asking for them ahead gained nothing. Of 2048 the tiles take 95 % "
                 "of the time, packing 3 %."),
    Target("T12 from 256 on, against oneDNN", BIG, "oneDNN", most=1 / 0.95,
           cause="See above."),
    Target("T12 at 16 and 32, against oneDNN", ("matmul 16x16", "matmul 32x32"), "oneDNN", most=0.5,
           cause="With AVX2: at 32 the multiply-adds alone take 640 ns at the peak of a core, and oneDNN takes 1,075 ns at its fastest: half of that is out of reach of one "
                 "core. On two the product takes 840 ns instead of 860: word from one core to the other and back takes 120 to 145 ns, and sharing two halves "
                 "takes several of them. At 16 the kernel is half of all instructions, the call around it the other."),
    Target("T13 batch 128, against LibTorch", ("step of an MLP 784-512-512-10 with Adam, batch 128",), "LibTorch", most=0.8),
    *(Target(f"{id} traced, of limit", (case,), "of_limit", least=0.7, cause=CAUSES.get(id, "")) for id, case in STEPS.items()),
    *(Target(f"{id} traced, against {peer}", (case,), peer, most=1, cause=CAUSES.get(id, "")) for id, case in STEPS.items() for peer in LIBRARIES),
    Target("T18 start of a program linked with it, ns more than of an empty one", ("start and end of a program",), "over_limit", most=10e6),
    Target("T18 start and first step of T13, ns", ("start, one traced step",), "ours_ns", most=50e6),
    Target("T19 peak memory of T13, bytes", ("peak memory, traced step of an MLP 784-512-512-10 with Adam, batch 128$",), "ours_bytes",
           most=60e6),
    Target("T19 stripped library, bytes", ("library on disk",), "ours_bytes", most=15e6),
    Target("T19 compiling the header, seconds", ("compiling #include",), "ours_seconds", most=2),
    Target("T19 compiling a trainer, seconds", ("compiling README",), "ours_seconds", most=6),
    Target("T19 memory for compiling a trainer, bytes", ("compiling README",), "ours_bytes", most=500e6),
    Target("T19 clean build of library and tests on two cores, seconds", ("compiling library and tests",), "ours_seconds", most=600,
           cause="Two fifths of the time are tests, a fifth the rows with their loops for three instruction sets. Of a large test (control_test.cc) two thirds "
                 "go to making code, a quarter to templates; without optimising it takes no less. Next to try: fewer such loops for rare dtypes."),
    *(Target(f"T20 {id} on two threads against one", (case.replace("traced step of", "2 threads:"),), "Weft on 1 thread", most=1 / 1.7,
             cause=THREADS.get(id, "")) for id, case in STEPS.items() if id != "T13"),
    *(Target(f"T20 T13 of batch {batch} on two threads against one", (f"2 threads: {MLP} with Adam, batch {batch}$",), "Weft on 1 thread",
             most=most) for batch, most in ((128, 0), (1024, 1 / 1.7))),
    Target("T20 time for an example of T13, batch 256 and 1024 against 64",
           (*(f"traced step of {MLP}, batch {batch}" for batch in (64, 256)), f"traced step of {MLP} with Adam, batch 1024"), "growth",
           most=LINEAR),
    # The first layer has no gradient to its inputs, so a layer is what one more of them takes.
    Target("T20 time for one more layer of an MLP, from 8 to 32 and from 32 to 64 of them against from 2 to 8",
           tuple(f"traced step of an MLP, {depth} hidden layers of 256, batch 128" for depth in (2, 8, 32, 64)), "slope", most=LINEAR,
           cause="A layer has 1 MB of weights, gradients and state of Adam, and 0.3 MB of activations: from 32 layers on no cache holds them, so that the limit "
                 "grows, too."),
    Target("T14 forward from 32 channels, of limit", tuple(f"conv 3x3 forward, {w}" for w in WIDE), "of_limit", least=0.8),
    Target("T14 backward from 32 channels, of limit", tuple(f"conv 3x3 backward to {to}, {w}" for to in ("input", "filter") for w in WIDE),
           "of_limit", least=0.7),
    Target("exp, log, tanh, erf, of triad", ("exp(x)", "log(x)", "tanh(x)", "erf(x)"), "of_triad", least=0.6,
           cause=ARITHMETIC.format("0.37 to 0.49", "three fifths to three quarters")),
)


def figures(values):
    return ", ".join(f"{value:.3g}" for value in values)


def table(rows):
    """Lines of Markdown."""
    yield "\n## Targets\n"
    yield ("Where a target is a share of the bandwidth, the bandwidth is that of the *triad* throughout; what the same rows reach "
           "of their *limit* stands in brackets. Behind a share of the limit stands that of the fastest blocks of both, which neighbours on the "
           "host have disturbed least. Growth is the time for one op or example divided by that in the smallest of the rows, or for one more layer "
           f"divided by that in the first rows, each in its fastest block, beside it the same of the limit: {LINEAR} is our own reading of linear.\n")
    yield "| What | Target | Measured | |\n|---|---|---|---|"
    causes = []
    for target in TARGETS:
        values = target.values(rows)
        if not values:
            continue
        wanted = f"≥ {target.least:.3g}" if target.least else f"≤ {target.most:.3g}" if target.most else "none"
        reached = target.reached(values)
        verdict = "" if wanted == "none" else "reached" if reached == 1 else f"{min(99, 100 * reached):.0f} % of it"
        if reached < 1:
            causes.append(f"- {target.what}: {target.cause or 'the cause has not been measured.'}")
        beside = f" ({figures(replace(target, measure='of_limit').values(rows))} of limit)" if target.measure == "of_triad" else ""
        if target.measure == "of_limit" and (at_best := replace(target, measure="of_limit_at_best").values(rows)):
            beside = f" ({figures(at_best)})"
        if target.measure in ("growth", "slope"):
            beside = f" (its limit {figures(replace(target, measure=target.measure + '_of_limit').values(rows))})"
        yield f"| {target.what} | {wanted} | {figures(values)}{beside} | {verdict} |"
    if causes:
        yield "\nWhat falls short, and why:\n"
        yield from causes
