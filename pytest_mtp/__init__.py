"""A performance regression gate for multi-token prediction (MTP) in llama.cpp."""

__all__ = ["__version__"]

__version__ = "0.1.0"
