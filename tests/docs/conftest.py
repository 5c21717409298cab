"""One demo for these pages alone: a guide that is followed from its top expects to be the first."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.docs.pages import ROOT
from tests.e2e.product import Product, started


@pytest_asyncio.fixture
async def product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    async with started(tmp_path_factory.mktemp("docs") / "data") as product:
        yield product


@pytest.fixture
def shell(product: Product) -> dict[str, str]:
    """The environment of a reader who has followed the page so far."""
    here = {"URL": product.facts["url"], "TOKEN": product.facts["token"], "NO_PROXY": "127.0.0.1"}
    path = f"{ROOT / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **here, "no_proxy": "127.0.0.1", "PATH": path}
