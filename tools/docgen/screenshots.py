"""`make screenshots`: pictures of the report in every width and colour scheme, and those of docs/guide.md."""

import tempfile
from pathlib import Path

from belay.report import page
from tools.console import without_options
from tools.docgen.browser import PROGRAM, chromium
from tools.docgen.sample_reports import runs
from tools.repository import REPOSITORY

LOOKS = [(width, scheme) for width in (1440, 390) for scheme in ("light", "dark")]
FOLDER = REPOSITORY / "build" / "figures"
# For docs/guide.md: the top of the page, the same on every machine.
SHOWN = REPOSITORY / "docs" / "pictures"
_TOP = {"width": 1160, "height": 740}


def main() -> None:
    without_options(__doc__)
    if PROGRAM is None:
        raise SystemExit("No browser here: apt-get install chromium")
    records = runs()
    with tempfile.TemporaryDirectory() as home, chromium(Path(home)) as browser:
        for name, shown in (("one-run", records[:1]), ("several-runs", records)):
            file = Path(home) / f"{name}.html"
            file.write_text(page.render(shown))
            for width, scheme in LOOKS:
                picture = FOLDER / f"report-{name}-{width}-{scheme}.png"
                browser.open(file, width=width, scheme=scheme).picture(picture)
                print(f"wrote {picture.relative_to(REPOSITORY)}")
        for scheme in ("light", "dark"):
            top = browser.open(Path(home) / "one-run.html", scheme=scheme, **_TOP)
            picture = SHOWN / f"report-{scheme}.png"
            top.picture(picture, whole=False)
            print(f"wrote {picture.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
