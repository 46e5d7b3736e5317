"""The end of a program's objects, where the interpreter itself goes on."""

import gc
import io

_WRITERS = {io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom}


def end():
    """End whatever nobody holds any more; open files are written in any case.

    They come first, the newest and so the outermost before those below: the collector ends what
    hangs together in the order in which it was made, and would close a file before its buffer.
    """
    things = gc.get_objects()
    while things:
        thing = things.pop()
        if type(thing) in _WRITERS:
            _write_out(thing)
    thing = None
    gc.collect()


def _write_out(file):
    try:
        file.flush()
    except Exception:
        # It was closed, or there is no room left for it: the interpreter says nothing either.
        pass
