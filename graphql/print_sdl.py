"""Prints the schema: `python -m app.graphql.print_sdl > graphql/schema.graphql`."""

from __future__ import annotations

import sys

from app.graphql.schema import schema


def main() -> None:
    sys.stdout.write(schema.as_str() + "\n")


if __name__ == "__main__":
    main()
