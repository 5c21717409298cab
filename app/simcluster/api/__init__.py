"""The HTTP side: what a Kubernetes client sees. It reads and writes the store and decides nothing else."""
