"""One row: contestants in interleaved rounds, ratios within each round, medians and intervals over the rounds."""
import math
import os
import random
import statistics
import time
from dataclasses import dataclass

from contestant import Declined

STEAL = 0.01      # pairs of blocks in which the host took more than this of the machine do not count
AGREEMENT = 1e-3  # results of contestants differ at most by this, relative to the size of the result


@dataclass(frozen=True)
class Protocol:
    rounds: int = 15
    block: float = 0.05     # seconds at least
    warm_up: float = 5      # seconds at most
    patience: float = 30    # seconds for the rounds of a row; after that three rounds are enough

    @staticmethod
    def quick():
        return Protocol(rounds=3, block=0.01, warm_up=0.2, patience=15)


class Cpu:
    """Shares of the machine's time since the last look: stolen by the host, and used by programs that are not ours."""

    def __init__(self, contestants):
        self.contestants = contestants
        self.look()

    def look(self):
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        own = sum(c.cpu_seconds() for c in self.contestants) + sum(os.times()[:2])
        busy = (sum(ticks) - ticks[3] - ticks[4] - ticks[7]) / os.sysconf("SC_CLK_TCK")
        self.at, before = (sum(ticks), ticks[7], busy - own), getattr(self, "at", (0, 0, 0))
        total, stolen, others = (now - then for now, then in zip(self.at, before))
        total = max(total, 1)
        return stolen / total, max(0, others * os.sysconf("SC_CLK_TCK") / total)


