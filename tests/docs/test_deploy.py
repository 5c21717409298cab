"""deploy/: exactly the rights that the program names, settings that exist, probes that are answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import yaml

from app.cluster.permissions import CREATE_NAMESPACES, NEEDED, NEEDED_PER_ORGANIZATION, Permission
from app.config import PREFIX, Settings
from tests.docs.pages import ROOT

DEPLOY = ROOT / "deploy"
LEVELS = {"gpuyard-system": "restricted", "gpuyard": "baseline"}


def applied() -> list[str]:
    """The files of `kubectl apply -k deploy`."""
    names: list[str] = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    return names


def manifests(kind: str) -> list[dict[str, Any]]:
    documents = (doc for name in applied() for doc in yaml.safe_load_all((DEPLOY / name).read_text()))
    return [document for document in documents if document["kind"] == kind]


def the(kind: str) -> dict[str, Any]:
    [found] = manifests(kind)
    return found


def granted(rules: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(verb, API group, resource with its subresource), sorted, doubles included."""
    return sorted(
        (verb, group, resource)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    )


def named(permissions: Iterable[Permission]) -> list[tuple[str, str, str]]:
    return sorted((it.verb, it.group, f"{it.resource}/{it.subresource}".rstrip("/")) for it in permissions)


def test_rights_are_exactly_those_needed():
    assert granted(the("ClusterRole")["rules"]) == named(it for it in NEEDED if it.everywhere)
    assert granted(the("Role")["rules"]) == named(it for it in NEEDED if not it.everywhere)


def test_rights_with_a_namespace_for_each_organization():
    role, binding = yaml.safe_load_all((DEPLOY / "namespace-per-organization" / "rbac.yaml").read_text())
    assert granted(role["rules"]) == named([*NEEDED_PER_ORGANIZATION, CREATE_NAMESPACES])
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == the("ClusterRoleBinding")["subjects"]


def test_rights_are_given_where_the_jobs_are_to_the_account_of_the_program():
    account, pod = the("ServiceAccount")["metadata"], the("Deployment")["spec"]["template"]["spec"]
    assert pod["serviceAccountName"] == account["name"]
    assert the("Deployment")["metadata"]["namespace"] == account["namespace"]
    for kind, role in (("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")):
        binding = the(kind)
        assert binding["subjects"] == [{"kind": "ServiceAccount", **account}]
        assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (role, the(role)["metadata"]["name"])
    default = Settings.model_fields["namespace"].default
    assert the("Role")["metadata"]["namespace"] == the("RoleBinding")["metadata"]["namespace"] == default


def test_pod_security_levels():
    key = "pod-security.kubernetes.io/enforce"
    assert {it["metadata"]["name"]: it["metadata"]["labels"][key] for it in manifests("Namespace")} == LEVELS


def environment() -> dict[str, Any]:
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in container["env"]}


def test_settings_exist_and_can_be_used():
    ours = {name: value for name, value in environment().items() if name.startswith(PREFIX)}
    assert {name.removeprefix(PREFIX).lower() for name in ours} <= set(Settings.model_fields)
    assert ours.pop("GPUYARD_DATABASE_URL") == {"secretKeyRef": {"name": "gpuyard-database", "key": "url"}}
    values = {name.removeprefix(PREFIX).lower(): value for name, value in ours.items()}
    settings = Settings(database_url="postgres://user@host/name", kubeconfig=None, **values)
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    assert settings.in_cluster
    assert settings.host == "0.0.0.0"
    assert container["ports"][0]["containerPort"] == settings.port


def test_probes_are_answered():
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    probed = {container[f"{probe}Probe"]["httpGet"]["path"] for probe in ("liveness", "readiness")}
    health = (ROOT / "app" / "web.py").read_text()
    assert probed == {"/healthz", "/readyz"}
    assert all(f'Route("{path}"' in health for path in probed)


def test_one_process_and_no_privileges():
    deployment = the("Deployment")["spec"]
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    pod = deployment["template"]["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert f"USER {pod['securityContext']['runAsUser']}:" in (ROOT / "Containerfile").read_text()


def test_the_service_leads_to_the_pods():
    labels = the("Deployment")["spec"]["template"]["metadata"]["labels"]
    assert the("Service")["spec"]["selector"].items() <= labels.items()
    assert the("Deployment")["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_kustomization_lists_every_manifest():
    apart = {"kustomization.yaml", "agent.yaml"}  # the agent is applied by itself: tests/agent/test_deploy.py
    assert sorted(applied()) == sorted(path.name for path in DEPLOY.glob("*.yaml") if path.name not in apart)


def test_the_image_has_the_panels_files():
    """They are not in git, so the build has to bring them before it makes the wheel."""
    build = (ROOT / "Containerfile").read_text()
    assert build.index("scripts/setup.py environment front-end") < build.index("pip wheel")
