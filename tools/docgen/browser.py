"""A page in a real browser: Chromium without a window, controlled through its debugging pipe, without a driver."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# No window, and nothing that Chromium asks the network for by itself. Its sandbox refuses to run as root.
_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-dev-shm-usage", "--remote-debugging-pipe"),
)
_ANSWER_SECONDS = 60


@dataclass
class Page:
    """A page in one window, and what the browser reported while loading it."""

    browser: "Browser"
    session: str
    requested: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    loaded: set[str] = field(default_factory=set)

    def ask(self, script: str) -> Any:
        """The value of a script in the page."""
        answer = self.browser.call("Runtime.evaluate", self, expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"]["description"])
        return answer["result"].get("value")

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """The page, however long; or what of it is in the window."""
        shot = self.browser.call("Page.captureScreenshot", self, captureBeyondViewport=whole)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(shot["data"]))


class Browser:
    def __init__(self, write_to: int, read_from: int) -> None:
        self._write_to, self._read_from = write_to, read_from
        self._count, self._read = 0, b""
        self._pages: dict[str, Page] = {}

    def open(self, file: Path, *, width: int, height: int = 900, scheme: str = "light") -> Page:
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        self._pages[page.session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable", page)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            page,
            width=width,
            height=height,
            deviceScaleFactor=2 if width < 600 else 1,
            mobile=width < 600,
        )
        scheme_wanted = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", page, features=scheme_wanted)
        self.call("Page.setLifecycleEventsEnabled", page, enabled=True)
        loader = self.call("Page.navigate", page, url=file.as_uri())["loaderId"]
        # By its loader: the empty page from before fires a load event too.
        while loader not in page.loaded:
            self._next()
        return page

    def call(self, method: str, page: Page | None = None, **params: Any) -> dict[str, Any]:
        self._count += 1
        asked = {"id": self._count, "method": method, "params": params}
        os.write(self._write_to, json.dumps(asked | ({"sessionId": page.session} if page else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == asked["id"]:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + _ANSWER_SECONDS
        while b"\0" not in self._read:
            if not select.select([self._read_from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            if not (more := os.read(self._read_from, 1 << 20)):
                raise EOFError("Chromium has ended")
            self._read += more
        text, self._read = self._read.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if page := self._pages.get(message.get("sessionId", "")):
            _note(page, message.get("method"), message.get("params", {}))
        return message


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """`folder` is its home, so that nobody's own browser profile is read or changed."""
    assert PROGRAM, "no Chromium here"
    it_reads, we_write = os.pipe()
    we_read, it_writes = os.pipe()
    # It reads commands from descriptor 3 and answers on 4.
    wired = f'exec 3<&{it_reads} 4>&{it_writes}; exec "$@"'
    process = subprocess.Popen(
        ["bash", "-c", wired, "chromium", PROGRAM, *_OPTIONS, f"--user-data-dir={folder}"],
        pass_fds=(it_reads, it_writes),
        stdout=subprocess.DEVNULL,
        stderr=(folder / "stderr").open("wb"),
        env=os.environ | {"HOME": str(folder)},
    )
    os.close(it_reads)
    os.close(it_writes)
    try:
        yield (browser := Browser(we_write, we_read))
        browser.call("Browser.close")
    finally:
        os.close(we_write)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(we_read)


def _note(page: Page, method: str | None, params: dict[str, Any]) -> None:
    match method:
        case "Page.lifecycleEvent" if params["name"] == "load":
            page.loaded.add(params["loaderId"])
        case "Network.requestWillBeSent":
            page.requested.append(params["request"]["url"])
        case "Runtime.exceptionThrown":
            page.errors.append(params["exceptionDetails"]["text"])
        case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
            page.errors.append(" ".join(str(one.get("value")) for one in params["args"]))
        case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
            page.errors.append(params["entry"]["text"])
