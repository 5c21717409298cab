"""The background: load → decide → apply, again and again, until the rows and the cluster agree."""
