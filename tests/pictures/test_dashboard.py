"""The live page's server, as a process, over HTTP. (In a browser: test_browser.py.)"""

import time

import httpx
import numpy as np
import pytest

import vsbo
from tests.pictures.common import POOR, loss, mixed, poor
from tests.pictures.server import dashboard, events
from vsbo.interfaces.cli import _main
from vsbo.interfaces.dashboard import is_ours


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    path = tmp_path_factory.mktemp("live") / "study.db"
    with mixed(path) as study, vsbo.Study.open(path, [(0, 1)] * 3, name="<other> & 2") as other:
        other.tell(other.ask(), 1.0)
        with dashboard(path) as address:
            yield study, address


def test_it_sends_the_studys_numbers(live):
    study, address = live
    with events(address) as views:
        data = next(data for data, _ in views if data["importance"])
    assert data["studies"] == ["study", "<other> & 2"]
    assert data["best"]["value"] == repr(study.best.y)
    assert [row["name"] for row in data["variables"]] == [one.name for one in study.importance().ranked]
    assert tuple(data["story"]) == study.history().sentences


def test_it_notices_what_others_write(live):
    study, address = live
    with events(address) as views:
        before, _ = next(views)
        trial = study.ask()
        study.tell(trial, loss(trial.params) if trial.params["w0"] <= 0.95 else 9.0)
        after = next(data for data, _ in views if data["done"] > before["done"])
    assert after["done"] == before["done"] + 1 == sum(one.status == "done" for one in study.trials)


def test_several_studies(live):
    _, address = live
    with events(address, study="<other> & 2") as views:
        assert next(views)[0]["study"] == "<other> & 2"
    assert httpx.get(f"{address}/events", params={"study": "none"}).status_code == 404


def test_nothing_but_the_page_can_be_read(live):
    _, address = live
    for path in ("study.db", "page.html", "%2e%2e/cli.py", "page/page.js", "/etc/passwd"):
        assert httpx.get(f"{address}/{path}").status_code == 404
    for method in ("POST", "PUT", "DELETE"):
        assert httpx.request(method, f"{address}/").status_code == 405


def test_a_foreign_host_is_refused(live):
    _, address = live
    assert httpx.get(address).status_code == 200
    for host in ("evil.example", "127.0.0.1.evil.example", "evil.example:80", "10.0.0.1", ""):
        assert httpx.get(address, headers={"Host": host}).status_code == 400


def test_every_answer_has_the_policy(live):
    _, address = live
    for path in ("", "page.js", "uPlot.css", "nothing"):
        policy = httpx.get(f"{address}/{path}").headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("header", "host", "ours"),
    [
        ("localhost:80", "127.0.0.1", True),
        ("[::1]:80", "::1", True),
        ("[::1]", "::1", True),
        ("192.168.0.7:80", "127.0.0.1", False),
        ("192.168.0.7:80", "0.0.0.0", True),
        ("evil.example", "0.0.0.0", False),
    ],
)
def test_whose_host_it_is(header, host, ours):
    assert is_ours(header, host) is ours


def test_studies_with_nothing_to_show_say_so(tmp_path):
    path = tmp_path / "study.db"
    for kind in POOR:
        poor(path, kind, name=kind).close()
    with dashboard(path) as address:
        for kind, (_, told) in POOR.items():
            with events(address, study=kind) as views:
                data = next(data for data, _ in views if data["importance"])
            assert data["importance"]["note"]
            assert told in str(data).lower()


def test_wrong_use_is_told(tmp_path, capsys):
    poor(tmp_path / "study.db", "empty").close()
    assert _main(["dashboard", str(tmp_path / "study.db"), "--name", "x", "--port", "0"]) == 2
    assert "has no study 'x'; it has: 'study'" in capsys.readouterr().err
    assert _main(["dashboard", str(tmp_path / "none.db")]) == 2
    assert "none.db" in capsys.readouterr().err


@pytest.mark.slow
def test_a_large_study_is_sent_small_and_soon(tmp_path):
    rng = np.random.default_rng(0)
    space = vsbo.Space({f"a_rather_long_name_of_a_variable_{j}": vsbo.Real(0, 1) for j in range(1000)})
    path = tmp_path / "study.db"
    with vsbo.Study.open(path, space, seed=0) as study:
        for x in rng.random((1000, 1000)):
            study.add(x, float(x[0] + x[1] ** 2))
    with dashboard(path) as address:
        seconds = []
        for _ in range(3):  # the first is that of a server which has just begun; other programs may disturb one
            began = time.perf_counter()
            httpx.get(address)
            with events(address) as views:
                next(views)
            seconds.append(time.perf_counter() - began)
        sizes = []
        with events(address) as views:
            for data, size in views:
                sizes.append(size)
                if data["importance"]:
                    break
    assert max(sizes) < 500_000
    assert min(seconds) < 1.0
    assert len(data["variables"]) == 50
