"""The page in a real browser, from disk: it opens, filters and shows; hostile text stays text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from experiments import report
from tests.reporting.page import hostile

CHROMIUM = shutil.which("chromium")
api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine (apt install chromium)"),
]
COUNT = 2000


@pytest.fixture(scope="module")
def page_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    run = hostile.build(root / "runs", COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("FAULTLINE_DATA_DIR", raising=False)
        title = hostile.HOSTILE[0]
        assert report.main([str(run), "--out", str(root / "page"), "--title", title, "--no-figures"]) == 0
    return root / "page"


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with api.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


class Opened:
    """A page with everything that it said and asked for."""

    def __init__(
        self, browser, page_dir: Path, width: int = 1280, height: int = 900, after: str = ""
    ) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.goto(f"file://{page_dir}/index.html{after}")
        self.page.wait_for_selector("#t-detail h3")
        self.page.wait_for_selector("#ledger-body tr")

    def shown(self) -> str:
        return self.page.inner_text("#t-count")

    def until(self, test, seconds: float = 10.0) -> None:
        """Poll from outside: the page's policy forbids evaluated strings, a test's own included."""
        for _ in range(int(seconds / 0.05)):
            if test():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError("the page did not get there in time")

    def titled(self, start: str) -> None:
        self.until(lambda: self.page.inner_text("#t-detail h3").startswith(start))


@pytest.fixture
def opened(browser, page_dir) -> Iterator[Opened]:
    found = Opened(browser, page_dir)
    yield found
    assert found.said == []
    assert [url for url in found.asked if not url.startswith(f"file://{page_dir}/")] == []
    assert found.page.title() == hostile.HOSTILE[0]  # and not what any of them would have made of it
    assert found.page.evaluate("document.querySelectorAll('main :is(img, script, style)').length") == 0
    found.context.close()


def test_it_opens_from_disk_with_every_claim(opened):
    assert opened.page.inner_text("#ledger-count") == "1,045 of 1,045 claims"
    assert opened.shown() == f"{COUNT:,} of {COUNT:,} trajectories"
    assert opened.page.inner_text("h1") == hostile.HOSTILE[0]


def test_the_ledger_is_searched_filtered_and_sorted(opened):
    page = opened.page
    page.fill("#ledger-search", "table7 Baseline.front")
    opened.until(lambda: page.inner_text("#ledger-count").startswith("1 of"))
    page.fill("#ledger-search", "")
    page.select_option("#ledger-status", "inconsistent")
    page.select_option("#ledger-paper", "charm")
    opened.until(lambda: page.inner_text("#ledger-count").startswith("30 of"))
    page.select_option("#ledger-status", "")
    page.click("#ledger-table th button[data-sort=printed]")
    numbers = page.evaluate(
        "[...document.querySelectorAll('#ledger-body tr:not([hidden]) td:nth-child(4)')]"
        ".map(c => c.textContent).filter(t => /^\\d+%$/.test(t)).map(parseFloat)"
    )
    assert len(numbers) > 3
    assert numbers == sorted(numbers)


def test_trajectories_are_filtered_and_opened(opened):
    page = opened.page
    page.select_option("#t-dataset", "plain")
    opened.until(lambda: opened.shown().startswith("667 of"))
    page.fill("#t-search", "1989:")
    opened.until(lambda: opened.shown().startswith("1 of"))
    page.click(".t-row")
    opened.titled("1989:")
    assert page.inner_text("#t-detail h3") == f"1989: {hostile.text(1989)}"
    deleted = page.eval_on_selector_all("#t-detail del", "nodes => nodes.map(n => n.textContent)")
    inserted = page.eval_on_selector_all("#t-detail ins", "nodes => nodes.map(n => n.textContent)")
    assert deleted == ["Paris"] * 4  # the certificate's two edits, and both in the passage
    assert inserted == ["Berlin"] * 4
    assert hostile.text(1989) in page.text_content("#t-detail blockquote")


def test_the_envelopes_of_a_review_chain_are_shown_in_order(opened):
    page = opened.page
    page.fill("#t-search", f"{hostile.text(0)}/1")
    opened.until(lambda: not opened.shown().startswith("2,000 of"))
    page.click(".t-row >> nth=0")
    opened.titled("1:")
    said = page.eval_on_selector_all("#t-detail .chain blockquote", "nodes => nodes.map(n => n.textContent)")
    assert said == [hostile.text(2), hostile.text(3)]


def test_two_thousand_stay_fluid(opened):
    page = opened.page
    rows = page.evaluate("document.querySelectorAll('.t-row').length")
    assert rows < 60
    usual = page.evaluate(
        """async () => { const list = document.getElementById('t-list'), taken = [];
        for (let at = 0; at < 120000; at += 4000) { const t = performance.now(); list.scrollTop = at;
          await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame);
          taken.push(performance.now() - t); } return taken.sort((a, b) => a - b)[taken.length >> 1]; }"""
    )
    assert usual < 500  # the median jump, two frames without a GPU; about 60 ms on a quiet machine
    assert page.evaluate("document.querySelectorAll('.t-row').length") < 60


def test_keyboard_alone_is_enough(opened):
    page = opened.page
    page.focus("#t-list")
    page.keyboard.press("End")
    opened.titled(f"{COUNT - 1}:")
    page.keyboard.press("ArrowUp")
    opened.titled(f"{COUNT - 2}:")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "t-detail"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "t-list"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_a_link_opens_its_trajectory(browser, page_dir, opened):
    opened.page.focus("#t-list")
    opened.page.keyboard.press("PageDown")
    opened.until(lambda: opened.page.evaluate("location.hash").startswith("#trajectory="))
    after = opened.page.evaluate("location.hash")
    title = opened.page.inner_text("#t-detail h3")
    again = Opened(browser, page_dir, after=after)
    again.titled(title)
    again.context.close()


def test_a_phone_needs_no_sideways_scrolling(browser, page_dir):
    found = Opened(browser, page_dir, 390, 844)
    assert found.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert found.said == []
    found.context.close()


def test_theme_is_chosen_and_print_is_light(opened):
    page = opened.page
    page.emulate_media(color_scheme="light")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    page.click("#theme")
    assert page.inner_text("#theme") == "Theme: dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_printed_on_a4_the_ledger_is_a_table(browser, page_dir):
    found = Opened(browser, page_dir, 794, 1123)
    row = "getComputedStyle(document.querySelector('#ledger-body tr:not([hidden])')).display"
    assert found.page.evaluate(row) == "grid"  # a narrow screen shows cards
    found.page.emulate_media(media="print")
    assert found.page.evaluate(row) == "table-row"
    assert not found.page.is_visible("nav")
    assert found.page.pdf(format="A4").startswith(b"%PDF")
    found.context.close()
