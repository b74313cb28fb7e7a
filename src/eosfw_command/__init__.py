"""Start the command `eosfw`, so that Ctrl-C is quiet from its first moment on.

A package of its own, since whatever lies below `eosfw` is only reached after `eosfw/__init__.py` was run: the longest
part of what has to be imported, in which Python would answer Ctrl-C with a traceback.
"""

import os


def main() -> None:
    """Run one command, then exit; 130 when interrupted."""
    try:
        _run()
    except KeyboardInterrupt:
        _leave()


def _run() -> None:
    import atexit
    import signal

    normal = signal.default_int_handler
    quiet = signal.getsignal(signal.SIGINT) is normal  # else a shell has put us behind its prompt: ignored
    if quiet:
        # Leaves at once. A KeyboardInterrupt would be lost in one of the import system's own callbacks.
        signal.signal(signal.SIGINT, _leave)
        # What is registered first is called last. Behind it Python takes handlers away and tears its modules down, for
        # a tenth of a second in which Ctrl-C would kill the process, in the place of the exit code of what is done.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    from eosfw.cli import app, main  # noqa: F401 (app imports typer)

    if quiet:
        signal.signal(signal.SIGINT, normal)
    try:
        main()
    finally:
        if quiet:  # what Python does when it ends is no place for a traceback either
            signal.signal(signal.SIGINT, _leave)


def _leave(*_: object) -> None:
    os.write(2, b"eosfw: interrupted\n")
    os._exit(130)
