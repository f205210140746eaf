{{- /* Generated. To change it, change the code and run: BERTH_GENERATE=1 cargo test --test files generated */ -}}

{{- /* What values.yaml has. */ -}}
{{- define "berth-hub.defaults" -}}
mode: webhooks
size: medium
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
registrations:
  enabled: true
certificates:
  source: berth
  existing:
    secretName: ""
    caBundle: ""
autoApproval:
  users: []
clusterProfiles:
  enabled: false
  placementDecisions: false
featureGates: {}
ocmNames: false
networkPolicies:
  enabled: false
monitoring:
  enabled: false
  labels: {}
  runbookUrl: docs/operations.md
rbac:
  aggregate: true
bootstrap:
  enabled: false
gate:
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
controller:
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
placementApart: false
placement:
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
console:
  enabled: false
  publicUrl: https://localhost:8443
  readOnly: false
  tokens: true
  tlsSecretName: ""
  insecureHttp: false
  oidc:
    issuerUrl: ""
    clientId: ""
    clientSecretName: ""
    caConfigMap: ""
    extraScopes: []
  impersonation:
    enabled: false
    clientCaSecret: ""
    allowedNames: []
    usernameHeaders:
    - X-Remote-User
    groupHeaders:
    - X-Remote-Group
    groupSeparator: ""
    users: []
    groups: []
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
operator:
  enabled: false
  clusterManager:
    create: true
    name: cluster-manager
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
