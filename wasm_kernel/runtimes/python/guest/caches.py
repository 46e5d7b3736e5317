"""``functools.lru_cache`` for the user's functions, without C between one call and the next.

CPython gives itself 128 KiB of C stack on WASI. A function that calls itself through the cache of
the standard library, which is in C, ends there after about 200 calls; through Python it goes as
deep as the recursion limit allows.
"""

import functools
import types

_plain = functools._lru_cache_wrapper


def install():
    """Let ``functools`` make such caches for functions that are not of a library."""
    functools._lru_cache_wrapper = _cached


def _cached(function, maxsize, typed, info):
    if not isinstance(function, types.FunctionType):
        return _plain(function, maxsize, typed, info)
    if function.__code__.co_filename.startswith("/usr/"):
        # A library's recursion is shallow, and the cache in C is quicker.
        return _plain(function, maxsize, typed, info)
    known, hits, misses = {}, 0, 0
    absent, make_key = object(), functools._make_key
    is_bounded = maxsize is not None

    def wrapper(*args, **kwargs):
        nonlocal hits, misses
        key = make_key(args, kwargs, typed)
        found = known.get(key, absent)
        if found is not absent:
            hits += 1
            if is_bounded:
                # The order is that of use: the first one was not used for longest.
                known[key] = known.pop(key)
            return found
        misses += 1
        found = function(*args, **kwargs)
        if maxsize != 0:
            if is_bounded and len(known) >= maxsize and key not in known:
                del known[next(iter(known))]
            known[key] = found
        return found

    def cache_info():
        """Report cache statistics"""
        return info(hits, misses, maxsize, len(known))

    def cache_clear():
        """Clear the cache and cache statistics"""
        nonlocal hits, misses
        known.clear()
        hits = misses = 0

    wrapper.cache_info, wrapper.cache_clear = cache_info, cache_clear
    return wrapper
