"""What an event is to all who asked for it in the same words is worked out once, not once for each of a thousand.

It may be shared where it depends on nothing but the event: where no resolver waits for anything, as for the workload of
the event, which each reads with its own loaders; and where variables stand at the subscription itself only, as `after`.
Nothing in an event depends on who reads it: who may, has been checked before it comes here.
"""

from __future__ import annotations

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

    def execute_operation(self, serially: bool | None = None) -> Any:
        answers: Answers | None = getattr(self.root_value, "answers", None) if self._may_share else None
        if answers is None:
            return super().execute_operation(serially)
        if kept := answers.get(id(self.operation)):
            return kept[1]
        answer = super().execute_operation(serially)
        if isinstance(answer, ExecutionResult) and not answer.errors:
            answers[id(self.operation)] = (self.operation, answer)
        return answer
