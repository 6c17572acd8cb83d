{{/*
Give every setting its value under our name, whichever name was used. Each template includes this first: templates are
rendered in an order of Helm's choice, and a second time changes nothing.

A value that equals the default of ours counts as not set, as Helm does not say which values are the user's.
*/}}
{{- define "kubedl.aliases" -}}
{{- range (.Files.Get "files/aliases.yaml" | fromYaml).aliases -}}
{{- $place := $.Values -}}
{{- range .within }}{{ $place = get $place . }}{{ end -}}
{{- if and (hasKey $place .alias) (not (kindIs "invalid" (get $place .alias))) -}}
{{- $given := get $place .alias -}}
{{- if not (has (get $place .name | toJson) (list (toJson $given) (toJson .default))) -}}
{{- $path := list -}}
{{- if .within }}{{ $path = .within }}{{ end -}}
{{- fail (printf "%s and %s are two names of one setting and have different values; set only one of them" (append $path .name | join ".") (append $path .alias | join ".")) -}}
{{- end -}}
{{- $_ := set $place .name $given -}}
{{- end -}}
{{- end -}}
{{- end }}
