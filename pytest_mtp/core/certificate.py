"""What to do about a certificate that is not accepted; never to accept it unseen."""

_CAUSES = (
    "Check this machine's clock, {address} and the proxy; where an authority of your own signs, name its file with"
)


def certificate_mend(variable: str, address: str = "the address") -> str:
    """How to go on, for a client that reads the certificates of authorities from the file in ``variable``.

    ``address`` says where the address comes from.
    """
    return f"{_CAUSES.format(address=address)} {variable}."


CERTIFICATE_MEND = certificate_mend("SSL_CERT_FILE")
