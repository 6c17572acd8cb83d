{{/* Invalid combinations of values, which a schema cannot express. */}}
{{- define "kubedl.refusals" -}}
{{- if not .Values.enabled -}}
{{- fail "enabled: false has an effect only in a chart that has this one as a dependency, with `condition: kubedl.enabled`" -}}
{{- end -}}
{{- include "kubedl.refusedFlags" . -}}
{{- if and .Values.image.registry (include "kubedl.namesRegistry" .Values.image.repository) -}}
{{- fail "image.registry: image.repository names a registry too; leave one of them out" -}}
{{- end -}}
{{- if not (or .Values.serviceAccount.create .Values.serviceAccount.name) -}}
{{- fail "serviceAccount.create: without a ServiceAccount of the chart, set serviceAccount.name to one that exists" -}}
{{- end -}}
{{- if and .Values.operator.noLeaderElection .Values.strategy (ne (dig "type" "" .Values.strategy) "Recreate") -}}
{{- fail "strategy: without leader election the old pod must end before the new one starts; set strategy.type=Recreate" -}}
{{- end -}}
{{- if .Values.operator.omitRunAsUser -}}
{{- range $context := list .Values.securityContext .Values.podSecurityContext -}}
{{- if ne (dig "runAsUser" 65532 $context | toString) "65532" -}}
{{- fail "operator.omitRunAsUser: securityContext and podSecurityContext must not set runAsUser at the same time" -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.console.create (eq .Values.console.mode "token") (gt (int .Values.console.replicas) 1) (not .Values.console.sessionKeySecret) -}}
{{- fail "console.sessionKeySecret: several replicas must read each other's sign-ins; create a Secret with the key `key` (32 bytes as base64), or set console.replicas=1" -}}
{{- end -}}
{{- include "kubedl.refusedBudget" . -}}
{{- end }}

{{- define "kubedl.refusedFlags" -}}
{{- with .Values.operator -}}
{{- if and .noLeaderElection (gt (int $.Values.replicas) 1) -}}
{{- fail "operator.noLeaderElection: without leader election every replica works on every job; set replicas=1, or enable leader election" -}}
{{- end -}}
{{- if and .efsFileSystems $.Values.namespace -}}
{{- fail "operator.efsFileSystems: an operator of one namespace has Roles only, and may not create PersistentVolumes; leave namespace empty, or use a claim as storage" -}}
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

{{/* A budget that allows no eviction would stop every drain of a node. */}}
{{- define "kubedl.refusedBudget" -}}
{{- with .Values.podDisruptionBudget -}}
{{- $fewest := toString .minAvailable -}}
{{- if and (ne $fewest "") (ne (toString .maxUnavailable) "") -}}
{{- fail "podDisruptionBudget: set minAvailable or maxUnavailable, not both" -}}
{{- end -}}
{{- $available := int $fewest -}}
{{- if hasSuffix "%" $fewest -}}
{{- /* Kubernetes rounds up. */ -}}
{{- $available = div (add (mul (trimSuffix "%" $fewest | int) (int $.Values.replicas)) 99) 100 | int -}}
{{- end -}}
{{- if and .create (gt (int $.Values.replicas) 1) (ge $available (int $.Values.replicas)) -}}
{{- fail "podDisruptionBudget.minAvailable: with as many as there are replicas no node could be drained" -}}
{{- end -}}
{{- end -}}
{{- end }}
