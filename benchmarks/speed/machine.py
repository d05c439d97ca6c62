"""What a measurement depends on besides the code: machine, versions, threads, date. No name of a host."""

import hashlib
import os
import platform
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import vsbo

THREADS = 1
PACKAGES = ("vsbo", "numpy", "scipy", "torch", "gpytorch", "botorch")


def environment() -> dict[str, str]:
    """As text, by name; packages that are not installed are left out."""
    known = {
        "date": date.today().isoformat(),
        "cpu": _cpu_model(),
        "cores": str(os.cpu_count()),
        "threads used": str(THREADS),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    known["vsbo source"] = _source_digest()
    return known


def _source_digest() -> str:
    """Tells apart sources of one version: rows with different digests were measured on different code."""
    root = Path(vsbo.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()