def interval(ratios, level=0.95, resamples=2000):
    """The bootstrap interval of the median."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(resamples))
    edge = int(resamples * (1 - level) / 2)
    return medians[edge], medians[-1 - edge]


def digits(value, count=4):
    return float(f"{value:.{count}g}")


def summary(ratios):
    low, high = interval(ratios)
    return {"ratio": digits(statistics.median(ratios)), "low": digits(low), "high": digits(high)}


def disagreement(ours, theirs):
    """Why two checks differ, or nothing."""
    if len(ours) != len(theirs):
        return f"{len(theirs)} results instead of {len(ours)}"
    for which, (a, b) in enumerate(zip(ours, theirs)):
        if len(a) != len(b):
            return f"result {which} has another size"
        for x, y in zip(a, b):
            if not abs(x - y) <= AGREEMENT * max(abs(x), abs(y), a[0]):  # written so that NaN differs
                return f"result {which} has {y:.6g} where ours has {x:.6g}"
    return None


def warm_up(contestant, case, protocol, best=math.inf):
    """Runs until three blocks in a row agree within 2 % or are, on a machine that never rests, no faster than all before; or until it is
    clear that another variant, which needs `best`, will do. Returns how many repetitions make a block, and their time each."""
    deadline, count, times = time.monotonic() + protocol.warm_up, 1, []
    while True:
        each = max(contestant.run(count) / count, 0.1)
        wanted = max(1, int(protocol.block * 1e9 / each) + 1)
        if case.many_calls:
            wanted = max(wanted, min(1_000_000, int(5e9 * protocol.block / each)))
        if count < wanted * 0.8:
            count, times = min(wanted, count * 100), []
        else:
            times.append(each)
            last, before = times[-3:], times[:-3]
            if len(last) == 3 and (max(last) < 1.02 * min(last) or (len(before) >= 3 and min(last) > 0.98 * min(before))):
                break
            if min(times) > 1.5 * best and len(times) >= 2:
                break
        if time.monotonic() > deadline and count >= wanted * 0.5:
            break
    return count, min(times[-3:] or [each])


class Entry:
    """A contestant in one row: the fastest of its variants, ready to run blocks. The others give back their memory: in some rows all
    together would need more than a machine has."""

    def __init__(self, variants, case, protocol, prepare):
        reasons, best = [], math.inf
        self.contestant, self.preparation = None, 0
        for contestant in variants:
            try:
                contestant.wake()
                begin = time.monotonic()
                contestant.ask(prepare)
                first = time.monotonic() - begin
                count, each = warm_up(contestant, case, protocol, best)
                self.preparation = max(self.preparation, first)  # a later variant may find what an earlier one has compiled
                if self.contestant and each >= best:
                    contestant.forget()
                    continue
                if self.contestant:
                    self.contestant.forget()
                best, self.count, self.contestant = each, count, contestant
            except Declined as why:
                reasons.append(str(why))
        if not self.contestant:
            raise Declined(reasons[0])
        self.values = self.contestant.check()

    def block(self):
        return self.contestant.run(self.count) / self.count

    def costs(self):
        """Beside time: what making the inputs and compiling took, and the most memory it held."""
        return {"prepare_s": digits(self.preparation), "peak_bytes": self.contestant.peak_bytes()}


LIMIT, TRIAD = "", "triad"  # beside the names of peers


@dataclass(frozen=True)
class Pair:
    """Two blocks, one right after the other: nanoseconds for a repetition, and what else was going on."""
    mine: float
    theirs: float
    stolen: float
    foreign: float


class Meeting:
    """All pairs with one contestant. Short as they are, most of them are not disturbed even where a host steals all the time."""

    def __init__(self):
        self.pairs = []

    def quiet(self):
        return sum(pair.stolen <= STEAL for pair in self.pairs)

    def counted(self):
        """Those that were not disturbed; of a host that leaves fewer than three the quietest, since one or two would seem exact."""
        kept = [pair for pair in self.pairs if pair.stolen <= STEAL]
        return kept if len(kept) >= 3 else sorted(self.pairs, key=lambda pair: pair.stolen)[:3]


def measure(case, ours, limit, triad, peers, protocol):
    """The row of a case. `ours`, `limit`, `triad` and each of `peers` (by name) are lists of variants."""
    row = {"id": case.id, "case": case.name, "ours_ns": 0, "limit_ns": 0, "of_limit": 0, "peers": {}, "void": {}, "not_measured": {}}
    me = Entry(ours, case, protocol, case.prepare)
    others = {LIMIT: Entry(limit, case, protocol, case.prepare_limit)}
    if case.prepare_triad:
        others[TRIAD] = Entry(triad, case, protocol, case.prepare_triad)
    for name, variants in peers.items():
        try:
            entry = Entry(variants, case, protocol, case.prepare)
            why = disagreement(me.values, entry.values)
            if why:
                row["void"][name] = why
            else:
                others[name] = entry
        except Declined as why:
            row["not_measured"][name] = str(why)

    meetings = {name: Meeting() for name in others}
    cpu = Cpu([me.contestant, *(entry.contestant for entry in others.values())])
    order, round, deadline = list(others), 0, time.monotonic() + protocol.patience
    while round < 4 * protocol.rounds and any(meetings[name].quiet() < protocol.rounds for name in order):
        turn = round % len(order)
        for name in order[turn:] + order[:turn]:
            if meetings[name].quiet() >= protocol.rounds:
                continue
            cpu.look()
            try:
                if round % 2:
                    theirs, mine = others[name].block(), me.block()
                else:
                    mine, theirs = me.block(), others[name].block()
                meetings[name].pairs.append(Pair(mine, theirs, *cpu.look()))
            except Declined as why:
                if name in (LIMIT, TRIAD) or not me.contestant.child:
                    raise
                row["not_measured"][name] = str(why)
                order.remove(name)
        round += 1
        if time.monotonic() > deadline and round >= min(3, protocol.rounds):
            break
    pairs = {name: meetings[name].counted() for name in order}
    every = [pair for name in order for pair in meetings[name].pairs]
    row |= me.costs() | {"rounds": min(map(len, pairs.values())), "discarded": len(every) - sum(map(len, pairs.values())),
                         "other_load": digits(statistics.median(pair.foreign for pair in every))}

    row["ours_ns"] = digits(statistics.median(pair.mine for counted in pairs.values() for pair in counted), 6)
    row["ours_least_ns"] = digits(min(pair.mine for pair in every), 6)
    for kind, name in (("limit", LIMIT), ("triad", TRIAD)):
        if name in others:
            row[f"{kind}_ns"] = digits(statistics.median(pair.theirs for pair in pairs[name]), 6)
            row[f"of_{kind}"] = summary([pair.theirs / pair.mine for pair in pairs[name]])["ratio"]
    row["limit_least_ns"] = digits(min(pair.theirs for pair in meetings[LIMIT].pairs), 6)
    for name in order:
        if name not in (LIMIT, TRIAD):
            entry = {"ns": digits(statistics.median(pair.theirs for pair in pairs[name]), 6)}
            entry |= summary([pair.mine / pair.theirs for pair in pairs[name]]) | others[name].costs()
            if others[name].contestant.variant:
                entry["variant"] = others[name].contestant.variant
            row["peers"][name] = entry
    return row
