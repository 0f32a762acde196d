{{- /* The text of the configuration. */ -}}
{{- define "primacy.configuration" -}}
{{- .Values.configuration | default (.Files.Get "files/primacy.yaml" | replace "release-namespace" .Release.Namespace) -}}
{{- end -}}

{{- /* The port and scheme of the members' endpoints, as JSON, from the configuration. */ -}}
{{- define "primacy.http" -}}
{{- $c := fromYaml (include "primacy.configuration" .) -}}
{{- if $c.Error }}{{ fail (printf "configuration: %s" $c.Error) }}{{ end -}}
{{- $http := $c.http | default dict -}}
{{- $address := $http.address | default "" -}}
{{- $port := regexFind "[0-9]+$" $address | int -}}
{{- if or (not $port) (hasPrefix "127." $address) (hasPrefix "[::1]" $address) -}}
{{- fail "configuration: kubelets cannot reach the probes (write http: {address: \":8080\"} into the configuration, or another port)" -}}
{{- end -}}
{{- dict "port" $port "scheme" (ternary "HTTPS" "HTTP" (not (empty $http.tls))) | toJson -}}
{{- end -}}

{{- /* A generated text: the one for the demonstration, the one given, or nothing. Arguments: root, key, what `primacy generate` is told to print. */ -}}
{{- define "primacy.generated" -}}
{{- $root := index . 0 -}}{{- $key := index . 1 -}}
{{- $text := get $root.Values $key -}}
{{- if and $text (ne $text "none") -}}
{{- $text -}}
{{- else if ne $text "none" -}}
{{- if $root.Values.configuration -}}
{{- fail (printf "%s: a configuration of your own needs %s of its own (primacy generate %s -f primacy.yaml > %s.yaml, then --set-file %s=%s.yaml; or --set %s=none)" $key $key (index . 2) $key $key $key $key) -}}
{{- end -}}
{{- $root.Files.Get (printf "files/%s.yaml" $key) | replace "release-namespace" $root.Release.Namespace -}}
{{- end -}}
{{- end -}}
