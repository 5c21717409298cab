"""Names that GPUYard writes into the cluster, and what can be read back from them.

Used by the manifest builder, the observer and the adapter. They are a contract with running clusters: a release that
renames one no longer finds the Jobs of the release before it.
"""

from __future__ import annotations

import re

from app.domain.workload import read_job_name

WORKLOAD = "gpuyard.dev/workload"
ATTEMPT = "gpuyard.dev/attempt"
ORGANIZATION = "gpuyard.dev/organization"
PROJECT = "gpuyard.dev/project"
INSTALLATION = "gpuyard.dev/installation"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "gpuyard"
# What Kubernetes' recommended labels say beside it. The name is not GPUYard's own: a Service in front of the program
# may select that, and must not find Jobs.
NAME = "app.kubernetes.io/name"
INSTANCE = "app.kubernetes.io/instance"
COMPONENT = "app.kubernetes.io/component"
PART_OF = "app.kubernetes.io/part-of"
OURS = f"{MANAGED_BY}={MANAGER}"  # the selector of everything we made

FINALIZER = "gpuyard.dev/recorded"
CONTAINER = "workload"
JOB_NAME = "batch.kubernetes.io/job-name"  # put on pods by the Job controller, and so is the next
JOB_UID = "batch.kubernetes.io/controller-uid"

MAX_LABEL_VALUE = 63
_NOT_IN_LABEL = re.compile(r"[^A-Za-z0-9._-]+")


def label_value(text: str) -> str:
    """`text` as a label value: what a value may not hold becomes a dash, the ends are trimmed; it may come out empty.

    Labels are for people who look at the cluster with kubectl; nothing is read back from a value cut like this.
    """
    return _NOT_IN_LABEL.sub("-", text)[:MAX_LABEL_VALUE].strip("-._")


def workload_of(job_name: str) -> str | None:
    """The workload id inside one of our Job names, or None for another's."""
    named = read_job_name(job_name)
    return str(named[0]) if named else None
