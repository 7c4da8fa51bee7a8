"""What to do about a certificate that is not accepted; never to accept it unseen."""

_CAUSES = (
    "Check this machine's clock, the address and the proxy; where an authority of your own signs, name its file with"
)


def certificate_mend(variable: str) -> str:
    """How to go on, for a client that reads the certificates of authorities from the file in ``variable``."""
    return f"{_CAUSES} {variable}."


CERTIFICATE_MEND = certificate_mend("SSL_CERT_FILE")
