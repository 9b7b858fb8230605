"""A contestant: a child process that speaks the protocol of protocol.h, stopped whenever it is not its turn."""
import ctypes
import os
import select
import signal
import subprocess
import time


PR_SET_PDEATHSIG = 1
MUCH = 1e9  # bytes; a library alone needs up to 0.6e9
LIBC = ctypes.CDLL(None)


def be_a_child():
    """A stopped child could not notice that the driver is gone; and if memory runs out, it is the one to go, not what others do here."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


class Declined(Exception):
    """The contestant has no such workload, or failed at it; the text says why."""


class Contestant:
    """Started at its first use; after a crash or a timeout the next use starts it anew."""

    def __init__(self, name, command, environment=None, log=os.devnull, variant=""):
        self.name, self.command, self.log, self.variant = name, command, log, variant
        self.environment = {**os.environ, **(environment or {})}
        self.version = None
        self.child = None

    def start(self, timeout=120):
        with open(self.log, "w") as log:
            # Its own session, so that one signal reaches all it may have started.
            self.child = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=self.environment,
                                          start_new_session=True, preexec_fn=be_a_child)
        self.rest = b""
        verb, _, self.version = self._read(timeout).partition(" ")
        if verb != "hello":
            self.end()
            raise Declined(f"greeted with {verb!r}")
        self._signal(signal.SIGSTOP)

    def ask(self, line, timeout=300):
        """Sends one line and returns the answer."""
        if not self.child:
            self.start()
        self._signal(signal.SIGCONT)
        try:
            self.child.stdin.write(line.encode() + b"\n")
            self.child.stdin.flush()
        except OSError:
            pass  # it died; the reading side finds out why
        answer = self._read(timeout)
        self._signal(signal.SIGSTOP)
        if answer.startswith("no "):
            raise Declined(answer[3:])
        return answer

    def run(self, count, timeout=300):
        """Nanoseconds for `count` repetitions."""
        return float(self.ask(f"run {count}", timeout))

    def check(self):
        """For each result: the mean of |y|, then some elements."""
        return [[float(word) for word in part.split()] for part in self.ask("check").split(";") if part.strip()]

    def wake(self):
        """Starts it if need be, and lets `peak_bytes` begin with what it holds now."""
        if not self.child:
            self.start()
        try:
            with open(f"/proc/{self.child.pid}/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass  # then the peak is that of its life so far

    def forget(self):
        """Lets it give back the memory of what was prepared; one that keeps much of it is ended."""
        self.ask("forget")
        if (self._bytes("VmRSS") or 0) > MUCH:
            self.end()

    def peak_bytes(self):
        return self._bytes("VmHWM")

    def cpu_seconds(self):
        if not self.child:
            return 0
        try:
            with open(f"/proc/{self.child.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
            return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")
        except OSError:
            return 0

    def end(self):
        if self.child:
            self._signal(signal.SIGKILL)
            self.child.wait()
            try:
                self.child.stdin.close()
            except OSError:
                pass  # what it was sent and never read
            self.child.stdout.close()
            self.child = None

    def _bytes(self, name):
        try:
            with open(f"/proc/{self.child.pid}/status") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))
        except (OSError, AttributeError, StopIteration):
            return None

    def _signal(self, number):
        try:
            os.killpg(self.child.pid, number)
        except ProcessLookupError:
            pass

    def _read(self, timeout):
        """One line; a child that says nothing for too long, or ends, is done for."""
        deadline = time.monotonic() + timeout
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.child.stdout], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self.child.stdout.fileno(), 1 << 16) if ready else b""
            if not chunk:
                self.end()
                raise Declined(f"ended: {self.last_words()}" if ready else f"no answer within {timeout} s")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def last_words(self):
        try:
            with open(self.log, errors="replace") as file:
                lines = [line.strip() for line in file.read().splitlines() if line.strip()]
        except OSError:
            lines = []
        return lines[-1][:200] if lines else "it left no message"
