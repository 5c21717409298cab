"""From a request to a principal: API tokens now; sessions of the panel stand beside them."""
