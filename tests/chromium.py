"""A headless Chromium that tests drive as a user would: keys go through the browser."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from contextlib import contextmanager

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


class Tab:
    """One tab, by the DevTools protocol over a pipe."""

    def __init__(self, into, out):
        self.into, self.out = into, out
        self.number, self.events = 0, []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        self.into.write(json.dumps(message).encode() + b"\0")
        self.into.flush()
        while (answer := self._read()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _read(self):
        data = b""
        while not data.endswith(b"\0"):
            byte = self.out.read(1)
            assert byte, "Chromium has ended"
            data += byte
        return json.loads(data[:-1])

    def open(self, path, width=1280, height=900):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.call("Page.navigate", url=path.as_uri())
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._read())
        self.events = [e for e in self.events if e.get("method") != "Page.loadEventFired"]

    def run(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def press(self, key):
        text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        code = {"Tab": 9, "Enter": 13}.get(key, 0)
        for kind in ("keyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def requests(self):
        """The addresses that it asked for."""
        return [
            e["params"]["request"]["url"]
            for e in self.events
            if e.get("method") == "Network.requestWillBeSent"
        ]

    def complaints(self):
        """What it wrote into its console, and dialogues that a page opened."""
        kinds = {
            *("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled"),
            "Page.javascriptDialogOpening",
        }
        return [e for e in self.events if e.get("method") in kinds]


@contextmanager
def chromium(profile):
    """A tab of a browser of its own, whose profile is kept in a folder."""

    def high(descriptor):  # above 3 and 4, which the browser reads and writes
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 10)
        os.close(descriptor)
        return moved

    (its_in, into), (out, its_out) = (map(high, os.pipe()) for _ in range(2))
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-pipe"]
    shell = ["bash", "-c", f'exec "$@" 3<&{its_in} 4>&{its_out}', "bash", *command]
    with subprocess.Popen(shell, pass_fds=(its_in, its_out), stderr=subprocess.DEVNULL) as process:
        os.close(its_in)
        os.close(its_out)
        try:
            with os.fdopen(into, "wb") as writer, os.fdopen(out, "rb") as reader:
                yield Tab(writer, reader)
        finally:
            process.kill()
