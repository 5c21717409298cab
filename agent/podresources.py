"""The kubelet's PodResources service, over gRPC on its unix socket: which container was given which devices.

Messages and numbers are those of Kubernetes' kubelet/pkg/apis/podresources/v1/api.proto, as far as they are needed.
They are built here at run time: generated code is bound to the version of protobuf that made it, and this is shorter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_SECONDS = 5.0
_LARGEST_ANSWER = 16 << 20
_NVIDIA = "nvidia.com/"
_DRA_DRIVER = "gpu.nvidia.com"
_TEXT = descriptor_pb2.FieldDescriptorProto.TYPE_STRING
_MESSAGE = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE
_ONE = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
_MANY = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED

# By message: its fields as name, number, how many, and the message that they are (none: text).
_MESSAGES: dict[str, list[tuple[str, int, Any, str]]] = {
    "ListPodResourcesRequest": [],
    "ListPodResourcesResponse": [("pod_resources", 1, _MANY, "PodResources")],
    "PodResources": [
        ("name", 1, _ONE, ""),
        ("namespace", 2, _ONE, ""),
        ("containers", 3, _MANY, "ContainerResources"),
    ],
    "ContainerResources": [
        ("name", 1, _ONE, ""),
        ("devices", 2, _MANY, "ContainerDevices"),
        ("dynamic_resources", 5, _MANY, "DynamicResource"),
    ],
    "ContainerDevices": [("resource_name", 1, _ONE, ""), ("device_ids", 2, _MANY, "")],
    "DynamicResource": [("claim_resources", 4, _MANY, "ClaimResource")],
    "ClaimResource": [("driver_name", 2, _ONE, ""), ("device_name", 4, _ONE, "")],
}


class KubeletError(Exception):
    """The kubelet gave no answer; the message says why."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A device as the kubelet names it: "GPU-<uuid>", "MIG-<uuid>", "GPU-<uuid>::3" for a share, or a device file."""

    namespace: str
    pod: str
    container: str
    device: str


class PodResources:
    """A connection that finds a restarted kubelet again by itself."""

    def __init__(self, socket: Path) -> None:
        messages = _message_classes()
        options = [
            ("grpc.max_receive_message_length", _LARGEST_ANSWER),
            ("grpc.initial_reconnect_backoff_ms", 200),
            ("grpc.min_reconnect_backoff_ms", 200),
            ("grpc.max_reconnect_backoff_ms", 5000),
        ]
        self._channel = grpc.insecure_channel(f"unix://{socket.absolute()}", options=options)
        self._request = messages["ListPodResourcesRequest"]()
        self._list = self._channel.unary_unary(
            "/v1.PodResourcesLister/List",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=messages["ListPodResourcesResponse"].FromString,
        )

    def assignments(self) -> list[Assignment]:
        """Of NVIDIA's devices, for the pods that are not over. Raises KubeletError."""
        try:
            answer = self._list(self._request, timeout=_SECONDS, wait_for_ready=False)
        except grpc.RpcError as error:
            raise KubeletError(f"{error.code().name}: {error.details()}") from None
        return [
            Assignment(pod.namespace, pod.name, container.name, device)
            for pod in answer.pod_resources
            for container in pod.containers
            for device in _devices(container)
        ]

    def close(self) -> None:
        self._channel.close()


def _devices(container: Any) -> Iterator[str]:
    for each in container.devices:
        if each.resource_name.startswith(_NVIDIA):
            yield from each.device_ids
    for claim in container.dynamic_resources:
        for each in claim.claim_resources:
            if each.driver_name == _DRA_DRIVER:
                yield each.device_name


def _message_classes() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="podresources.proto", package="v1", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, label, kind in fields:
            added = message.field.add(name=field, number=number, label=label, type=_MESSAGE if kind else _TEXT)
            if kind:
                added.type_name = f".v1.{kind}"
    pool = descriptor_pool.DescriptorPool()  # not the common one, where such a file may be already
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"v1.{name}")) for name in _MESSAGES}
