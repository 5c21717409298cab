"""What a person may ask, one function a file: check permission, decide, write, wake. Commands never call a cluster."""
