"""The few calls of the C library that Python does not offer: mapping over an address, comparing."""

from __future__ import annotations

import ctypes
import mmap
import os

_libc = ctypes.CDLL(None, use_errno=True)
# Called a thousand times per cell for a page each: handing the GIL back and forth would cost more.
_quick = ctypes.PyDLL(None)
memcmp = _quick.memcmp
memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
memcmp.restype = ctypes.c_int
_mmap = _libc.mmap
_mmap.argtypes = [
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int64,
]
_mmap.restype = ctypes.c_size_t
munmap = _libc.munmap
munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
madvise = _libc.madvise
madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_MAP_SHARED, _MAP_PRIVATE, _MAP_FIXED = 0x01, 0x02, 0x10


def map_file(
    address: int,
    descriptor: int,
    offset: int,
    length: int,
    *,
    writable: bool,
    shared: bool = False,
) -> int:
    """Map a file, over ``address`` if it is not 0; Python's own mmap cannot do that."""
    protection = mmap.PROT_READ | (mmap.PROT_WRITE if writable else 0)
    flags = (_MAP_SHARED if shared else _MAP_PRIVATE) | (_MAP_FIXED if address else 0)
    got: int = _mmap(address or None, length, protection, flags, descriptor, offset)
    if got == ctypes.c_size_t(-1).value or (address and got != address):
        code = ctypes.get_errno()
        raise OSError(code, f"a memory image could not be mapped: {os.strerror(code)}")
    return got


def page_faults() -> tuple[int, int]:
    """This process, and how many page faults its threads have had."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    return os.getpid(), usage.ru_minflt + usage.ru_majflt


_PAGEMAP: dict[int, int] = {}


def pagemap() -> int:
    """The open page flags of this process; a forked child opens its own."""
    process = os.getpid()
    if process not in _PAGEMAP:
        _PAGEMAP.clear()
        _PAGEMAP[process] = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    return _PAGEMAP[process]
