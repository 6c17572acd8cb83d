{{/*
The alert rules, with the memory limit of the operator and, if the chart creates a ServiceMonitor, the labels of this
release in the alerts about a missing operator and a missing recorder.
*/}}
{{- define "kubedl.rules" -}}
{{- $limit := dig "limits" "memory" "" .Values.resources | toString -}}
{{- $absent := "absent(kubedl_leader)" -}}
{{- $gone := printf "absent(kubedl_leader{namespace=%q, job=%q})" .Release.Namespace (include "kubedl.operator" .) -}}
{{- $file := .Files.Get "files/alerts.yaml" | fromYaml -}}
{{- $known := list -}}
{{- range $group := $file.groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- $known = append $known $rule.alert -}}
{{- if eq $rule.alert "KubeDLMemory" -}}
{{- if $limit -}}
{{- $bytes := include "kubedl.bytes" $limit | float64 | mulf 0.9 | printf "> %.0f" -}}
{{- $_ := set $rule "expr" (regexReplaceAll "> [0-9]+" $rule.expr $bytes) -}}
{{- end -}}
{{- else if $.Values.metrics.serviceMonitor.create -}}
{{- $_ := set $rule "expr" ($rule.expr | replace $absent $gone) -}}
{{- if and (eq $rule.alert "KubeDLHistoryNoRecorder") $.Values.history.create -}}
{{- $_ := set $rule "expr" (printf "%s\nor absent(kubedl_recorder_leader{namespace=%q, job=%q})" (trim $rule.expr) $.Release.Namespace (include "kubedl.recorder" $)) -}}
{{- end -}}
{{- end -}}
{{- include "kubedl.customRule" (list $.Values.metrics.rules $rule) -}}
{{- if not (or (get $.Values.metrics.rules.disabled $rule.alert) (and (eq $rule.alert "KubeDLMemory") (not $limit))) -}}
{{- $rules = append $rules $rule -}}
{{- end -}}
{{- end -}}
{{- $_ := set $group "rules" $rules -}}
{{- end -}}
{{- range $name := concat (keys .Values.metrics.rules.customRules) (keys .Values.metrics.rules.disabled) | sortAlpha -}}
{{- if not (has $name $known) }}{{ fail (printf "metrics.rules: there is no alert %s; the alerts are %s" $name (join ", " $known)) }}{{ end -}}
{{- end -}}
{{- toYaml $file -}}
{{- end }}

{{/* Change a rule as the values say it. Writes nothing. */}}
{{- define "kubedl.customRule" -}}
{{- $values := index . 0 -}}
{{- $rule := index . 1 -}}
{{- $custom := get $values.customRules $rule.alert | default dict -}}
{{- with $custom.for }}{{ $_ := set $rule "for" . }}{{ end -}}
{{- with $custom.severity }}{{ $_ := set $rule.labels "severity" . }}{{ end -}}
{{- $_ := set $rule "labels" (merge $rule.labels $values.additionalRuleLabels) -}}
{{- with $values.runbookUrl -}}
{{- $_ := set $rule.annotations "runbook_url" (printf "%s#%s" . (lower $rule.alert)) -}}
{{- end -}}
{{- end }}

{{/* A Kubernetes quantity as a number: 1Gi is 1073741824. */}}
{{- define "kubedl.bytes" -}}
{{- $form := "^([0-9.]+(?:[eE][-+]?[0-9]+)?)(m|k|[MGTPE]|[KMGTPE]i)?$" -}}
{{- if not (regexMatch $form .) }}{{ fail (printf "resources.limits.memory: %s is not a quantity such as 1Gi" .) }}{{ end -}}
{{- $factors := dict "" 1.0 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- range $power, $prefix := list "K" "M" "G" "T" "P" "E" -}}
{{- $factor := 1024.0 -}}
{{- range until $power }}{{ $factor = mulf $factor 1024.0 }}{{ end -}}
{{- $_ := set $factors (printf "%si" $prefix) $factor -}}
{{- end -}}
{{- $unit := regexReplaceAll $form . "${2}" -}}
{{- regexReplaceAll $form . "${1}" | float64 | mulf (get $factors $unit) | printf "%.3f" -}}
{{- end }}
