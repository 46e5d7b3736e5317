"""What a guest finds when it starts: streams, paths, environment, randomness, and kind refusals."""

import array
import contextlib
import gc
import os
import random
import sys
import tempfile

from wasm_guest import after_import, wide_results

HOME = ".wasm_kernel/home"

_ROOM_BYTES = 2 << 20
"""Free memory at the end of an image."""

_POLICY_ENVIRONMENT = {"PYTHONUTF8": "1", "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}
"""What a policy says of the environment unless somebody changed it; images have it set."""

_NOTEBOOK_ENVIRONMENT = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    # What notebooks read or add to; the commands that are there have no files.
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "SHELL": "/bin/bash",
    "USER": "user",
}

_is_begun = False
_workspace = "/app"
_data = "/data"
_temporary = "/tmp"


def prepare():
    """Set up what every image has."""
    global _workspace, _data, _temporary
    from wasm_guest import (
        caches,
        digests,
        files,
        loop,
        missing,
        parallel,
        posix_names,
        refusals,
        streams,
        threads,
    )

    _workspace = os.environ.pop("WASM_KERNEL_WORKSPACE", "/app")
    _data = os.environ.pop("WASM_KERNEL_DATA", "/data")
    _temporary = os.environ.get("TMPDIR", "/tmp")
    os.environ.update(_own_environment())
    os.chdir(_workspace)
    sys.argv = [""]
    sys.stdout = streams.OutputText(1)
    sys.stderr = streams.OutputText(2)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
    streams.flush_before_sleep()
    posix_names.install()
    refusals.install()
    missing.install()
    parallel.install()
    threads.install()
    files.install()
    digests.install()
    caches.install()
    loop.install()
    _normalise_working_directory()
    _make_home_when_it_is_named()
    _keep_temporary_files_private()


def folders():
    """The workspace and the data folder, as the guest sees them."""
    return _workspace, _data


def package_folders():
    """Where a user puts packages: into the workspace, or for all to read into the data folder."""
    return [f"{_workspace}/site-packages", f"{_data}/site-packages"]


def _own_environment():
    return {
        "HOME": f"{_workspace}/{HOME}",
        "TMPDIR": _temporary,
        "MPLCONFIGDIR": f"{_workspace}/{HOME}/.config/matplotlib",
        "IPYTHONDIR": f"{_workspace}/{HOME}/.ipython",
        # joblib then runs its work in sequence instead of asking for processes.
        "JOBLIB_MULTIPROCESSING": "0",
        # It would put files in the places of descriptors, which are not where a cell prints, and
        # ask who owns its folder.
        "PYTEST_ADDOPTS": f"--capture=sys -p no:faulthandler --basetemp={_temporary}/pytest",
        "TERM": "xterm-256color",
    }


def _normalise_working_directory():
    """WASI's libc keeps ``..`` in the working directory as it was written.

    The home folder is made when somebody goes there, not in every workspace.
    """
    plain = os.chdir

    def chdir(path):
        if not isinstance(path, int):
            path = os.path.normpath(os.path.join(os.getcwd(), os.fsdecode(path)))
            if path == os.environ.get("HOME"):
                os.makedirs(path, exist_ok=True)
        plain(path)

    os.chdir = chdir


def _make_home_when_it_is_named():
    """Who asks for ``~`` is about to read or write there, and elsewhere finds a folder."""
    plain = os.path.expanduser

    def expanduser(path):
        found = plain(path)
        home = os.environ.get("HOME")
        if home and _is_begun and os.fsdecode(path)[:2] in ("~", "~/"):
            with contextlib.suppress(OSError):
                os.makedirs(home, exist_ok=True)
        return found

    os.path.expanduser = expanduser


def _keep_temporary_files_private():
    """Make the temporary folder when it is first asked for, not in every workspace."""

    def folder():
        path = os.environ.get("TMPDIR") or _temporary
        try:
            if not os.path.isdir(path):
                os.makedirs(path)
            # The folder behind /tmp is made when it is opened; a link there is found out by it.
            os.scandir(path).close()
        except OSError:
            path = os.getcwd()
        tempfile.tempdir = path
        return path

    tempfile._get_default_tempdir = folder
    tempfile.tempdir = None


def import_science():
    """The imports that a notebook starts with, so that nobody pays for them later."""
    import matplotlib

    # Importing pyplot builds the font list, which takes seconds; here it happens once.
    matplotlib.use("agg")
    import matplotlib.pyplot
    import numpy.random
    import pandas

    del matplotlib, numpy, pandas


