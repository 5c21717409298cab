"""A bare Strawberry schema that serves a page of constants: what the list of workloads is measured against.

The same fields as the list's, each a plain attribute, behind the same HTTP server; no database, no token, no limits.
`python -m bench._bare` serves it on a free port and says where.
"""

from __future__ import annotations

import socket
from datetime import UTC, datetime
from uuid import UUID, uuid4

import strawberry
import uvicorn
import uvloop
from strawberry.asgi import GraphQL

_AT = datetime(2026, 11, 30, tzinfo=UTC)


@strawberry.type
class Node:
    id: UUID
    name: str
    status: str
    phase: str
    message: str
    gpu_count: int
    server: str | None
    created_at: datetime
    exit_code: int | None


@strawberry.type
class Edge:
    cursor: str
    node: Node


@strawberry.type
class PageInfo:
    has_next_page: bool
    end_cursor: str | None


@strawberry.type
class Connection:
    total_count: int
    edges: list[Edge]
    page_info: PageInfo


def _edge(number: int) -> Edge:
    node = Node(
        id=uuid4(),
        name=f"training-{number}",
        status="COMPLETED",
        phase="COMPLETED",
        message="ended with exit code 0",
        gpu_count=1,
        server=f"gpu-{number}",
        created_at=_AT,
        exit_code=0,
    )
    return Edge(cursor="x" * 120, node=node)


_PAGE = Connection(
    total_count=100_000,
    edges=[_edge(number) for number in range(50)],
    page_info=PageInfo(has_next_page=True, end_cursor="x" * 120),
)


@strawberry.type
class Organization:
    @strawberry.field
    def workloads(  # the same arguments
        self,
        first: int = 50,  # noqa: ARG002
        after: str | None = None,  # noqa: ARG002
        offset: int = 0,  # noqa: ARG002
        status: list[str] | None = None,  # noqa: ARG002
        filter_by: list[str] | None = None,  # noqa: ARG002
        search: str | None = None,  # noqa: ARG002
        sort_by: str | None = None,  # noqa: ARG002
        sort_order: str | None = None,  # noqa: ARG002
    ) -> Connection:
        return _PAGE


@strawberry.type
class Query:
    @strawberry.field
    def organization(self, slug: str) -> Organization:  # noqa: ARG002
        return Organization()


schema = strawberry.Schema(Query)


async def serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"serves http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    config = uvicorn.Config(GraphQL(schema), log_config=None, access_log=False, lifespan="off")
    await uvicorn.Server(config).serve(sockets=[listener])


if __name__ == "__main__":
    uvloop.run(serve())
