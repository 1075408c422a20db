"""A headless Chromium on the DevTools pipe, driven with the standard library only."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run", "--no-default-browser-check",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
SOFTWARE_WEBGL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
NO_WEBGL = ("--disable-3d-apis",)
DEADLINE = 600.0  # seconds for one answer; only a browser that hangs takes so long

# Chromium's software renderer remarks on the speed of taking screenshots; the page has no part in it.
_DRIVER_CHATTER = "GL Driver Message (OpenGL, Performance"

# Chromium reads commands from descriptor 3 and answers on 4; both are moved out of the way first.
_LAUNCHER = """
import os, sys
reading, writing = (os.dup2(int(fd), 60 + k) for k, fd in enumerate(sys.argv[1:3]))
os.dup2(reading, 3), os.dup2(writing, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """Path of a Chromium or Chrome, from DALEMBERT_CHROMIUM or PATH."""
    wanted = os.environ.get("DALEMBERT_CHROMIUM")
    return wanted or next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser process with one tab. Use as a context manager; ``fresh`` begins anew in the same process.

    Attributes:
        console: texts of console messages of level warning and error, and of uncaught exceptions.
        requests: addresses of every request made except those of the page itself, data: and blob:.
    """

    def __init__(self, executable: str, profile: Path, *, webgl: bool = True):
        self.console: list[str] = []
        self.requests: list[str] = []
        self._events: list[dict] = []
        self._buffer = b""
        self._number = 0
        self._page = ""
        child_reads, self._out = os.pipe()
        self._in, child_writes = os.pipe()
        flags = (
            *FLAGS,
            *(SOFTWARE_WEBGL if webgl else NO_WEBGL),
            f"--user-data-dir={profile}",
            "about:blank",
        )
        self._process = subprocess.Popen(
            [sys.executable, "-c", _LAUNCHER, str(child_reads), str(child_writes), executable, *flags],
            pass_fds=(child_reads, child_writes),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(child_reads)
        os.close(child_writes)
        self._session = self._profile = ""

    def __enter__(self) -> Browser:
        try:
            self.fresh()
        except BaseException:
            self._stop()
            raise
        return self

    def leave(self) -> None:
        """Close the tab: a page that plays would go on drawing."""
        self._session = ""
        if self._profile:
            self.call("Target.disposeBrowserContext", browserContextId=self._profile)
            self._profile = ""

    def fresh(self) -> None:
        """A new tab that shares nothing with the one before, which is closed."""
        self.leave()
        self._profile = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self._profile)["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._page = ""
        for notes in (self.console, self.requests, self._events):
            notes.clear()
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self._session = ""
            self.call("Browser.close")
        self._stop()

    def _stop(self) -> None:
        """End the browser and the processes it started, which share its own session."""
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, **parameters: object) -> dict:
        """Send one DevTools command and return its result."""
        self._number += 1
        message: dict = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        answer = self._receive(lambda got: got.get("id") == message["id"])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for(self, event: str) -> None:
        """Wait until a DevTools event has come since the last load began."""
        if not any(got["method"] == event for got in self._events):
            self._receive(lambda got: got.get("method") == event)

    def _receive(self, wanted) -> dict:
        end = time.monotonic() + DEADLINE
        while True:
            while b"\0" in self._buffer:
                text, self._buffer = self._buffer.split(b"\0", 1)
                got = json.loads(text)
                if "method" in got and got.get("sessionId", "") == self._session:
                    self._note(got)
                if wanted(got):
                    return got
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._in, 1 << 20) if ready else b""
            if not data:
                raise RuntimeError("the browser closed its pipe" if ready else "the browser does not answer")
            self._buffer += data

    def _note(self, event: dict) -> None:
        """Remember what a test may ask about."""
        self._events.append(event)
        method, details = event["method"], event.get("params", {})
        if _DRIVER_CHATTER in json.dumps(details):
            return
        if method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            words = [str(item.get("value", item.get("description"))) for item in details["args"]]
            self.console.append(f"{details['type']}: {' '.join(words)}")
        elif method == "Runtime.exceptionThrown":
            exception = details["exceptionDetails"]
            self.console.append(exception.get("exception", {}).get("description", exception["text"]))
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.console.append(f"{details['entry']['level']}: {details['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = details["request"]["url"]
            if not url.startswith(("data:", "blob:")) and url != self._page:
                self.requests.append(url)

    def emulate(self, *, width: int, height: int, dark: bool = False) -> None:
        """Size of the window and preferred color scheme."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path: Path, fragment: str = "") -> None:
        """Load a file and wait for its load event."""
        self._events.clear()
        self._page = Path(path).resolve().as_uri()
        self.call("Page.navigate", url=self._page + fragment)
        self.wait_for("Page.loadEventFired")

    def evaluate(self, expression: str):
        """Value of a JavaScript expression (a promise is awaited)."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def settle(self) -> None:
        """Wait until two animation frames have been drawn."""
        frame = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"
        self.evaluate(frame)

    def key(self, key: str, code: str) -> None:
        """Press and release a key."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)

    def mouse(self, kind: str, x: float, y: float, **more: object) -> None:
        """One mouse event: pressed, moved, released or wheel."""
        names = {"pressed": "mousePressed", "moved": "mouseMoved", "released": "mouseReleased"}
        self.call("Input.dispatchMouseEvent", type=names.get(kind, "mouseWheel"), x=x, y=y, **more)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag with the left button."""
        self.mouse("pressed", *start, button="left", buttons=1, clickCount=1)
        self.mouse("moved", *end, button="left", buttons=1)
        self.mouse("released", *end, button="left", buttons=0, clickCount=1)

    def screenshot(self, selector: str | None = None) -> bytes:
        """PNG of the window, or of one element of it."""
        clip = {}
        if selector:
            element = f"document.querySelector({json.dumps(selector)})"
            self.evaluate(f"{element}.scrollIntoView({{block: 'center'}})")
            self.settle()
            box = self.evaluate(f"{element}.getBoundingClientRect().toJSON()")
            shift = self.evaluate("({x: scrollX, y: scrollY})")
            box = {**box, "x": box["x"] + shift["x"], "y": box["y"] + shift["y"]}
            clip = {"clip": {"scale": 1, **{key: box[key] for key in ("x", "y", "width", "height")}}}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **clip)["data"])

    def pixels(self, selector: str) -> np.ndarray:
        """Screenshot of an element as an (h, w, 3) array."""
        from PIL import Image

        return np.asarray(Image.open(io.BytesIO(self.screenshot(selector))).convert("RGB")).astype(int)
