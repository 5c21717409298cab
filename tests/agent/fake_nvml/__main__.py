from __future__ import annotations

import sys

from tests.agent.fake_nvml import provide

sys.stdout.write(f"C compiler for tests: {provide()}\n")
