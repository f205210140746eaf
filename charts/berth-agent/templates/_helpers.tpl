{{- /* The namespace of the agent, and of its Secrets. */ -}}
{{- define "berth-agent.namespace" -}}
{{- $spec := .Values.operator.klusterlet.spec -}}
{{- if not .Values.operator.enabled -}}
{{- .Release.Namespace -}}
{{- else if hasSuffix "Hosted" (dig "deployOption" "mode" "" $spec) -}}
{{- .Values.operator.klusterlet.name -}}
{{- else -}}
{{- $spec.namespace | default "open-cluster-management-agent" -}}
{{- end -}}
{{- end -}}
