"""The Table form of objects, which `kubectl get` asks for. Pure."""

from __future__ import annotations

import orjson

from app.simcluster.api.cells import COLUMNS, Column
from app.simcluster.meta import Json
from app.simcluster.resources import ResourceType


def table(resource: ResourceType, objects: list[Json], now: float, metadata: Json) -> Json:
    columns = COLUMNS[resource]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [_definition(column) for column in columns],
        "rows": [_row(columns, obj, now) for obj in objects],
    }


def table_line(resource: ResourceType, kind: str, obj: Json, now: float, *, with_columns: bool) -> bytes:
    """A watch event. As the real server, it names the columns in the first line only."""
    version = obj["metadata"]["resourceVersion"]
    rows = table(resource, [obj], now, {"resourceVersion": version})
    if not with_columns:
        rows["columnDefinitions"] = None
    return orjson.dumps({"type": kind, "object": rows}) + b"\n"


def _definition(column: Column) -> Json:
    return {
        "name": column.name,
        "type": column.type,
        "format": "name" if column.name == "Name" else "",
        "description": "",
        "priority": 1 if column.wide else 0,
    }


def _row(columns: tuple[Column, ...], obj: Json, now: float) -> Json:
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    return {"cells": [column.cell(obj, now) for column in columns], "object": partial}
