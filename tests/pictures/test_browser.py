"""Report and live page in a real browser: `scripts/test --browser`. CHROMIUM names the program, if it is elsewhere."""

import os
import shutil

import pytest

from tests.pictures.common import HOSTILE, POOR, mixed, poor
from tests.pictures.server import dashboard
from vsbo.interfaces.report import report_html

pytestmark = pytest.mark.browser
LOOKS = [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")]
CHARTS = ("convergence", "importance", "over_time", "selected", "slices", "contour", "predictions", "parallel")


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    assert program, "no browser: install chromium, or set CHROMIUM to its program"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture
def tab(chromium, request):
    """A page that may log no error and open no dialog."""
    width, scheme = getattr(request, "param", LOOKS[0])
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-US")
    page, wrong = context.new_page(), []
    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append("dialog"), dialog.dismiss()))
    yield page
    context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    with mixed(tmp_path_factory.mktemp("browser") / "study.db", 40) as made:
        yield made


@pytest.fixture(scope="module")
def report(study, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(report_html(study), encoding="utf-8")
    return file.as_uri()


def rows(page):
    return page.locator("#variables tbody tr")


def names(page):
    return page.locator("#variables td.name").all_inner_texts()


def check(page, study, width):
    for chart in CHARTS:
        assert page.locator(f"#{chart} svg, #{chart} canvas").count() >= 1, chart
    assert page.locator("#best-value").inner_text() == repr(study.best.y)
    assert names(page) == [one.name for one in study.importance().ranked][:20]
    assert page.locator("#story li").all_inner_texts() == list(study.history().sentences)
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out


@pytest.mark.parametrize("tab", LOOKS, indirect=True)
def test_the_report(tab, report, study):
    tab.goto(report)
    check(tab, study, tab.viewport_size["width"])
    assert HOSTILE in names(tab)
    drawn = tab.evaluate(
        "(() => { const c = document.querySelector('#convergence canvas');"
        "return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((v) => v > 0); })()"
    )
    assert drawn


def test_the_table_is_searched_and_sorted(tab, report, study):
    tab.goto(report)
    tab.fill("#search", "W")
    assert sorted(names(tab)) == [f"w{i}" for i in range(6)]
    tab.fill("#search", "")
    tab.get_by_role("button", name="variable").click()
    assert names(tab)[-6:] == [f"w{i}" for i in range(6)]
    tab.get_by_role("button", name="share").click()
    assert names(tab)[0] == study.importance().ranked[0].name


def test_letters_are_legible(tab, report):
    """Contrast of text and ground, by WCAG: at least 4.5, light and dark."""
    tab.goto(report)
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        colors = tab.evaluate(
            "['--text', '--faint', '--card', '--back'].map((n) => {"
            " const d = document.createElement('div'); document.body.append(d);"
            " d.style.color = getComputedStyle(document.documentElement).getPropertyValue(n);"
            " const c = getComputedStyle(d).color; d.remove(); return c.match(/\\d+/g).map(Number); })"
        )
        text, faint, card, back = map(_luminance, colors)
        for letters in (text, faint):
            for ground in (card, back):
                assert (max(letters, ground) + 0.05) / (min(letters, ground) + 0.05) >= 4.5


def _luminance(color):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in color[:3])]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_live_page_updates_by_itself(tab, tmp_path):
    path = tmp_path / "study.db"
    with mixed(path) as study, dashboard(path) as address:
        tab.goto(address)
        tab.wait_for_selector("#importance svg", timeout=60_000)
        check(tab, study, 1280)
        trial = study.ask()
        study.tell(trial, -123.25)
        tab.locator("#best-value", has_text="-123.25").wait_for(timeout=15_000)


@pytest.mark.parametrize("kind", POOR)
def test_a_study_with_nothing_to_show_says_so(tab, tmp_path, kind):
    file = tmp_path / "report.html"
    with poor(tmp_path / "study.db", kind) as study:
        file.write_text(report_html(study), encoding="utf-8")
    tab.goto(file.as_uri())
    assert tab.locator(".note").count() >= 3
    assert POOR[kind][1] in tab.locator("main").inner_text().lower()
