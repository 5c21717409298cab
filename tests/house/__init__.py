"""House rules that run: each test's message says what to do. Which rule is where: docs/development.md."""
