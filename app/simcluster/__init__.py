"""The embedded simulated Kubernetes cluster: an API server with its controllers and simulated nodes.

It stands alone: the rest of the app reaches it over HTTP only, as it would a real cluster, and it
imports nothing from there. Left out: whatever GPUYard doesn't use (see docs/simulated-cluster.md).
"""
