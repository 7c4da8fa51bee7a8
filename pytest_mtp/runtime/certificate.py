"""Whether a request failed because of the peer's certificate."""

import ssl


def certificate_complaint(error: BaseException) -> str | None:
    """What is wrong with it, such as ``certificate has expired``; ``None`` when that is not why."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return cause.verify_message
        cause = cause.__cause__ or cause.__context__
    return None
