# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium, over the pipe of its DevTools protocol."""

import base64
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile

# No page takes that long, even on a machine that is busy.
SILENCE = 300


class Chromium:
    """It has one page, and speaks of it alone. Use it by `with`."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="spank-tf-site-")
        orders, self.orders = os.pipe()
        self.answers, answers = os.pipe()
        # Chromium reads orders from descriptor 3, and writes answers to 4. As root it has no sandbox; its pages
        # are ours.
        shell = f'exec "$@" 3<&{orders} 4>&{answers}'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "-", "chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-background-networking", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(orders, answers), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(orders)
        os.close(answers)
        self.number, self.buffer, self.events, self.session = 0, b"", [], None
        target = self.order("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.order("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.order("Page.enable")
        self.order("Runtime.enable")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        # With its helpers, which write to the profile.
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)

    def message(self):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], SILENCE)[0]:
                raise RuntimeError(f"Chromium has said nothing for {SILENCE} s")
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise RuntimeError("Chromium has ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def order(self, method, **parameters):
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            order["sessionId"] = self.session
        data = json.dumps(order).encode() + b"\0"
        while data:
            data = data[os.write(self.orders, data):]
        while (message := self.message()).get("id") != self.number:
            self.events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def open(self, url):
        """Open a page, and wait until it and its pictures are loaded. Returns the errors of its scripts."""
        self.events.clear()
        result = self.order("Page.navigate", url=url)
        if "errorText" in result:
            raise RuntimeError(f"{url}: {result['errorText']}")
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message())
        return [event["params"]["exceptionDetails"]["exception"].get("description", "an exception")
                for event in self.events if event.get("method") == "Runtime.exceptionThrown"]

    def run(self, script):
        """The value of an expression in the page."""
        result = self.order("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    def screen(self, width, height, scheme):
        self.order("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                   mobile=width < 600)
        self.order("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": scheme},
                             {"name": "prefers-reduced-motion", "value": "reduce"}])

    def sheets(self):
        """On how many sheets of A4 the page is printed."""
        pdf = self.order("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)["data"]
        return len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(pdf)))

    def picture(self, file):
        """Write the whole page to a PNG file."""
        size = self.order("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        data = self.order("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        with open(file, "wb") as png:
            png.write(base64.b64decode(data))
