"""Small odd problems whose results on an H200 are kept, and how they are stored."""

import hashlib
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "data" / "h200" / "cutile_outputs.pt"
SEED = 20
CASES: dict[str, dict[str, Any]] = {
    "flash_mla": {"b": 1, "h": 3, "s": 3, "t": 200, "causal": True},
    "flash_mla_v1": {"b": 1, "h": 3, "s": 3, "t": 330, "causal": True},
    "flash_attention": {"b": 1, "h": 3, "s": 5, "t": 200, "causal": True},
    "flash_attention_v1": {"b": 1, "h": 3, "s": 5, "t": 330, "causal": True, "dtype": "fp16"},
}
"""One a version: rows and keys that fill no tile, more than one split in v1."""


def digest(tensors: Any) -> str:
    """Of the bits of CPU tensors: inputs made of one seed are the same only if this is."""
    import torch

    found = hashlib.sha256()
    for tensor in tensors:
        found.update(bytes(tensor.contiguous().view(torch.uint8).flatten().tolist()))
    return found.hexdigest()
