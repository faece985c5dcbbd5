"""The one network error that no retry ends: a certificate of an authority this machine lacks."""

import ssl

HOW_TO_TRUST = (
    "its certificate is not trusted here ({said}): name the file with its authority's certificate "
    "in SSL_CERT_FILE"
)


def untrusted(error: BaseException) -> str | None:
    """What is wrong with a server's certificate and what to set; None: the error is another.

    An HTTP client wraps the error of :mod:`ssl` in its own.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return HOW_TO_TRUST.format(said=cause.verify_message)
        cause = cause.__cause__ or cause.__context__
    return None
