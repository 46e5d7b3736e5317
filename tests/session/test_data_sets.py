"""Data sets that the sandbox has not: loaded from the workspace, or an error that says how."""

from __future__ import annotations

from collections.abc import Callable

from wasm_kernel import Session

from .conftest import Cell

RunCell = Callable[..., Cell]


def told(cell: Cell) -> str:
    """The traceback of a cell that failed, without the frame in between."""
    text = "".join(cell.error.traceback)
    assert "data_sets.py" not in text
    return text


def test_seaborn_loads_a_data_set_from_the_workspace(session: Session, cell: RunCell) -> None:
    code = "import seaborn as sns\nframe = sns.load_dataset('tips')"
    missing = cell(session, code)
    assert "with tips.csv in the workspace or the data folder" in told(missing)
    (session.workspace / "tips.csv").write_text("day,sex,time,smoker\nSun,Male,Dinner,No\n")
    assert cell(session, code).result.success
    assert cell(session, "frame.shape, frame['day'].dtype.name").value == "((1, 4), 'category')"
    assert cell(session, "sns.utils.load_dataset is sns.load_dataset").value == "True"


def test_statsmodels_loads_a_data_set_from_the_workspace(session: Session, cell: RunCell) -> None:
    code = "import statsmodels.api as sm\nframe = sm.datasets.heart.load_pandas().data"
    missing = cell(session, code)
    assert "with heart.csv in the workspace or the data folder" in told(missing)
    (session.workspace / "heart.csv").write_text("survival,censors,age\n15,1,54.3\n3,0,40\n")
    assert cell(session, code).result.success
    assert cell(session, "frame['age'].tolist()").value == "[54.3, 40.0]"
    # One that is there is not looked for elsewhere.
    assert cell(session, "sm.datasets.longley.load_pandas().data.shape").value == "(16, 7)"


def test_scikit_learn_loads_its_photographs_from_the_workspace(
    session: Session, cell: RunCell
) -> None:
    code = "from sklearn.datasets import load_sample_image, load_sample_images\n"
    missing = cell(session, code + "load_sample_image('china.jpg')")
    assert "with china.jpg or flower.jpg in the workspace or the data folder" in told(missing)
    cell(session, "from PIL import Image\nImage.new('RGB', (20, 10), 'red').save('china.jpg')")
    found = cell(
        session, code + "load_sample_image('china.jpg').shape, load_sample_images().keys()"
    )
    assert found.value == "((10, 20, 3), dict_keys(['images', 'filenames', 'DESCR']))"
    absent = cell(session, "load_sample_image('flower.jpg')")
    assert absent.error.value == "Cannot find sample image: flower.jpg"
