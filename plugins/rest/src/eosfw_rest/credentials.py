"""Make a line for `rest.authentication.file`: `python -m eosfw_rest.credentials NAME >> FILE`.

Asks for a password, or reads it from standard input; with `--bearer` it makes a token and shows it once, on standard
error.
"""

from __future__ import annotations

import argparse
import getpass
import sys

from eosfw_rest.authentication import password_line, token_line


def main(arguments: list[str] | None = None) -> int:
    """Write the line to standard output; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m eosfw_rest.credentials", description=__doc__)
    parser.add_argument("name", help="who it is for")
    parser.add_argument("--bearer", action="store_true", help="make a token instead of asking for a password")
    given = parser.parse_args(arguments)
    try:
        line = _bearer_line(given.name) if given.bearer else password_line(given.name, _password(parser))
    except ValueError as why:
        parser.error(str(why))
    sys.stdout.write(line + "\n")
    return 0


def _bearer_line(name: str) -> str:
    token, line = token_line(name)
    sys.stderr.write(f"token, shown only now: {token}\n")
    return line


def _password(parser: argparse.ArgumentParser) -> str:
    password = getpass.getpass() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    if not password:
        parser.error("an empty password lets everybody in who knows the name")
    return password


if __name__ == "__main__":
    sys.exit(main())
