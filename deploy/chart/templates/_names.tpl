{{/* The release's own name where it says what it is. */}}
{{- define "kubedl.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{- define "kubedl.operator" -}}
{{ include "kubedl.name" . | trunc 54 | trimSuffix "-" }}-operator
{{- end }}

{{- define "kubedl.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "kubedl.labels" -}}
{{ include "kubedl.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "kubedl.image" -}}
{{- with .Values.image -}}
{{ required "image.repository: no image is published. `make images` builds it and prints the skopeo command that copies it to a registry of yours; then set image.repository (and image.tag or image.digest) to where it lies" .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* Where the Lease is: beside whom it keeps apart. Two operators for one namespace share it, wherever they run. */}}
{{- define "kubedl.leaseNamespace" -}}
{{ .Values.operator.leaseNamespace | default .Values.namespace | default .Release.Namespace }}
{{- end }}

{{/* One for each namespace that has an operator of its own, wherever the Lease is. As the operator itself names it. */}}
{{- define "kubedl.lease" -}}
kubedl-operator{{ with .Values.namespace }}-{{ . }}{{ end }}
{{- end }}

{{- define "kubedl.containerSecurity" -}}
runAsNonRoot: true
{{- if not .Values.operator.omitRunAsUser }}
runAsUser: 65532
runAsGroup: 65532
{{- end }}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end }}
