"""The command's client: pure parts, and what it makes of whatever answers at an address."""
