# SPDX-License-Identifier: MPL-2.0
"""Drives a headless Chromium by its DevTools protocol: https://chromedevtools.github.io/devtools-protocol/."""

import base64
import json
import os
import queue
import signal
import subprocess
import threading
import time

from websockets.sync.client import connect

SECONDS_MAX = 60
MESSAGE_BYTES_MAX = 64 << 20

# Resolves to what `find` returns once that is neither null nor false, which is tried whenever the document changes.
UNTIL = """new Promise((resolve) => {
    const find = () => { %s };
    const look = () => {
        const found = find();
        if (found) { observer.disconnect(); resolve(found); }
    };
    const observer = new MutationObserver(look);
    observer.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});
    look();
})"""


class Browser:
    """A browser with one page. `requested` has the addresses that it has asked for."""

    def __init__(self, profile):
        self._profile = profile
        self._number = 0
        self._loaded = queue.Queue()
        self.requested = []

    def __enter__(self):
        self._process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
             f"--user-data-dir={self._profile}", "--window-size=1280,900", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, start_new_session=True,
        )
        try:
            address = next(line.split()[-1] for line in self._process.stderr if "DevTools listening on" in line)
            # Chromium would block if nobody read what it prints.
            threading.Thread(target=self._process.stderr.read, daemon=True).start()
            self._connection = connect(address, max_size=MESSAGE_BYTES_MAX)
            target = self._call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Network", "Runtime"):
                self._call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def open(self, address):
        """Opens a page and waits until it is loaded."""
        self._loaded = queue.Queue()
        # From a page that differs only in its fragment there would be no load.
        self._call("Page.navigate", url="about:blank")
        self._wait_for_load()
        self._call("Page.navigate", url=address)
        self._wait_for_load()

    def follow(self, selector):
        """Clicks a link and waits until the page that it leads to is loaded."""
        self._loaded = queue.Queue()
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self._wait_for_load()

    def evaluate(self, script):
        result = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait_until(self, script):
        """The value that the body `script` of a function returns once it is neither null nor false."""
        return self.evaluate(UNTIL % script)

    def type(self, selector, text):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self._call("Input.insertText", text=text)

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot")["data"]))

    def _wait_for_load(self):
        deadline = time.monotonic() + SECONDS_MAX
        while self._loaded.empty():
            self._take(json.loads(self._connection.recv(timeout=max(0, deadline - time.monotonic()))))
        self._loaded.get()

    def _call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if hasattr(self, "_session"):
            message["sessionId"] = self._session
        self._connection.send(json.dumps(message))
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            answer = json.loads(self._connection.recv(timeout=max(0, deadline - time.monotonic())))
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._take(answer)

    def _take(self, event):
        if event.get("method") == "Page.loadEventFired":
            self._loaded.put(True)
        elif event.get("method") == "Network.requestWillBeSent":
            self.requested.append(event["params"]["request"]["url"])
