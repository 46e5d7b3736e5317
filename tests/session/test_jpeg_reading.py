"""JPEG files that cells read: they find in them what the host's Pillow finds."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageOps

from wasm_kernel import ExecutionPolicy, Session, create_sandbox

from . import jpeg_files
from .conftest import Cell

RunCell = Callable[..., Cell]


def test_the_pixels_are_those_of_other_pillows(session: Session, cell: RunCell) -> None:
    """Each is within three of 255, and nearly all are equal."""
    files = jpeg_files.files()
    for name, data in files.items():
        (session.workspace / f"{name}.jpg").write_bytes(data)
    ran = cell(
        session,
        "import pathlib\nimport numpy as np\nfrom PIL import Image\n"
        "pictures = {each.stem: Image.open(each) for each in pathlib.Path().glob('*.jpg')}\n"
        "np.savez('found.npz', **{name: each for name, each in pictures.items()})\n"
        "print({name: (each.mode, each.size) for name, each in pictures.items()})",
    )
    assert ran.result.success, ran.result.error
    shapes = eval(ran.stdout)
    with np.load(session.workspace / "found.npz") as found:
        assert set(found) == set(files)
        for name, data in files.items():
            wanted = Image.open(io.BytesIO(data))
            assert shapes[name] == (wanted.mode, wanted.size)
            far = np.abs(found[name].astype(int) - np.asarray(wanted))
            assert far.max() <= 3, name
            assert far.mean() < 0.1, name


def test_smaller_drafts_and_thumbnails(session: Session, cell: RunCell) -> None:
    data = jpeg_files.written(jpeg_files.picture(400, 300))
    (session.workspace / "large.jpg").write_bytes(data)
    ran = cell(
        session,
        "import numpy as np\nfrom PIL import Image\n"
        "for scale in (2, 4, 8):\n    image = Image.open('large.jpg')\n"
        "    print(image.draft('L', (400 // scale, 300 // scale)), image.mode, image.size)\n"
        "    np.save(f'{scale}.npy', image)\n"
        "image = Image.open('large.jpg')\nimage.thumbnail((90, 90))\nnp.save('0.npy', image)",
    )
    assert ran.result.success, ran.result.error
    for scale in (2, 4, 8):
        image = Image.open(io.BytesIO(data))
        image.draft("L", (400 // scale, 300 // scale))
        found = np.load(session.workspace / f"{scale}.npy").astype(int)
        assert np.abs(found - np.asarray(image)).max() <= 2
    image = Image.open(io.BytesIO(data))
    image.thumbnail((90, 90))
    found = np.load(session.workspace / "0.npy").astype(int)
    assert np.abs(found - np.asarray(image)).max() <= 2


def test_what_a_file_says_of_its_picture(session: Session, cell: RunCell) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "a wave"
    data = jpeg_files.written(
        jpeg_files.picture(),
        exif=exif,
        dpi=(120, 120),
        icc_profile=b"profile" * 20_000,
        comment=b"said",
    )
    (session.workspace / "camera.jpg").write_bytes(data)
    ran = cell(
        session,
        "from PIL import Image, ImageOps\nimage = Image.open('camera.jpg')\n"
        "print(image.format, image.mode, image.size, image.info['dpi'], image.info['comment'])\n"
        "print(image.info['icc_profile'] == b'profile' * 20_000, dict(image.getexif()))\n"
        "turned = ImageOps.exif_transpose(image)\n"
        "print(turned.size, *turned.getpixel((5, 9)))\n"
        "Image.open('camera.jpg').verify()",
    )
    assert ran.result.success, ran.result.error
    told, more, turned = ran.stdout.splitlines()
    assert told == "JPEG RGB (75, 43) (120, 120) b'said'"
    assert more == "True {274: 6, 270: 'a wave'}"
    wanted = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    assert turned.startswith("(43, 75) ")
    pixel = wanted.getpixel((5, 9))
    assert isinstance(pixel, tuple)
    assert np.abs(np.array(turned.split()[2:], int) - pixel).max() <= 2


def test_libraries_read_them(session: Session, cell: RunCell) -> None:
    (session.workspace / "a.jpg").write_bytes(jpeg_files.written(jpeg_files.picture()))
    ran = cell(
        session,
        "import matplotlib.pyplot as plt\nfrom IPython.display import Image\n"
        "print(plt.imread('a.jpg').shape, plt.imread('a.jpg').dtype)\n"
        "Image('a.jpg', width=20)",
    )
    assert ran.result.success, ran.result.error
    assert ran.stdout == "(43, 75, 3) uint8\n"


def test_a_script_with_the_usual_limits_reads_a_photograph(tmp_path: object) -> None:
    """A cold start and NumPy's import included."""
    data = jpeg_files.written(jpeg_files.picture(640, 427), quality=85)
    sandbox = create_sandbox(policy=ExecutionPolicy(), workspace=str(tmp_path))
    sandbox.workspace.joinpath("photograph.jpg").write_bytes(data)
    code = "from PIL import Image\nprint(Image.open('photograph.jpg').getpixel((100, 100)))"
    ran = sandbox.execute(code)
    assert ran.success, ran.stderr
    wanted = Image.open(io.BytesIO(data)).getpixel((100, 100))
    assert isinstance(wanted, tuple)
    assert np.abs(np.array(eval(ran.stdout)) - wanted).max() <= 3


