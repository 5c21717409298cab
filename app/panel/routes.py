"""All addresses of the panel."""

from __future__ import annotations

from functools import partial

from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from app.panel import urls
from app.panel.curves import CurvePages
from app.panel.desk import Desk
from app.panel.gpu_curves import GpuCurvePages
from app.panel.gpus import GpuPages
from app.panel.live import LivePages
from app.panel.log import LogPages
from app.panel.projects import ProjectPages
from app.panel.rendering import STATIC_FOLDER
from app.panel.servers import ServerPages
from app.panel.session import SessionPages
from app.panel.usage import UsagePages
from app.panel.workload import WorkloadPages
from app.panel.workloads import WorkloadsPages


class _KeptFiles(StaticFiles):
    """Pages name a file with its digest, so what was asked for so may be kept for good; all else is asked for again."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        answer = await super().get_response(path, scope)
        has_digest = scope["query_string"].startswith(b"v=")
        answer.headers["cache-control"] = "public, max-age=31536000, immutable" if has_digest else "no-cache"
        return answer


def panel_routes(desk: Desk) -> list[BaseRoute]:
    session, projects, servers, gpus = SessionPages(desk), ProjectPages(desk), ServerPages(desk), GpuPages(desk)
    workloads, workload, live, log = WorkloadsPages(desk), WorkloadPages(desk), LivePages(desk), LogPages(desk)
    curves, usage = CurvePages(desk), UsagePages(desk)
    return [
        Route(urls.HOME, session.home),
        Route(urls.LOGIN, session.login_form, methods=["GET"]),
        Route(urls.LOGIN, session.login, methods=["POST"]),
        Route(urls.LOGOUT, session.logout_form, methods=["GET"]),
        Route(urls.LOGOUT, session.logout, methods=["POST"]),
        Route(urls.ORGANIZATION, projects.organization),
        Route(urls.PROJECTS, projects.index),
        Route(urls.QUOTA, projects.set_quota, methods=["POST"]),
        Route(urls.WORKLOADS, workloads.index, methods=["GET"]),
        Route(urls.WORKLOADS, workloads.submit, methods=["POST"]),
        Route(urls.WORKLOADS_LIVE, live.workloads),
        Route(urls.REFERENCE, workloads.reference),
        Route(urls.CHECK, workloads.check, methods=["POST"]),
        Route(urls.WORKLOAD, workload.show),
        *(Route(path, partial(workload.act, action), methods=["POST"]) for action, path in urls.ACTIONS.items()),
        Route(urls.WORKLOAD_LIVE, live.workload),
        Route(urls.CURVES, curves.show),
        Route(urls.LOG, log.show),
        Route(urls.LOG_FILE, log.download),
        Route(urls.SERVERS, servers.index),
        Route(urls.GPU, gpus.show),
        Route(urls.GPU_CURVES, GpuCurvePages(desk).show),
        Route(urls.CORDON, servers.cordon, methods=["POST"]),
        Route(urls.UNCORDON, servers.uncordon, methods=["POST"]),
        Route(urls.USAGE, usage.index),
        Route(urls.USAGE_FILE, usage.download),
        Mount(urls.STATIC, _KeptFiles(directory=STATIC_FOLDER)),
    ]
