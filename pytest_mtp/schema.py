"""The JSON Schemas of the files we read and write, derived from the types that hold them.

The files in ``schemas/`` are these, written out (``python -m pytest_mtp.schema``); a test keeps them equal.
"""

import json
from pathlib import Path
from typing import Any

from pytest_mtp.core.baseline import BASELINE_VERSION, BaselineFile
from pytest_mtp.core.curve_report import CURVE_VERSION, CurveReport
from pytest_mtp.core.fleet.manifest import MANIFEST_VERSION, Manifest
from pytest_mtp.core.profile import Profile
from pytest_mtp.core.run_report import REPORT_VERSION, RunReport

# 1 - first version
PROFILE_VERSION = 1

FOLDER = Path(__file__).parent / "schemas"
_KINDS = {
    "profile": (Profile, PROFILE_VERSION),
    "baseline": (BaselineFile, BASELINE_VERSION),
    "report": (RunReport, REPORT_VERSION),
    "curve": (CurveReport, CURVE_VERSION),
    "fleet-manifest": (Manifest, MANIFEST_VERSION),
}


def schemas() -> dict[str, dict[str, Any]]:
    """Each schema (JSON Schema 2020-12) by the name of its file."""
    return {name: _schema(name, kind, version) for name, (kind, version) in _KINDS.items()}


def _schema(name: str, kind: type[Any], version: int) -> dict[str, Any]:
    import msgspec

    (root,), components = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for component in components.values():
        if component.get("type") == "object" and "properties" in component:
            component["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:pytest-mtp:{name}:{version}",
        **root,
        "$defs": components,
    }


def as_text(schema: dict[str, Any]) -> str:
    """The schema as its file holds it."""
    return json.dumps(schema, indent=1) + "\n"


if __name__ == "__main__":
    for name, schema in schemas().items():
        (FOLDER / f"{name}.json").write_text(as_text(schema), encoding="utf-8")
