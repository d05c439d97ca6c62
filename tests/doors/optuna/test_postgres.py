"""Two processes on one PostgreSQL study: scripts/test --postgres. Needs Debian's package postgresql.

The server is the test's own: its data and its socket are in a folder of its own, and it listens to no network. It does
not run as root, so root starts it as the package's user "postgres".
"""

import getpass
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.doors.optuna.test_sampler import two_processes

pytestmark = pytest.mark.postgres


def server_programs():
    """The folder with the newest server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        pytest.fail("no PostgreSQL server: apt install postgresql")
    return found[-1].parent if found else Path(on_path).parent


@pytest.fixture
def url():
    programs, user = server_programs(), getpass.getuser()
    folder = Path(tempfile.mkdtemp(prefix="vsbo-postgres-"))
    as_user = []
    if os.getuid() == 0:
        user, as_user = "postgres", ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, user)
    data = folder / "data"

    def call(program, *arguments):
        command = [*as_user, str(programs / program), *map(str, arguments)]
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)

    try:
        call("initdb", "-D", data, "--auth=trust", "--no-sync")
        call("pg_ctl", "start", "-w", "-D", data, "-l", folder / "log", "-o", f"-k {folder} -c listen_addresses=''")
        try:
            yield f"postgresql+psycopg2://{user}@/postgres?host={folder}"
        finally:
            call("pg_ctl", "stop", "-D", data, "-m", "fast")
    finally:
        shutil.rmtree(folder)


def test_two_processes_on_one_postgres_study(url):
    two_processes(url, trials=20)
