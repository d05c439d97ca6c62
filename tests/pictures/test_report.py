"""The report: one file, the study's numbers in it, no name taken for HTML. (In a browser: test_browser.py.)"""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import vsbo
from tests.pictures.common import HOSTILE, POOR, mixed, poor
from vsbo.interfaces import page_data
from vsbo.interfaces.cli import _main
from vsbo.interfaces.report import report_html


class Page(HTMLParser):
    """Its scripts and styles, its data, its policy, and every address it refers to."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.styles, self.links, self.policy, self.data, self._into = [], [], [], "", None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        self._into = "data" if given.get("id") == "data" else tag if tag in ("script", "style") else None

    def handle_data(self, text):
        if self._into == "data":
            self.data = json.loads(text)
        elif self._into:
            (self.scripts if self._into == "script" else self.styles).append(text)

    def handle_endtag(self, tag):
        self._into = None


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    with mixed(tmp_path_factory.mktemp("report") / "study.db") as made:
        yield made


def test_it_is_one_file_that_needs_nothing_else(study):
    page = Page(report_html(study))
    assert page.links == []
    assert len(page.scripts) == len(page.styles) == 2
    assert "Permission is hereby granted" in page.scripts[0]  # uPlot's license
    assert not any(re.search(r"@import|url\(", style) for style in page.styles)
    for text in (*page.scripts, *page.styles):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.policy
    assert page.policy.startswith("default-src 'none'")


def test_its_numbers_are_the_studys(study):
    data = Page(report_html(study)).data
    best, importance = study.best, study.importance()
    assert data["best"]["value"] == repr(best.y)
    assert data["convergence"]["best"][-1] == pytest.approx(best.y, rel=1e-5)
    assert [row["name"] for row in data["variables"]] == [one.name for one in importance.ranked]
    for row, one in zip(data["variables"], importance.ranked, strict=True):
        assert [row["share"], row["low"], row["high"]] == pytest.approx([one.share, one.low, one.high], rel=1e-5)
        assert row["best"] == str(best.params[one.name])
    assert tuple(data["story"]) == study.history().sentences
    assert ["mode", "fast", "fixed"] in data["best"]["point"]


def test_the_program_in_it_makes_the_same_study(study, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = dict(Page(report_html(study)).data["repeat"])["A program that begins it again"]
    names = {}
    exec(program, names)
    with names["study"] as again:
        assert again.space == study.space
        assert again.state.config == study.state.config
        assert again.ask().params == study.trials[0].params


def test_no_name_is_taken_for_html(study):
    text = report_html(study)
    assert HOSTILE in [row["name"] for row in Page(text).data["variables"]]
    assert HOSTILE not in text
    assert "<b>badly" not in text


@pytest.mark.parametrize("kind", POOR)
def test_a_study_with_nothing_to_show_says_so(tmp_path, kind):
    with poor(tmp_path / "study.db", kind) as study:
        data = Page(report_html(study)).data
    said = json.dumps(data).lower()
    assert POOR[kind][1] in said
    assert data["slices"]["note"]
    assert data["importance"]["note"]


def test_of_many_points_the_best_and_some_are_shown(study, monkeypatch):
    every = Page(report_html(study)).data
    monkeypatch.setattr(page_data, "MOST_POINTS", 10)
    few = Page(report_html(study)).data
    best = float(f"{study.best.y:.6g}")
    for all_of_it, some in zip([*every["slices"], every["contour"]], [*few["slices"], few["contour"]], strict=True):
        assert len(some["points"]) <= 10 < len(all_of_it["points"])
        assert all(point in all_of_it["points"] for point in some["points"])
        assert min(point[-1] for point in some["points"]) == best


@pytest.mark.slow
def test_a_large_study_is_below_three_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    space = vsbo.Space({f"a_rather_long_name_of_a_variable_{j}": vsbo.Real(0, 1) for j in range(1000)})
    with vsbo.Study.open(tmp_path / "study.db", space, seed=0) as study:
        for x in rng.random((500, 1000)):
            study.add(x, float(x[0] + x[1] ** 2))
        text = report_html(study)
    assert len(Page(text).data["variables"]) == 1000
    assert len(text.encode()) < 3_000_000


def test_command_line(study, tmp_path):
    file = tmp_path / "report.html"
    assert _main(["report", str(study.path), "-o", str(file)]) == 0
    assert Page(file.read_text(encoding="utf-8")).data["study"] == "study"
