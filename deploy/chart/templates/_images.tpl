{{/* An image, in the registry of the first argument if it names none itself. */}}
{{- define "kubedl.mirrored" -}}
{{- $registry := index . 0 -}}
{{- $image := index . 1 -}}
{{- if and $registry $image (not (include "kubedl.namesRegistry" $image)) }}{{ trimSuffix "/" $registry }}/{{ end }}{{ $image -}}
{{- end }}

{{/* Not empty if the first part of an image is a registry, as container runtimes decide it. */}}
{{- define "kubedl.namesRegistry" -}}
{{- regexFind "^(localhost|[^/]*[.:][^/]*)/" . -}}
{{- end }}

{{- define "kubedl.globalRegistry" -}}
{{- dig "imageRegistry" "" (.Values.global | default dict) -}}
{{- end }}

{{- define "kubedl.image" -}}
{{- $registry := include "kubedl.globalRegistry" . | default .Values.image.registry -}}
{{- with .Values.image -}}
{{- $repository := required "image.repository: no image is published. `make images` builds it and prints the skopeo command that copies it to a registry of yours; then set image.repository (and image.tag or image.digest) to its place there" .repository -}}
{{ include "kubedl.mirrored" (list $registry $repository) }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end }}

{{/* A list, empty if there are none. */}}
{{- define "kubedl.pullSecrets" -}}
{{- $secrets := .Values.imagePullSecrets -}}
{{- range dig "imagePullSecrets" list (.Values.global | default dict) -}}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) -}}
{{- end -}}
{{- uniq $secrets | toYaml -}}
{{- end }}
