"""From a request to a principal: API tokens, and the sessions of the panel."""
