"""etcd, API server, controller-manager and scheduler, with the settings the tests rely on.

RBAC, the audit log and ServiceAccount admission are on as in production. Two things differ on
purpose: etcd does not wait for the disk, and nodes count as lost after seconds, not a minute.
"""

from dataclasses import dataclass
from pathlib import Path

from testbed import processes
from testbed.api import Api
from testbed.instance import Instance
from testbed.pki import Authority
from testbed.waiting import START, until

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

GANG = "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,TopologyAwareWorkloadScheduling=true"
# With its default a single waiting gang costs the scheduler most of a core for ever.
SCHEDULER_GATES = f"{GANG},SchedulerPopFromBackoffQ=false"

# Seconds without a sign of life after which a node counts as lost: a busy machine may be silent for ten.
NODE_GRACE = 20

# Whatever these groups ask for, Leases and reads too, is in the audit log, from which is read what rights were used;
# and whatever a pod asks for with a token, since most have no business with the API.
AUDITED = "testbed:audited"
AUDITED_NAMESPACE = "kubedl-system"  # of ServiceAccounts

AUDIT_POLICY = f"""apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  userGroups: ["{AUDITED}", "system:serviceaccounts:{AUDITED_NAMESPACE}"]
- level: RequestResponse  # who holds quota can be told from the log
  omitManagedFields: true
  verbs: [create, update, patch, delete]
  resources: [{{group: kueue.x-k8s.io, resources: [workloads, workloads/status]}}]
- {{level: None, userGroups: ["system:serviceaccounts:kube-system"], verbs: [get, list, watch]}}
- {{level: None, userGroups: ["system:serviceaccounts:kube-system"], resources: [{{group: coordination.k8s.io}}]}}
- {{level: Metadata, userGroups: ["system:serviceaccounts"]}}
- {{level: None, resources: [{{group: coordination.k8s.io}}]}}
- {{level: None, verbs: [get, list, watch]}}
- {{level: Metadata}}
"""


@dataclass(frozen=True)
class ControlPlane:
    """The control plane of one instance; each part can be started again after a test ended it."""

    instance: Instance
    authority: Authority
    programs: dict[str, Path]

    @property
    def audit_log(self) -> Path:
        return self.instance.state / "audit.log"

    @property
    def etcd_url(self) -> str:
        return f"http://127.0.0.1:{self.instance.loopback_port(0)}"

    def start(self, api: Api) -> None:
        """Start all four and return when the API server serves and the others are healthy."""
        (self.instance.state / "audit-policy.yaml").write_text(AUDIT_POLICY)
        for component in PROGRAMS[:2]:
            self.start_component(component)
        self.wait_serving(api)
        for component in PROGRAMS[2:]:
            self.start_component(component)
        until(
            "the default ServiceAccount, without which no pod is admitted",
            lambda: self._alive(*PROGRAMS) and api.exists("/api/v1/namespaces/default/serviceaccounts/default"),
            deadline=START,
        )

    def wait_serving(self, api: Api) -> None:
        """Wait until the API server is ready; if it or etcd has ended that is an error at once."""
        until("the API server to be ready", lambda: self._alive(*PROGRAMS[:2]) and api.healthy(), deadline=START)

    def start_component(self, component: str) -> None:
        """Start one part without waiting for it."""
        arguments = {
            "etcd": self._etcd,
            "kube-apiserver": self._api_server,
            "kube-controller-manager": self._controller_manager,
            "kube-scheduler": self._scheduler,
        }[component]()
        command = [str(self.programs[component]), *arguments]
        processes.start(self.instance.index, component, command, self._log(component))

    def _log(self, component: str) -> Path:
        return self.instance.state / "log" / f"{component}.log"

    def _alive(self, *components: str) -> bool:
        """True if these live, an error with the end of its log for the first that does not."""
        for component in components:
            processes.insist(self.instance.index, component, self._log(component))
        return True

    def _etcd(self) -> list[str]:
        peer = f"http://127.0.0.1:{self.instance.loopback_port(1)}"
        return [
            f"--data-dir={self.instance.state / 'etcd'}",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
        ]

    def _api_server(self) -> list[str]:
        authority, state = self.authority, self.instance.state
        certificate, key = authority.files("kube-apiserver")
        kubelet_certificate, kubelet_key = authority.files("kubelet-client")
        proxy_certificate, proxy_key = authority.files("front-proxy")
        return [
            f"--etcd-servers={self.etcd_url}",
            f"--bind-address={self.instance.gateway}",
            f"--advertise-address={self.instance.gateway}",
            "--secure-port=6443",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={authority.certificate}",
            "--authorization-mode=Node,RBAC",
            # The second asks whoever makes an owner wait for an object whether he may change the owner's finalizers.
            "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
            f"--service-account-key-file={authority.service_account_key}",
            f"--service-account-signing-key-file={authority.service_account_key}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-cluster-ip-range={self.instance.service_network}",
            "--allow-privileged=true",
            f"--kubelet-client-certificate={kubelet_certificate}",
            f"--kubelet-client-key={kubelet_key}",
            f"--kubelet-certificate-authority={authority.certificate}",
            "--kubelet-preferred-address-types=InternalIP",
            "--enable-aggregator-routing=true",
            f"--requestheader-client-ca-file={authority.certificate}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={proxy_certificate}",
            f"--proxy-client-key-file={proxy_key}",
            f"--audit-policy-file={state / 'audit-policy.yaml'}",
            f"--audit-log-path={self.audit_log}",
            "--runtime-config=scheduling.k8s.io/v1alpha2=true",
            f"--feature-gates={GANG}",
        ]

    def _controller_manager(self) -> list[str]:
        return [
            *self._client_flags("kube-controller-manager", port=2),
            f"--service-account-private-key-file={self.authority.service_account_key}",
            f"--root-ca-file={self.authority.certificate}",
            f"--cluster-signing-cert-file={self.authority.certificate}",
            f"--cluster-signing-key-file={self.authority.key}",
            "--use-service-account-credentials=true",
            "--node-monitor-period=1s",
            f"--node-monitor-grace-period={NODE_GRACE}s",
            f"--node-startup-grace-period={NODE_GRACE + 12}s",
            f"--feature-gates={GANG}",
        ]

    def _scheduler(self) -> list[str]:
        return [*self._client_flags("kube-scheduler", port=3), f"--feature-gates={SCHEDULER_GATES}"]

    def _client_flags(self, component: str, port: int) -> list[str]:
        kubeconfig = self.authority.kubeconfig(component)
        return [
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.instance.loopback_port(port)}",
            "--leader-elect=false",
        ]
