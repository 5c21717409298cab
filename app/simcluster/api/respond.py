"""Small builders of HTTP answers."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from app.simcluster.meta import Json

JSON_TYPE = "application/json"


def json_bytes(body: bytes, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, code, headers, media_type=JSON_TYPE)


def json_object(value: Json, code: int = 200, headers: dict[str, str] | None = None) -> Response:
    return json_bytes(orjson.dumps(value), code, headers)
