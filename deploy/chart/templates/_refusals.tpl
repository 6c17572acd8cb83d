{{/* Settings that a schema cannot hold against each other, and with which the operator would not start, or not be alone. */}}
{{- define "kubedl.refusals" -}}
{{- with .Values.operator -}}
{{- if and .noLeaderElection (gt (int $.Values.replicas) 1) -}}
{{- fail "operator.noLeaderElection: without an election every replica works on every job; set replicas=1, or let them elect" -}}
{{- end -}}
{{- if and .efsFileSystems $.Values.namespace -}}
{{- fail "operator.efsFileSystems: an operator of one namespace has Roles only, and may make no PersistentVolume; leave namespace empty, or name a claim in storage" -}}
{{- end -}}
{{- if and .gateway (not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?(/[a-z0-9]([-.a-z0-9]*[a-z0-9])?)?$" .gateway)) -}}
{{- fail "operator.gateway: write NAMESPACE/NAME or NAMESPACE/NAME/LISTENER of a Gateway" -}}
{{- end -}}
{{- $retry := float64 .leaseRetrySeconds -}}
{{- $renew := float64 .leaseRenewSeconds -}}
{{- if not (and (lt (mulf $retry 2.0) $renew) (lt $renew (float64 .leaseSeconds))) -}}
{{- fail "operator.lease*Seconds: leaseRenewSeconds must be more than twice leaseRetrySeconds, and less than leaseSeconds" -}}
{{- end -}}
{{- end -}}
{{- end }}
