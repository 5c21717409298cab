"""Image references: the grammar, and what `image` and `tag` mean together."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInputError, Problem
from app.domain.image import ImageReference, parse_image, resolve_image

EXAMPLE = "nvidia/cuda:12.2.0-base-ubuntu22.04"
DIGEST = "sha256:" + "a1" * 32


def problem_of(image: str | None, tag: str | None = None) -> Problem:
    with pytest.raises(InvalidInputError) as caught:
        resolve_image(image, tag)
    (problem,) = caught.value.problems
    return problem


@pytest.mark.parametrize(
    ("image", "tag", "expected"),
    [
        pytest.param(EXAMPLE, "latest", EXAMPLE, id="the specification's own example"),
        pytest.param("nvidia/cuda", None, "nvidia/cuda", id="no tag: the reference as given"),
        pytest.param("nvidia/cuda", "  ", "nvidia/cuda", id="a blank tag is no tag"),
        pytest.param("nvidia/cuda", "12.2.0", "nvidia/cuda:12.2.0", id="the tag is put on"),
        pytest.param("nvidia/cuda", "latest", "nvidia/cuda:latest", id="latest is a tag where there is no other"),
        pytest.param(EXAMPLE, None, EXAMPLE, id="the image's own tag"),
        pytest.param("nginx:1.27", "1.27", "nginx:1.27", id="the same tag twice"),
        pytest.param("nginx:latest", "latest", "nginx:latest", id="latest twice"),
        pytest.param(f"nginx@{DIGEST}", None, f"nginx@{DIGEST}", id="pinned by digest"),
        pytest.param(f"nginx:1.27@{DIGEST}", None, f"nginx:1.27@{DIGEST}", id="tag and digest in one reference"),
        pytest.param("reg.local:5000/team/x", "v2", "reg.local:5000/team/x:v2", id="a port is not a tag"),
        pytest.param("reg.local:5000/team/x:v1", "latest", "reg.local:5000/team/x:v1", id="port and tag"),
        pytest.param("  nginx  ", " 1.27 ", "nginx:1.27", id="white space around is not part of it"),
    ],
)
def test_image_and_tag_make_one_reference(image: str, tag: str | None, expected: str) -> None:
    assert str(resolve_image(image, tag)) == expected


@pytest.mark.parametrize("image", [None, "", "   ", "\t\n"])
def test_a_blank_image_is_refused_with_an_example(image: str | None) -> None:
    problem = problem_of(image, "latest")
    assert problem.field == "image"
    assert "required" in problem.message
    assert EXAMPLE in problem.message


@pytest.mark.parametrize(
    ("image", "tag", "named"),
    [
        pytest.param("nginx:1.27", "1.28", ("1.27", "1.28"), id="another tag"),
        pytest.param("nginx:latest", "1.28", ("latest", "1.28"), id="another tag than latest"),
        pytest.param(f"nginx@{DIGEST}", "1.27", ("sha256:a1a1", "1.27"), id="a tag beside a digest"),
        pytest.param(f"nginx@{DIGEST}", "latest", ("sha256:a1a1", "latest"), id="latest beside a digest"),
        pytest.param(f"nginx:1.27@{DIGEST}", "1.27", ("sha256:a1a1", "1.27"), id="the same tag beside a digest"),
        pytest.param("nginx", "-rc1", ("-rc1",), id="a tag that starts with a hyphen"),
        pytest.param("nginx", ":1.27", (":1.27",), id="a tag with its colon"),
        pytest.param("nginx", "a" * 129, ("a" * 80, "128"), id="a tag of 129 characters"),
        pytest.param("nginx", "é", ("é",), id="a tag with an accent"),
    ],
)
def test_a_contradicting_or_malformed_tag_names_both_sides(image: str, tag: str, named: tuple[str, ...]) -> None:
    problem = problem_of(image, tag)
    assert problem.field == "tag"
    assert [word for word in named if word not in problem.message] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("ubuntu", ImageReference("", "ubuntu", "", ""), id="one segment"),
        pytest.param("library/ubuntu", ImageReference("", "library/ubuntu", "", ""), id="the first may be no host"),
        pytest.param("ghcr.io/a/b:c", ImageReference("ghcr.io", "a/b", "c", ""), id="a dot makes a host"),
        pytest.param("reg:5000/a", ImageReference("reg:5000", "a", "", ""), id="a port makes a host"),
        pytest.param("localhost/a", ImageReference("localhost", "a", "", ""), id="localhost is a host"),
        pytest.param("Registry/a", ImageReference("Registry", "a", "", ""), id="a capital makes a host"),
        pytest.param("[::1]:5000/a:t", ImageReference("[::1]:5000", "a", "t", ""), id="an IPv6 host"),
        pytest.param("localhost:5000", ImageReference("", "localhost", "5000", ""), id="without a path it is a tag"),
        pytest.param("a__b/c--d.e_f", ImageReference("", "a__b/c--d.e_f", "", ""), id="separators"),
        pytest.param("x:_T.-", ImageReference("", "x", "_T.-", ""), id="a tag of odd characters"),
        pytest.param(f"r.io:1/x@{DIGEST}", ImageReference("r.io:1", "x", "", DIGEST), id="host, port, digest"),
        pytest.param("x@sha512:" + "0" * 128, ImageReference("", "x", "", "sha512:" + "0" * 128), id="sha512"),
    ],
)
def test_a_reference_is_parsed_as_the_kubelet_does(text: str, expected: ImageReference) -> None:
    assert parse_image(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize(
    ("image", "named"),
    [
        pytest.param("nvidia/CUDA", "'CUDA'", id="capitals in the repository"),
        pytest.param("my image", "'my image'", id="a space inside"),
        pytest.param("a//b", "''", id="an empty component"),
        pytest.param("a/-b", "'-b'", id="a component starting with a separator"),
        pytest.param("a/b___c", "'b___c'", id="three underscores"),
        pytest.param("a/b..c", "'b..c'", id="two dots"),
        pytest.param("/nginx", "''", id="a leading slash"),
        pytest.param("ghcr.io/", "repository", id="a host alone"),
        pytest.param("nginx:", "not a tag", id="an empty tag"),
        pytest.param("nginx:-x", "'-x'", id="a malformed tag"),
        pytest.param("nginx@", "digest", id="an empty digest"),
        pytest.param("nginx@sha256:abc", "digest", id="a short digest"),
        pytest.param("nginx@md5:" + "a" * 32, "digest", id="an unknown algorithm"),
        pytest.param("nginx@sha256:" + "A" * 64, "digest", id="a digest in capitals"),
        pytest.param(f"nginx@{DIGEST}@{DIGEST}", "digest", id="two digests"),
        pytest.param("my_registry:5000/x", "'my_registry:5000'", id="an underscore in the host"),
        pytest.param("https://ghcr.io/a/b", "'https:'", id="a URL"),
        pytest.param("reg.io:port/a", "'reg.io:port'", id="a port that is no number"),
        pytest.param("reg..io/a", "'reg..io'", id="an empty label in the host"),
        pytest.param("reg-.io/a", "'reg-.io'", id="a host label ending in a hyphen"),
        pytest.param("a" * 256, "255", id="a repository of 256 characters"),
        pytest.param("f" * 64, "image id", id="a bare image id"),
        pytest.param("nginx\n", None, id="a newline at the end is white space around"),
        pytest.param("ngi\nnx", "'ngi\\nnx'", id="a newline inside"),
        pytest.param("a\udc80b", "'a\\udc80b'", id="text that UTF-8 can't carry"),
    ],
)
def test_a_malformed_image_names_the_wrong_part(image: str, named: str | None) -> None:
    if named is None:
        assert str(resolve_image(image, None)) == image.strip()
        return
    problem = problem_of(image)
    assert problem.field == "image"
    assert named in problem.message


def test_a_repository_may_have_255_characters_beside_its_host() -> None:
    assert parse_image("ghcr.io/" + "a" * 255).path == "a" * 255


def test_a_long_reference_is_cut_in_the_message() -> None:
    for image in ("x/" * 5000 + "Y", "." + "a." * 5000 + "/x", "x:" + "?" * 5000, "x@" + "?" * 5000):
        assert len(problem_of(image).message) < 500


COMPONENT = st.from_regex(r"[a-z0-9]{1,6}((\.|_|__|-{1,3})[a-z0-9]{1,4}){0,2}", fullmatch=True)
HOST = st.from_regex(
    r"localhost|\[[0-9a-f]{1,4}::1\](:[0-9]{2,5})?|[a-z0-9]{1,5}\.[A-Za-z0-9]{1,5}(:[0-9]{1,5})?", fullmatch=True
)
TAG = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,20}", fullmatch=True)
SHA256 = st.from_regex(r"sha256:[0-9a-f]{64}", fullmatch=True)
REFERENCES = st.builds(
    ImageReference,
    host=st.just("") | HOST,
    path=st.lists(COMPONENT, min_size=1, max_size=3).map("/".join),
    tag=st.just("") | TAG,
    digest=st.just("") | SHA256,
).filter(lambda r: bool(r.host) or ("." not in r.path.split("/")[0] and not r.path.startswith("localhost/")))


@given(REFERENCES)
def test_every_reference_survives_being_written_and_read(reference: ImageReference) -> None:
    assert parse_image(str(reference)) == reference


@given(st.text(max_size=60), st.none() | st.text(max_size=20))
def test_any_text_is_a_reference_or_a_problem(image: str, tag: str | None) -> None:
    try:
        reference = resolve_image(image, tag)
    except InvalidInputError as error:
        assert {p.field for p in error.problems} <= {"image", "tag"}  # noqa: PT017 — either outcome is right
    else:
        assert parse_image(str(reference)) == reference
