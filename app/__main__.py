"""`python -m app` is the `gpuyard` command."""

from app.cli import app

if __name__ == "__main__":
    app()
