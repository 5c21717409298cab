"""What an event is to all who asked for it in the same words is worked out once, not once for each of a thousand.

It may be shared where it depends on nothing but the event: where no resolver waits for anything, as for the workload of
the event, which each reads with its own loaders; and where variables stand at the subscription itself only, as `after`.
Nothing in an event depends on who reads it: who may, has been checked before it comes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphql import ExecutionResult, FieldNode, OperationDefinitionNode, OperationType, print_ast
from strawberry.schema.schema import StrawberryGraphQLCoreExecutionContext

Answers = dict[int, tuple[OperationDefinitionNode, ExecutionResult]]  # by the operation's identity


class SharedAnswers(StrawberryGraphQLCoreExecutionContext):
    """Carries operations out. What has `answers` keeps there, for as long as it lives, what it was to whom has asked.

    Equal documents are one parsed document, as the parser's cache keeps them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._may_share = self.operation.operation is OperationType.SUBSCRIPTION and self._is_without_variables()

    def _is_without_variables(self) -> bool:
        """Below the subscription itself. A `$` in some text is taken for one, which only costs time."""
        fields = self.operation.selection_set.selections
        inside = [field.selection_set for field in fields if isinstance(field, FieldNode) and not field.directives]
        nodes = [*inside, *self.fragment_definitions.values()]
        return len(inside) == len(fields) and not any("$" in print_ast(node) for node in nodes if node)

    def build_per_event_executor(self, payload: Any) -> Any:
        """What carries the operation out for an event; where that is done already, only says so."""
        kept = self._answers(payload).get(id(self.operation))
        return _Known(kept[1]) if kept else super().build_per_event_executor(payload)

    def execute_operation(self, serially: bool | None = None) -> Any:
        answer = super().execute_operation(serially)
        if isinstance(answer, ExecutionResult) and not answer.errors:
            self._answers(self.root_value)[id(self.operation)] = (self.operation, answer)
        return answer

    def _answers(self, event: Any) -> Answers:
        """The event's, which are thrown away where they can't be shared."""
        answers: Answers | None = getattr(event, "answers", None) if self._may_share else None
        return {} if answers is None else answers


@dataclass(frozen=True)
class _Known:
    """Carries nothing out."""

    answer: ExecutionResult

    def execute_operation(self, serially: bool | None = None) -> ExecutionResult:  # noqa: ARG002
        return self.answer
