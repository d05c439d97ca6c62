"""Compile a small C program with the options of a JSON object on standard input, and count what it executes.

Prints the number of instructions, counted by valgrind's callgrind, or, where there is none, the size of the code in
bytes. `vsbo run gcc_flags.toml` runs it in a folder of its own, so that several may run at once.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).with_name("gcc_program.c")
#: What the program prints, whatever it is compiled with: an option that changes it is not worth having.
CHECKSUM = "2046172739"


def run(*arguments: str) -> str:
    """Standard output; ends this program if the other one fails."""
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True).stdout


def options(params: dict[str, bool | int]) -> list[str]:
    """As gcc wants them: a boolean is -fNAME or -fno-NAME, a number is --param=NAME=NUMBER."""
    return [
        f"-f{'' if value else 'no-'}{name}" if isinstance(value, bool) else f"--param={name}={value}"
        for name, value in params.items()
    ]


def main() -> None:
    """The value is the last line of standard output."""
    run("gcc", "-O1", *options(json.load(sys.stdin)), "-o", "program", str(PROGRAM))
    if shutil.which("valgrind"):
        counted = run("valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file=counts", "./program")
        found = re.search(r"^(?:summary|totals): (\d+)", Path("counts").read_text(), re.MULTILINE)
        value = found[1] if found else "no count"
    else:
        counted = run("./program")
        value = run("size", "program").splitlines()[1].split()[0]
    if counted.strip() != CHECKSUM:
        sys.exit(f"these options break the program: it printed {counted!r}")
    print(value)


if __name__ == "__main__":
    main()
