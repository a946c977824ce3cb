"""A page in a real browser: what can be seen of it at a width."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Elements that follow each other may not overlap, and nothing may be wider than the page, but for
# what scrolls by itself.
LOOK = """
<script>
addEventListener("load", () => {
  const flow = [...document.querySelectorAll("body > *, section > *, figure > *")]
    .filter(e => e.tagName !== "SCRIPT" && e.id !== "seen");
  const box = e => e.getBoundingClientRect();
  const name = e => e.tagName + " " + (e.textContent || e.alt || "").slice(0, 30);
  const overlaps = [];
  for (const one of flow) {
    let next = one.nextElementSibling;
    if (next && flow.includes(next) && box(next).top < box(one).bottom - 1)
      overlaps.push(name(one) + " / " + name(next));
  }
  const inside = e => e.closest(".wide, pre, .plot") && !e.matches(".wide, pre, .plot");
  const wide = [...document.querySelectorAll("body *")]
    .filter(e => !inside(e) && box(e).right > innerWidth + 1).map(name);
  const images = [...document.images];
  const seen = {width: innerWidth, images: images.length, overlaps, wide,
    loaded: images.filter(i => i.complete && i.naturalWidth > 0 && box(i).width > 50).length,
    headings: [...document.querySelectorAll("h2, h3")].filter(e => box(e).height > 0).length};
  const told = document.createElement("pre");
  told.id = "seen"; told.textContent = JSON.stringify(seen);
  document.body.append(told);
});
</script>
"""


def chromium() -> str:
    """The browser. Without one a test is skipped, but where CI is set, it fails."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return name
    missing = "NOT TESTED: no Chromium here (sudo apt-get install chromium)"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def look(browser: str, page: Path, width: int, script: str = LOOK) -> dict:
    """Open a page at a width, and say what is there, or what a script has seen."""
    with tempfile.TemporaryDirectory() as folder:
        # A frame, because a headless window cannot be as narrow as a phone.
        inner = Path(folder) / "page.html"
        inner.write_text(page.read_text().replace("</body>", script + "</body>"))
        outer = Path(folder) / "outer.html"
        outer.write_text(
            f"<iframe id=f src=page.html style='width:{width}px;height:900px;border:0'></iframe>"
            "<pre id=told></pre><script>addEventListener('load', () => {"
            "told.textContent = f.contentDocument.getElementById('seen').textContent})</script>"
        )
        profile = f"--user-data-dir={folder}/profile"
        command = [browser, *FLAGS, profile, "--allow-file-access-from-files", "--dump-dom"]
        command += ["--virtual-time-budget=10000", "--window-size=1400,1000", outer.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = re.search(r'<pre id="?told"?>(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    assert found[1], "the page did not load"
    seen = json.loads(html.unescape(found[1]))
    assert seen["width"] == width
    return seen
