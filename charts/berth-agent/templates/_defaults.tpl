{{- /* Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated */ -}}

{{- /* What values.yaml has. */ -}}
{{- define "berth-agent.defaults" -}}
clusterName: ""
bootstrap:
  secrets:
  - bootstrap-hub-kubeconfig
  kubeconfig: ""
image:
  registry: ""
  repository: berth
  tag: ""
  digest: ""
  pullPolicy: IfNotPresent
imagePullSecrets: []
commonLabels: {}
crds:
  enabled: true
  keep: true
work:
  enabled: true
  admin: true
  impersonation: false
featureGates: {}
monitoring:
  enabled: false
  labels: {}
  runbookUrl: docs/operations.md
agent:
  replicas: null
  resources:
    requests: {}
    limits: {}
  extraArgs: []
  extraEnv: []
  podLabels: {}
  podAnnotations: {}
  nodeSelector: {}
  tolerations: []
  affinity: {}
  priorityClassName: ""
operator:
  enabled: false
  klusterlet:
    create: true
    name: klusterlet
    spec: {}
  pods:
    replicas: null
    resources:
      requests: {}
      limits: {}
    extraArgs: []
    extraEnv: []
    podLabels: {}
    podAnnotations: {}
    nodeSelector: {}
    tolerations: []
    affinity: {}
    priorityClassName: ""
{{- end -}}
