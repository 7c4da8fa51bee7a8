"""How many bytes of weights a token makes a machine read: what bounds the speed of decoding."""

from pytest_mtp.core.gguf_header import Header, HeaderTensor
from pytest_mtp.core.layer_plan import LayerPlan

_EMBEDDING = "token_embd"
_EXPERTS = "_exps."


def bytes_per_token(header: Header) -> int:
    """Bytes of weights that the plain arm reads for one token: the trunk once, of its experts those that are used.

    Of the embedding one row is read, unless it is the output too. Caches are left out: they grow with the context,
    and the prompts of a gate are short.
    """
    head = range(header.block_count - header.nextn_layers, header.block_count)
    tied = not any(tensor.name == "output.weight" for tensor in header.tensors)
    trunk = (tensor for tensor in header.tensors if LayerPlan.block_of(tensor.name) not in head)
    return sum(_read(tensor, header, tied=tied) for tensor in trunk)


def _read(tensor: HeaderTensor, header: Header, *, tied: bool) -> int:
    size = tensor.bytes or 0
    if tensor.name.startswith(_EMBEDDING) and not tied:
        return size // max(tensor.shape[1], 1)
    there, used = header.number("expert_count"), header.number("expert_used_count")
    if _EXPERTS in tensor.name and there and used:
        return size * min(used, there) // there
    return size


def share(bytes_per_token: int, tps: float, bandwidth: float) -> float:
    """The part of a memory's ``bandwidth`` (bytes per second) that reading the weights at ``tps`` takes.

    Above 1 where part of the weights stays in a cache.
    """
    return bytes_per_token * tps / bandwidth
