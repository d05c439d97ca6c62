"""`vsbo dashboard`: the report as a page that keeps itself up to date. Read-only; on the loopback address unless told
otherwise; needs Starlette and uvicorn: `pip install vsbo[dashboard]`.
"""

import asyncio
import contextlib
import ipaddress
import socket
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from vsbo.errors import InputError, VsboError
from vsbo.interfaces.report import part
from vsbo.interfaces.watch import Watch, message, trouble_message
from vsbo.storage import Storage

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response, StreamingResponse
    from starlette.routing import Route
except ImportError:
    raise InputError(
        "the dashboard needs Starlette and uvicorn, which are not installed: pip install 'vsbo[dashboard]'"
    ) from None

#: Seconds between two looks at the file, and between two signs of life to the browser.
PERIOD, BEAT = 1.0, 15.0
#: Studies that are kept open at a time.
OPEN = 8

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
#: All files that can be asked for, and what they are: no path is made of what a browser sends.
FILES = {"page.js": "text/javascript", "uPlot.js": "text/javascript", "page.css": "text/css", "uPlot.css": "text/css"}


def is_ours(header: str, host: str) -> bool:
    """Whether a Host header names this server. A foreign site that points its name at our address is refused."""
    name = header.rsplit(":", 1)[0] if not header.endswith("]") and ":" in header else header
    name = name.strip("[]").lower()
    with contextlib.suppress(ValueError):
        if not _is_loopback(host):
            # Whoever listens for others is reached by some address or by name; only names can be turned against us.
            return bool(ipaddress.ip_address(name))
        return ipaddress.ip_address(name).is_loopback
    return name == "localhost" or (not _is_loopback(host) and name in (host.lower(), socket.gethostname().lower()))


def _is_loopback(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class Guard:
    """Refuses what is not meant for this server, and adds the headers to every answer. Plain ASGI: streams pass."""

    def __init__(self, app: Any, host: str) -> None:
        self._app, self._host = app, host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]

        async def guarded(answer: Any) -> None:
            if answer["type"] == "http.response.start":
                extra = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                answer = {**answer, "headers": [*answer["headers"], *extra]}
            await send(answer)

        if len(hosts) != 1 or not is_ours(hosts[0], self._host):
            await PlainTextResponse("This is not the host you look for.\n", 400)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)


class Studies:
    """The studies of a file, opened as they are asked for."""

    def __init__(self, path: Path, first: str | None) -> None:
        self._path, self._first = path, first
        self._open: dict[str, Watch] = {}
        self._lock = threading.Lock()
        names = self.names()
        if not names:
            raise InputError(f"{path} has no study yet")
        if first is not None and first not in names:
            raise InputError(f"{path} has no study {first!r}; it has: {', '.join(map(repr, names))}")
        # Now, not when the first browser asks: reading a large study takes a second.
        self.latest(self._opened(first or names[0]), None)

    def names(self) -> tuple[str, ...]:
        """All there are now."""
        with contextlib.closing(Storage(self._path, create=False)) as storage:
            return storage.names()

    def latest(self, watch: Watch, seen: tuple[int, int] | None) -> tuple[tuple[int, int], str] | None:
        """The view of a study, if it is newer."""
        return watch.latest(seen, self.names())

    def watch(self, name: str | None) -> Watch | None:
        """Of a study; of the first one if none is named; None if there is none of that name."""
        names = self.names()
        name = (self._first or names[0]) if name is None else name
        return self._opened(name) if name in names else None

    def _opened(self, name: str) -> Watch:
        with self._lock:
            if name not in self._open:
                if len(self._open) >= OPEN:
                    self._open.pop(next(iter(self._open)))  # whoever still looks at it keeps it alive
                self._open[name] = Watch(self._path, name)
            return self._open[name]


def application(path: Path, first: str | None, host: str, ending: Callable[[], bool]) -> Any:
    """The ASGI application: the page, its parts, and the stream of views. ending: whether streams are to end."""
    studies = Studies(path, first)
    names = [*(f'<link rel="stylesheet" href="{name}">' for name in FILES if name.endswith("css"))]
    scripts = "".join(f'<script src="{name}"></script>' for name in ("uPlot.js", "page.js"))
    page = part("page.html").replace("<!--head-->", "".join(names), 1).replace("<!--scripts-->", scripts, 1)

    async def index(request: Request) -> Response:
        return Response(page, media_type="text/html")

    def file(name: str, kind: str) -> Callable[[Request], Any]:
        text = part(name)

        async def send(request: Request) -> Response:
            return Response(text, media_type=kind)

        return send

    async def events(request: Request) -> Response:
        wanted = request.query_params.get("study")
        try:
            watch = await asyncio.to_thread(studies.watch, wanted)
        except VsboError as error:
            return PlainTextResponse(f"{error}\n", 503)
        if watch is None:
            return PlainTextResponse("There is no such study.\n", 404)
        return StreamingResponse(stream(studies, watch, ending), media_type="text/event-stream")

    routes = [Route("/", index), Route("/events", events)]
    routes += [Route(f"/{name}", file(name, kind)) for name, kind in FILES.items()]
    return Guard(Starlette(routes=routes), host)


async def stream(studies: Studies, watch: Watch, ending: Callable[[], bool]) -> AsyncIterator[str]:
    """The view now, and again whenever it has changed; a comment now and then, so that a lost browser is noticed."""
    seen: tuple[int, int] | None = None
    said, quiet = "", 0.0
    while not ending():
        try:
            found = await asyncio.to_thread(studies.latest, watch, seen)
            trouble = watch.trouble
        except VsboError as error:
            found, trouble = None, str(error)
        if found is not None:
            seen, text = found
            yield message("study", text)
        if trouble and trouble != said:
            yield trouble_message(trouble)
        said, quiet = trouble, 0.0 if found is not None else quiet + PERIOD
        if quiet >= BEAT:
            quiet = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(PERIOD)


def serve(path: Path, first: str | None, host: str, port: int) -> None:
    """Serve until Ctrl-C; says where."""
    import click

    servers: list[uvicorn.Server] = []
    # A browser that listens would keep the server from ending.
    app = application(path, first, host, lambda: any(server.should_exit for server in servers))
    try:
        listening = socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, reuse_port=False
        )
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}; give another --port"
        ) from None
    with listening:
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"http://{shown}:{listening.getsockname()[1]}  (read-only; Ctrl-C ends it)")
        if not _is_loopback(host):
            click.echo("warning: whoever reaches this machine can read the study there", err=True)
        config = uvicorn.Config(
            app, log_level="warning", lifespan="off", timeout_graceful_shutdown=10, server_header=False, ws="none"
        )
        servers.append(uvicorn.Server(config))
        servers[0].run(sockets=[listening])
