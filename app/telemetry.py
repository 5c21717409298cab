"""Logs of the process: structured lines, to standard error."""

from __future__ import annotations

import logging
import sys
from typing import Literal

import stamina
import structlog

LogFormat = Literal["console", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]


def configure_logging(log_format: LogFormat, level: LogLevel) -> None:
    """Set up structlog, and the standard library's loggers of the packages we use."""
    number = logging.getLevelNamesMapping()[level.upper()]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    # Who repeats a call logs its failure once, at the end: a line for each try would be a storm in an outage.
    stamina.instrumentation.set_on_retry_hooks([])
    # It prints statements with their parameters at debug level: environment values must not reach a log.
    logging.getLogger("tortoise").setLevel(logging.WARNING)
