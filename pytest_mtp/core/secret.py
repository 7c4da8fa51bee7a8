"""What looks like a secret: by the name of a variable, and by the text around it."""

import re

_WORDS = frozenset(
    {
        "TOKEN", "TOKENS", "PAT", "SECRET", "SECRETS", "KEY", "KEYS", "APIKEY", "PASS", "PASSWD", "PASSWORD",
        "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "AUTH",
    }
)  # fmt: skip
_PARTS = re.compile("TOKEN(?!IZ)|SECRET|PASSW|APIKEY|ACCESSKEY|BEARER|CONNECTION_STRING|_PWD")
_BEARER = "bearer-token="
# Git numbers the names of settings so; they are its own, and it alone is given them. A socket is no key.
_NO_SECRET = re.compile(r"GIT_CONFIG_(KEY|VALUE)_\d+|SSH_AUTH_SOCK")

_LOGIN = re.compile(r"(?<=//)[^/\s'\"]+@(?=[^\s@'\"])")
_SHAPES = re.compile(r"\b(?:gh[opsur]_|github_pat_|glpat-|hf_|rpa_|AKIA)[A-Za-z0-9_-]{16,}")
_SHOWN = "..."


class Secret(str):
    """A text that no traceback shows, which prints what a function was called with."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<secret>"


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a key, by the words of the name, or a part that only keys have."""
    words = name.upper()
    told = not _WORDS.isdisjoint(words.split("_")) or _PARTS.search(words) is not None
    return told and _NO_SECRET.fullmatch(name) is None


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a key, by its name or by the shape of what it says."""
    told = _SHAPES.search(value) is not None or _BEARER in value
    return names_secret(name) or (told and _NO_SECRET.fullmatch(name) is None)


def holds_login(name: str, value: str) -> bool:
    """Whether a variable has a user or password in a URL, or, as that of a proxy may, without its scheme."""
    return _LOGIN.search(value) is not None or (name.lower().endswith("_proxy") and "@" in value)


def masked(text: str) -> str:
    """The text without logins in URLs and without tokens of well-known shapes."""
    return _SHAPES.sub(_SHOWN, _LOGIN.sub(f"{_SHOWN}@", text))
