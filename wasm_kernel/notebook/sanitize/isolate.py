"""HTML that needs its scripts, in a frame that has no origin, no network and no way out.

Two frames, one inside the other. The inner one runs the guest's script without an origin under a
policy that forbids every load. A policy does not stop a document from leaving for another address,
but the policy of the frame *around* it does: that is what the outer one is for. It also keeps the
address of the page to itself and watches over the keyboard. What remains (WebRTC, DNS and more) is
in docs/security.md, and is why this mode must be asked for.
"""

from __future__ import annotations

import html
import re

from wasm_kernel.notebook.sanitize.refusal import Refused
from wasm_kernel.notebook.sanitize.texts import too_large

HEIGHT_MIN, HEIGHT_DEFAULT, HEIGHT_MAX = 150, 450, 800

# The inner document is made from the outer one's markup and inherits its policy, so the outer
# policy has to allow what the inner one may do; "frame-src 'none'" is the part that matters there.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; connect-src 'none'; frame-src 'none'; child-src 'none'; "
    "worker-src 'none'; object-src 'none'; media-src 'none'; manifest-src 'none'; "
    "form-action 'none'; base-uri 'none'; webrtc 'block'"
)
_BEGIN = '<!doctype html><html><head><meta charset="utf-8">'
# A document without an address of its own takes over the base of the one that made it, which
# would be the page with its query. This base comes before the policy, which allows no other one.
_NO_BASE = '<base href="about:srcdoc">'
_HEAD = (
    f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    '<meta name="referrer" content="no-referrer">'
    '<meta http-equiv="x-dns-prefetch-control" content="off">'
)
_FRAME = (
    '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="Output of the cell" '
    "allow=\"focus-without-user-activation 'none'; picture-in-picture 'none'; gamepad 'none'\" "
    'style="display:block;width:100%;height:100%;border:0" srcdoc="{document}"></iframe>'
)
# Chromium 156 gives the keyboard to any frame that asks for it, whatever the user is typing into.
# The frame around it hears of every click inside (by the activation, for five seconds) and sees who
# has the focus: a document that got it without a click is ended. Where the click may be one of
# before the focus was lost, the keyboard is only taken away again, a few times. The watch has the
# priority that the document itself could ask for, or it would be kept waiting.
_WATCH_KEYBOARD = """<p hidden>This output took the keyboard without being clicked, so it was
stopped. <button>Show it again</button></p><script>
const frame = document.querySelector("iframe"), note = document.querySelector("p");
const later = window.scheduler?.postTask
  ? task => scheduler.postTask(task, { priority: "user-blocking", delay: 20 })
  : task => setTimeout(task, 20);
let had = false, isOld = false, doubts = 0;
const watch = () => {
  const has = document.activeElement === frame, clicked = navigator.userActivation.isActive;
  if (!clicked) isOld = false, doubts = 0;
  if (had && !has) isOld = clicked;
  if (has && !had && !(clicked && frame.matches(":hover") && doubts < 5)) {
    frame.remove();
    note.hidden = false;
  } else if (has && !had && isOld) {
    doubts += 1;
    window.focus();
  }
  had = has;
  later(watch);
};
watch();
document.querySelector("button").onclick = () => {
  note.hidden = true;
  document.body.append(frame);
};
</script>"""
_HEIGHT_HINT = re.compile(
    r"""(?:[\s"';{]height|"height")\s*+[:=]\s*+["']?\s*+([0-9]{2,4})(?:\.[0-9]+)?\s*(?:px)?[\s"';,}]""",
    re.IGNORECASE,
)
_HINTS_READ = 200_000


def isolated_html(text: str, limit: int) -> str:
    """A frame around a frame around the guest's HTML."""
    # Whatever the guest's text holds comes after our policy, and a policy cannot be taken back.
    inner = f"{_BEGIN}{_HEAD}</head><body>{text}"
    outer = (
        f"{_BEGIN}{_NO_BASE}{_HEAD}"
        "<style>html,body{margin:0;height:100%;overflow:hidden}"
        "p{margin:0;padding:8px;background:#fff;font:14px sans-serif}"
        f"</style></head><body>{_FRAME.format(document=html.escape(inner))}{_WATCH_KEYBOARD}"
    )
    frame = _FRAME.format(document=html.escape(outer))
    written = (
        f'<div style="height:{_height(text)}px;min-height:{HEIGHT_MIN}px;resize:vertical;'
        f'overflow:hidden;padding-bottom:12px;contain:content">{frame}</div>'
    )
    if len(written) > limit:
        raise Refused(too_large(limit))
    return written


def _height(text: str) -> int:
    """The largest height the HTML mentions, within reason."""
    hints = [int(number) for number in _HEIGHT_HINT.findall(text[-_HINTS_READ:])]
    hints += [int(number) for number in _HEIGHT_HINT.findall(text[:_HINTS_READ])]
    wanted = max((number for number in hints if number <= HEIGHT_MAX), default=HEIGHT_DEFAULT)
    return min(max(wanted + 20, HEIGHT_MIN), HEIGHT_MAX)
