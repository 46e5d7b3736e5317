"""Key derivation for ``hashlib``, which has it from OpenSSL elsewhere."""

import hashlib
import hmac


def install():
    """Give it to ``hashlib``, where everybody looks for it."""
    hashlib.pbkdf2_hmac = pbkdf2_hmac


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    """A key from a password, by RFC 8018."""
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    start = hmac.new(password, digestmod=hash_name)
    length = start.digest_size if dklen is None else dklen
    if length < 1:
        raise ValueError("key length must be greater than 0.")
    inner, outer = _halves(password, hash_name)
    key = b""
    for block in range(1, -(-length // start.digest_size) + 1):
        first = start.copy()
        first.update(salt + block.to_bytes(4))
        digest = first.digest()
        mixed = int.from_bytes(digest)
        for _ in range(iterations - 1):
            inside, outside = inner.copy(), outer.copy()
            inside.update(digest)
            outside.update(inside.digest())
            digest = outside.digest()
            mixed ^= int.from_bytes(digest)
        key += mixed.to_bytes(start.digest_size)
    return key[:length]


def _halves(password, hash_name):
    """The two hashes of an HMAC that have seen its key."""
    inner, outer = hashlib.new(hash_name), hashlib.new(hash_name)
    key = bytes(password)
    if len(key) > inner.block_size:
        key = hashlib.new(hash_name, key).digest()
    key = key.ljust(inner.block_size, b"\0")
    inner.update(bytes(byte ^ 0x36 for byte in key))
    outer.update(bytes(byte ^ 0x5C for byte in key))
    return inner, outer
