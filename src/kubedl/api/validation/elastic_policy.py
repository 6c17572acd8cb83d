"""CEL rules of Kubeflow's `elasticPolicy`: what torchrun is not told here is rejected, with what to do instead."""

from kubedl.schema.structural import Rule

POLICY = "self.elasticPolicy"
NOT_CHOSEN = ("is_host", "store_type")  # settings that follow from where the rendezvous is


def setting_rules() -> tuple[Rule, ...]:
    """Return the rules of the fields of an elasticPolicy."""
    chosen = f"!has(self.rdzvConf) || !self.rdzvConf.exists(one, one.key in {list(NOT_CHOSEN)!r})"
    alone = "!has(self.standalone) || !self.standalone"
    own = " && ".join(f"!has(self.{field})" for field in ("rdzvPort", "rdzvHost", "rdzvId"))
    return (
        Rule(
            "!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",
            "minReplicas may not be greater than maxReplicas",
            field=".minReplicas",
        ),
        Rule(
            "!has(self.rdzvBackend) || !self.rdzvBackend.startsWith('etcd')",
            "etcd is not supported, since the first replica keeps the rendezvous: use c10d, or remove the field",
            field=".rdzvBackend",
            reason="FieldValueForbidden",
        ),
        Rule(
            chosen,
            f"the first replica keeps the rendezvous: {' and '.join(NOT_CHOSEN)} cannot be chosen; remove them",
            field=".rdzvConf",
            reason="FieldValueForbidden",
        ),
        Rule(
            f"{alone} || {own}",
            "with standalone torchrun chooses rdzvPort, rdzvHost and rdzvId by itself; remove them",
            field=".standalone",
            reason="FieldValueForbidden",
        ),
        Rule(
            "!has(self.metrics) || size(self.metrics) == 0",
            "the operator creates no autoscaler: create a HorizontalPodAutoscaler with these metrics for the job",
            field=".metrics",
            reason="FieldValueForbidden",
        ),
    )


def elastic_policy_rules(replicas_field: str, role: str, leader: str) -> tuple[Rule, ...]:
    """Return the rules of a kind that has an elasticPolicy for `role`; a replica of `leader`, if any, comes first."""
    return (
        _one_of_both(),
        _bounds(replicas_field, role),
        _fixed_without_bounds(replicas_field),
        _host(replicas_field, role, leader),
        _standalone(replicas_field),
        _processes(),
    )


def _one_of_both() -> Rule:
    return Rule(
        f"!has(self.elastic) || !has({POLICY})",
        "elastic and elasticPolicy both say how the job is resized; remove one of them",
        field=".elasticPolicy",
        at="spec",
        reason="FieldValueForbidden",
    )


def _bounds(replicas_field: str, role: str) -> Rule:
    number, least, most = f"self.{replicas_field}[role].replicas", f"{POLICY}.minReplicas", f"{POLICY}.maxReplicas"
    low = f"(has({least}) ? {least} : has({most}) ? {most} : 1)"
    high = f"(has({most}) ? {most} : has({least}) ? {least} : {number})"
    within = f"{number} >= {low} && {number} <= {high}"
    return Rule(
        f"!has({POLICY}) || self.{replicas_field}.exists(role, role.lowerAscii() == '{role.lower()}' && {within})",
        f"a job with elasticPolicy has a role {role} with minReplicas to maxReplicas replicas; if one of them is not "
        "set, it is the other",
        field=f".{replicas_field}",
        at="spec",
    )


def _fixed_without_bounds(replicas_field: str) -> Rule:
    new, old = f"self.{replicas_field}", f"oldSelf.{replicas_field}"
    same = f"{new}.all(role, role in {old} && {new}[role].replicas == {old}[role].replicas)"
    bounded = f"has({POLICY}.minReplicas) || has({POLICY}.maxReplicas)"
    return Rule(
        f"self.suspend || oldSelf.suspend || !has({POLICY}) || {bounded} || {same}",
        "without minReplicas and maxReplicas running pods know their number: suspend the job to resize it",
        field=f".{replicas_field}",
        at="spec",
        reason="FieldValueForbidden",
    )


def _host(replicas_field: str, role: str, leader: str) -> Rule:
    """Rule of the whole job, since the host is the pod of its first replica."""
    specs, policy = f"self.spec.{replicas_field}", "self.spec.elasticPolicy"
    led = f"{specs}.exists(role, role.lowerAscii() == '{leader.lower()}' && {specs}[role].replicas > 0)"
    first = f"(self.metadata.name + ({led} ? '-{leader.lower()}-0' : '-{role.lower()}-0'))"
    message = "the first replica keeps the rendezvous: remove rdzvHost, or set it to its name"
    return Rule(
        f"!has({policy}) || !has({policy}.rdzvHost) || {policy}.rdzvHost == {first}",
        message,
        field=".spec.elasticPolicy.rdzvHost",
        message_expression=f"'{message}, which is %s'.format([{first}])",
    )


def _standalone(replicas_field: str) -> Rule:
    specs = f"self.{replicas_field}"
    total, most = f"{specs}.map(role, {specs}[role].replicas).sum()", f"{POLICY}.maxReplicas"
    asked = f"has({POLICY}) && has({POLICY}.standalone) && {POLICY}.standalone"
    return Rule(
        f"!({asked}) || {total} == 1 && (!has({most}) || {most} == 1)",
        "standalone is for jobs that have one replica, and maxReplicas 1: others would never meet",
        field=".elasticPolicy.standalone",
        at="spec",
        reason="FieldValueForbidden",
    )


def _processes() -> Rule:
    number = f"{POLICY}.nProcPerNode"
    return Rule(
        f"!has({POLICY}) || !has({number}) || self.nprocPerNode == 1 || self.nprocPerNode == {number}",
        "nprocPerNode of the spec is another number; set it once",
        field=".elasticPolicy.nProcPerNode",
        at="spec",
    )
