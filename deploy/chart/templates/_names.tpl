{{- define "kubedl.chartName" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* The release name, if it contains the chart name. */}}
{{- define "kubedl.name" -}}
{{- $chart := include "kubedl.chartName" . -}}
{{- if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains $chart .Release.Name }}{{ .Release.Name }}
{{- else }}{{ .Release.Name }}-{{ $chart }}{{ end }}
{{- end }}

{{- define "kubedl.operator" -}}
{{ include "kubedl.name" . | trunc 54 | trimSuffix "-" }}-operator
{{- end }}

{{- define "kubedl.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "kubedl.operator" .) }}
{{- end }}

{{/* Selectors of Deployments are immutable: only the names of chart and release are here. */}}
{{- define "kubedl.selector" -}}
app.kubernetes.io/name: {{ include "kubedl.chartName" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end }}

{{/* Labels of an object: those of the chart, then those in the second argument, then commonLabels. */}}
{{- define "kubedl.labelled" -}}
{{- $root := index . 0 -}}
{{- $own := include "kubedl.selector" $root | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" $root.Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" $root.Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version) -}}
{{- merge $own (index . 1) $root.Values.commonLabels | toYaml -}}
{{- end }}

{{- define "kubedl.labels" -}}
{{ include "kubedl.labelled" (list . dict) }}
{{- end }}

{{/* The namespace of the Lease. Two operators of one watched namespace share it, wherever they run. */}}
{{- define "kubedl.leaseNamespace" -}}
{{ .Values.operator.leaseNamespace | default .Values.namespace | default .Release.Namespace }}
{{- end }}

{{/* The name of the Lease, one per watched namespace; must equal the name that the operator uses. */}}
{{- define "kubedl.lease" -}}
kubedl-operator{{ with .Values.namespace }}-{{ . }}{{ end }}
{{- end }}

{{/* A security context, without users where the cluster assigns them. */}}
{{- define "kubedl.security" -}}
{{- $context := index . 1 -}}
{{- if (index . 0).Values.operator.omitRunAsUser }}{{ $context = omit $context "runAsUser" "runAsGroup" }}{{ end -}}
{{- toYaml $context -}}
{{- end }}

{{- define "kubedl.recorder" -}}
{{ include "kubedl.name" . | trunc 44 | trimSuffix "-" }}-recorder
{{- end }}

{{- define "kubedl.recorderSelector" -}}
{{ include "kubedl.selector" . | replace "component: operator" "component: recorder" }}
{{- end }}

{{- define "kubedl.recorderLabels" -}}
{{ include "kubedl.labels" . | replace "component: operator" "component: recorder" }}
{{- end }}

{{- define "kubedl.console" -}}
{{ include "kubedl.name" . | trunc 44 | trimSuffix "-" }}-console
{{- end }}

{{- define "kubedl.consoleSelector" -}}
{{ include "kubedl.selector" . | replace "component: operator" "component: console" }}
{{- end }}

{{- define "kubedl.consoleLabels" -}}
{{ include "kubedl.labels" . | replace "component: operator" "component: console" }}
{{- end }}

{{/* Releases of one namespace each may have the same name, and a ClusterRole has no namespace. */}}
{{- define "kubedl.consoleClusterRole" -}}
{{ include "kubedl.console" . }}{{ if .Values.namespace }}-{{ .Release.Namespace }}{{ end }}
{{- end }}

{{/* The port of a URL. */}}
{{- define "kubedl.portOf" -}}
{{- $parts := urlParse . -}}
{{- $port := regexFind "[0-9]+$" (regexFind ":[0-9]+$" $parts.host) -}}
{{- $port | default (eq $parts.scheme "https" | ternary "443" "80") -}}
{{- end }}
