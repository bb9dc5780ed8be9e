"""`make screenshots`: the report in the looks that the tests hold, for people to judge, and what docs/guide.md has."""

import tempfile
from pathlib import Path

from report import page
from tests.report.sample import runs
from tests.report.test_in_a_browser import LOOKS
from tests.support.browser import PROGRAM, chromium
from tests.support.synth import REPOSITORY

FOLDER = REPOSITORY / "build" / "figures"
# What docs/guide.md shows: the top of the page, which is the same run's on every machine.
SHOWN = REPOSITORY / "docs" / "pictures"
_TOP = {"width": 1160, "height": 740}


def main() -> None:
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
