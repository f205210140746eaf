{{- /* Generated. To change it, change tests/files/charts/shared.tpl and run: BERTH_GENERATE=1 cargo test --test files generated */ -}}

{{- /* The image. */ -}}
{{- define "berth.image" -}}
{{- with .Values.image -}}
{{- with .registry }}{{ . }}/{{ end }}{{ .repository }}:{{ .tag | default (printf "v%s" $.Chart.AppVersion) }}{{ with .digest }}@{{ . }}{{ end }}
{{- end -}}
{{- end -}}

{{- /* The recommended labels, of (list $ component). They are no part of selectors, which cannot change. */ -}}
{{- define "berth.labels" -}}
{{- $top := index . 0 -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ $top.Release.Name }}
app.kubernetes.io/version: {{ $top.Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ index . 1 }}
app.kubernetes.io/part-of: open-cluster-management
app.kubernetes.io/managed-by: {{ $top.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $top.Chart.Name $top.Chart.Version | replace "+" "_" }}
{{- with $top.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /* Where pods may run, of (list $ pods). */ -}}
{{- define "berth.scheduling" -}}
{{- $top := index . 0 -}}
{{- $pods := index . 1 -}}
{{- with $pods.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $pods.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $top.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* The replicas of (list pods preset). */ -}}
{{- define "berth.replicas" -}}
{{- $pods := index . 0 -}}
{{- if kindIs "invalid" $pods.replicas }}{{ (index . 1).replicas }}{{ else }}{{ int $pods.replicas }}{{ end }}
{{- end -}}

{{- /* The resources of (list pods preset): the preset's, and in their place those that are set. */ -}}
{{- define "berth.resources" -}}
{{- toYaml (mergeOverwrite (deepCopy (index . 1).resources) (index . 0).resources) }}
{{- end -}}

{{- /* The first of these pods' values that is set; empty if none is. */ -}}
{{- define "berth.isSet" -}}
{{- $set := list -}}
{{- range $name, $value := . -}}
{{- if eq $name "resources" -}}
{{- if or $value.requests $value.limits }}{{ $set = append $set $name }}{{ end -}}
{{- else if eq $name "replicas" -}}
{{- if not (kindIs "invalid" $value) }}{{ $set = append $set $name }}{{ end -}}
{{- else if $value -}}
{{- $set = append $set $name -}}
{{- end -}}
{{- end -}}
{{- with $set }}{{ first . }}{{ end -}}
{{- end -}}
