"""Which waiting workload goes to which server. Pure: everything is computed from values handed in."""
