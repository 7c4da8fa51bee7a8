"""What the tests of the plugin share."""

# pytester forgets the modules that a run inside this process imported: numpy cannot be imported twice, and of others a
# second copy would have enums and errors that are not those of the first.
from pathlib import Path

import httpcore  # noqa: F401 - which httpx imports late
import httpx  # noqa: F401
import pytest
import scipy.stats  # noqa: F401

import pytest_mtp.farewell
import pytest_mtp.fixtures
import pytest_mtp.other_engines
import pytest_mtp.replay
import pytest_mtp.reports.properties
import pytest_mtp.resolution
import pytest_mtp.session  # noqa: F401
from tests.plugin.gates import Gate, fake_gate


@pytest.fixture
def gate(pytester: pytest.Pytester, tmp_path: Path) -> Gate:
    """The shipped suites over the fake server, in a folder of its own; the fake drafts and is always right."""
    return fake_gate(pytester, tmp_path)
