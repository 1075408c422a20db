"""Cases are tried in a process of their own, with a limit of time and of memory: what hangs or crashes is seen."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import traceback
from multiprocessing.connection import Connection
from typing import Any

from dalembert.fuzz.case import Case, draw_case, try_case
from dalembert.fuzz.check_models import Finding, Judged

__all__ = ["LONGEST", "Worker"]

LONGEST = {
    "models": 240.0,
    "runs": 120.0,
    "files": 30.0,
    "exports": 120.0,
    "planar": 120.0,
    "systems": 120.0,
}  # s of processor time
WAITING = 20.0  # times that, on a busy machine: what still has not ended is asleep
MOST_MEMORY = 6 << 30  # bytes
STARTING = 120.0  # s, for a new process


def _limit_memory() -> None:
    if sys.platform != "win32":
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        allowed = MOST_MEMORY if most == resource.RLIM_INFINITY else min(MOST_MEMORY, most)
        with contextlib.suppress(ValueError, OSError):  # some systems do not take a limit
            resource.setrlimit(resource.RLIMIT_AS, (allowed, most))


def _limit_time(seconds: float) -> None:
    """The system ends the process when it has used so much processor time, also in native code; 0: no limit."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _work(pipe: Connection) -> None:
    """Draw or take cases, and try them, until the pipe closes."""
    _limit_memory()
    pipe.send("ready")
    with contextlib.suppress(EOFError, KeyboardInterrupt):
        while True:
            asked: tuple[str, int] | Case = pipe.recv()
            _limit_time(LONGEST[asked["kind"] if isinstance(asked, dict) else asked[0]])
            try:
                case = asked if isinstance(asked, dict) else draw_case(*asked)
            except Exception as error:  # a generator that fails is a finding too
                pipe.send(dict(zip(("kind", "seed"), asked, strict=True)))
                words = "".join(traceback.format_exception(error)[-6:])
                pipe.send(Judged([Finding(f"generator: {type(error).__name__}", words)]))
                continue
            pipe.send(case)
            pipe.send(try_case(case))
            _limit_time(0.0)


class Worker:
    """A process that tries cases; a new one takes the place of one that died or was ended."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._process: Any = None
        self._pipe: Any = None

    def _start(self) -> None:
        self._pipe, end = self._context.Pipe()
        self._process = self._context.Process(target=_work, args=(end,), daemon=True)
        self._process.start()
        end.close()
        if not self._pipe.poll(STARTING):
            raise RuntimeError("the process that tries cases does not start")
        self._pipe.recv()

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None

    def run(self, asked: tuple[str, int] | Case) -> tuple[Case, Judged]:
        """Try a case, or draw one by kind and seed and try that."""
        if self._process is None:
            self._start()
        kind, seed = (asked["kind"], asked["seed"]) if isinstance(asked, dict) else asked
        case: Case = asked if isinstance(asked, dict) else {"kind": kind, "seed": seed}
        self._pipe.send(asked)
        try:
            for wanted in ("the case", "what came of it"):
                if not self._pipe.poll(WAITING * LONGEST[kind]):
                    self.close()
                    return case, Judged([Finding("hang", f"{wanted}: nothing more is computed")])
                if wanted == "the case":
                    case = self._pipe.recv()
            return case, self._pipe.recv()
        except (EOFError, ConnectionError):
            ended: Any = self._process
            ended.join()
            code = ended.exitcode
            self.close()
            if code == -getattr(signal, "SIGPROF", 0):
                words = f"more than {LONGEST[kind]:g} s of processor time"
                return case, Judged([Finding("hang", words)])
            return case, Judged([Finding("crash", f"the process ended with code {code}")])
