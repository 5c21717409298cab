"""What one request may ask for, bounded before it is validated, let alone executed.

Its weight is about the number of fields it would fill in: a list counts ten times, a page as often as its `first` says,
a mutation and a log far more than what they return. Fragments are weighed once each, so weighing takes no longer than
reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLCompositeType,
    GraphQLError,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    NoSchemaIntrospectionCustomRule,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
)
from graphql.validation.rules import overlapping_fields_can_be_merged
from strawberry.extensions import SchemaExtension

LARGEST_PAGE = 500
MAX_DOCUMENT = 100_000  # characters; parsed documents are kept, so their size counts many times
MAX_WEIGHT = 200_000
_LIST = 10
_MUTATION = 2_000
_HEAVY = {"WorkloadLog": 19_000}  # by what a field returns: reading one asks a server, or unpacks a mebibyte
_BATCH = 20

# The library's own bound on comparing every field with every other of its name; as it comes it allows half a second.
overlapping_fields_can_be_merged.MAX_COMPLEXITY_BUDGET = 100_000


class RequestLimits(SchemaExtension):
    """Refuses a document that is too long, and an operation that weighs too much."""

    def on_operation(self) -> Iterator[None]:
        length = len(self.execution_context.query or "")
        if length > MAX_DOCUMENT:
            words = f"the document has {length} characters, at most {MAX_DOCUMENT} are taken; send values as variables"
            raise _too_complex(words)
        yield

    def on_validate(self) -> Iterator[None]:
        context = self.execution_context
        if context.graphql_document is not None:
            scale = _Scale(context.schema._schema, context.graphql_document, context.variables or {})  # noqa: SLF001
            if (weight := scale.heaviest_operation()) > MAX_WEIGHT:
                raise _too_complex(
                    f"the request weighs {weight}, at most {MAX_WEIGHT} is taken: a field counts 1, a list ten times "
                    f"what it holds, a page `first` times, a mutation {_MUTATION}, on many ids {_BATCH} times that, "
                    f"a log {_HEAVY['WorkloadLog']}"
                )
        yield


class SchemaSecrecy(SchemaExtension):
    """Keeps the schema to itself where the installation's settings say so."""

    def on_operation(self) -> Iterator[None]:
        context = self.execution_context
        if not context.context.services.shows_schema:
            context.validation_rules = (*context.validation_rules, NoSchemaIntrospectionCustomRule)
        yield


def _too_complex(words: str) -> GraphQLError:
    return GraphQLError(words, extensions={"code": "TOO_COMPLEX"})


def _mutation_weight(field: GraphQLField) -> int:
    """One that takes many ids does as much as several on one."""
    wanted = get_named_type(field.args["input"].type) if "input" in field.args else None
    takes_many = isinstance(wanted, GraphQLInputObjectType) and "ids" in wanted.fields
    return _MUTATION * _BATCH if takes_many else _MUTATION


class _Scale:
    """Weighs one document, which may yet be invalid: what the schema does not know weighs 1."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any]) -> None:
        self._schema, self._document, self._variables = schema, document, variables
        named = (d for d in document.definitions if isinstance(d, FragmentDefinitionNode))
        self._fragments = {fragment.name.value: fragment for fragment in named}
        self._weights: dict[str, int] = {}

    def heaviest_operation(self) -> int:
        operations = (d for d in self._document.definitions if isinstance(d, OperationDefinitionNode))
        weights = (self._inside(o.selection_set, self._schema.get_root_type(o.operation)) for o in operations)
        return max(weights, default=0)

    def _inside(self, node: SelectionSetNode | None, parent: GraphQLNamedType | None) -> int:
        return sum(self._selection(selection, parent) for selection in node.selections) if node else 0

    def _selection(self, node: SelectionNode, parent: GraphQLNamedType | None) -> int:
        match node:
            case FieldNode():
                return self._field(node, parent)
            case FragmentSpreadNode():
                return self._fragment(node.name.value)
            case InlineFragmentNode(type_condition=condition):
                named = self._schema.get_type(condition.name.value) if condition else parent
                return self._inside(node.selection_set, named)
        return 1

    def _fragment(self, name: str) -> int:
        if name not in self._weights:
            self._weights[name] = 0  # should it spread itself, which validation refuses
            if fragment := self._fragments.get(name):
                parent = self._schema.get_type(fragment.type_condition.name.value)
                self._weights[name] = self._inside(fragment.selection_set, parent)
        return self._weights[name]

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None) -> int:
        field = self._schema.get_field(parent, node.name.value) if is_composite_type(parent) else None
        if field is None or not is_composite_type(parent):
            return 1
        returned = get_named_type(field.type)
        own = _mutation_weight(field) if parent is self._schema.mutation_type else _HEAVY.get(returned.name, 1)
        return own + self._times(field, node, parent) * self._inside(node.selection_set, returned)

    def _times(self, field: GraphQLField, node: FieldNode, parent: GraphQLCompositeType) -> int:
        if "first" in field.args:
            return self._page(node)
        counted_already = parent.name.endswith("Connection")
        return _LIST if is_list_type(get_nullable_type(field.type)) and not counted_already else 1

    def _page(self, node: FieldNode) -> int:
        """The size of the page; the largest where a default has the say, or where it is refused later."""
        value: object = None
        for argument in node.arguments or ():
            if argument.name.value == "first" and isinstance(argument.value, IntValueNode):
                value = int(argument.value.value[:9])
            elif argument.name.value == "first" and isinstance(argument.value, VariableNode):
                value = self._variables.get(argument.value.name.value)
        return value if isinstance(value, int) and 1 <= value <= LARGEST_PAGE else LARGEST_PAGE
