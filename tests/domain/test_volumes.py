"""Mounts and volumes: paths that can't work are refused by field, sources that no pod can carry by option."""

from __future__ import annotations

from uuid import uuid4

import pytest

from app.domain.errors import InvalidInputError
from app.domain.volumes import Mount, Volume, VolumeKind, check_known, check_mounts, check_source, missing_volumes

PATHS = ["/data", "/data/a b", "/mnt/é", "/d", "/" + "p" * 1023, "/devices", "/process", "/home/dev", "/..data"]
WRONG_PATHS = [
    ("", "not an absolute path"),
    ("data", "not an absolute path"),
    ("./data", "not an absolute path"),
    ("/", "the container's own root"),
    ("//", "written plainly, as '/'"),
    ("//data", "written plainly, as '/data'"),
    ("/data/", "written plainly, as '/data'"),
    ("/data/../etc", "written plainly, as '/etc'"),
    ("/a/./b", "written plainly, as '/a/b'"),
    ("/dev", "lies in /dev"),
    ("/dev/shm", "lies in /dev"),  # noqa: S108
    ("/dev/nvidia0", "lies in /dev"),
    ("/proc/1", "lies in /proc"),
    ("/sys", "lies in /sys"),
    ("/a:b", "without ':'"),
    ("/a\nb", "printable"),
    ("/a\0", "printable"),
    ("/\ud800", "printable"),
    ("/" + "p" * 1024, "at most 1024 bytes"),
]


@pytest.mark.parametrize("path", PATHS, ids=[path[:12] for path in PATHS])
def test_a_plain_absolute_path_is_taken(path: str) -> None:
    assert check_mounts([Mount("data", path)]) == []


@pytest.mark.parametrize(("path", "words"), WRONG_PATHS, ids=[repr(path[:14]) for path, _ in WRONG_PATHS])
def test_other_paths_are_refused(path: str, words: str) -> None:
    [problem] = check_mounts([Mount("data", "/ok"), Mount("data", path)])
    assert problem.field == "mounts[1].path"
    assert words in problem.message
    assert len(problem.message) < 300


def test_a_path_is_mounted_once_and_a_volume_as_often_as_wanted() -> None:
    assert check_mounts([Mount("data", "/a"), Mount("data", "/b"), Mount("more", "/b/c")]) == []
    assert [p.field for p in check_mounts([Mount("data", "/a"), Mount("more", "/a")])] == ["mounts[1].path"]


def test_there_is_a_limit() -> None:
    [problem] = check_mounts([Mount("data", f"/{i}") for i in range(33)])
    assert (problem.field, "at most 32" in problem.message) == ("mounts", True)


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    check_known([Mount("data", "/a")], ["data"], "acme")
    with pytest.raises(InvalidInputError) as caught:
        check_known([Mount("data", "/a"), Mount("Data", "/b")], ["models", "data"], "acme")
    [problem] = caught.value.problems
    assert (problem.field, problem.message) == (
        "mounts[1].name",
        "there is no volume 'Data' in acme; there are data, models",
    )
    with pytest.raises(InvalidInputError, match="there is no volume 'x' in acme; there are none"):
        check_known([Mount("x", "/a")], [], "acme")


def test_what_is_missing_is_named_once() -> None:
    mounts = [Mount("gone", "/a"), Mount("data", "/b"), Mount("gone", "/c"), Mount("lost", "/d")]
    known = {"data": Volume(uuid4(), "data", VolumeKind.PVC, "data")}
    assert missing_volumes(mounts, known) == ["gone", "lost"]


GOOD_SOURCES = [
    (VolumeKind.PVC, "training-data.v1"),
    (VolumeKind.NFS, "files.example.org:/export/data"),
    (VolumeKind.NFS, "10.0.0.7:/"),
    (VolumeKind.NFS, "[fd00::7]:/export"),
    (VolumeKind.HOST_PATH, "/srv/data"),
]
BAD_SOURCES = [
    (VolumeKind.PVC, "Data", "pvc"),
    (VolumeKind.PVC, "a/b", "pvc"),
    (VolumeKind.PVC, "d" * 254, "pvc"),
    (VolumeKind.NFS, "/export/data", "nfs"),
    (VolumeKind.NFS, "files.example.org", "nfs"),
    (VolumeKind.NFS, "files.example.org:export", "nfs"),
    (VolumeKind.NFS, "files.example.org:/export/../etc", "nfs"),
    (VolumeKind.NFS, "two words:/export", "nfs"),
    (VolumeKind.HOST_PATH, "srv/data", "host-path"),
    (VolumeKind.HOST_PATH, "/", "host-path"),
    (VolumeKind.HOST_PATH, "//srv", "host-path"),
    (VolumeKind.HOST_PATH, "/srv/../etc", "host-path"),
    (VolumeKind.HOST_PATH, "/srv/\ud800", "host-path"),
]


@pytest.mark.parametrize(("kind", "source"), GOOD_SOURCES)
def test_a_source_that_a_pod_can_carry(kind: VolumeKind, source: str) -> None:
    check_source(kind, source)


@pytest.mark.parametrize(("kind", "source", "field"), BAD_SOURCES)
def test_a_source_that_none_can(kind: VolumeKind, source: str, field: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_source(kind, source)
    assert [p.field for p in caught.value.problems] == [field]
