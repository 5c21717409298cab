"""What one request may ask for, bounded before it is validated, let alone executed.

Its weight is the work that it makes, in units of about ten microseconds: a field 1, an object some more, as it is read
from a row and made; a list as many times what it holds as such a list is usually long, a page as many times as its
`first` says, over all that the request asks for; more where the database has to look at every workload to find it; a
mutation and a log far more than what they return. Fragments are weighed once for each kind of place they stand in, so
weighing takes no longer than reading.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from graphql import (
    ArgumentNode,
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    GraphQLField,
    GraphQLInputObjectType,
    GraphQLNamedType,
    GraphQLSchema,
    InlineFragmentNode,
    IntValueNode,
    ListValueNode,
    NoSchemaIntrospectionCustomRule,
    NullValueNode,
    OperationDefinitionNode,
    SelectionNode,
    SelectionSetNode,
    StringValueNode,
    ValueNode,
    VariableNode,
    get_named_type,
    get_nullable_type,
    is_composite_type,
    is_list_type,
)
from graphql.validation.rules import overlapping_fields_can_be_merged
from strawberry.extensions import SchemaExtension

from app.domain.errors import UnauthenticatedError

LARGEST_PAGE = 500
MAX_DOCUMENT = 100_000  # characters; parsed documents are kept, so their size counts many times
MAX_WEIGHT = 60_000  # half a second to a second of a core
_OBJECT = 5
_LIST = 10
_OF_SCHEMA = 5  # lists of introspection: what they nest is mostly short
_LENGTHS = {
    "Attempt": 5,
    "WorkloadEvent": 20,
    "Server": 500,
    "Member": 500,
    "Token": 500,
    "Project": 500,
    "GpuHolding": 5,
    "GpuResource": 3,
}
_COUNT = 3_200
_ARRANGED, _SEARCHED = 8_500, 15_000  # of 100,000 workloads
_ARRANGING, _SEARCHING = ("sortBy", "offset"), ("search", "filterBy")
_MUTATION = 500
# By what a field returns: reading a log asks a server, or unpacks a mebibyte; the others look at many rows.
_HEAVY = {"WorkloadLog": 5_900, "Metric": 1_000, "Telemetry": 1_000, "Usage": 1_000}
_ONE_BY_ONE = 6_000  # too much for a list: each is read by itself
_HEAVY_FIELDS = {
    ("Workload", "idleAllocatedGpus"): 200,
    ("Query", "dryRun"): 3_000,  # a plan
    ("Workload", "queue"): 5,
    ("QueuePlace", "couldStartNow"): 1_000,
    ("Workload", "waits"): 150,  # both read all its events
    ("Workload", "waitTotals"): 150,
    ("Organization", "gpus"): 5_000,
    ("Gpu", "history"): _ONE_BY_ONE,
}
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

    async def on_validate(self) -> AsyncIterator[None]:
        context = self.execution_context
        if context.graphql_document is not None:
            lengths = {**_LENGTHS, "Organization": await _organizations_of_caller(context.context)}
            schema, variables = context.schema._schema, context.variables or {}  # noqa: SLF001
            scale = _Scale(schema, context.graphql_document, variables, lengths)
            if (weight := scale.heaviest_operation()) > MAX_WEIGHT:
                raise _too_complex(f"the request weighs {weight}, at most {MAX_WEIGHT} is taken: {_HOW}")
        yield


async def _organizations_of_caller(context: Any) -> int:
    """Of all lists only this one leads to further pages, so it is counted. At least as many as any list."""
    try:
        return max(_LIST, len((await context.holder()).roles))
    except UnauthenticatedError:
        return _LIST


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


def _own(returned: GraphQLNamedType, parent: GraphQLNamedType, node: FieldNode) -> int:
    """Of a field by itself, without what it holds."""
    return _HEAVY_FIELDS.get((parent.name, node.name.value)) or _HEAVY.get(returned.name, 1)


@dataclass(frozen=True)
class _Page:
    """What is asked of the list whose connection is weighed: how many at most, and what finding them weighs.

    Or, with `longest`, of an organization that is one of several: how long its own lists are taken to be at most.
    """

    size: int = 1
    finding: int = 0
    longest: int = max(_LENGTHS.values())


_NO_PAGE = _Page()
_ONE_OF_SEVERAL = _Page(longest=50)


_HOW = (
    f"a field counts 1, an object {_OBJECT}, a list {_LIST} times what it holds, organizations as many times as the "
    f"caller has, attempts {_LENGTHS['Attempt']} and events {_LENGTHS['WorkloadEvent']} times, servers, projects, "
    f"members and tokens {_LENGTHS['Server']} times, in several organizations {_ONE_OF_SEVERAL.longest} times each, a "
    f"page `first` times, a count {_COUNT}; a page or count {_ARRANGED} more with sortBy or offset each, {_SEARCHED} "
    f"more with search or filterBy; a mutation {_MUTATION}, on many ids {_BATCH} times that, a log "
    f"{_HEAVY['WorkloadLog']}, curves, numbers and usage {_HEAVY['Metric']} each"
)


class _Scale:
    """Weighs one document, which may yet be invalid: what the schema does not know weighs 1."""

    def __init__(
        self, schema: GraphQLSchema, document: DocumentNode, variables: Mapping[str, Any], lengths: Mapping[str, int]
    ) -> None:
        """`lengths`: how long a list is taken to be, by the name of what it holds."""
        self._schema, self._variables, self._lengths = schema, variables, lengths
        definitions = document.definitions
        self._operations = [d for d in definitions if isinstance(d, OperationDefinitionNode)]
        self._fragments = {d.name.value: d for d in definitions if isinstance(d, FragmentDefinitionNode)}
        given = [v for o in self._operations for v in o.variable_definitions or () if _asks(v.default_value)]
        self._defaults = {definition.variable.name.value for definition in given}
        self._sizes: dict[str, int] = {}  # variables' defaults: of several operations the largest
        for definition in given:
            if isinstance(definition.default_value, IntValueNode):
                name, size = definition.variable.name.value, _integer(definition.default_value)
                self._sizes[name] = max(size, self._sizes.get(name, 0))
        self._weights: dict[tuple[str, _Page], int] = {}

    def heaviest_operation(self) -> int:
        roots = ((o, self._schema.get_root_type(o.operation)) for o in self._operations)
        return max((self._inside(o.selection_set, root, _NO_PAGE) for o, root in roots), default=0)

    def _inside(self, node: SelectionSetNode | None, parent: GraphQLNamedType | None, page: _Page) -> int:
        return sum(self._selection(selection, parent, page) for selection in node.selections) if node else 0

    def _selection(self, node: SelectionNode, parent: GraphQLNamedType | None, page: _Page) -> int:
        match node:
            case FieldNode():
                return self._field(node, parent, page)
            case FragmentSpreadNode():
                return self._fragment(node.name.value, page)
            case InlineFragmentNode(type_condition=condition):
                named = self._schema.get_type(condition.name.value) if condition else parent
                return self._inside(node.selection_set, named, page)
        return 1

    def _fragment(self, name: str, page: _Page) -> int:
        if (name, page) not in self._weights:
            self._weights[name, page] = 0  # should it spread itself, which validation refuses
            if fragment := self._fragments.get(name):
                parent = self._schema.get_type(fragment.type_condition.name.value)
                self._weights[name, page] = self._inside(fragment.selection_set, parent, page)
        return self._weights[name, page]

    def _field(self, node: FieldNode, parent: GraphQLNamedType | None, page: _Page) -> int:
        field = self._schema.get_field(parent, node.name.value) if is_composite_type(parent) else None
        if field is None or not is_composite_type(parent):
            return 1
        if node.name.value == "totalCount":
            return _COUNT + page.finding
        if "search" in field.args:
            return self._found(field, node)
        returned = get_named_type(field.type)
        if not is_composite_type(returned):
            return _own(returned, parent, node)
        own = _mutation_weight(field) if parent is self._schema.mutation_type else _own(returned, parent, node)
        times = page.size if parent.name.endswith("Connection") else min(page.longest, self._length(field))
        within = _ONE_OF_SEVERAL if returned.name == "Organization" and times > 1 else _NO_PAGE
        return own + times * (_OBJECT + self._inside(node.selection_set, returned, within))

    def _found(self, field: GraphQLField, node: FieldNode) -> int:
        """A list of workloads, or their number."""
        given = {argument.name.value for argument in node.arguments or () if self._is_given(argument)}
        finding = _ARRANGED * len(given.intersection(_ARRANGING)) + _SEARCHED * bool(given.intersection(_SEARCHING))
        if "first" not in field.args:
            return _COUNT + finding
        page = _Page(self._size(field, node), finding)
        return finding + _OBJECT + self._inside(node.selection_set, get_named_type(field.type), page)

    def _is_given(self, argument: ArgumentNode) -> bool:
        """Whether it asks for anything: not null, not 0, not empty."""
        if isinstance(argument.value, VariableNode):
            name = argument.value.name.value
            return bool(self._variables[name]) if name in self._variables else name in self._defaults
        return _asks(argument.value)

    def _size(self, field: GraphQLField, node: FieldNode) -> int:
        """The size of the page; the largest where it is refused later."""
        value: object = field.args["first"].default_value
        for argument in node.arguments or ():
            if argument.name.value == "first" and isinstance(argument.value, IntValueNode):
                value = _integer(argument.value)
            elif argument.name.value == "first" and isinstance(argument.value, VariableNode):
                name = argument.value.name.value
                value = self._variables.get(name, self._sizes.get(name, value))
        return value if isinstance(value, int) and 1 <= value <= LARGEST_PAGE else LARGEST_PAGE

    def _length(self, field: GraphQLField) -> int:
        if not is_list_type(get_nullable_type(field.type)):
            return 1
        name = get_named_type(field.type).name
        return self._lengths.get(name, _OF_SCHEMA if name.startswith("__") else _LIST)


def _integer(node: IntValueNode) -> int:
    return int(node.value[:9])


def _asks(value: ValueNode | None) -> bool:
    match value:
        case None | NullValueNode() | IntValueNode(value="0") | StringValueNode(value="") | ListValueNode(values=()):
            return False
    return True
