"""From a draft to a checked submission: limits of every field, defaults, all problems at once, fingerprints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInputError, Problem
from app.domain.gpu_requirements import GpuDraft, check_fits_largest
from app.domain.gpus import WHOLE, GpuRequirements
from app.domain.priority import Priority
from app.domain.submission import Defaults, Draft, check_submission, fingerprint
from app.domain.volumes import Mount
from app.domain.workload import Resources, Submission

DEFAULTS = Defaults(cpu_millis_per_gpu=4000, memory_bytes_per_gpu=16 * 2**30)
PROJECT = UUID("00000000-0000-4000-8000-0000000000aa")
THIRTY_DAYS = 30 * 24 * 3600
DRAFT = Draft(image="nvidia/cuda:12.2.0-base-ubuntu22.04")


def checked(**fields: Any) -> Submission:
    return check_submission(replace(DRAFT, **fields), DEFAULTS)


def problems_of(**fields: Any) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInputError) as caught:
        checked(**fields)
    return caught.value.problems


def test_an_image_is_enough() -> None:
    assert checked() == Submission(
        name="cuda",
        image="nvidia/cuda:12.2.0-base-ubuntu22.04",
        resources=Resources(gpu_count=1, cpu_millis=4000, memory_bytes=16 * 2**30),
        timeout_seconds=3600,
        start_timeout_seconds=1800,
        cuda="12.2",
    )


def test_the_specifications_own_example_is_taken() -> None:
    pairs = (("MODEL_PATH", "/data/model"), ("BATCH_SIZE", "32"))
    example = checked(tag="latest", gpu_count=1, timeout_seconds=3600, env_vars=list(pairs), project_id=PROJECT)
    assert example.image == "nvidia/cuda:12.2.0-base-ubuntu22.04"
    assert (example.env_vars, example.timeout_seconds, example.project_id) == (pairs, 3600, PROJECT)


def test_cpu_and_memory_default_to_a_share_per_gpu() -> None:
    assert checked(gpu_count=4).resources == Resources(4, 16_000, 64 * 2**30)
    assert checked(gpu_count=4, cpu="2").resources == Resources(4, 2000, 64 * 2**30)
    assert checked(gpu_count=4, memory="1Gi").resources == Resources(4, 16_000, 2**30)


ACCEPTED: list[tuple[dict[str, Any], str]] = [
    ({"gpu_count": 1}, "the fewest GPUs"),
    ({"gpu_count": 1024}, "the most GPUs"),
    ({"timeout_seconds": 1}, "the shortest run"),
    ({"timeout_seconds": THIRTY_DAYS}, "the longest run"),
    ({"start_timeout_seconds": 1}, "the shortest start"),
    ({"start_timeout_seconds": THIRTY_DAYS}, "the longest start"),
    ({"queue_timeout_seconds": 1}, "the shortest wait"),
    ({"queue_timeout_seconds": THIRTY_DAYS}, "the longest wait"),
    ({"cpu": "1m"}, "the least cpu"),
    ({"cpu": "1000"}, "the most cpu"),
    ({"memory": "16Mi"}, "the least memory"),
    ({"memory": "64Ti"}, "the most memory"),
    ({"name": "n" * 100}, "the longest name"),
    ({"name": "Größe \U0001f680 #1"}, "a name in any letters"),
    ({"idempotency_key": "k" * 200}, "the longest key"),
    ({"command": ["python", "-c", "print('é')\nprint()"], "args": [""]}, "words of any text"),
    ({"command": ["x" * 65536]}, "the longest word"),
    ({"args": [""] * 1000}, "the most words"),
    ({"max_retries": 10}, "the most retries"),
    ({"shared_memory": "1Mi"}, "the least shared memory"),
    ({"memory": "2Gi", "shared_memory": "2Gi"}, "shared memory as large as the memory"),
    ({"labels": [("team", "")]}, "a label without a value"),
    ({"mounts": [Mount("data", "/data")]}, "a mount"),
    ({"cuda": " 12.4 "}, "a CUDA version"),
    ({"gpu_requirements": GpuDraft(products=["H100"] * 16)}, "the most products"),
    ({"gpu_requirements": GpuDraft(memory="1Mi")}, "the least memory of a GPU"),
    ({"gpu_requirements": GpuDraft(memory="10Ti")}, "the most memory of a GPU"),
    ({"gpu_requirements": GpuDraft(memory="10G", mig_profile="1g.10gb")}, "all the memory of a slice"),
    ({"gpu_requirements": GpuDraft(shared=True)}, "one share"),
    ({"gpu_count": 7, "gpu_requirements": GpuDraft(mig_profile="1g.10gb")}, "several slices"),
    ({"gpu_requirements": GpuDraft((), " ", "", " ")}, "boxes that are left empty"),
]


@pytest.mark.parametrize("fields", [pytest.param(fields, id=name) for fields, name in ACCEPTED])
def test_the_limit_itself_is_allowed(fields: dict[str, Any]) -> None:
    checked(**fields)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"image": None}, "image", "required"),
    ({"image": "nvidia/CUDA"}, "image", "'CUDA'"),
    ({"tag": "12.4.0"}, "tag", "'12.4.0'"),
    ({"gpu_count": 0}, "gpuCount", "between 1 and 1024; it is 0"),
    ({"gpu_count": -1}, "gpuCount", "it is -1"),
    ({"gpu_count": 1025}, "gpuCount", "it is 1025"),
    ({"timeout_seconds": 0}, "timeoutSeconds", "between 1 and 2592000; it is 0"),
    ({"timeout_seconds": THIRTY_DAYS + 1}, "timeoutSeconds", "it is 2592001"),
    ({"start_timeout_seconds": 0}, "startTimeoutSeconds", "it is 0"),
    ({"start_timeout_seconds": THIRTY_DAYS + 1}, "startTimeoutSeconds", "it is 2592001"),
    ({"queue_timeout_seconds": 0}, "queueTimeoutSeconds", "it is 0"),
    ({"queue_timeout_seconds": THIRTY_DAYS + 1}, "queueTimeoutSeconds", "it is 2592001"),
    ({"cpu": "0"}, "cpu", "between 1m and 1000; it is 0"),
    ({"cpu": "-1"}, "cpu", "it is -1"),
    ({"cpu": "1001"}, "cpu", "it is 1001"),
    ({"cpu": "four"}, "cpu", "'four'"),
    ({"cpu": "1e"}, "cpu", "'1e'"),
    ({"memory": "16777215"}, "memory", "between 16Mi and 64Ti"),
    ({"memory": "65Ti"}, "memory", "it is 65Ti"),
    ({"memory": "16 GB"}, "memory", "'16 GB'"),
    ({"name": "n" * 101}, "name", "100"),
    ({"name": "two\nlines"}, "name", "printable"),
    ({"name": "half \ud83d"}, "name", "printable"),
    ({"idempotency_key": "k" * 201}, "idempotencyKey", "200"),
    ({"env_vars": [("1A", "x")]}, "envVars[0].name", "'1A'"),
    ({"env_vars": [("NVIDIA_VISIBLE_DEVICES", "all")]}, "envVars[0].name", "device plugin"),
    ({"command": ["ok", "a\0b"]}, "command[1]", "NUL"),
    ({"args": ["\ud800"]}, "args[0]", "Unicode"),
    ({"args": ["é" * 32769]}, "args[0]", "65536"),
    ({"command": [""] * 1001}, "command", "1001"),
    ({"max_retries": -1}, "maxRetries", "between 0 and 10; it is -1"),
    ({"max_retries": 11}, "maxRetries", "it is 11"),
    ({"shared_memory": "1023Ki"}, "sharedMemory", "between 1Mi and the workload's memory of 16Gi"),
    ({"memory": "2Gi", "shared_memory": "3Gi"}, "sharedMemory", "memory of 2Gi, which it is part of; it is 3Gi"),
    ({"shared_memory": "big"}, "sharedMemory", "'big'"),
    ({"labels": [("a b", "x")]}, "labels[0].key", "'a b'"),
    ({"mounts": [Mount("data", "data")]}, "mounts[0].path", "absolute"),
    ({"cuda": "12"}, "cuda", "such as 12.4; it is '12'"),
    ({"cuda": "12.4.1"}, "cuda", "'12.4.1'"),
    ({"gpu_requirements": GpuDraft(["H100", " - "])}, "gpuRequirements.products[1]", "such as H100"),
    ({"gpu_requirements": GpuDraft(["x" * 101])}, "gpuRequirements.products[0]", "at most 100 characters"),
    ({"gpu_requirements": GpuDraft(["H100"] * 17)}, "gpuRequirements.products", "at most 16 are taken; 17 were"),
    (
        {"gpu_requirements": GpuDraft(memory="40")},
        "gpuRequirements.memory",
        "between 1Mi and 10Ti, such as 40G; it is 40",
    ),
    ({"gpu_requirements": GpuDraft(memory="big")}, "gpuRequirements.memory", "'big'"),
    (
        {"gpu_requirements": GpuDraft(compute_capability="8")},
        "gpuRequirements.computeCapability",
        "such as 8.0; it is '8'",
    ),
    ({"gpu_requirements": GpuDraft(mig_profile="half")}, "gpuRequirements.migProfile", "such as 1g.10gb; it is 'half'"),
    (
        {"gpu_requirements": GpuDraft(memory="20G", mig_profile="1g.10gb")},
        "gpuRequirements.memory",
        "a MIG slice 1g.10gb has 10G, and 20G are asked for. Ask for a larger profile",
    ),
    (
        {"gpu_count": 2, "gpu_requirements": GpuDraft(shared=True)},
        "gpuCount",
        "more shares are never more GPU; it is 2",
    ),
    ({"cuda": "\u0661\u0662.4"}, "cuda", "such as 12.4"),
]


@pytest.mark.parametrize(("fields", "field", "named"), REFUSED, ids=[f"{f} {n}" for _, f, n in REFUSED])
def test_one_wrong_field_is_one_problem_with_its_name_and_numbers(
    fields: dict[str, Any], field: str, named: str
) -> None:
    (problem,) = problems_of(**fields)
    assert problem.field == field
    assert named in problem.message


def test_everything_wrong_is_reported_at_once() -> None:
    problems = problems_of(
        image=" ",
        gpu_count=0,
        timeout_seconds=0,
        start_timeout_seconds=0,
        queue_timeout_seconds=0,
        env_vars=[("A", "1"), ("A", "2")],
        command=["\0"],
        args=["\0"],
        cpu="x",
        memory="1",
        name="n" * 101,
        idempotency_key="k" * 201,
    )
    wanted = "image gpuCount timeoutSeconds startTimeoutSeconds queueTimeoutSeconds envVars[1].name command[0] args[0]"
    assert {p.field for p in problems} == {*wanted.split(), "cpu", "memory", "name", "idempotencyKey"}
    assert len(problems) == 12


def test_the_error_names_every_field_in_one_sentence() -> None:
    with pytest.raises(InvalidInputError, match=r"^gpuCount: must .*; cpu: 'x' is not") as caught:
        checked(gpu_count=0, cpu="x")
    assert caught.value.code == "BAD_USER_INPUT"


def test_text_fields_are_trimmed_and_blank_is_absent() -> None:
    assert checked(name="  llama  ", idempotency_key=" k ").name == "llama"
    assert checked(idempotency_key=" k ").idempotency_key == "k"
    assert (checked(name="  ").name, checked(idempotency_key="").idempotency_key) == ("cuda", None)


def test_a_name_made_from_the_image_keeps_to_the_limit_of_names() -> None:
    made = checked(image="ghcr.io/team/" + "m" * 200).name
    assert len(made) <= 100
    assert made.startswith("mmm")


def test_values_are_kept_byte_for_byte() -> None:
    pairs = [("A", "  $(B) $$ 'x' \n"), ("B", "")]
    assert checked(env_vars=pairs).env_vars == tuple(pairs)
    assert checked(command=[" a ", "$HOME"], args=["--x=$(A)"]).command == (" a ", "$HOME")


@pytest.mark.parametrize(
    "fields", [{"args": ["x" * 60_000] * 40}, {"command": ["x" * 60_000] * 40}], ids=["args", "command"]
)
def test_words_that_together_fit_no_kubernetes_object_are_refused(fields: dict[str, Any]) -> None:
    """2.4 MB: more than etcd takes in one request and more than Linux takes as argv."""
    assert [p.field for p in problems_of(**fields)] == list(fields)


def test_a_reference_longer_than_can_be_stored_is_refused() -> None:
    (problem,) = problems_of(image="a." * 400 + "io/x:t")
    assert problem.field == "image"


def test_messages_about_long_input_are_short() -> None:
    for fields in ({"cpu": "9" * 3000}, {"memory": "1" * 3000}, {"cpu": "x" * 3000}, {"name": "n" * 3000}):
        assert all(len(p.message) < 500 for p in problems_of(**fields))


def test_more_gpus_than_the_largest_server_has_are_refused_with_both_numbers() -> None:
    check_fits_largest(8, WHOLE, "gpu-1", 8)
    with pytest.raises(InvalidInputError) as caught:
        check_fits_largest(9, WHOLE, "gpu-1", 8)
    (problem,) = caught.value.problems
    assert problem.field == "gpuCount"
    assert [word for word in ("9", "8", "gpu-1") if word not in problem.message] == []


def test_equal_requests_have_equal_fingerprints() -> None:
    draft: dict[str, Any] = {"env_vars": [("A", "1")], "project_id": PROJECT, "command": ["x"]}
    assert fingerprint(checked(**draft)) == fingerprint(checked(**draft))
    assert fingerprint(checked(tag="latest")) == fingerprint(checked())
    assert fingerprint(checked(cpu="4", memory="16Gi", timeout_seconds=3600)) == fingerprint(checked())


OTHER: list[dict[str, Any]] = [
    {"image": "nvidia/cuda:12.2.1-base-ubuntu22.04"},
    {"gpu_count": 2, "cpu": "4", "memory": "16Gi"},
    {"timeout_seconds": 3601},
    {"start_timeout_seconds": 1801},
    {"queue_timeout_seconds": 1},
    {"env_vars": [("A", "1")]},
    {"project_id": PROJECT},
    {"name": "other"},
    {"command": ["x"]},
    {"args": ["x"]},
    {"cpu": "5"},
    {"memory": "17Gi"},
    {"max_retries": 1},
    {"labels": [("team", "vision")]},
    {"mounts": [Mount("data", "/data")]},
    {"shared_memory": "8Gi"},
    {"cuda": "12.3"},
    {"gpu_requirements": GpuDraft(products=["H100"])},
    {"priority": Priority.LOW},
    {"preemptible": True},
]


@pytest.mark.parametrize("fields", OTHER, ids=[next(iter(fields)) for fields in OTHER])
def test_every_field_counts_in_the_fingerprint(fields: dict[str, Any]) -> None:
    assert fingerprint(checked(**fields)) != fingerprint(checked())


# Of a request that an earlier release has stored, before labels, mounts and shared memory were known.
STORED_BEFORE = "26433c7d4ed48b7896ad362799025e4949cdd6748dac170d755e2ea012c27dd0"


def test_a_key_that_an_earlier_release_has_stored_still_finds_its_request() -> None:
    draft: dict[str, Any] = {"env_vars": [("A", "1")], "project_id": PROJECT, "command": ["x"], "idempotency_key": "k"}
    assert fingerprint(checked(**draft)) == STORED_BEFORE


def test_a_read_only_mount_is_another_request() -> None:
    writing, reading = ({"mounts": [Mount("data", "/data", read_only)]} for read_only in (False, True))
    assert fingerprint(checked(**writing)) != fingerprint(checked(**reading))


def test_what_the_gpus_must_be_as_it_is_kept() -> None:
    draft = GpuDraft([" A100   80GB ", "h100", "h100"], "40Gi", "8.0", "MIG-3G.40GB")
    kept = GpuRequirements(("A100 80GB", "h100"), 0, (8, 0), "3g.40gb")
    assert checked(gpu_requirements=replace(draft, memory=None)).gpu_requirements == kept
    assert checked(gpu_requirements=GpuDraft(memory="40Gi")).gpu_requirements.memory_bytes == 40 * 2**30


def test_each_demand_is_another_request() -> None:
    drafts = [
        GpuDraft(),
        GpuDraft(["H100"]),
        GpuDraft(memory="40G"),
        GpuDraft(compute_capability="8.0"),
        GpuDraft(mig_profile="1g.10gb"),
        GpuDraft(shared=True),
    ]
    assert len({fingerprint(checked(gpu_requirements=draft)) for draft in drafts}) == len(drafts)


def test_a_given_cuda_version_outranks_the_images_name() -> None:
    assert checked(cuda="11.8").cuda == "11.8"
    assert checked(image="team/train", cuda="12.4").cuda == "12.4"
    assert (checked(cuda=" ").cuda, checked(image="team/train").cuda) == ("12.2", None)


def test_words_do_not_run_into_each_other_in_the_fingerprint() -> None:
    split = [checked(command=["a", "b"]), checked(command=["ab"]), checked(command=["a"], args=["b"])]
    assert len({fingerprint(submission) for submission in split}) == 3


@given(
    st.builds(
        Draft,
        image=st.sampled_from(["nginx", "", "a/B", None]),
        gpu_count=st.integers(-1, 2000),
        timeout_seconds=st.none() | st.integers(-1, 10**8),
        cpu=st.none() | st.text(alphabet="0123456789.emGi", max_size=5),
        memory=st.none() | st.text(alphabet="0123456789.ekGi", max_size=5),
        name=st.none() | st.text(st.characters(), max_size=5),
        args=st.lists(st.text(st.characters(), max_size=3), max_size=2),
    )
)
def test_any_draft_is_checked_or_refused_in_words_that_can_be_shown(draft: Draft) -> None:
    try:
        submission = check_submission(draft, DEFAULTS)
    except InvalidInputError as error:
        assert error.problems  # noqa: PT017 — either outcome is right
        str(error).encode()
    else:
        assert len(fingerprint(submission)) == 64
