{{- /* The controller maintains the gate's certificate, so there is a gate, and no other issuer. */ -}}
{{- define "berth-hub.keepsCertificates" -}}
{{- if and (ne .Values.mode "policies") (eq .Values.certificates.source "berth") }}true{{ end }}
{{- end -}}

{{- /* In mode hub, one process is both, with the account of the gate. */ -}}
{{- define "berth-hub.controllerAccount" -}}
{{- if eq .Values.mode "hub" }}registration-webhook-sa{{ else }}berth-registration-controller-sa{{ end }}
{{- end -}}

{{- define "berth-hub.placementAccount" -}}
{{- if .Values.placementApart }}berth-placement-controller-sa{{ else }}{{ include "berth-hub.controllerAccount" . }}{{ end }}
{{- end -}}

{{- /* The arguments of the controller, which in mode hub are those of the one process. */ -}}
{{- define "berth-hub.controllerArgs" -}}
{{- if .Values.clusterProfiles.enabled }}
- --feature-gates=ClusterProfile=true
{{- end }}
{{- if and .Values.clusterProfiles.placementDecisions (not .Values.placementApart) }}
- --feature-gates=SIGPlacementDecision=true
{{- end }}
{{- with .Values.autoApproval.users }}
- --feature-gates=ManagedClusterAutoApproval=true
- {{ printf "--auto-approved-csr-users=%s" (join "," .) | quote }}
{{- end }}
{{- if .Values.placementApart }}
- --controllers=*,-placement
{{- end }}
{{- include "berth-hub.featureGates" (list . "controller") }}
{{- end -}}

{{- /* The feature gates of (list $ process), each for the processes that it has an effect on. A later flag adds to an earlier one. */ -}}
{{- define "berth-hub.featureGates" -}}
{{- $top := index . 0 -}}
{{- $process := index . 1 -}}
{{- $ofRules := list "DefaultClusterSet" "GuardedSelectors" "NilExecutorValidating" "UnguardedDenial" -}}
{{- $ofPlacement := list "PlacementPreferNoSelect" "PlacementScores" "PlacementSortBy" "PlacementSpreadPolicy" -}}
{{- $names := list "CleanUpCompletedManifestWork" "DefaultClusterSet" "ManagedClusterAutoRebootstrap" "ManifestWorkReplicaSet" "ResourceCleanup" -}}
{{- if eq $process "gate" }}{{ $names = $ofRules }}{{ end -}}
{{- if eq $process "placement" }}{{ $names = $ofPlacement }}{{ end -}}
{{- if and (eq $process "controller") (eq $top.Values.mode "hub") }}{{ $names = concat $names $ofRules }}{{ end -}}
{{- if and (eq $process "controller") (not $top.Values.placementApart) }}{{ $names = concat $names $ofPlacement }}{{ end -}}
{{- range $name, $on := $top.Values.featureGates }}
{{- if has $name $names }}
- --feature-gates={{ $name }}={{ $on }}
{{- end }}
{{- end }}
{{- end -}}

{{- /*
Replicas and resources by size. medium is what the manifests have. Measured (docs/performance.md): the gate holds 16 MiB in use and
29 MiB after hostile bodies; the controller 23 to 28 MiB for 1,000 clusters and 71 MiB for 10,000; placement 62 MiB for 10,000 clusters
with 1,000 Placements; the console 30 MiB for each user with an open page and 10,000 clusters. The limits leave room for more objects of each
cluster. There is no CPU limit: throttling would delay every write that the gate guards.
*/ -}}
{{- define "berth-hub.sizes" -}}
small:
  gate: {replicas: 2, resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 512Mi}}}
  controller: {replicas: 2, resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi}}}
  placement: {replicas: 2, resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi}}}
  hub: {replicas: 2, resources: {requests: {cpu: 10m, memory: 48Mi}, limits: {memory: 512Mi}}}
  console: {replicas: 1, resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 256Mi}}}
medium:
  gate: {replicas: 3, resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 512Mi}}}
  controller: {replicas: 2, resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 512Mi}}}
  placement: {replicas: 2, resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 512Mi}}}
  hub: {replicas: 3, resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 512Mi}}}
  console: {replicas: 1, resources: {requests: {cpu: 20m, memory: 64Mi}, limits: {memory: 512Mi}}}
large:
  gate: {replicas: 3, resources: {requests: {cpu: 200m, memory: 64Mi}, limits: {memory: 512Mi}}}
  controller: {replicas: 2, resources: {requests: {cpu: 200m, memory: 192Mi}, limits: {memory: 1Gi}}}
  placement: {replicas: 2, resources: {requests: {cpu: 100m, memory: 96Mi}, limits: {memory: 1Gi}}}
  hub: {replicas: 3, resources: {requests: {cpu: 300m, memory: 256Mi}, limits: {memory: 1Gi}}}
  console: {replicas: 1, resources: {requests: {cpu: 50m, memory: 128Mi}, limits: {memory: 2Gi}}}
{{- end -}}

{{- /* What the values of (list $ "controller") are without any that is set. */ -}}
{{- define "berth-hub.preset" -}}
{{- $top := index . 0 -}}
{{- index (include "berth-hub.sizes" $top | fromYaml) $top.Values.size (index . 1) | toYaml }}
{{- end -}}

{{- /* The port of the console's address on the user's machine. */ -}}
{{- define "berth-hub.consolePort" -}}
{{- $port := regexFind ":[0-9]+/?$" .publicUrl | trimPrefix ":" | trimSuffix "/" -}}
{{- if $port }}{{ $port }}{{ else if hasPrefix "https" .publicUrl }}443{{ else }}80{{ end }}
{{- end -}}
