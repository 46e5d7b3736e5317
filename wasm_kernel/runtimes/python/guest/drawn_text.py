"""Pillow's module of fonts, which is not compiled in, made of Matplotlib's, which is.

Text is laid out and drawn by the same FreeType; only an outline (``stroke_width``) is made from the
pixels. Fonts are looked for where they are named, and among those that Matplotlib brings.
"""

import io
import math
import os
import warnings


def names(_):
    """What the module has."""
    from matplotlib import ft2font

    return {
        "getfont": _Font,
        "freetype2_version": ft2font.__freetype_version__,
        "HAVE_RAQM": False,
        "HAVE_FRIBIDI": False,
        "HAVE_HARFBUZZ": False,
    }


class _Font:
    """A font in one size, with the methods that ``PIL.ImageFont`` calls."""

    def __init__(self, path, size, index=0, encoding="", font_bytes=b"", layout_engine=0):
        from matplotlib import ft2font

        self._flags = ft2font.LoadFlags
        try:
            file = io.BytesIO(font_bytes or _read(os.fsdecode(path)))
            self._face = face = ft2font.FT2Font(file, face_index=index)
        except (OSError, RuntimeError, ValueError):
            # As FreeType says it; Pillow then looks in other folders.
            raise OSError("cannot open resource") from None
        face.set_size(size, 72)
        self.family, self.style = face.family_name, face.style_name
        self.ascent = math.ceil(face.ascender * size / face.units_per_EM)
        self.descent = math.ceil(-face.descender * size / face.units_per_EM)
        self.height = round(face.height * size / face.units_per_EM)
        self.x_ppem = self.y_ppem = round(size)
        self.glyphs = face.num_glyphs

    def _load_flags(self, mode):
        return self._flags.TARGET_MONO if mode == "1" else self._flags.DEFAULT

    def getlength(self, text, mode="", *_):
        """How far the text goes, in 64ths of a pixel."""
        flags = self._load_flags(mode)
        items = self._face._layout(_text(text), flags)
        if not items:
            return 0
        glyph = items[-1].ft_object.load_glyph(items[-1].glyph_index, flags)
        return round(items[-1].x * 64) + glyph.horiAdvance

    def getsize(self, text, mode="", direction=None, features=None, lang=None, anchor=None):
        """The size of the box of a text, and where it begins from the anchor."""
        pixels, left, top = self._drawn(text, mode)
        return pixels.shape[::-1], self._from_anchor(text, mode, anchor, pixels, left, top)

    def render(
        self, text, fill, mode, direction, features, lang, stroke, is_filled, anchor, ink, start
    ):
        """The text as a mask, and where it begins from the anchor."""
        from PIL import Image

        pixels, left, top = self._drawn(text, mode)
        x, y = self._from_anchor(text, mode, anchor, pixels, left, top)
        if stroke:
            pixels = _outlined(pixels, stroke)
        mask = fill(*pixels.shape[::-1])
        if pixels.size:
            drawn = Image.fromarray(pixels)
            if mode == "RGBA":
                # The colour in three bands and the text in the fourth.
                colour = (ink & 0xFFFFFFFF).to_bytes(4, "little")
                drawn, plain = Image.new("RGBA", drawn.size, tuple(colour)), drawn
                drawn.putalpha(plain)
            mask.paste(drawn.im, (0, 0, *drawn.size))
        width = math.ceil(stroke)
        return mask, (x - width, y - width)

    def _drawn(self, text, mode):
        """The pixels of a text, and where they begin from its origin on the base line.

        As Pillow has it, the box is as high as the ink and at least as wide as the way it goes.
        """
        import numpy as np

        face, is_plain = self._face, mode == "1"
        length = math.ceil(self.getlength(text, mode) / 64)
        with warnings.catch_warnings():
            # Of signs that the font has not, Pillow says nothing.
            warnings.simplefilter("ignore", UserWarning)
            face.set_text(_text(text), 0.0, flags=self._load_flags(mode))
        face.draw_glyphs_to_bitmap(antialiased=not is_plain)
        image = np.asarray(face.get_image())
        rows, columns = np.flatnonzero(image.any(1)), np.flatnonzero(image.any(0))
        if not rows.size:
            return np.zeros((0, length), np.uint8), 0, 0
        # Matplotlib leaves a pixel free around the box of the outlines.
        _, height = face.get_width_height()
        left = math.floor(face.get_bitmap_offset()[0] / 64)
        top = int(rows[0]) - 1 - math.ceil((height - face.get_descent()) / 64)
        first, end = int(columns[0]) + left, int(columns[-1]) + left + 1
        start = min(first, 0)
        pixels = np.zeros((rows[-1] - rows[0] + 1, max(end, length) - start), np.uint8)
        ink = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        pixels[:, first - start : end - start] = ink
        return pixels, start, top

    def _from_anchor(self, text, mode, anchor, pixels, left, top):
        across, along = anchor or "la"
        length = self.getlength(text, mode) / 64
        x = {"l": 0, "m": length / 2, "r": length}
        y = {
            "a": -self.ascent,
            "t": top,
            "m": (self.descent - self.ascent) / 2,
            "s": 0,
            "b": top + pixels.shape[0],
            "d": self.descent,
        }
        if across not in x or along not in y:
            raise ValueError(f"bad anchor specified: {anchor}")
        return round(left - x[across]), round(top - y[along])

    def getvarnames(self):
        """Fonts with axes are drawn as they are."""
        raise OSError("this font's variations are not available in the sandbox")

    getvaraxes = setvarname = setvaraxes = getvarnames


def _text(text):
    return text.decode("latin-1") if isinstance(text, bytes) else str(text)


def _read(path):
    import matplotlib

    own = os.path.join(matplotlib.get_data_path(), "fonts", "ttf", path)
    with open(path if os.path.exists(path) else own, "rb") as file:
        return file.read()


def _outlined(pixels, radius):
    """The pixels, and those that are as near to one as the radius."""
    import numpy as np

    width = math.ceil(radius)
    rows, columns = pixels.shape
    result = np.zeros((rows + 2 * width, columns + 2 * width), np.uint8)
    for down in range(-width, width + 1):
        for right in range(-width, width + 1):
            if down * down + right * right <= (radius + 0.5) ** 2:
                part = result[
                    width + down : width + down + rows, width + right : width + right + columns
                ]
                np.maximum(part, pixels, out=part)
    return result
