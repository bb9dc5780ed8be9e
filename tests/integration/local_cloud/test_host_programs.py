"""The stand-ins for programs of a GPU host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.local_cloud.services.ecs.images import ImageMissing, load
from tools.local_cloud.settings import HOST_PROGRAMS

SOURCE = "fs-1.fsx.us-east-1.amazonaws.com@tcp:/abcd1234"


@pytest.fixture
def host(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "fsx" / "fs-1-abcd1234").mkdir(parents=True)
    path = f"{HOST_PROGRAMS}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    images = str(tmp_path / "images")
    return {"PATH": path, "BELAY_LOCAL_FILE_SYSTEMS": str(tmp_path / "fsx"), "BELAY_LOCAL_IMAGES": images}


def run(host: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=host, capture_output=True, text=True, check=False)


def mount(host: dict[str, str], point: Path, source: str = SOURCE) -> subprocess.CompletedProcess[str]:
    return run(host, "mount", "-t", "lustre", "-o", "noatime,flock", source, str(point))


def kind_of(host: dict[str, str], point: Path) -> subprocess.CompletedProcess[str]:
    return run(host, "findmnt", "--noheadings", "--output", "FSTYPE", "--mountpoint", str(point))


def test_a_mounted_file_system_is_lustre_until_it_is_unmounted(host: dict[str, str], tmp_path: Path) -> None:
    point = tmp_path / "task" / "fsx"
    assert kind_of(host, point).returncode == 1
    assert mount(host, point).returncode == 0
    assert kind_of(host, point).stdout.strip() == "lustre"
    (point / "probe").write_text("x")
    assert (tmp_path / "fsx" / "fs-1-abcd1234" / "probe").read_text() == "x"

    assert run(host, "umount", str(point)).returncode == 0
    assert kind_of(host, point).returncode == 1
    assert not (point / "probe").exists()


@pytest.mark.parametrize("source", [SOURCE.replace("abcd1234", "wrong"), SOURCE.replace("fs-1", "fs-2")])
def test_a_wrong_mount_name_or_file_system_does_not_mount(host: dict[str, str], tmp_path: Path, source: str) -> None:
    assert mount(host, tmp_path / "fsx-point", source).returncode != 0
    assert not (tmp_path / "fsx-point").exists()


def test_a_folder_that_is_not_mounted_is_not_lustre(host: dict[str, str], tmp_path: Path) -> None:
    assert kind_of(host, tmp_path).returncode == 1


def test_setpriv_runs_the_command_with_its_arguments_and_its_exit_code(host: dict[str, str]) -> None:
    flags = ["--reuid", "1000", "--regid=1000", "--clear-groups", "--bounding-set=-all", "--no-new-privs"]
    done = run(host, "setpriv", *flags, "--", "sh", "-c", 'echo "$1"; exit 7', "sh", "a b")
    assert (done.stdout.strip(), done.returncode) == ("a b", 7)


def test_an_image_holds_what_its_dockerfile_copies(host: dict[str, str], tmp_path: Path) -> None:
    context = tmp_path / "context"
    (context / "package").mkdir(parents=True)
    (context / "package" / "entry.py").write_text("")
    (context / "left_out.py").write_text("")
    (context / "Dockerfile").write_text(
        'FROM python:3.12 AS build\nRUN pip install x\nENTRYPOINT ["sh"]\n'
        "FROM nvidia/cuda:12\n# a comment\nENV PYTHONPATH=/opt/app \\\n    LEVEL=debug\n"
        "COPY --from=build /venv /venv\nCOPY --chown=1000 package /opt/app/package\nWORKDIR /work\n"
        'ENTRYPOINT ["/usr/bin/python3", "-m", "package.entry"]\n'
    )
    name = "1.dkr.ecr.us-east-1.amazonaws.com/assets:tag"
    done = run(host, "docker", "build", "--tag", "local", "--platform", "linux/amd64", str(context))
    assert done.returncode == 0, done.stderr
    assert run(host, "docker", "tag", "local", name).returncode == 0
    assert json.loads(run(host, "docker", "inspect", name).stdout)[0]["Id"].startswith("sha256:")

    image = load(Path(host["BELAY_LOCAL_IMAGES"]), name)
    assert image.entrypoint == ["/usr/bin/python3", "-m", "package.entry"]
    assert image.environment["LEVEL"] == "debug"
    assert image.variables()["PYTHONPATH"] == f"{image.root}/opt/app"
    assert image.folder == image.root / "work" and image.folder.is_dir()
    assert (image.root / "opt/app/package/entry.py").is_file()
    assert not list(image.root.rglob("left_out.py"))
    # Installed by a RUN line, so only its name is known here.
    assert image.program("/usr/bin/python3") == "python3"


def test_the_python_of_an_image_has_what_is_installed_here_and_the_folders_that_pip_installs(
    host: dict[str, str], tmp_path: Path
) -> None:
    context = tmp_path / "context"
    (context / "project" / "shipped").mkdir(parents=True)
    (context / "project" / "shipped" / "__init__.py").write_text("")
    (context / "project" / "pyproject.toml").write_text("")
    (context / "project" / "shipped.pth").write_text("import os; os.environ['STARTED'] = 'yes'\n")
    (context / "Dockerfile").write_text(
        "FROM python:3.12\nENV VIRTUAL_ENV=/opt/python\nCOPY project /tmp/project\n"
        'RUN apt-get install x && python3 -m venv "$VIRTUAL_ENV" && pip install --no-deps numpy /tmp/project\n'
        'ENTRYPOINT ["python"]\n'
    )
    done = run(host, "docker", "build", "--tag", "local", str(context))
    assert done.returncode == 0, done.stderr

    image = load(Path(host["BELAY_LOCAL_IMAGES"]), "local")
    [programs] = image.programs()
    said = run(
        host, f"{programs}/python", "-c", "import os, pytest, shipped; print(shipped.__file__, os.environ['STARTED'])"
    )
    file, started = said.stdout.split()
    assert Path(file).is_relative_to(image.root / "opt" / "python") and started == "yes"
    # What is installed here with a program brings it along, and the program runs in the image's Python.
    assert (image.root / "opt/python/bin/pytest").read_text().startswith(f"#!{programs}/python")


def test_an_image_that_was_never_pushed_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ImageMissing):
        load(tmp_path, "never/pushed:this")


def test_an_unsupported_docker_command_is_refused(host: dict[str, str]) -> None:
    done = run(host, "docker", "run", "x")
    assert done.returncode != 0
    assert "'run' is not understood" in done.stderr


def test_lustre_shows_which_files_are_exported_and_unchanged_since(host: dict[str, str], tmp_path: Path) -> None:
    point = tmp_path / "fsx-point"
    mount(host, point)
    names = ["exported", "changed", "new"]
    for name in names:
        (point / name).write_text(name)
    seen = {name: (point / name).stat() for name in names[:2]}
    lines = [f"{one.st_ino} {one.st_size} {name}\n" for name, one in seen.items()]
    (tmp_path / "fsx" / "fs-1-abcd1234.exported").write_text("".join(lines))
    (point / "changed").write_text("to something else")

    asked = run(host, "lfs", "hsm_state", *(str(point / name) for name in [*names, "removed"]))
    assert asked.stdout.splitlines() == [
        f"{point}/exported: (0x00000009) exists archived, archive_id:1",
        f"{point}/changed: (0x00000000)",
        f"{point}/new: (0x00000000)",
    ]
    assert asked.returncode != 0 and "removed" in asked.stderr
