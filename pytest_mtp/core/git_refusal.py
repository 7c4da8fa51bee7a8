"""What to do about a name that git could not fetch, by git's own words."""

import re

from pytest_mtp.core.certificate import certificate_mend

_STATUS = r"The requested URL returned error: "

_MENDS: tuple[tuple[str, str], ...] = (
    (
        "terminal prompts disabled",
        "it asks for a login: check the spelling of the URL, or set up git's credential helper.",
    ),
    ("certificate", f"its certificate is not accepted. {certificate_mend('GIT_SSL_CAINFO')}"),
    (
        "Operation too slow",
        "the line is too slow: try again, or let it take longer with GIT_HTTP_LOW_SPEED_TIME (seconds).",
    ),
    (
        f"{_STATUS}3",
        "it redirects, and the header that your git configuration adds (http.extraHeader) must not follow: "
        "give the address that it redirects to, or take that header out.",
    ),
    (f"{_STATUS}429", "it was asked too often (HTTP 429): try again later."),
    (f"{_STATUS}5", "it fails (HTTP 5xx): try again later."),
)


def git_mend(said: str, *, short_sha: bool) -> str:
    """The mend for what git said on its error output; ``short_sha``: the name was the beginning of one."""
    for pattern, mend in _MENDS:
        if re.search(pattern, said):
            return mend
    if short_sha:
        return "check the URL, the sha and the network; a short sha must fit one commit only, so give more of it."
    return "check the URL, the ref and the network."