def complete_science():
    """Let libraries do what they do elsewhere: 64 bits, floating-point warnings, JPEG files.

    Where an image has none of them, whoever imports one gets it like that.
    """

    def complete_numpy(module):
        from wasm_guest import blame, float_errors, older_libraries, wide_integers

        blame.install()
        float_errors.install()
        older_libraries.complete_numpy(module)
        wide_integers.install()

    def complete_pandas(_):
        from wasm_guest import wide_libraries

        wide_libraries.widen_pandas()

    def complete_axes(_):
        from wasm_guest import wide_libraries

        wide_libraries.let_bars_be_long()

    def complete_data_sets(module):
        from wasm_guest import wide_libraries

        wide_libraries.widen_data_sets(module)

    def complete_networkx(module):
        from wasm_guest import older_libraries

        older_libraries.complete_networkx(module)

    def complete_surfaces(module):
        from wasm_guest import scipy_gaps

        scipy_gaps.convert_surfaces(module)

    def complete_operators(module):
        from wasm_guest import scipy_gaps

        scipy_gaps.complete_operators(module)

    def complete_jpeg(module):
        def save(image, file, _):
            from wasm_guest import jpeg

            jpeg.save(image, file)

        def decoder(*args):
            from wasm_guest import jpeg_reading

            return jpeg_reading.Decoder(*args)

        module.Image.register_decoder("jpeg", decoder)
        module.Image.register_save("JPEG", save)

    def complete_altair(module):
        # Its own choice is a script, which the page does not get.
        module.renderers.enable("mimetype")

    after_import.change("altair", complete_altair)
    after_import.change("numpy", complete_numpy)
    after_import.change("pandas", complete_pandas)
    after_import.change("matplotlib.axes", complete_axes)
    after_import.change("sklearn.datasets", complete_data_sets)
    after_import.change("networkx", complete_networkx)
    after_import.change("scipy.interpolate._fitpack_impl", complete_surfaces)
    after_import.change("scipy.sparse.linalg._interface", complete_operators)
    after_import.change("PIL.JpegImagePlugin", complete_jpeg)
    wide_results.install()


def at_rest():
    """Leave the memory as small and quiet as it gets, before it becomes an image."""
    global _is_begun
    import linecache

    for path in [path for path in sys.path_importer_cache if not path.startswith("/usr/")]:
        del sys.path_importer_cache[path]
    font_manager = sys.modules.get("matplotlib.font_manager")
    if font_manager is not None:
        # Fonts hold open files, which an image cannot have.
        font_manager._get_font.cache_clear()
    linecache.clearcache()
    _set_environment(_POLICY_ENVIRONMENT)
    _is_begun = False
    sys.stdout.flush()
    sys.stderr.flush()
    gc.collect()
    # What is free at the end of the memory stays: a script that finds room enough need not grow it,
    # and only an instance that has not grown runs another.
    bytearray(_ROOM_BYTES)
    gc.freeze()


def tell_seeds():
    """Mark the states of the random generators and tell the host which objects have them."""
    from wasm_guest import door

    words = tuple((0x9E3779B9 * n) & 0xFFFFFFFF for n in range(1, 625))
    random.setstate((3, (*words, 624), None))
    owners = [id(random._inst)]
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.set_state(("MT19937", words, 624))
        owners.append(id(numpy_random.mtrand._rand._bit_generator))
    door.call({"op": "seeds", "owners": owners})


def start(env, randomness="own", seed=0, more=()):
    """Begin a session: the policy's environment, what its folder says, and randomness.

    That is the host's where it has written into the image's generators, the guest's own where
    a session goes on from another one, and seeded where it must be the same each time.
    """
    global _is_begun
    if env is not None and env != _POLICY_ENVIRONMENT:
        _set_environment(env)
    if more:
        os.environ.update(more)
    if not _is_begun:
        _is_begun = True
        _read_settings()
    # A resumed session may be in another workspace, where the folder is not made yet.
    tempfile.tempdir = None
    tempfile._name_sequence = None
    if randomness != "host":
        _reseed(seed if randomness == "seeded" else None)


def _read_settings():
    """What Matplotlib reads when it is imported: a notebook's was, before it had a workspace."""
    if "matplotlib_inline" not in sys.modules or not os.path.exists("matplotlibrc"):
        return
    import matplotlib

    backend = matplotlib.rcParams["backend"]
    try:
        matplotlib.rc_file("matplotlibrc")
    except (OSError, ValueError) as error:
        # A file that is in the way must not keep a session from starting.
        print(f"matplotlibrc was not read: {error}", file=sys.stderr)
    matplotlib.rcParams["backend"] = backend
    matplotlib.rcParamsOrig.update(matplotlib.rcParams)


def _set_environment(env):
    wanted = {**_own_environment(), **env}
    if "matplotlib_inline" in sys.modules:
        wanted = {**_NOTEBOOK_ENVIRONMENT, **wanted}
    present = dict(os.environ)
    if present != wanted:
        for name in present.keys() - wanted.keys():
            del os.environ[name]
        for name in wanted:
            if present.get(name) != wanted[name]:
                os.environ[name] = wanted[name]


def _reseed(seed):
    random.seed(int.from_bytes(os.urandom(32)) if seed is None else seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        # An array of words is a tenth of the work that numpy's own seed(None) does.
        words = array.array("I", os.urandom(32)) if seed is None else [seed % 2**32]
        numpy_random.seed(words)
