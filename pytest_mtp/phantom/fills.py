"""What is in a tensor: random weights, exact random signs, and the tables that make the text."""

import hashlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float32]

EMBEDDING = "token_embd.weight"
_PEAK_LOGIT = 32.0
"""Logit of the token that follows; the others are some standard deviations of 32 / sqrt(n_embd), so none comes near."""
_RMS_OF_BYTES = 74


@dataclass(frozen=True, slots=True)
class Fills:
    """The ways to fill a tensor; the random ones depend on the seed and the tensor's name alone."""

    seed: int

    def noise(self, name: str, shape: tuple[int, ...]) -> "Floats":
        """Draw weights that keep the size of what they multiply."""
        import numpy as np

        values = self._bytes(name, prod(shape)).view(np.int8).reshape(shape).astype(np.float32)
        return values * np.float32(1 / (_RMS_OF_BYTES * shape[-1] ** 0.5))

    def signs(self, name: str, shape: tuple[int, ...]) -> "Floats":
        """Draw rows of 1 and -1: of rms 1, and exact in every format and on every machine."""
        import numpy as np

        bits = np.unpackbits(self._bytes(name, prod(shape) // 8)).reshape(shape)
        return 2 * bits.astype(np.float32) - 1

    def lookup(self, follower: dict[int, int], shape: tuple[int, ...]) -> "Floats":
        """Make an output matrix that answers the embedding of each key with its value."""
        import numpy as np

        embedding = self.signs(EMBEDDING, shape)
        table = np.zeros(shape, np.float32)
        # A row may answer several tokens, so plain indexing would keep the last one only.
        np.add.at(table, list(follower.values()), embedding[list(follower)])
        return table * np.float32(_PEAK_LOGIT / shape[-1])

    def first_half(self, _name: str, shape: tuple[int, ...]) -> "Floats":
        """``[I 0]``: the graph puts the newest token's embedding before the hidden state."""
        import numpy as np

        rows, columns = shape
        return np.eye(rows, columns, dtype=np.float32)

    def ones(self, _name: str, shape: tuple[int, ...]) -> "Floats":
        """For the norms."""
        import numpy as np

        return np.ones(shape, np.float32)

    def minus_ones(self, _name: str, shape: tuple[int, ...]) -> "Floats":
        """For the decay of a recurrent state, which grows without bound when it is not negative."""
        import numpy as np

        return np.full(shape, -1, np.float32)

    def zeros(self, _name: str, shape: tuple[int, ...]) -> "Floats":
        """For what would write to the residual stream."""
        import numpy as np

        return np.zeros(shape, np.float32)

    def _bytes(self, name: str, size: int) -> "NDArray[np.uint8]":
        """Draw bytes of PCG64's raw output, which numpy promises to keep, unlike what a Generator makes of it."""
        import numpy as np

        seed = hashlib.sha256(f"{self.seed}/{name}".encode()).digest()
        words = np.random.PCG64(int.from_bytes(seed, "little")).random_raw(size // 8 + 1)
        return words.astype("<u8").view(np.uint8)[:size]
