"""The compiled part of ``rpds``, in Python: maps, sets and lists that stay as they are.

What is changed is a new one, and here a copy. ``jsonschema``, and so Altair, holds a few small
ones in them.
"""

from collections.abc import Mapping


def names(module):
    """What the module defines."""
    return {"HashTrieMap": HashTrieMap, "HashTrieSet": HashTrieSet, "List": List, "Queue": Queue}


class HashTrieMap(Mapping):
    """A map; what changes it returns another."""

    def __init__(self, value=(), **kwds):
        self._items = dict(value, **kwds)

    @classmethod
    def convert(cls, value):
        """A map of what is one, or may become one."""
        return value if isinstance(value, cls) else cls(value)

    @classmethod
    def fromkeys(cls, keys, value=None):
        """A map that has the same value for all keys."""
        return cls(dict.fromkeys(keys, value))

    def __getitem__(self, key):
        return self._items[key]

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __hash__(self):
        return hash(frozenset(self._items.items()))

    def __repr__(self):
        return f"HashTrieMap({self._items!r})"

    def __reduce__(self):
        return HashTrieMap, (self._items,)

    def insert(self, key, val):
        """With this value as well."""
        return HashTrieMap({**self._items, key: val})

    def remove(self, key):
        """Without this key, which is there."""
        items = dict(self._items)
        del items[key]
        return HashTrieMap(items)

    def discard(self, key):
        """Without this key."""
        return self.remove(key) if key in self._items else self

    def update(self, *args, **kwds):
        """With the values of all these."""
        items = dict(self._items)
        for arg in args:
            items.update(arg)
        return HashTrieMap(items, **kwds)


class HashTrieSet(frozenset):
    """A set; what changes it returns another."""

    def __repr__(self):
        return f"HashTrieSet({set(self) or '{}'})"

    def insert(self, value):
        """With this value as well."""
        return HashTrieSet(self | {value})

    def remove(self, value):
        """Without this value, which is there."""
        if value not in self:
            raise KeyError(value)
        return HashTrieSet(self - {value})

    def discard(self, value):
        """Without this value."""
        return HashTrieSet(self - {value})

    def update(self, *args):
        """With the values of all these."""
        return HashTrieSet(self.union(*args))


class _Row:
    def __init__(self, value=(), *more):
        self._items = (value, *more) if more else tuple(value)

    def __iter__(self):
        return iter(self._items)

    def __len__(self):
        return len(self._items)

    def __eq__(self, other):
        return self._items == other._items if type(other) is type(self) else NotImplemented

    def __hash__(self):
        return hash(self._items)

    def __repr__(self):
        return f"{type(self).__name__}({list(self._items)!r})"

    def __reduce__(self):
        return type(self), (self._items,)

    def _first(self):
        if not self._items:
            raise IndexError(f"empty {type(self).__name__.lower()}")
        return self._items[0]


class List(_Row):
    """A list whose front changes."""

    @property
    def first(self):
        """What is in front."""
        return self._first()

    @property
    def rest(self):
        """The others."""
        return List(self._items[1:])

    def push_front(self, value):
        """With this value in front."""
        return List((value, *self._items))

    def drop_first(self):
        """Without the one in front."""
        self._first()
        return self.rest


class Queue(_Row):
    """A list that is filled at its end and emptied in front."""

    @property
    def peek(self):
        """What is in front."""
        return self._first()

    @property
    def is_empty(self):
        """Whether nothing is in it."""
        return not self._items

    def enqueue(self, value):
        """With this value at its end."""
        return Queue((*self._items, value))

    def dequeue(self):
        """Without the one in front."""
        self._first()
        return Queue(self._items[1:])
