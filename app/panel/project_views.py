"""Projects as the page shows them: their quotas, and what they use of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from app.domain.people import Project
from app.panel import urls


@dataclass(frozen=True)
class ProjectView:
    """GPUs are whole ones. `used` and `over` are None for those who may not know, `over` also without a guarantee."""

    id: UUID
    slug: str
    name: str
    version: int
    guaranteed: int | None
    maximum: int | None
    used: int | None
    over: int | None
    quota_url: str


@dataclass(frozen=True)
class ProjectsView:
    """`may_change`: whether the person may set quotas. `warning` is about all of them together, empty without one."""

    projects: tuple[ProjectView, ...]
    may_see_use: bool
    may_change: bool
    warning: str

    @property
    def shows_quotas(self) -> bool:
        return self.may_change or any(it.guaranteed is not None or it.maximum is not None for it in self.projects)


def projects_view(
    slug: str, projects: Sequence[Project], used: Mapping[UUID, int] | None, warning: str, *, may_change: bool
) -> ProjectsView:
    """`used` None: the person may not know."""
    views = tuple(_view(slug, project, None if used is None else used.get(project.id, 0)) for project in projects)
    return ProjectsView(views, used is not None, may_change, warning)


def _view(slug: str, project: Project, used: int | None) -> ProjectView:
    quota = project.quota
    return ProjectView(
        id=project.id,
        slug=project.slug,
        name=project.name,
        version=project.version,
        guaranteed=quota.guaranteed,
        maximum=quota.maximum,
        used=used,
        over=None if used is None else quota.over(used),
        quota_url=urls.quota(slug, project.id),
    )
