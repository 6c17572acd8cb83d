{{/*
The file of alert rules, with what only the chart knows: how much memory the operator may use, and, where the chart's own
ServiceMonitor names them, the release whose operators must not all be gone.
*/}}
{{- define "kubedl.rules" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- $absent := "absent(kubedl_leader)" -}}
{{- $gone := printf "absent(kubedl_leader{namespace=%q, job=%q})" .Release.Namespace (include "kubedl.operator" .) -}}
{{- $file := .Files.Get "files/alerts.yaml" | fromYaml -}}
{{- range $group := $file.groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- if and (eq $rule.alert "KubeDLMemory") $limit -}}
{{- $bytes := include "kubedl.bytes" $limit | float64 | mulf 0.9 | printf "> %.0f" -}}
{{- $rules = append $rules (set $rule "expr" (regexReplaceAll "> [0-9]+" $rule.expr $bytes)) -}}
{{- else if ne $rule.alert "KubeDLMemory" -}}
{{- $expression := $.Values.metrics.serviceMonitor.create | ternary ($rule.expr | replace $absent $gone) $rule.expr -}}
{{- $rules = append $rules (set $rule "expr" $expression) -}}
{{- end -}}
{{- end -}}
{{- $_ := set $group "rules" $rules -}}
{{- end -}}
{{- toYaml $file -}}
{{- end }}

{{/* A quantity of Kubernetes as a number: 1Gi is 1073741824. */}}
{{- define "kubedl.bytes" -}}
{{- $form := "^([0-9.]+(?:[eE][-+]?[0-9]+)?)(m|k|[MGTPE]|[KMGTPE]i)?$" -}}
{{- if not (regexMatch $form .) }}{{ fail (printf "resources.limits.memory: %s is no quantity such as 1Gi" .) }}{{ end -}}
{{- $factors := dict "" 1.0 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- range $power, $prefix := list "K" "M" "G" "T" "P" "E" -}}
{{- $factor := 1024.0 -}}
{{- range until $power }}{{ $factor = mulf $factor 1024.0 }}{{ end -}}
{{- $_ := set $factors (printf "%si" $prefix) $factor -}}
{{- end -}}
{{- $unit := regexReplaceAll $form . "${2}" -}}
{{- regexReplaceAll $form . "${1}" | float64 | mulf (get $factors $unit) | printf "%.3f" -}}
{{- end }}
