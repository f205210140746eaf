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

{{- /* The path of the first of (list values defaults path) that is not its default; empty if all are. */ -}}
{{- define "berth.changed" -}}
{{- $values := index . 0 -}}
{{- $defaults := index . 1 -}}
{{- $path := index . 2 -}}
{{- if and (kindIs "map" $values) (kindIs "map" $defaults) $defaults -}}
{{- $changed := "" -}}
{{- range $name, $default := $defaults -}}
{{- if not $changed -}}
{{- $changed = include "berth.changed" (list (index $values $name) $default (printf "%s.%s" $path $name | trimPrefix ".")) -}}
{{- end -}}
{{- end -}}
{{- $changed -}}
{{- else if ne (toJson $values) (toJson $defaults) -}}
{{- $path -}}
{{- end -}}
{{- end -}}

{{- /* Whether the cluster knows the kind of (list $ kind), whose CRD the chart has, too. */ -}}
{{- define "berth.knows" -}}
{{- if (index . 0).Capabilities.APIVersions.Has (printf "operator.open-cluster-management.io/v1/%s" (index . 1)) }}true{{ end -}}
{{- end -}}

{{- /*
Whether the object of (list $ kind) can be created. Helm looks up each kind before it writes anything, and on a new cluster it does not find
that of a CRD in the same chart. Then a hook creates the object, and with the next upgrade it is one of the release. Not with Helm 3: it
writes only what differs from its former release, so that the spec of that upgrade would not reach an object of a hook.
*/ -}}
{{- define "berth.creates" -}}
{{- if or (include "berth.knows" .) (semverCompare ">=4.0.0-0" (index . 0).Capabilities.HelmVersion.Version) }}true{{ end -}}
{{- end -}}

{{- /* The annotations of that object. It stays when the release is uninstalled. */ -}}
{{- define "berth.created" -}}
{{- $top := index . 0 -}}
helm.sh/resource-policy: keep
{{- if not (include "berth.knows" .) }}
helm.sh/hook: post-install,post-upgrade
# Not Helm's own policy, which deletes an object that is there before it creates it.
helm.sh/hook-delete-policy: hook-failed
# By these, the next upgrade finds that the object is one of the release.
meta.helm.sh/release-name: {{ $top.Release.Name | quote }}
meta.helm.sh/release-namespace: {{ $top.Release.Namespace }}
{{- end }}
{{- end -}}
