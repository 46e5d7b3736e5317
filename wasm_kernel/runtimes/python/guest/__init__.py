"""The Python that runs inside the sandbox. It is untrusted as soon as the first cell has run.

Imported in the guest as ``wasm_guest``; the host only ever ships these files, never imports them.
"""
