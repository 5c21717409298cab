"""One running product for the tests that leave it whole; a fresh one for those that kill it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.product import Product, started


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_product(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Product]:
    async with started(tmp_path_factory.mktemp("product") / "data") as product:
        yield product


@pytest.fixture
def fresh_product(tmp_path: Path) -> Iterator[Product]:
    product = Product(tmp_path / "data")
    try:
        yield product
    finally:
        product.end()
