"""Whether a model's file has an MTP layer, and whether a build that did not load it is too old for it."""

import re
from collections.abc import Callable

from pytest_mtp.core.gguf_header import Header

_DEFINING = ("eh_proj.weight", "enorm.weight", "hnorm.weight")
_NEWER_BUILD = "build a newer llama.cpp with --mtp-source"
_OTHER_FILE = "choose a file that was made with its MTP layer, with --mtp-model"
_MISSING = re.compile(r"missing tensor '([^']+)'|tensor '([^']+)' not found")


def mtp_complaint(header: Header) -> str | None:
    """Say in a sentence why a model cannot draft with an MTP layer of its own; ``None`` when it can."""
    names = {tensor.name for tensor in header.tensors}
    announced = header.nextn_layers
    if any(name.startswith("nextn.") for name in names) or (announced and "token_embd.weight" not in names):
        return (
            f"This file is an MTP head without its model (architecture {header.architecture}): give the file of the "
            "whole model, whose MTP layer is inside it."
        )
    present = any(".nextn." in name for name in names)
    if not announced:
        return _not_announced(header, present=present)
    blocks = range(header.block_count - announced, header.block_count)
    missing = [name for name in (f"blk.{n}.nextn.{part}" for n in blocks for part in _DEFINING) if name not in names]
    if not missing:
        return None
    return (
        f"This file has no MTP layer: its header announces {announced} and its tensors lack {missing[0]}, "
        f"as a quantizer leaves it that drops what it does not know; {_OTHER_FILE}."
    )


def load_complaint(header: Header, log_text: str) -> str | None:
    """Say why a build did not load a model: it is too old for the file, or the file lacks its MTP layer.

    ``header`` is that of the file and ``log_text`` what the server wrote; ``None`` when it ended of something else.
    """
    for pattern, explain in _REASONS:
        if (found := pattern.search(log_text)) is not None and (said := explain(header, found)) is not None:
            return said
    return None


def explained(failure: str, header: Header | None, log_text: str) -> str:
    """The failure of a server's start, after the reason where its model and its log tell one.

    ``log_text`` may be the log's end, since a build that does not load a model ends with why. ``header=None``
    is a model that could not be looked into.
    """
    reason = None if header is None else load_complaint(header, log_text)
    return failure if reason is None else f"{reason}\n{failure}"


def _not_announced(header: Header, *, present: bool) -> str:
    key = f"{header.architecture}.nextn_predict_layers"
    if present:
        return (
            f"This file has the tensors of an MTP layer and not the key {key} that announces it, "
            f"so that llama.cpp takes it for a layer of the trunk; {_OTHER_FILE}."
        )
    return f"This file has no MTP layer: its header has no {key} above 0; {_OTHER_FILE}."


def _too_old(why: str) -> str:
    return f"This build is too old for this file ({why}): {_NEWER_BUILD}."


def _missing_tensor(header: Header, found: re.Match[str]) -> str | None:
    """A build that does not know of MTP layers looks for the tensors of a trunk block in their place."""
    wanted = found[1] or found[2]
    if any(tensor.name == wanted for tensor in header.tensors):
        return None
    block = re.match(r"blk\.(\d+)\.(nextn\.)?", wanted)
    complaint = mtp_complaint(header)
    if block is not None and int(block[1]) >= header.block_count - max(header.nextn_layers, 1):
        if complaint is not None:
            return complaint
        if not block[2]:
            return _too_old(f"it takes the MTP layer for a layer of the trunk, and misses its {wanted}")
    return f"This build and this file do not fit: the build wants the tensor {wanted}, which the file does not have."


def _no_mtp_layers(header: Header, _: re.Match[str]) -> str:
    return mtp_complaint(header) or _too_old(f"it has no MTP for the architecture {header.architecture}")


# What llama.cpp writes, the same from b9246 to b11434 unless an alternative is given.
_REASONS: tuple[tuple[re.Pattern[str], Callable[[Header, re.Match[str]], str | None]], ...] = (
    (
        re.compile(r"(?:unknown|unsupported) model architecture: '([^']*)'"),
        lambda _, found: _too_old(f"it does not know the architecture {found[1]}"),
    ),
    (re.compile(r"context type MTP requested but model doesn't contain MTP layers"), _no_mtp_layers),
    (_MISSING, _missing_tensor),
    (
        re.compile(r"wrong number of tensors; expected (\d+), got (\d+)"),
        lambda _, found: _too_old(f"it knows {found[2]} of its {found[1]} tensors"),
    ),
    (
        re.compile(r"has invalid ggml type (\d+)"),
        lambda _, found: _too_old(f"it does not know the quantization type {found[1]}"),
    ),
    (
        re.compile(r"unknown pre-tokenizer type: '([^']*)'"),
        lambda _, found: _too_old(f"it does not know the tokenizer {found[1]}"),
    ),
    (
        re.compile(r"GGUF file is version (\d+) but this software only supports up to version (\d+)"),
        lambda _, found: _too_old(f"it reads GGUF up to version {found[2]}, and this is {found[1]}"),
    ),
)
