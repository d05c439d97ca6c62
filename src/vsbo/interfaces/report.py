"""`vsbo report`: all that is known of a study as one HTML file, which needs no network and nothing beside it."""

import base64
import hashlib
from importlib.resources import files

from vsbo.interfaces.page_data import as_json, explained, page_data
from vsbo.study import Study


def part(name: str) -> str:
    """A file of the page."""
    return files("vsbo.interfaces").joinpath("page", name).read_text(encoding="utf-8")


def report_html(study: Study) -> str:
    """The file's text. Its policy allows the scripts and styles in it, by their hashes, and nothing else."""
    data = as_json(page_data(study, explained(study)))
    styles = [part("uPlot.css"), part("page.css")]
    # The license stays with the library, as it asks for.
    scripts = [f"/*\n{part('uPlot.LICENSE')}*/\n{part('uPlot.js')}", part("page.js")]
    policy = f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; base-uri 'none'"
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    head += "".join(f"<style>{text}</style>" for text in styles)
    body = f'<script type="application/json" id="data">{data}</script>'
    body += "".join(f"<script>{text}</script>" for text in scripts)
    page: str = part("page.html").replace("<!--head-->", head, 1).replace("<!--scripts-->", body, 1)
    return page


def _hashes(texts: list[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
