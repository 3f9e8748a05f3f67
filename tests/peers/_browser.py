"""A headless Chromium, driven through its DevTools protocol over a pipe: needs no package.

https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
SECONDS = 60  # that any one answer may take


class Browser:
    """One tab. What the page asks the network for, logs and throws is kept in `requests` and
    `complaints`."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self.out = os.pipe()
        self.into, from_browser = os.pipe()

        def as_3_and_4():  # where --remote-debugging-pipe reads and writes
            low, high = os.dup(to_browser), os.dup(from_browser)
            os.dup2(low, 3)
            os.dup2(high, 4)

        self.process = subprocess.Popen(
            [EXECUTABLE, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-background-networking", "--hide-scrollbars",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=as_3_and_4, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.buffer = b""
        self.last = 0
        self.session = None
        self.requests, self.complaints, self.loaded = [], [], 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(SECONDS)
        os.close(self.out)
        os.close(self.into)
        self.profile.cleanup()

    # --- the protocol: JSON documents with a zero byte behind each ---

    def receive(self):
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.into], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self.into, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self.buffer += piece
        document, self.buffer = self.buffer.split(b"\0", 1)
        document = json.loads(document)
        self.note(document)
        return document

    def note(self, document):
        method, what = document.get("method"), document.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(what["request"]["url"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(f"console.{what['type']}: {what['args']}")
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(f"exception: {what['exceptionDetails']}")
        elif method == "Log.entryAdded":
            self.complaints.append(f"{what['entry']['level']}: {what['entry']['text']}")
        elif method == "Page.loadEventFired":
            self.loaded += 1

    def call(self, method, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.last:
                assert "error" not in answer, f"{method}: {answer.get('error')}"
                return answer["result"]

    # --- what tests do ---

    def look(self, width=1280, height=900, scheme="light", scripts=True):
        """How the page is seen from now on: width and height in pixels, `light` or `dark`."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, path):
        """A file, or what is at an `http:` or `file:` address."""
        self.requests, self.complaints, self.loaded = [], [], 0
        url = path if str(path).startswith(("http:", "file:")) else pathlib.Path(path).resolve().as_uri()
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.receive()

    def evaluate(self, expression):
        """The value of a JavaScript expression. A page whose own scripts are off can still be asked."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def press(self, key, text=""):
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text and kind == "keyDown" else {}
            code = {"Enter": 13, "Tab": 9, " ": 32}.get(key, 0)
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)

    def screenshot(self, path, whole=False):
        """Of what is in view, or of the whole page (of at most 6,000 pixels)."""
        options = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            options = {"captureBeyondViewport": True,
                       "clip": {"x": 0, "y": 0, "width": size["width"],
                                "height": min(size["height"], 6000), "scale": 1}}
        shot = self.call("Page.captureScreenshot", format="png", **options)
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))
