"""The libraries that Weft is measured against: installed or built outside the repository, each by itself, so that one which cannot be had
does not stand in the way of the others.

From PyPI into ${XDG_CACHE_HOME:-~/.cache}/weft/peers: TensorFlow, JAX and PyTorch, one virtual environment each. Against packages of Debian
(group `peers` in scripts/packages): LibTorch and oneDNN.
"""
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from contestant import Contestant, Declined

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft", "peers")
LIBTORCH_HEADERS = ["-I/usr/include/torch/csrc/api/include"]


class Missing(Exception):
    """The peer cannot be had; the text says why."""


@dataclass
class Peer:
    name: str
    variants: list = field(default_factory=list)  # contestants: the library as it comes, and with settings that help it
    version: str = ""
    bytes: int = 0    # on disk
    reason: str = ""  # why it is not measured


def run(log, *command):
    with open(log, "a") as file:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode:
        with open(log, errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
        errors = [line for line in lines if re.search(r"\berror\b", line, re.I)]
        raise Missing(f"{(errors or lines or ['no message'])[-1][:200]} (see {log})")


def environment(folder, log, packages):
    """The Python of a virtual environment that holds these packages. A finished one is left as it is: delete the folder for a newer one."""
    python, finished = f"{folder}/bin/python", f"{folder}/finished"
    if not os.path.exists(finished):
        print(f"Installing {' '.join(packages)} into {folder}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        # Debian's python3, because python3-venv belongs to it.
        run(log, "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable, "-m", "venv", folder)
        run(log, python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--no-cache-dir", *packages)
        open(finished, "w").close()
    return python


def program(name, log, flags, headers):
    """Builds peers/NAME.cc unless that is done already."""
    if not shutil.which("g++") or not all(os.path.exists(header) for header in headers):
        raise Missing(f"not installed: {' '.join(header for header in headers if not os.path.exists(header)) or 'g++'}")
    source, output = f"{HERE}/peers/{name}.cc", f"{CACHE}/{name}"
    sources = [source, f"{HERE}/protocol.cc", f"{HERE}/protocol.h"]
    if not os.path.exists(output) or os.path.getmtime(output) < max(map(os.path.getmtime, sources)):
        print(f"Building {output}", flush=True)
        os.makedirs(CACHE, exist_ok=True)
        run(log, "g++", "-std=c++17", "-O3", "-ffp-contract=off", f"-I{HERE}", *sources[:2], "-o", f"{output}.new", *flags)
        os.replace(f"{output}.new", output)
    return output


def size_of(paths):
    total = 0
    for path in paths:
        if os.path.isfile(path):
            total += os.path.getsize(os.path.realpath(path))
        for at, _, files in os.walk(path):
            total += sum(os.path.getsize(f"{at}/{file}") for file in files if not os.path.islink(f"{at}/{file}"))
    return total


def packages_of(python, names):
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    folder = subprocess.run([python, "-c", script], capture_output=True, text=True).stdout.strip()
    return [f"{folder}/{name}" for name in names]


def has_avx512():
    with open("/proc/cpuinfo") as file:
        return "avx512f" in file.read()


def peers(logs, threads):
    """Every peer, ready or with the reason why not."""
    common = {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "CUDA_VISIBLE_DEVICES": "",
              "TF_CPP_MIN_LOG_LEVEL": 3, "TORCHINDUCTOR_COMPILE_THREADS": 1}
    # Binding keeps the threads of OpenMP on different cores; huge pages spare PyTorch the cost of fresh memory.
    bound = {"OMP_PROC_BIND": "true", "THP_MEM_ALLOC_ENABLE": 1}
    wide = [{"XLA_FLAGS": "--xla_cpu_prefer_vector_width=512"}] if has_avx512() else []
    blas = {"OPENBLAS_CORETYPE": "SkylakeX" if has_avx512() else "Haswell"}
    script = f"{HERE}/peers"

    def tensorflow(log, *arguments):
        python = environment(f"{CACHE}/tensorflow", log, ["tensorflow-cpu"])
        return [python, "-B", f"{script}/tensorflow_peer.py", *arguments], packages_of(python, ["tensorflow"])

    def jax(log):
        python = environment(f"{CACHE}/jax", log, ["jax"])
        return [python, "-B", f"{script}/jax_peer.py"], packages_of(python, ["jax", "jaxlib"])

    def torch(log, *arguments):
        python = environment(f"{CACHE}/torch", log, ["torch", "numpy"])
        return [python, "-B", f"{script}/torch_peer.py", *arguments], packages_of(python, ["torch"])

    def libtorch(log):
        library = "/usr/lib/x86_64-linux-gnu"
        flags = [*LIBTORCH_HEADERS, "-ltorch", "-ltorch_cpu", "-lc10"]
        # Without OpenBLAS it would multiply with the reference library, fifty times slower: that would be no comparison.
        needed = ["/usr/include/torch/csrc/api/include/torch/torch.h", f"{library}/openblas-openmp/libblas.so.3"]
        return ([program("libtorch", log, flags, needed)],
                [f"{library}/libtorch_cpu.so", f"{library}/libtorch.so", f"{library}/libc10.so"])

    def onednn(log):
        return [program("onednn", log, ["-ldnnl"], ["/usr/include/oneapi/dnnl/dnnl.hpp"])], ["/usr/lib/x86_64-linux-gnu/libdnnl.so"]

    # Each with the settings that may help it; what is fastest in a row counts.
    wanted = [("TensorFlow", lambda log: tensorflow(log), [{"TF_ENABLE_ONEDNN_OPTS": 1}, {"TF_ENABLE_ONEDNN_OPTS": 0}]),
              ("TensorFlow XLA", lambda log: tensorflow(log, "xla"), wide or [{}]),
              ("JAX", jax, wide),
              ("PyTorch", lambda log: torch(log), [bound]),
              ("PyTorch compiled", lambda log: torch(log, "compiled"), [bound]),
              ("LibTorch", libtorch, [{**bound, **blas}]),
              ("oneDNN", onednn, [bound])]
    return [prepare(Peer(name), install, common, best, logs) for name, install, best in wanted]


def prepare(peer, install, common, best, logs):
    slug = peer.name.lower().replace(" ", "_")
    try:
        log = f"{logs}/install_{slug}.log"
        open(log, "w").close()
        command, paths = install(log)
        # What it compiles is compiled in this run: a cache of another run may hold what an interruption left half done.
        cache = f"{logs}/{slug}.cache"
        shutil.rmtree(cache, ignore_errors=True)
        for number, settings in enumerate([None, *best]):
            variant = "defaults" if settings is None else "best effort"
            words = " ".join([variant, *(f"{key}={value}" for key, value in (settings or {}).items())])
            settings = {**common, **(settings or {}), "WEFT_BENCH_VARIANT": variant, "TORCHINDUCTOR_CACHE_DIR": cache}
            peer.variants.append(Contestant(peer.name, command, texts(settings), f"{logs}/{slug}_{number}.log", words))
        peer.variants[0].start()
        peer.version, peer.bytes = peer.variants[0].version, size_of(paths)
    except (Missing, Declined, OSError) as why:
        peer.variants, peer.reason = [], str(why)
    return peer


def texts(settings):
    return {key: str(value) for key, value in settings.items()}
