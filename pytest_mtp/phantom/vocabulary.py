"""Which token is which, what follows it, and what the MTP head guesses to follow it."""

from dataclasses import dataclass

from pytest_mtp.phantom.spec import PhantomSpec

MERGE = ("Ġ", "Ġ")
"""The one merge that the format demands: two spaces, which no prompt of a phantom holds."""
_BYTES = 256
_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4  # token types of the GGUF format
# No class name has a dot, so no class token collides with these.
_EOS, _BOS = "<|phantom.eos|>", "<|phantom.bos|>"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The tokens in the order of their ids: bytes, the merge, eos, bos, the classes, the words of each class."""

    spec: PhantomSpec

    @property
    def eos(self) -> int:
        """Id of the token that ends a text; no chain leads to it."""
        return _BYTES + 1

    @property
    def bos(self) -> int:
        """Id of the token that begins a text; no prompt gets it."""
        return _BYTES + 2

    def class_token(self, chain: int) -> int:
        """Id of the prompt of class number ``chain``."""
        return _BYTES + 3 + chain

    def word(self, chain: int, place: int) -> int:
        """Id of one word of class number ``chain``; its text repeats after the last place."""
        length = self.spec.chain_length
        return self.class_token(len(self.spec.names)) + chain * length + place % length

    def texts(self) -> list[str]:
        """Every token as the file spells it; a word is `` CLASS-PLACE``."""
        width = len(str(self.spec.chain_length - 1))
        places = range(self.spec.chain_length)
        return [
            *_byte_texts(),
            *("".join(MERGE), _EOS, _BOS),
            *(self.spec.prompt(name) for name in self.spec.names),
            *(f"Ġ{name}-{place:0{width}}" for name in self.spec.names for place in places),
        ]

    def kinds(self) -> list[int]:
        """List the type of every token: class tokens are found in any prompt, also where special ones are not."""
        classes = len(self.spec.names)
        words = classes * self.spec.chain_length
        return [_NORMAL] * (_BYTES + 1) + [_CONTROL] * 2 + [_USER_DEFINED] * classes + [_NORMAL] * words

    def followers(self) -> dict[int, int]:
        """Map each class token and each word to what greedy decoding says after it."""
        chains, places = range(len(self.spec.names)), range(self.spec.chain_length)
        starts = {self.class_token(chain): self.word(chain, 0) for chain in chains}
        return starts | {self.word(chain, i): self.word(chain, i + 1) for chain in chains for i in places}

    def guesses(self) -> dict[int, int]:
        """Map each of them to what the MTP head guesses: the follower, or where wrong the word after it."""
        wrong = {
            self.word(number, place): self.word(number, place + 2)
            for number, chain in enumerate(self.spec.chains())
            for place, is_wrong in enumerate(chain.wrong)
            if is_wrong
        }
        return self.followers() | wrong


def _byte_texts() -> list[str]:
    """Spell the bytes as byte-level BPE does: unprintable ones are moved behind the first 256 characters."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    spare = iter(range(_BYTES, 2 * _BYTES))
    return [chr(byte if byte in printable else next(spare)) for byte in range(_BYTES)]
