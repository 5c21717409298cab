"""Servers in a table, and which one is meant."""

from __future__ import annotations

from typing import Any

import pytest

from app.client.errors import ClientError
from app.client.servers import chosen, servers_table
from app.client.tables import lines


def server(name: str, cluster: str = "default", **changed: Any) -> dict[str, Any]:
    values = {"id": f"id of {cluster}/{name}", "name": name, "cluster": cluster, "gpuCount": 8, "gpusFree": 3}
    known = {
        "product": "NVIDIA-L40S",
        "driverVersion": "570.124.06",
        "usable": True,
        "unusableReason": None,
        "gpuResources": [],
    }
    return {**values, **known, **changed}


LOST = server("gpu-2", gpusFree=None, product=None, usable=False, unusableReason="cordoned by ada: fans")


def test_the_table():
    assert lines(servers_table([server("gpu-1"), LOST])) == [
        "SERVER   GPUS   FREE   PRODUCT       DRIVER       STATE",
        "gpu-1    8      3      NVIDIA-L40S   570.124.06   takes work",
        "gpu-2    8      -      -             570.124.06   cordoned by ada: fans",
    ]


def test_slices_and_shares_have_a_column_where_there_are_any():
    def part(free: int | None, total: int, profile: str | None = None, *, shared: bool = False) -> dict[str, Any]:
        return {"migProfile": profile, "shared": shared, "free": free, "total": total}

    parts = [part(2, 4), part(5, 7, "1g.10gb"), part(None, 40, shared=True)]
    table = servers_table([server("gpu-1", gpuResources=parts), server("gpu-2")])
    assert (table.header[3], [row[3] for row in table.rows]) == ("SLICES FREE", ["1g.10gb 5/7, shared -/40", ""])


def test_several_clusters_are_named():
    rows = servers_table([server("gpu-1"), server("gpu-1", "berlin")]).rows
    assert [row[0] for row in rows] == ["default/gpu-1", "berlin/gpu-1"]


@pytest.mark.parametrize("name", ["gpu-2", "default/gpu-2"])
def test_a_server_by_its_name(name: str):
    assert chosen([server("gpu-1"), LOST], name) is LOST


def test_a_name_that_leads_to_none_or_to_several():
    both = [server("gpu-1"), server("gpu-1", "berlin")]
    assert chosen(both, "berlin/gpu-1") is both[1]
    with pytest.raises(ClientError, match="name of several; say default/gpu-1 or berlin/gpu-1"):
        chosen(both, "gpu-1")
    with pytest.raises(ClientError, match="there is no server gpu-9; there are gpu-1, gpu-2"):
        chosen([server("gpu-1"), LOST], "gpu-9")
    with pytest.raises(ClientError, match="there are none"):
        chosen([], "gpu-9")
