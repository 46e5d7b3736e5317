"""Data sets that libraries would fetch, or have not here: read from the user's folders.

A file of the data set's name, in the workspace or in the data folder, is the one that is loaded.
"""

import functools
import os

from wasm_guest import after_import, environment

_PHOTOGRAPHS = ("china.jpg", "flower.jpg")


def install():
    """Have the loaders look there."""
    after_import.change("seaborn", _complete_seaborn)
    after_import.change("sklearn.datasets._base", _complete_sklearn)
    after_import.change("statsmodels.datasets.utils", _complete_statsmodels)


def _folder_of(name):
    """The first of the user's folders that holds a file; None if there is none."""
    folders = environment.folders()
    return next((folder for folder in folders if os.path.exists(f"{folder}/{name}")), None)


def _complete_seaborn(module):
    plain = module.load_dataset
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def load_dataset(name, cache=True, data_home=None, **kws):
        if data_home is None and isinstance(name, str):
            data_home = _folder_of(f"{name}.csv")
        try:
            return plain(name, cache, data_home, **kws)
        except OSError as error:
            error.add_note(_put_in(f"{name}.csv"))
            raise

    module.load_dataset = module.utils.load_dataset = load_dataset


def _complete_sklearn(module):
    plain = module.load_sample_images
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def load_sample_images():
        from matplotlib.image import imread

        places = [f"{_folder_of(name)}/{name}" for name in _PHOTOGRAPHS if _folder_of(name)]
        if places:
            return module.Bunch(images=list(map(imread, places)), filenames=places, DESCR="")
        try:
            return plain()
        except ModuleNotFoundError as error:
            error.add_note(_put_in(" or ".join(_PHOTOGRAPHS)))
            raise

    module.load_sample_images = load_sample_images


def _complete_statsmodels(module):
    plain = module.load_csv
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def load_csv(base_file, csv_name, *args, **kwargs):
        try:
            return plain(base_file, csv_name, *args, **kwargs)
        except FileNotFoundError as error:
            folder = _folder_of(csv_name)
            if folder is not None:
                return plain(f"{folder}/{csv_name}", csv_name, *args, **kwargs)
            error.add_note(_put_in(csv_name))
            raise

    module.load_csv = load_csv


def _put_in(name):
    return f"with {name} in the workspace or the data folder this data set is loaded from there"
