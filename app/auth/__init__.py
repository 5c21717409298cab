"""From a request to a principal: API tokens, and the sessions of the panel."""

TRUSTED_SECONDS = 5.0  # how long a revoked token, an ended session or a lost role may go unnoticed on an open stream
CALLER_SECONDS = 0.3 * TRUSTED_SECONDS  # of these, how long a socket's streams and queries go by one look at its token
