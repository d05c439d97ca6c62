"""The dashboard as its users run it: a process of its own."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys

import httpx


@contextlib.contextmanager
def dashboard(path, *options):
    """Its address, while it runs; it must end quietly at Ctrl-C."""
    line = [sys.executable, "-m", "vsbo", "dashboard", str(path), "--port", "0", *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        found = re.match(r"(http://\S+)  \(read-only", server.stdout.readline())
        assert found, server.stderr.read()
        yield found[1]
    finally:
        server.send_signal(signal.SIGINT)
        _, complaints = server.communicate(timeout=30)
    assert not complaints.strip(), repr(complaints)


@contextlib.contextmanager
def events(address, **query):
    """The views that the server sends, as they come: (data, size in bytes)."""

    def views(lines):
        for text in lines:
            if text.startswith("data: "):
                yield json.loads(text[6:]), len(text)

    with httpx.stream("GET", f"{address}/events", params=query, timeout=60) as answer:
        assert answer.status_code == 200
        yield views(answer.iter_lines())
