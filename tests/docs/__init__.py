"""The pages and the manifests say what the program does. Left out: what only a real cluster or an image build shows."""
