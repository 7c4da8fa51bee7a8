"""Without an extra, what needs it ends in one sentence with the command that brings it."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_mtp.core.change_point import levels
from pytest_mtp.errors import MtpError
from pytest_mtp.reports.html.page import templates
from pytest_mtp.runtime.fleet.dask_cluster import DaskCluster
from pytest_mtp.runtime.toolchain import find_tools
from tests.packaging.test_metadata import EXTRAS


def history() -> object:
    return levels([1.0] * 9, 0.01)


def cluster() -> object:
    return DaskCluster(address="tcp://127.0.0.1:1", run_name="night").capacity()


NEEDS: Mapping[str, tuple[tuple[str, ...], Callable[[], object]]] = {
    "report": (("jinja2",), templates),
    "nightly": (("otava", "otava.analysis"), history),
    "fleet": (("distributed",), cluster),
    "build": ((), find_tools),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_lacks_an_extra_says_how_to_get_it(extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hidden, use = NEEDS[extra]
    for module in hidden:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(MtpError) as raised:
        use()

    assert f"pip install 'pytest-mtp[{extra}]'" in str(raised.value)
    assert "\n" not in str(raised.value)
