"""How many numbers a token has at the widest moment of a block: what the size of a compute buffer follows.

The shares were read from the buffers that servers of b11434 log, over single
changes of every width; there is no flag or message that tells them. Older
builds need up to two embeddings less.
"""

from dataclasses import dataclass

from pytest_mtp.core.gguf_header import Header

_KEYS = (
    *("embedding_length", "feed_forward_length", "expert_used_count", "expert_feed_forward_length"),
    *("attention.key_length", "ssm.inner_size", "ssm.group_count", "ssm.state_size"),
)
_FEED_FORWARD_TENSORS = 3  # gate, up and their product


@dataclass(frozen=True, slots=True, kw_only=True)
class Widths:
    """Numbers of one token at each place of a block."""

    embedding: int
    feed_forward: int
    query: int
    key: int
    recurrent_value: int
    recurrent_key: int

    @classmethod
    def of(cls, header: Header) -> "Widths":
        """The widths of a model, those of its widest block."""
        number = {key: header.number(key) or 0 for key in _KEYS}
        heads = max(header.per_block("attention.head_count"), default=0)
        head = number["attention.key_length"] or number["embedding_length"] // max(heads, 1)
        experts = number["expert_used_count"] * number["expert_feed_forward_length"]
        return cls(
            embedding=number["embedding_length"],
            feed_forward=max(number["feed_forward_length"], experts),
            query=heads * head,
            key=max(header.per_block("attention.head_count_kv", absent=heads), default=0) * head,
            recurrent_value=number["ssm.inner_size"],
            recurrent_key=number["ssm.group_count"] * number["ssm.state_size"],
        )

    def trunk(self, scores: int) -> int:
        """In a block of the trunk: its feed-forward part, or its attention beside ``scores``."""
        return max(5 * self.embedding + _FEED_FORWARD_TENSORS * self.feed_forward, self._attention(5, 3) + scores)

    def mixing(self, states: int) -> int:
        """In a recurrent block whose states are ``states`` numbers for each token of an ubatch."""
        return 5 * self.embedding + 2 * self.recurrent_value + 4 * self.recurrent_key + states

    def draft(self, mask: int, scores: int) -> int:
        """In the MTP block, beside an attention mask of ``mask`` numbers for each token, and ``scores``.

        The mask is of no use after the only attention of the draft, so its room is used again.
        """
        reused = max((mask - self.embedding) // max(self.feed_forward, 1), int(mask >= self.feed_forward))
        tensors = _FEED_FORWARD_TENSORS - min(reused, _FEED_FORWARD_TENSORS)
        embeddings = 1 if mask >= self.embedding else 2
        return max(embeddings * self.embedding + tensors * self.feed_forward, self._attention(2, 1) + scores)

    def _attention(self, embeddings_beside_wide: int, embeddings: int) -> int:
        """A query that is wider than an embedding finds no freed room of that width."""
        if self.query > self.embedding:
            return 4 * self.query + embeddings_beside_wide * self.embedding
        return 4 * self.query + embeddings * self.embedding + 2 * self.key
