"""What is remembered: models and migrations, reads named by intention, guarded writes. SQLite and PostgreSQL."""
