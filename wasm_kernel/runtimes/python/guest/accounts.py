"""The users and groups of the sandbox, as ``pwd`` and ``grp`` tell them: one, who owns it all."""

import os
from collections import namedtuple

_User = namedtuple("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell")
_Group = namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem")


def names(module):
    """What one of the two modules defines."""
    return _users() if module.__name__ == "pwd" else _groups()


def _user():
    number = os.getuid() if hasattr(os, "getuid") else 0
    return _User("user", "x", number, number, "", os.environ.get("HOME", "/"), "/bin/bash")


def _users():
    def getpwuid(uid, /):
        """The user of a number; files of the sandbox have no owner, which is told as 0."""
        user = _user()
        if uid not in (0, user.pw_uid):
            raise KeyError(f"getpwuid(): uid not found: {uid}")
        return user

    def getpwnam(name, /):
        """The user of a name."""
        user = _user()
        if name != user.pw_name:
            raise KeyError(f"getpwnam(): name not found: {name!r}")
        return user

    return {
        "getpwall": lambda: [_user()],
        "getpwnam": getpwnam,
        "getpwuid": getpwuid,
        "struct_passwd": _User,
    }


def _groups():
    def group():
        user = _user()
        return _Group(user.pw_name, "x", user.pw_gid, [])

    def getgrgid(id):
        """The group of a number."""
        if id not in (0, group().gr_gid):
            raise KeyError(f"getgrgid(): gid not found: {id}")
        return group()

    def getgrnam(name):
        """The group of a name."""
        if name != group().gr_name:
            raise KeyError(f"getgrnam(): name not found: {name!r}")
        return group()

    return {
        "getgrall": lambda: [group()],
        "getgrgid": getgrgid,
        "getgrnam": getgrnam,
        "struct_group": _Group,
    }
