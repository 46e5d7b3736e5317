"""JPEG files that cells write: the host's Pillow reads them, and finds the pictures in them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from wasm_kernel import ExecutionPolicy, Session, create_sandbox

from .conftest import Cell

RunCell = Callable[..., Cell]

# Waves of different colours, with sharp lines in them; no side is a multiple of eight.
PICTURE = (
    "import io\nimport numpy as np\nfrom PIL import Image\n"
    "y, x = np.mgrid[0:61, 0:109]\n"
    "waves = [128 + 90 * np.sin(x / 9), 128 + 70 * np.cos(y / 7), 255 * (x % 16 == 0)]\n"
    "picture = Image.fromarray(np.uint8(np.stack(waves, -1)))\n"
)


@pytest.mark.parametrize("mode", ["RGB", "L", "1", "CMYK", "YCbCr"])
@pytest.mark.parametrize("options", ["", "quality=95", "quality=20, subsampling=0"])
def test_a_picture_is_found_again(session: Session, cell: RunCell, mode: str, options: str) -> None:
    """It is as near to what was written as after Pillow's own codec, and as long."""
    ran = cell(
        session,
        f"{PICTURE}picture = picture.convert({mode!r})\npicture.save('written.png' "
        f"if {mode!r} in ('RGB', 'L', '1') else 'written.tif')\n"
        f"picture.save('written.jpg', {options})",
    )
    assert ran.result.success, ran.result.error
    [plain] = set(session.workspace.glob("written.*")) - {session.workspace / "written.jpg"}
    wanted = opened(plain).convert("L" if mode in ("L", "1") else "RGB")
    found = opened(session.workspace / "written.jpg")
    usual = io.BytesIO()
    wanted.save(usual, "JPEG", **eval(f"dict({options})"))
    assert (found.mode, found.size) == (wanted.mode, wanted.size)
    assert far(found, wanted) < far(Image.open(usual), wanted) * 1.05 + 0.3
    length = (session.workspace / "written.jpg").stat().st_size
    assert 0.9 < length / len(usual.getvalue()) < 1.1


def opened(path: Path) -> Image.Image:
    """A picture that is read, and its file closed."""
    with Image.open(path) as picture:
        picture.load()
        return picture


def far(one: Image.Image, other: Image.Image) -> float:
    """How much two pictures differ, on average."""
    numbers = [np.asarray(picture, dtype=float) for picture in (one, other)]
    return float(np.abs(numbers[0] - numbers[1]).mean())


def test_what_no_jpeg_can_hold_is_refused_as_pillow_does(session: Session, cell: RunCell) -> None:
    error = cell(session, PICTURE + "picture.convert('RGBA').save('a.jpg')").error
    assert (error.name, error.value) == ("OSError", "cannot write mode RGBA as JPEG")
    error = cell(session, "Image.new('RGB', (0, 3)).save('a.jpg')").error
    assert (error.name, error.value) == ("ValueError", "cannot write empty image as JPEG")


def test_the_resolution_of_a_figure_is_written(session: Session, cell: RunCell) -> None:
    code = (
        "import matplotlib.pyplot as plt\nfigure = plt.figure(figsize=(2, 1))\n"
        "plt.plot([1, 2])\nfigure.savefig('figure.jpg', dpi=120)\nplt.close()"
    )
    assert cell(session, code).result.success
    figure = opened(session.workspace / "figure.jpg")
    assert figure.size == (240, 120)
    assert figure.info["dpi"] == (120, 120)


def test_a_script_without_numpy_writes_it_too(tmp_path: Path) -> None:
    policy = ExecutionPolicy(memory_bytes=80_000_000)
    code = "from PIL import Image\nImage.new('L', (20, 10), 77).save('grey.jpg')"
    ran = create_sandbox(policy=policy, workspace=tmp_path).execute(code)
    assert ran.success, ran.stderr
    assert opened(tmp_path / "grey.jpg").getpixel((3, 3)) == 77
