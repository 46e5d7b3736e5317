"""The numbers of errors as a reader knows them: WASI has numbers of its own.

Programs compare numbers with the names in ``errno``, which are WASI's as well, so an exception
keeps its own; only what is printed or shown of it is told in Linux's.
"""

import errno
import os
import re

_LINUX = {
    "EPERM": 1, "ENOENT": 2, "ESRCH": 3, "EIO": 5, "ENXIO": 6, "EBADF": 9, "EAGAIN": 11,
    "ENOMEM": 12, "EACCES": 13, "EEXIST": 17, "ENOTDIR": 20, "EISDIR": 21, "EINVAL": 22,
    "EMFILE": 24, "ENOTTY": 25, "ENOSPC": 28, "ESPIPE": 29, "EROFS": 30, "EPIPE": 32,
    "ENAMETOOLONG": 36, "ENOTEMPTY": 39, "ELOOP": 40, "ENOTSUP": 95, "EDQUOT": 122,
}  # fmt: skip
_NUMBER = re.compile(r"(\[Errno |Error\()(\d{1,3})(\] |, ['\"])")
"""As an exception's text and its ``repr`` have it, before what the number means."""


def as_on_linux(text):
    """A text with the numbers of errors as Linux has them, wherever it says what they mean."""
    if "[Errno " in text or "Error(" in text:
        return _NUMBER.sub(_told, text)
    return text


def _told(match):
    number = int(match[2])
    linux = _LINUX.get(errno.errorcode.get(number))
    if linux is None or not match.string.startswith(os.strerror(number), match.end()):
        return match[0]
    return f"{match[1]}{linux}{match[3]}"
