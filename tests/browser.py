"""A real browser for pages that pfn makes: Chromium without a window, driven by selenium.

Import the fixture `browser` into a test file. Where there is no Chromium the tests that use it are skipped, or fail if
the environment variable PFN_BROWSER is "required".
"""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import environ
from pathlib import Path
from typing import Any

import pytest

ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root, where Chromium's own sandbox refuses to start
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1000,1100",
)
PATIENCE = 20.0  # seconds to wait for what a page should do soon


@dataclass(frozen=True)
class Browser:
    """One page at a time, and what a person would see of it."""

    driver: Any

    def open(self, path: Path) -> None:
        """Load a page from a file; what was logged before is forgotten."""
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(path.as_uri())

    def script(self, code: str, *arguments: Any) -> Any:
        """Run JavaScript in the page; it returns what the code returns."""
        return self.driver.execute_script(code, *arguments)

    def until(self, happened: Callable[[], Any], what: str) -> Any:
        """Wait for something to be the case."""
        from selenium.common.exceptions import TimeoutException
        from selenium.webdriver.support.ui import WebDriverWait

        try:
            return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.02).until(lambda _: happened())
        except TimeoutException:
            pytest.fail(f"after {PATIENCE} seconds still not the case: {what}. The log: {self.console()}")

    def find(self, selector: str) -> Any:
        """The element that a CSS selector names."""
        return self.driver.find_element("css selector", selector)

    def press(self, *keys: str) -> None:
        """Press keys wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def pixels(self, selector: str) -> list[int]:
        """Red, green, blue and opacity of every pixel of a canvas, row by row."""
        code = """const c = document.querySelector(arguments[0]);
            return Array.from(c.getContext("2d").getImageData(0, 0, c.width, c.height).data);"""
        pixels: list[int] = self.script(code, selector)
        return pixels

    def console(self) -> list[str]:
        """What the page has complained about since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened, or since this was asked last."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"]["request"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [request["url"] for request in sent]

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        wider: int = self.script("return document.documentElement.scrollWidth - window.innerWidth")
        return wider

    def resize(self, width: int, height: int) -> None:
        """The size that the page believes the screen to have."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        """Prefer a light or a dark page."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        give_up = pytest.fail if environ.get("PFN_BROWSER") == "required" else pytest.skip
        give_up("no chromium and chromedriver on the path: install Debian's packages of these names")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
