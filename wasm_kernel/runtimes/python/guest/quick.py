"""Parts of IPython that every cell goes through, for a fraction of the instructions.

Each does exactly what its base class does; a test compares them.
"""

import re

from IPython.core.history import HistoryManager
from IPython.core.inputtransformer2 import TransformerManager

# Magics, shell lines and help need one of these characters; "!=" is none. Other escapes and
# prompts stand at the beginning of a line, whatever character ends the line before.
_SPECIAL = re.compile(
    r"[%?\r\v\f\x1c-\x1e\x85\u2028\u2029]|!(?!=)|^\s*(?:[,;/]|>>>|\.\.\.|In \[)|\A[\s\\]",
    re.MULTILINE,
)


class QuickTransformer(TransformerManager):
    """Leaves plain Python alone without splitting it into tokens first."""

    def __init__(self):
        super().__init__()
        self._usual = self._transforms()

    def _transforms(self):
        return [*self.cleanup_transforms, *self.line_transforms, *self.token_transformers]

    def transform_cell(self, cell):
        if not cell or _SPECIAL.search(cell) or self._transforms() != self._usual:
            return super().transform_cell(cell)
        return cell if cell.endswith("\n") else cell + "\n"


class QuickHistory(HistoryManager):
    """Keeps inputs in memory: there is no database that they would have to be queued for."""

    def store_inputs(self, line_num, source, source_raw=None):
        raw = (source if source_raw is None else source_raw).rstrip("\n")
        if self._exit_re.match(raw.strip()):
            return
        self.input_hist_parsed.append(source.rstrip("\n"))
        self.input_hist_raw.append(raw)
        # Traits notify whoever watches them, at twenty times the price of a dict; nobody does.
        values = self._trait_values
        last, second, third = (values.get(name, "") for name in ("_i00", "_i", "_ii"))
        values["_i00"], values["_i"], values["_ii"], values["_iii"] = raw, last, second, third
        names = {"_i": last, "_ii": second, "_iii": third, f"_i{line_num}": raw}
        self.shell.user_ns.update(names)
        self.shell.user_ns_hidden.update(names)
