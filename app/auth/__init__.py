"""From a request to a principal: API tokens, and the sessions of the panel."""

TRUSTED_SECONDS = 5.0  # how long a revoked token, an ended session or a lost role may go unnoticed on an open stream
