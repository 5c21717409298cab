"""Simulated servers, for the demo and to try things out: the same reports, the same way, of GPUs that aren't there."""
