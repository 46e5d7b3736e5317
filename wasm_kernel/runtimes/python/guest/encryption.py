"""The names that ``ssl`` asks of OpenSSL, so that it can be imported and its contexts can be made.

Many notebooks do that before they ask for a file that they need not ask for. There is no network
to encrypt: whoever wants to wrap a socket is told so.
"""

import os

from wasm_guest.refusals import NETWORK

_VERSION = (3, 0, 0, 0, 0)
_CONSTANTS = {
    "OPENSSL_VERSION": "OpenSSL 3.0.0 (its names only: the sandbox has no network)",
    "OPENSSL_VERSION_INFO": _VERSION,
    "OPENSSL_VERSION_NUMBER": 0x30000000,
    "_OPENSSL_API_VERSION": _VERSION,
    "_DEFAULT_CIPHERS": "DEFAULT",
    "CERT_NONE": 0, "CERT_OPTIONAL": 1, "CERT_REQUIRED": 2,
    "PROTOCOL_SSLv2": 0, "PROTOCOL_SSLv3": 1, "PROTOCOL_SSLv23": 2, "PROTOCOL_TLS": 2,
    "PROTOCOL_TLSv1": 3, "PROTOCOL_TLSv1_1": 4, "PROTOCOL_TLSv1_2": 5,
    "PROTOCOL_TLS_CLIENT": 16, "PROTOCOL_TLS_SERVER": 17,
    "PROTO_MINIMUM_SUPPORTED": -2, "PROTO_MAXIMUM_SUPPORTED": -1, "PROTO_SSLv3": 768,
    "PROTO_TLSv1": 769, "PROTO_TLSv1_1": 770, "PROTO_TLSv1_2": 771, "PROTO_TLSv1_3": 772,
    "OP_ALL": 0x80000050, "OP_NO_SSLv2": 0, "OP_NO_SSLv3": 1 << 25, "OP_NO_TLSv1": 1 << 26,
    "OP_NO_TLSv1_1": 1 << 28, "OP_NO_TLSv1_2": 1 << 27, "OP_NO_TLSv1_3": 1 << 29,
    "OP_NO_COMPRESSION": 1 << 17, "OP_NO_TICKET": 1 << 14, "OP_NO_RENEGOTIATION": 1 << 30,
    "OP_CIPHER_SERVER_PREFERENCE": 1 << 22, "OP_SINGLE_DH_USE": 0, "OP_SINGLE_ECDH_USE": 0,
    "OP_ENABLE_MIDDLEBOX_COMPAT": 1 << 20, "OP_IGNORE_UNEXPECTED_EOF": 1 << 7,
    "OP_LEGACY_SERVER_CONNECT": 1 << 2,
    "VERIFY_DEFAULT": 0, "VERIFY_CRL_CHECK_LEAF": 4, "VERIFY_CRL_CHECK_CHAIN": 12,
    "VERIFY_X509_STRICT": 32, "VERIFY_ALLOW_PROXY_CERTS": 64,
    "VERIFY_X509_TRUSTED_FIRST": 1 << 15, "VERIFY_X509_PARTIAL_CHAIN": 1 << 19,
    "HOSTFLAG_NEVER_CHECK_SUBJECT": 32, "ENCODING_PEM": 1, "ENCODING_DER": 2,
    "SSL_ERROR_SSL": 1, "SSL_ERROR_WANT_READ": 2, "SSL_ERROR_WANT_WRITE": 3,
    "SSL_ERROR_SYSCALL": 5, "SSL_ERROR_ZERO_RETURN": 6, "SSL_ERROR_EOF": 8,
    "ALERT_DESCRIPTION_CLOSE_NOTIFY": 0, "ALERT_DESCRIPTION_INTERNAL_ERROR": 80,
    **dict.fromkeys(
        ("HAS_SNI", "HAS_ECDH", "HAS_ALPN", "HAS_TLSv1_2", "HAS_TLSv1_3"), True
    ),
    **dict.fromkeys(
        ("HAS_NPN", "HAS_SSLv2", "HAS_SSLv3", "HAS_TLSv1", "HAS_TLSv1_1", "HAS_PSK", "HAS_PHA",
         "HAS_PSK_TLS13"), False
    ),
}  # fmt: skip


def names(_):
    """What the module has."""
    found = {"_SSLContext": _Context, "MemoryBIO": _Refused, "SSLSession": _Refused}
    found |= {"SSLError": SSLError, "SSLCertVerificationError": SSLCertVerificationError}
    for kind in ("ZeroReturn", "WantRead", "WantWrite", "Syscall", "EOF"):
        name = f"SSL{kind}Error"
        found[name] = type(name, (SSLError,), {"__module__": "ssl"})
    found |= {"RAND_bytes": os.urandom, "RAND_status": lambda: True, "RAND_add": _nothing}
    found |= {"txt2obj": _purpose, "nid2obj": _purpose, "get_sigalgs": list}
    found["get_default_verify_paths"] = lambda: ("SSL_CERT_FILE", "", "SSL_CERT_DIR", "")
    return _CONSTANTS | found


class SSLError(OSError):
    """An error of encryption, of which there is none."""


class SSLCertVerificationError(SSLError, ValueError):
    """A certificate that does not fit."""


SSLError.__module__ = SSLCertVerificationError.__module__ = "ssl"


def _refuse(*_, **__):
    raise OSError(NETWORK)


def _nothing(*_, **__):
    return None


def _purpose(text, /, **_):
    return 0, str(text), str(text), str(text)


class _Setting:
    """An attribute that is only kept: a subclass asks for it by its descriptor."""

    def __init__(self, default):
        self._default = default

    def __set_name__(self, owner, name):
        self._name = f"_kept_{name}"

    def __get__(self, context, owner=None):
        return self if context is None else vars(context).get(self._name, self._default)

    def __set__(self, context, value):
        vars(context)[self._name] = value


class _Refused:
    __init__ = _refuse


class _Context:
    """What a connection would be made by."""

    def __new__(cls, protocol=2, *_, **__):
        self = object.__new__(cls)
        is_client = protocol == _CONSTANTS["PROTOCOL_TLS_CLIENT"]
        _Context.protocol.__set__(self, protocol)
        _Context.check_hostname.__set__(self, is_client)
        _Context.verify_mode.__set__(self, _CONSTANTS["CERT_REQUIRED"] if is_client else 0)
        return self

    protocol, check_hostname, verify_mode = _Setting(2), _Setting(False), _Setting(0)
    options, verify_flags, _host_flags = _Setting(0), _Setting(0), _Setting(0)
    minimum_version, maximum_version = _Setting(-2), _Setting(-1)
    sni_callback, post_handshake_auth = _Setting(None), _Setting(False)
    keylog_filename, security_level = _Setting(None), _Setting(2)

    set_default_verify_paths = load_verify_locations = load_cert_chain = set_ciphers = _nothing
    set_ecdh_curve = load_dh_params = _set_alpn_protocols = _nothing
    _wrap_socket = _wrap_bio = _refuse

    def get_ciphers(self):
        return []

    get_ca_certs = get_ciphers

    def cert_store_stats(self):
        return {"x509": 0, "crl": 0, "x509_ca": 0}
