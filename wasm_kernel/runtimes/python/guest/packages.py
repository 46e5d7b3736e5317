"""``pip`` as a notebook knows it: what is there is said to be there, for the rest what to do."""

import re
import shlex

from wasm_guest.text_tools import option_value

_ALIASES = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "jwt": "pyjwt",
    "pil": "pillow",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}

_COMPILED = {
    "cartopy": "matplotlib",
    "catboost": "scikit-learn",
    "cupy": "numpy",
    "cython": "numpy",
    "datashader": "matplotlib",
    "duckdb": "sqlite3",
    "fastparquet": "what pandas has for CSV, JSON, Excel and SQLite",
    "geopandas": "",
    "h5py": "numpy.save",
    "ipykernel": "",
    "jax": "numpy",
    "keras": "scikit-learn",
    "lightgbm": "scikit-learn",
    "line-profiler": "%prun",
    "memory-profiler": "tracemalloc",
    "netcdf4": "",
    "numba": "numpy",
    "numexpr": "numpy",
    "opencv-python": "pillow and scipy.ndimage",
    "polars": "pandas",
    "psutil": "",
    "psycopg2": "sqlite3",
    "pyarrow": "what pandas has for CSV, JSON, Excel and SQLite",
    "pydantic": "dataclasses",
    "pygraphviz": "networkx",
    "pymc": "statsmodels",
    "pyqt5": "matplotlib",
    "pyqt6": "matplotlib",
    "pyside6": "matplotlib",
    "pyspark": "pandas",
    "rpy2": "statsmodels",
    "scikit-image": "pillow and scipy.ndimage",
    "shapely": "",
    "spacy": "",
    "tables": "numpy.save",
    "tensorflow": "scikit-learn",
    "torch": "scikit-learn",
    "torchvision": "pillow",
    "transformers": "scikit-learn",
    "xgboost": "scikit-learn",
}
"""Packages that many notebooks ask for and that cannot run here, with what can."""

HOW_TO_ADD = "pip install --target workspace/site-packages"
"""What the user runs where there is a network; the workspace is beside the notebook by default."""

_VERSIONS = {"altair": "altair<6"}
"""Those that work best here: JupyterLab 4.6 does not show the figures of a newer Altair."""


def how_to_add(*requirements):
    """The line that a user copies to a shell, where a requirement shall be one word."""
    wanted = [_VERSIONS.get(requirement, requirement) for requirement in requirements]
    return f"{HOW_TO_ADD} {shlex.join(wanted)}"


def distribution_of(module):
    """The name under which a module is to be had, where it is another."""
    return _ALIASES.get(module.lower(), module)


def why_never(distribution):
    """Why a package cannot be added at all; None where it may be."""
    instead = _COMPILED.get(_key(distribution))
    if instead is None:
        return None
    here = f"; there is {instead}" if instead else ""
    return f"{distribution} has compiled parts, which do not run in the sandbox{here}"


def pip(words, _=""):
    """Answer a pip command line."""
    if words[:1] in (["list"], ["freeze"]):
        return _list(words[0])
    if words[:1] == ["show"]:
        return _show([word for word in words[1:] if not word.startswith("-")])
    if words[:1] in (["--version"], ["-V"]):
        print("pip (wasm_kernel's stand-in)")
        return 0
    if words[:1] == ["install"]:
        return _install(words[1:])
    print(f"pip {' '.join(words)}: not available in the sandbox (there are: install, list, show)")
    return 1


def _installed():
    import importlib.metadata

    return {_key(d.name): d for d in importlib.metadata.distributions() if d.name}


def _key(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def _list(form):
    for _, found in sorted(_installed().items()):
        line = f"{found.name}=={found.version}" if form == "freeze" else None
        print(line or f"{found.name:<32}{found.version}")
    return 0


def _show(names):
    known = _installed()
    for name in names:
        found = known.get(_key(name))
        if found is None:
            print(f"WARNING: Package(s) not found: {name}")
            return 1
        print(f"Name: {found.name}\nVersion: {found.version}")
        print(f"Summary: {found.metadata.get('Summary', '')}")
    return 0


def _install(words):
    known = _installed()
    words = list(words)
    listed = option_value(words, "-r", "--requirement")
    wanted = [word for word in words if not word.startswith("-")]
    if listed is not None:
        with open(listed, encoding="utf-8") as file:
            lines = [line.partition("#")[0].strip() for line in file]
        wanted += [line for line in lines if line and not line.startswith("-")]
    missing, is_refused = [], False
    for requirement in wanted:
        name = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
        distribution = distribution_of(_key(name))
        found = known.get(_key(distribution))
        reason = None if found else why_never(distribution)
        if reason:
            print(reason)
            is_refused = True
        elif found is None:
            missing.append(requirement)
        elif "-q" not in words and "--quiet" not in words:
            print(f"Requirement already satisfied: {requirement} ({found.version})")
    if missing:
        print(
            f"packages cannot be installed from inside the sandbox, which has no network.\n"
            f"Run on your computer, beside the notebook:\n"
            f"    {how_to_add(*missing)}\n"
            "Packages in pure Python can be imported then; those with compiled parts cannot."
        )
    return 1 if missing or is_refused else 0
