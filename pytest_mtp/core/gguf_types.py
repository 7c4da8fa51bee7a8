"""What the numbers in a GGUF file stand for: how tensors are stored, and what a mix of them is called."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredAs:
    """One way to store the numbers of a tensor."""

    name: str
    block: int
    """Numbers in one block; a row is a whole number of blocks."""
    block_bytes: int


# By the number in the file. Numbers that are missing were withdrawn from the format.
TENSOR_TYPES: Mapping[int, StoredAs] = {
    0: StoredAs("F32", 1, 4),
    1: StoredAs("F16", 1, 2),
    2: StoredAs("Q4_0", 32, 18),
    3: StoredAs("Q4_1", 32, 20),
    6: StoredAs("Q5_0", 32, 22),
    7: StoredAs("Q5_1", 32, 24),
    8: StoredAs("Q8_0", 32, 34),
    9: StoredAs("Q8_1", 32, 40),
    10: StoredAs("Q2_K", 256, 84),
    11: StoredAs("Q3_K", 256, 110),
    12: StoredAs("Q4_K", 256, 144),
    13: StoredAs("Q5_K", 256, 176),
    14: StoredAs("Q6_K", 256, 210),
    15: StoredAs("Q8_K", 256, 292),
    16: StoredAs("IQ2_XXS", 256, 66),
    17: StoredAs("IQ2_XS", 256, 74),
    18: StoredAs("IQ3_XXS", 256, 98),
    19: StoredAs("IQ1_S", 256, 50),
    20: StoredAs("IQ4_NL", 32, 18),
    21: StoredAs("IQ3_S", 256, 110),
    22: StoredAs("IQ2_S", 256, 82),
    23: StoredAs("IQ4_XS", 256, 136),
    24: StoredAs("I8", 1, 1),
    25: StoredAs("I16", 1, 2),
    26: StoredAs("I32", 1, 4),
    27: StoredAs("I64", 1, 8),
    28: StoredAs("F64", 1, 8),
    29: StoredAs("IQ1_M", 256, 56),
    30: StoredAs("BF16", 1, 2),
    34: StoredAs("TQ1_0", 256, 54),
    35: StoredAs("TQ2_0", 256, 66),
    39: StoredAs("MXFP4", 32, 17),
    40: StoredAs("NVFP4", 64, 36),
    41: StoredAs("Q1_0", 128, 18),
    42: StoredAs("Q2_0", 64, 18),  # newer than the gguf package that the tests compare with
}

# By general.file_type.
FILE_TYPES: Mapping[int, str] = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4_MOE",
    39: "NVFP4",
    40: "Q1_0",
}


def type_name(number: int) -> str:
    """The name of a tensor type; ``unknown type N`` for one that is newer than this table."""
    known = TENSOR_TYPES.get(number)
    return known.name if known else f"unknown type {number}"


def type_named(name: str) -> StoredAs | None:
    """The tensor type that a flag such as ``--cache-type-k`` names, in any case."""
    return next((known for known in TENSOR_TYPES.values() if known.name == name.upper()), None)
