"""The debugger of a notebook: it asks below the cell, and goes on where nobody can answer."""

import os
import pdb
import sys

from IPython.core import debugger
from IPython.core.error import StdinNotImplementedError

NOBODY = "this frontend does not support input requests: the debugger goes on"


def install():
    """``pdb.set_trace()`` and ``breakpoint()`` ask as ``%debug`` does, with ``ipdb>``."""
    pdb.Pdb = debugger.Pdb = debugger.InterruptiblePdb
    pdb.set_trace = debugger.set_trace
    sys.breakpointhook = _stop_here


class _Breakpoint(debugger.InterruptiblePdb):
    """A stop that a notebook without a reader passes, as it does without a debugger attached."""

    def cmdloop(self, intro=None):
        try:
            super().cmdloop(intro)
        except StdinNotImplementedError:
            print(NOBODY, file=self.stdout)
            self.set_continue()


def _stop_here(*_, **__):
    if os.environ.get("PYTHONBREAKPOINT") != "0":
        _Breakpoint().set_trace(sys._getframe().f_back)
