"""The rows of T19: bytes on disk of each library, and the most memory that a child of its own needs for a workload."""
import copy
import os
import statistics
import subprocess
import tempfile

from contestant import Declined
from suite import IN_MEMORY

STEPS = 5  # of training: memory has found its size by then


def row(name, ours, peers, **more):
    """`ours` and `peers`, by name, are bytes."""
    compared = {peer: {"bytes": size, "ratio": round(ours / size, 6)} for peer, size in peers.items() if size}
    return {"id": "T19", "case": name, "ours_ns": None, "limit_ns": None, "of_limit": None, "peers": compared, "ours_bytes": ours, **more}


def on_disk(library, peers):
    with tempfile.NamedTemporaryFile() as stripped:
        subprocess.run(["strip", "-o", stripped.name, os.path.realpath(library)], check=True)
        return row("library on disk, stripped", os.path.getsize(stripped.name), {peer.name: peer.bytes for peer in peers})


def peak(contestant, case):
    """Of a child that has done nothing else: the most memory it held. None, if there is no such workload."""
    child = copy.copy(contestant)
    child.child, child.log = None, f"{contestant.log}.memory"
    try:
        child.ask(case.prepare)
        child.run(STEPS)
        return child.peak_bytes()
    except Declined:
        return None
    finally:
        child.end()


def in_memory(ours, peers):
    """Every library with its defaults."""
    for case in IN_MEMORY:
        mine = [size for size in (peak(ours, case) for _ in range(3)) if size]
        if mine:
            yield row(f"peak memory, {case.name}", statistics.median(mine), {peer.name: peak(peer.variants[0], case) for peer in peers})
