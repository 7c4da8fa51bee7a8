"""What looks like a secret: by the name of a variable, and by the text around it."""

import re

_WORDS = frozenset(
    {
        "TOKEN", "TOKENS", "PAT", "SECRET", "SECRETS", "KEY", "KEYS", "APIKEY", "PASS", "PASSWD", "PASSWORD",
        "PASSPHRASE", "CREDENTIAL", "CREDENTIALS",
    }
)  # fmt: skip
# Git numbers the names of settings so; they are its own, and it alone is given them.
_NO_SECRET = re.compile(r"GIT_CONFIG_KEY_\d+")

_LOGIN = re.compile(r"(?<=//)[^/\s'\"]+@(?=[^\s@'\"])")
_SHAPES = re.compile(r"\b(?:gh[opsur]_|github_pat_|glpat-|hf_|rpa_|AKIA)[A-Za-z0-9_-]{16,}")
_SHOWN = "..."


class Secret(str):
    """A text that no traceback shows, which prints what a function was called with."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<secret>"


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a key, by the words of the name."""
    return not _WORDS.isdisjoint(name.upper().split("_")) and _NO_SECRET.fullmatch(name) is None


def holds_login(value: str) -> bool:
    """Whether a value has a user or password in a URL, as that of a proxy has."""
    return _LOGIN.search(value) is not None


def masked(text: str) -> str:
    """The text without logins in URLs and without tokens of well-known shapes."""
    return _SHAPES.sub(_SHOWN, _LOGIN.sub(f"{_SHOWN}@", text))
