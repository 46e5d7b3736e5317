"""What a sandbox cannot do, said in one sentence that names what to do instead."""

PROCESSES = (
    "processes cannot be started in the sandbox; "
    "call a Python function, or runpy.run_path for another script"
)
THREADS = "threads cannot be started in the sandbox; run the work in sequence, or use asyncio"
NETWORK = (
    "the sandbox has no network; download the file on your computer and put it into the "
    "workspace or the data folder"
)


def install():
    """Replace what would fail with a riddle by something that explains itself."""
    import _thread
    import http.client
    import os
    import subprocess
    import threading
    import urllib.request

    for name in ("system", "popen"):
        setattr(os, name, _refuse_process)
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        setattr(_thread, name, _refuse_thread)
    threading._start_joinable_thread = _refuse_thread
    subprocess.Popen = _refusing_popen(subprocess.Popen)
    _refuse_urls(urllib.request)
    _name_encryption(http.client, urllib.request)
    import socket

    socket.create_connection = socket.getaddrinfo = _refuse_network
    socket.socket.__init__ = _refuse_network
    # WASI's module has not even the names of these.
    socket.gethostbyname = socket.gethostbyaddr = _refuse_network
    start_processes_by(_refuse_process)


def start_processes_by(start):
    """Let every kind of process that multiprocessing has be started by this function."""
    import multiprocessing.context

    for kind in vars(multiprocessing.context).values():
        if isinstance(kind, type) and hasattr(kind, "_Popen"):
            kind._Popen = staticmethod(start)


def _refuse_process(*_, **__):
    raise OSError(PROCESSES)


def _refuse_thread(*_, **__):
    raise RuntimeError(THREADS)


def _refuse_network(*_, **__):
    raise OSError(NETWORK)


def _refusing_popen(plain):
    class Popen(plain):
        def __init__(self, *_, **__):
            raise OSError(PROCESSES)

        def __del__(self):
            pass

    Popen.__qualname__ = "Popen"
    Popen.__module__ = "subprocess"
    return Popen


def _name_encryption(client, request):
    """Without a module for encryption these have no names, and could not refuse."""

    class HTTPSConnection(client.HTTPConnection):
        default_port = 443

        def __init__(self, host, port=None, *, context=None, **options):
            super().__init__(host, port, **options)

    class HTTPSHandler(request.HTTPHandler):
        def __init__(self, debuglevel=None, context=None, check_hostname=None):
            super().__init__(debuglevel)

        https_open = request.HTTPHandler.http_open
        https_request = request.HTTPHandler.http_request

    client.HTTPSConnection, request.HTTPSHandler = HTTPSConnection, HTTPSHandler


def _refuse_urls(module):
    plain = module.OpenerDirector.open

    def open(self, fullurl, *args, **kwargs):
        url = fullurl if isinstance(fullurl, str) else fullurl.full_url
        if url.partition(":")[0].lower() in ("http", "https", "ftp"):
            raise module.URLError(NETWORK)
        return plain(self, fullurl, *args, **kwargs)

    module.OpenerDirector.open = open