@pytest.mark.parametrize("kind", [False, True])
def test_a_file_that_ends_too_early(session: Session, cell: RunCell, kind: bool) -> None:
    """An error in Pillow's words; half of a picture for whoever asks for it."""
    data = jpeg_files.written(jpeg_files.picture(), progressive=kind)
    (session.workspace / "half.jpg").write_bytes(data[: len(data) * 2 // 3])
    (session.workspace / "no_end.jpg").write_bytes(data[:-2])
    error = cell(session, "from PIL import Image\nImage.open('half.jpg').load()").error
    assert error.name == "OSError"
    assert error.value.startswith("image file is truncated (")
    found = cell(
        session,
        "from PIL import ImageFile\nimport numpy as np\nImageFile.LOAD_TRUNCATED_IMAGES = True\n"
        "print(*np.asarray(Image.open('half.jpg'))[[2, -2], 3].ravel())\n"
        "print(Image.open('no_end.jpg').getpixel((0, 0)))",
    )
    assert found.result.success, found.result.error
    numbers = np.array(found.stdout.splitlines()[0].split(), int)
    wanted = np.asarray(Image.open(io.BytesIO(data)))[2, 3]
    assert np.abs(numbers[:3] - wanted).max() <= (40 if kind else 3)
    if not kind:
        assert list(numbers[3:]) == [128, 128, 128]


PLAIN = jpeg_files.written(jpeg_files.picture())
GRADUAL = jpeg_files.written(jpeg_files.picture(), progressive=True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (jpeg_files.other_frame(PLAIN, 0xC9), "a JPEG file with arithmetic coding cannot be read"),
        (jpeg_files.other_frame(PLAIN, 0xC3), "a JPEG file with lossless coding cannot be read"),
        (jpeg_files.other_frame(PLAIN, 0xC1, bits=12), "cannot identify image file"),
        (jpeg_files.other_size(PLAIN, 12_000, 7_000), "cannot hold so many pixels"),
        (jpeg_files.other_size(PLAIN, 60_000, 60_000), "exceeds limit of"),
        (jpeg_files.uneven(PLAIN), "its components have sizes that do not divide each other"),
        (PLAIN.replace(b"\xff\xdb", b"\xff\xe5"), "a quantisation table is missing"),
        (GRADUAL.replace(b"\xff\xc4", b"\xff\xe5"), "a Huffman table is missing"),
    ],
)
def test_what_cannot_be_read_says_why(
    session: Session, cell: RunCell, data: bytes, words: str
) -> None:
    (session.workspace / "odd.jpg").write_bytes(data)
    code = (
        "import warnings\nwarnings.simplefilter('ignore')\nfrom PIL import Image\n"
        "Image.open('odd.jpg').load()"
    )
    assert words in cell(session, code).error.value


def test_no_bytes_are_too_odd(session: Session, cell: RunCell) -> None:
    """Whatever bytes of a file are changed, it is a picture or an error that says so, and soon."""
    small = jpeg_files.picture(40, 30)
    for name, options in (
        ("a", {}),
        ("b", {"progressive": True}),
        ("c", {"restart_marker_blocks": 2}),
        ("d", {"progressive": True, "restart_marker_rows": 1}),
    ):
        data = jpeg_files.written(small, **options)
        (session.workspace / f"{name}.jpg").write_bytes(data)
    ran = cell(
        session,
        "import collections, io, random, warnings\nfrom PIL import Image\n"
        "warnings.simplefilter('ignore')\nmade = random.Random(3)\n"
        "seen = collections.Counter()\n"
        "for round in range(300):\n"
        "    data = bytearray(open(made.choice('abcd') + '.jpg', 'rb').read())\n"
        "    first = data.index(b'\\xff\\xda') if round % 2 else 0\n"
        "    for _ in range(made.choice((1, 2, 5))):\n"
        "        data[made.randrange(first, len(data))] = made.randrange(256)\n"
        "    if round % 5 == 0:\n        del data[made.randrange(len(data)):]\n"
        "    try:\n        Image.open(io.BytesIO(data)).load()\n"
        "    except OSError as error:\n        seen['error'] += 1\n"
        "    else:\n        seen['picture'] += 1\n"
        "print(seen['error'] > 50, seen['picture'] > 50)",
    )
    assert ran.result.success, ran.result.error
    assert ran.stdout == "True True\n"
    assert ran.result.fuel_consumed < 60e9
