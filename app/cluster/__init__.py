"""The Kubernetes side: a port in our words, and the adapter that speaks to an API server.

`port` is what the rest of the app knows. `manifest` and `observer` are pure translations, `projection` and `watches`
keep a picture of the cluster up to date, `kubernetes_port` is the adapter. Nothing here decides about a workload.
"""
