// Generated. To change it, change console/src/answers and run: BERTH_GENERATE=1 cargo test --test files generated

/** An action on a cluster or a rollout. Its name is the last segment of `POST /api/clusters/{name}/{act}`, and of `POST /api/replicasets/{namespace}/{name}/{act}`. */
export type Act = "accept" | "deny" | "denyNow" | "cordon" | "uncordon" | "pause" | "resume" | "approve";

/** What an action did, or would do. */
export interface ActionAnswer {
  /** The same as a command. */
  command: string;
  /** Sentences: what was written, and what needed no change. */
  done: string[];
  /** Nothing was stored. */
  dryRun: boolean;
  /** Of a dry run of `approve`: the step that waits. */
  shown?: string;
  /** What the user should know. */
  warnings: string[];
}

/** The body of an action. */
export interface ActionRequest {
  /** The hub decides about the writes, and stores nothing. */
  dryRun: boolean;
  /** For `approve`: what its dry run has shown. Another step is not approved. */
  shown?: string;
}

/** A namespace that a set is bound to. */
export interface BoundTo {
  /** The namespace. */
  namespace: string;
  /** Why the binding has no effect. */
  why?: string;
}

/** A resource of a cluster. */
export interface Capacity {
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  allocatable: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  capacity: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  resource: string;
}

/** A cluster that the decisions gain or lose. */
export interface ChangedCluster {
  /** The cluster. */
  name: string;
  /** Why. */
  reason: string;
}

/** A check. */
export interface CheckAnswer {
  /** Such as `webhook-service`. */
  id: string;
  /** The result. */
  result: CheckResult;
  /** The sentence that is true if the check passes. */
  title: string;
}

/** The result of a check, or the severity of a finding. */
export type CheckResult = "passed" | "fault" | "warning" | "unknown" | "skipped";

/** A claim or a label. */
export interface ClaimOrLabel {
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  name: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  value: string;
}

/** `GET /api/clusters/{name}`, and the event `answer` of `screen=cluster`. */
export interface ClusterAnswer {
  /** What the user may do. */
  actions: Offer[];
  /** status.capacity and status.allocatable */
  capacity: Capacity[];
  /** status.clusterClaims */
  claims: ClaimOrLabel[];
  /** status.conditions */
  conditions: ConditionAnswer[];
  /** `berth cordon` or `berth drain` keeps placements away. */
  cordoned: boolean;
  /** When it was created. */
  created?: string;
  /** How far the registration is. */
  handshake: Handshake;
  /** metadata.labels */
  labels: ClaimOrLabel[];
  /** The Lease of its agent. Left out if it does not exist or cannot be read: then `notes` says so. */
  lease?: LeaseAnswer;
  /** The number of further ones. */
  morePlacements: number;
  /** metadata.name */
  name: string;
  /** What cannot be shown, and why: an object that the user may not read, a field that cannot be read. */
  notes: string[];
  /** The placements whose decisions list it. Left out if decisions cannot be seen: then `notes` says so. */
  placements?: PlacedBy[];
  /** The ManagedClusterSets that it belongs to. */
  sets: SetAnswer[];
  /** The state. */
  state: State;
  /** spec.taints */
  taints: TaintAnswer[];
  /** URLs of its API server. */
  urls: string[];
  /** The version of Kubernetes. */
  version: string;
  /** The states of its ManifestWorks, the worst first. Left out until they are listed, and if the user may not list them. */
  works?: WorkCount[];
}

/** An Event about the cluster. */
export interface ClusterEvent {
  /** When it happened last. */
  at?: string;
  /** The controller that reports it. */
  by: string;
  /** How often it happened. */
  count: number;
  /** As a sentence. */
  note: string;
  /** In one word. */
  reason: string;
  /** It is of type Warning. */
  warning: boolean;
}

/** A row of the table. Its key is the name. */
export interface ClusterRow {
  /** `berth cordon` or `berth drain` keeps placements away. */
  cordoned: boolean;
  /** Capacity, as the agent reports it. */
  cpu: string;
  /** When it was created. */
  created?: string;
  /** Capacity, as the agent reports it. */
  memory: string;
  /** metadata.name */
  name: string;
  /** The ManagedClusterSet of its label; empty without one. */
  set: string;
  /** Since when, from the condition that says so. */
  since?: string;
  /** The state. */
  state: State;
  /** Number of taints. */
  taints: number;
  /** The version of Kubernetes. */
  version: string;
  /** Why it is in this state: the message of the condition. Empty for clusters that are available. */
  why: string;
}

/** A Deployment of the hub. */
export interface ComponentAnswer {
  /** Available replicas. */
  available: number;
  /** The image of its first container. */
  image: string;
  /** metadata.name */
  name: string;
  /** Wanted replicas. */
  replicas: number;
  /** The tag of its image. Left out if the image has none. */
  version?: string;
}

/** A condition. */
export interface ConditionAnswer {
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  message: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  reason: string;
  since?: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  status: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  type: string;
}

/** A state of the connection to the hub. */
export type Connection = "loading" | "connected" | "away" | "refused";

/** The number of clusters in each state, of those that the query matches. */
export interface Counts {
  accepted: number;
  available: number;
  deleting: number;
  denied: number;
  joined: number;
  pending: number;
  unavailable: number;
  unknown: number;
}

/** A CSR with the label of a cluster. */
export interface CsrAnswer {
  /** The cluster of its label. */
  cluster: string;
  /** When it was created. */
  created?: string;
  /** `SHA256:HEX` of its key. Left out if the CSR is malformed. */
  fingerprint?: string;
  /** The groups of that user. */
  groups: string[];
  /** metadata.name */
  name: string;
  /** The common name that it requests, if the CSR is valid for the cluster. */
  requester?: string;
  /** The user that sent it, from the API server. */
  sender: string;
  /** What `berth accept` makes of it. */
  standing: CsrStanding;
  /** Why it stays pending. */
  why?: string;
}

/** What `berth accept` makes of a CSR. */
export type CsrStanding = "approve" | "approved" | "denied" | "renewal" | "left";

/** The event `delta`: what has changed since the last `window` or `delta`. */
export interface Delta {
  /** As in [`Window`]. */
  counts: Counts;
  /** As in [`Window`]. */
  from: number;
  /** As in [`Window`]. */
  matched: number;
  /** The names of the rows of the window now, in order. */
  order: string[];
  /** The rows of these that are new or have changed. */
  rows: ClusterRow[];
  /** As in [`Window`]. */
  total: number;
}

/** The same difference on several clusters. */
export interface DifferenceGroup {
  /** The number of clusters. */
  clusters: number;
  /** The number of objects. */
  count: number;
  /** Who wrote the field. */
  managers: string[];
  /** Some of the objects. */
  places: DifferencePlace[];
  /** The state of the objects. */
  state: WorkCondition;
  /** The kind of the objects, and the field that differs; or what else is wrong with the object. */
  what: string;
}

/** An object that differs. */
export interface DifferencePlace {
  /** The cluster. */
  cluster: string;
  /** What was found, or why. */
  found: string;
  /** The object; left out for the whole ManifestWork. */
  object?: string;
  /** The ManifestWork. */
  work: string;
}

/** The body of every response that is not a success. */
export interface ErrorAnswer {
  /** What went wrong. */
  error: Failure;
}

/** `GET /api/clusters/{name}/events` */
export interface EventsAnswer {
  /** The newest first. */
  events: ClusterEvent[];
  /** Older Events were left out. */
  more: boolean;
  /** What cannot be shown, and why. */
  notes: string[];
}

/** A value to filter by. */
export interface Facet {
  /** Number of entries with it. */
  count: number;
  /** The value. */
  name: string;
}

/** What went wrong, and what to do. */
export interface Failure {
  /** For `BadQuery`: where in the query the error is, in UTF-16 code units from its start. */
  at?: number;
  /** The HTTP status code. */
  code: number;
  /** One or more sentences. Those of the hub or its gate are repeated word for word. */
  message: string;
  /** For a refusal: the permission that the user lacks, as `berth can-i` prints it. */
  missing?: Missing;
  /** One word for programs, such as `Forbidden`, `NotSignedIn`, `BadQuery` or `HubAway`. */
  reason: string;
  /** What the user can do. */
  remedy?: string;
}

/** A value of a feedback rule. */
export interface FeedbackAnswer {
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  name: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  value: string;
}

/** A field of an object that differs from the manifest. */
export interface FieldAnswer {
  /** The value on the cluster. Left out if the object does not have the field. */
  found?: string;
  /** The field manager that wrote it, if known. */
  manager?: string;
  /** The path. */
  path: string;
  /** The value in the manifest. Left out if the manifest does not have the field. */
  prescribed?: string;
}

/** A finding. */
export interface FindingAnswer {
  /** The check. */
  check: string;
  /** What is wrong. */
  message: string;
  /** Such as `service/a in b`. */
  object?: string;
  /** What to do, in parts. */
  remedy: RemedyAnswer[];
  /** Its severity. */
  severity: CheckResult;
}

/** The event `answer` of `screen=fleet`. */
export interface FleetAnswer {
  /** The number of cordoned clusters. */
  cordoned: number;
  /** The clusters in each state. */
  counts: Counts;
  /** The number of further ones. */
  more: number;
  /** The number of further sets. */
  moreSets: number;
  /** What needs a person, the worst first. */
  needs: Need[];
  /** What cannot be seen, and why. */
  notes: string[];
  /** How many clusters are in each region, by the claim `region.open-cluster-management.io`. */
  regions: Share[];
  /** The clusters of each set; those without a set last, with an empty name. */
  sets: FleetSet[];
  /** The number of clusters. */
  total: number;
  /** How many clusters run each minor version of Kubernetes, the newest first. */
  versions: Share[];
}

/** The clusters of a set. */
export interface FleetSet {
  /** The clusters in each state. */
  counts: Counts;
  /** The set; empty for clusters without one. */
  name: string;
  /** The number of clusters. */
  total: number;
}

/** A step of the selection. */
export interface FunnelStep {
  /** The number of clusters that are left. */
  clusters: number;
  /** What the clusters of this step have, such as "in its sets". */
  title: string;
  /** Why the others are not, such as "3 have a taint that it does not tolerate". */
  without?: string;
}

/** A group of selected clusters. */
export interface GroupCount {
  clusters: number;
  index: number;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  name: string;
}

/** The registration as steps. Each side has those that it carries out. */
export interface Handshake {
  /** Steps of the agent and the cluster's admins, in order. */
  agent: Step[];
  /** Steps of the hub and its admins, in order. */
  hub: Step[];
  /** What to do next. Left out if nothing is to be done. */
  next?: Remedy;
  /** One sentence: what is awaited, or that the cluster is managed. */
  summary: string;
}

/** The event `answer` of `screen=health`. */
export interface HealthAnswer {
  /** All checks, in the order of `berth doctor`. */
  checks: CheckAnswer[];
  /** The Deployments of the hub. */
  components: ComponentAnswer[];
  /** False: no write was sent, also not as a dry run, since the console was started with `--read-only`. */
  dryRuns: boolean;
  /** Why the checks could not run again. What is shown is older. */
  failed?: string;
  /** The findings, the worst first. */
  findings: FindingAnswer[];
  /** The checks run again when a Deployment or a registration of the hub changes; else only when asked to. */
  followed: boolean;
  /** The version of Kubernetes. Left out if the user may not read it. */
  kubernetes?: string;
  /** The leaders of the controllers. */
  leaders: LeaderAnswer[];
  /** When the checks ended. */
  looked: string;
  /** How long they took. */
  milliseconds: number;
  /** Number of further findings that are not shown. */
  more: number;
  /** What cannot be shown, and why. */
  notes: string[];
  /** The checks run again right now. */
  running: boolean;
  /** The numbers of findings, as a sentence. */
  summary: string;
  /** The version of this console. */
  version: string;
}

/** Whether what a screen shows is fresh. */
export interface HubAnswer {
  /** Why, if it is not connected. */
  message?: string;
  /** For `refused`: the permission that the user lacks. */
  missing?: Missing;
  /** What the user can do. */
  remedy?: string;
  /** Since when. */
  since: string;
  /** The state. */
  state: Connection;
}

/** `POST /api/clusters/{name}/label`: changes labels of the cluster. */
export interface LabelRequest {
  /** The hub decides about the write, and stores nothing. */
  dryRun: boolean;
  /** Words such as `KEY=VALUE`, which sets a label, and `KEY-`, which removes it. */
  labels: string[];
}

/** The leader of a controller. */
export interface LeaderAnswer {
  /** Such as `placement`. */
  controller: string;
  /** Its holder; empty if it is free. */
  holder: string;
  /** It was not renewed for too long. */
  late: boolean;
  /** The Lease. */
  lease: string;
  /** spec.renewTime */
  renewed?: string;
  /** How often the leader has changed. */
  transitions: number;
}

/** The Lease of an agent. */
export interface LeaseAnswer {
  /** The hub gives up after this many seconds without a renewal. */
  graceSeconds: number;
  /** It was not renewed within that. */
  late: boolean;
  /** spec.renewTime */
  renewed?: string;
  /** The agent is to renew it this often. */
  seconds: number;
}

/** A permission that the user lacks. */
export interface Missing {
  /** The command by which an admin grants it. */
  command: string;
  /** Such as `verb "update" on managedclusters/accept in API group ..., name "c1"`. */
  permission: string;
  /** A ClusterRole of an installation that contains it. */
  role?: string;
}

/** `POST /api/clusters/{name}/set`: moves the cluster into the set. */
export interface MoveRequest {
  /** The hub decides about the write, and stores nothing. */
  dryRun: boolean;
  /** The set. */
  set: string;
}

/** Something that needs a person. */
export interface Need {
  /** The page that says more: a path of this console. */
  link: string;
  /** How bad it is. */
  severity: NeedSeverity;
  /** Since when. */
  since?: string;
  /** A sentence. */
  text: string;
}

/** How bad it is. */
export type NeedSeverity = "broken" | "waits";

/** How an object is not as prescribed. */
export interface ObjectState {
  state: WorkCondition;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  why: string;
}

/** An action that a screen offers. */
export interface Offer {
  /** The action. */
  act: Act;
  /** The user may take it, as far as permissions go. */
  allowed: boolean;
  /** The same as a command. */
  command: string;
  /** The permission that is missing. */
  missing?: Missing;
  /** Why it cannot be taken: a state of the object, `--read-only`, or a permission that is missing. */
  why?: string;
}

/** A cluster that waits for a decision. */
export interface PendingCluster {
  /** It is accepted already: only its CSRs wait. */
  accepted: boolean;
  /** What the user may do. */
  actions: Offer[];
  /** When it was created. */
  created?: string;
  /** Its CSRs, the newest first. */
  csrs: CsrAnswer[];
  /** An admin has denied it before. */
  denied: boolean;
  /** metadata.name */
  name: string;
  /** URLs of its API server, as its agent names them. */
  urls: string[];
  /** What an admin should look at before the acceptance. */
  warnings: string[];
}

/** A placement whose decisions list the cluster. */
export interface PlacedBy {
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  name: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  namespace: string;
}

/** What becomes of a cluster. */
export interface PlacedCluster {
  /** The PlacementDecision that lists it now. */
  decision?: string;
  /** The cluster. */
  name: string;
  /** Its place, from 1. */
  rank?: number;
  /** Why. */
  reason: string;
  /** The result in words. */
  result: string;
  /** The sum of the weighted scores. */
  score?: number;
  /** It is selected, or kept. */
  selected: boolean;
}

/** The event `answer` of `screen=placement`. */
export interface PlacementAnswer {
  /** When this was decided. */
  at: string;
  /** The clusters that match, the selected ones first. */
  clusters: PlacedCluster[];
  /** How what is stored differs from that, in sentences. */
  differs: string[];
  /** The number of clusters that match. */
  matched: number;
  /** The user may replace it. */
  mayReplace: boolean;
  /** What the user lacks for that. */
  missing?: Missing;
  /** metadata.name */
  name: string;
  /** metadata.namespace */
  namespace: string;
  /** Each result, and its number of clusters. */
  results: ResultCount[];
  /** The placement as it is now would select this. */
  selection: Selection;
  /** Its YAML, to be changed. */
  yaml: string;
}

/** `POST /api/placements/{namespace}/{name}/what-if` and `/replace`. */
export interface PlacementRequest {
  /** Only ask the hub what would happen. What-if never changes anything. */
  dryRun?: boolean;
  /** The whole Placement. */
  yaml: string;
}

/** A placement of the list. */
export interface PlacementRow {
  /** metadata.name */
  name: string;
  /** metadata.namespace */
  namespace: string;
  /** The number of selected clusters, as the controller wrote it. */
  selected: number;
  /** `spec.clusterSets`; empty if all that are bound to the namespace count. */
  sets: string[];
  /** Since when. */
  since?: string;
  /** The state. */
  state: PlacementState;
  /** `spec.numberOfClusters`; left out if all are wanted. */
  wanted?: number;
  /** Why it is in this state. Empty for placements that are satisfied. */
  why: string;
}

/** A placement of a replica set, with its clusters by stage. */
export interface PlacementStage {
  /** The clusters by stage, the worst first. */
  folds: StageFold[];
  /** How far it is. */
  stage: StageAnswer;
}

/** The state of a placement, the worst first. */
export type PlacementState = "misconfigured" | "unsatisfied" | "new" | "satisfied";

/** The event `answer` of `screen=placements`. */
export interface PlacementsAnswer {
  /** The number of those that match. */
  matched: number;
  /** Those that match, by namespace and name; those that need a look first. */
  rows: PlacementRow[];
  /** The number of all. */
  total: number;
}

/** What to do, and at which side. */
export interface Remedy {
  /** The command. Left out if there is nothing but to wait. */
  command?: string;
  /** Where the command runs. */
  side: Side;
  /** One sentence. */
  text: string;
}

/** A part of a remedy. */
export interface RemedyAnswer {
  /** It is a command. */
  command: boolean;
  /** Words, or a command. */
  text: string;
}

/** The event `answer` of `screen=replicaset`. */
export interface ReplicaSetAnswer {
  /** What the user may do. */
  actions: Offer[];
  /** status.conditions */
  conditions: ConditionAnswer[];
  /** When it was created. */
  created?: string;
  /** metadata.name */
  name: string;
  /** metadata.namespace */
  namespace: string;
  /** Its steps need approvals. */
  needsApproval: boolean;
  /** What cannot be shown, and why. */
  notes: string[];
  /** How far each placement is, with its clusters. */
  placements: PlacementStage[];
  /** Since when. */
  since?: string;
  /** The state. */
  state: RolloutCondition;
  /** Which clusters wait for an approval, if a step does. */
  waits?: string;
  /** Why. Empty if the rollouts are complete. */
  why: string;
}

/** How many ManifestWorks of a placement are in which state, by the status of the replica set. */
export interface ReportedWorks {
  available: number;
  degraded: number;
  progressing: number;
  total: number;
  updated: number;
}

/** `GET /api/requests`, and the event `answer` of `screen=requests`. */
export interface RequestsAnswer {
  /** Clusters that wait for a decision, and accepted clusters with a CSR that waits for one. The newest first. */
  clusters: PendingCluster[];
  /** Number of further clusters that are not shown. */
  more: number;
  /** What cannot be shown, and why. */
  notes: string[];
  /** CSRs whose cluster does not exist. */
  strays: CsrAnswer[];
}

/** A result, and its number of clusters. */
export interface ResultCount {
  /** The number of clusters. */
  clusters: number;
  /** The name, for the key `result` of the stream. */
  result: string;
  /** In words. */
  words: string;
}

/** Something that the user may do, or not. */
export interface RightAnswer {
  /** The user may do it. Left out if the hub did not answer: then `why` says so. */
  allowed?: boolean;
  /** What the user lacks. */
  missing?: Missing;
  /** What it is, such as `Accept and deny every cluster`. */
  what: string;
  /** Why it is not known. */
  why?: string;
}

/** `GET /api/rights?namespace=NAMESPACE`: what the user may do, by SelfSubjectAccessReviews. */
export interface RightsAnswer {
  /** On the whole fleet. */
  fleet: RightAnswer[];
  /** In the namespace of the request, or in all of them. */
  within: RightAnswer[];
}

/** The state of the rollouts of a ManifestWorkReplicaSet, the worst first. */
export type RolloutCondition = "unusable" | "stopped" | "failing" | "paused" | "approvalPending" | "progressing" | "new" | "deleting" | "complete";

/** A ManifestWorkReplicaSet of the list. */
export interface RolloutRow {
  /** metadata.name */
  name: string;
  /** metadata.namespace */
  namespace: string;
  /** How far each placement is. */
  placements: StageAnswer[];
  /** Since when. */
  since?: string;
  /** The state. */
  state: RolloutCondition;
  /** Why. Empty if the rollouts are complete. */
  why: string;
}

/** What a placement selects: how many clusters each step leaves. */
export interface Selection {
  /** The conditions, as they are computed. */
  conditions: ConditionAnswer[];
  /** What keeps it from being evaluated, and what the gate refuses. */
  faults: string[];
  /** The groups of the selected clusters, if it makes several. */
  groups: GroupCount[];
  /** A command that helps if it can select from no set. */
  hint?: string;
  /** When the result can change by time alone. */
  next?: string;
  /** What is missing because of the user's rights. */
  notes: string[];
  /** What is to be said about the sets: bound and not named, named and not bound, bound and missing. */
  setNotes: string[];
  /** The sets that it selects from. */
  sets: string[];
  /** The steps, each with the number of clusters that it leaves. */
  steps: FunnelStep[];
  /** What does not keep it from being evaluated. */
  warnings: string[];
}

/** `GET /api/session`: the user, as the hub knows the user. */
export interface SessionAnswer {
  /** The context of the kubeconfig, if a flag names it. */
  context?: string;
  /** The user's groups. */
  groups: string[];
  /** The console refuses every write. */
  readOnly: boolean;
  /** The URL of the hub's API server. */
  server: string;
  /** When the user's token ends, if it says so. */
  until?: string;
  /** The user's name at the hub. Left out if the hub does not tell it. */
  user?: string;
  /** The version of Berth. */
  version: string;
  /** How the user has signed in. */
  way: Way;
}

/** A ManagedClusterSet that the cluster belongs to. */
export interface SetAnswer {
  /** The namespaces that it is bound to. */
  bound: string[];
  /** The cluster's label names the set; else the set's selector matches the labels. */
  byLabel: boolean;
  /** metadata.name */
  name: string;
}

/** The name of a ManifestWorkReplicaSet. */
export interface SetName {
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  name: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  namespace: string;
}

/** A set. */
export interface SetRow {
  /** The namespaces that it is bound to. */
  bound: BoundTo[];
  /** Clusters can be moved into it: it selects them by the label that names a set. */
  byName: boolean;
  /** The number of those. */
  clusters: number;
  /** The clusters in each state, if it selects them by name. */
  counts: Counts;
  /** It is being deleted. */
  deleting: boolean;
  /** The number of further ones. */
  moreBound: number;
  /** metadata.name */
  name: string;
  /** What its controller says about its clusters. */
  reported: string;
  /** How it selects its clusters, in words that follow its name. */
  selects: string;
}

/** The event `answer` of `screen=sets`, and `GET /api/sets`. */
export interface SetsAnswer {
  /** The number of clusters whose label names no set. */
  inNoSet: number;
  /** The number of further ones. */
  more: number;
  /** What cannot be seen, and why. */
  notes: string[];
  /** The console refuses every write. */
  readOnly: boolean;
  /** The sets, by name. */
  sets: SetRow[];
}

/** A part of the fleet. */
export interface Share {
  /** The number of clusters. */
  clusters: number;
  /** What they share, such as a version. */
  name: string;
  /** A query of the screen Clusters that finds them. */
  query: string;
}

/** One of the two sides. */
export type Side = "hub" | "agent";

/** `GET /api/sign-in`: how users sign in. */
export interface SignInAnswer {
  /** The OpenID provider. */
  issuer?: string;
  /** The ways, the best first. */
  ways: Way[];
}

/** `POST /api/session`: trades a code or a token for a cookie. One of them is given. */
export interface SignInRequest {
  /** The code of the address that the terminal prints. */
  code?: string;
  /** A token of the hub. */
  token?: string;
}

/** What became of the template in a cluster. */
export type Stage = "failed" | "timedOut" | "working" | "soaking" | "waiting" | "leaving" | "done";

/** How far the rollout of a placement is. */
export interface StageAnswer {
  /** The number of clusters in each stage, in the order of [`Stage`]. */
  counts: StageCount[];
  /** When the next cluster has run for its minimum success time, or misses its deadline. */
  next?: string;
  /** The name of the Placement. */
  placement: string;
  /** What its controller counted, if the user may not list the ManifestWorks. */
  reported?: ReportedWorks;
  /** It has stopped, since too many clusters have failed. */
  stopped: boolean;
  /** The strategy in words, such as `at most 25% of the clusters at a time`. */
  strategy: string[];
}

/** A cluster of a rollout. */
export interface StageCluster {
  /** The name. */
  cluster: string;
  /** Since when it is in the stage. */
  since?: string;
  /** When its minimum success time is over, or its deadline. */
  until?: string;
  /** Why its ManifestWork is not as prescribed. */
  why: string;
  /** Its ManifestWork; left out if it has none. */
  work?: string;
}

/** The number of clusters in a stage. */
export interface StageCount {
  count: number;
  stage: Stage;
}

/** The clusters in a stage. */
export interface StageFold {
  /** The first ones, by name. */
  clusters: StageCluster[];
  /** The number of clusters. */
  count: number;
  /** The stage. */
  stage: Stage;
}

/** The state of a cluster. The first that applies, in the order of the handshake's end. */
export type State = "pending" | "denied" | "accepted" | "joined" | "available" | "unavailable" | "unknown" | "deleting";

/** A step of the registration. */
export interface Step {
  /** When it was done. */
  at?: string;
  /** By whom, as far as objects tell. */
  by?: string;
  /** Which step. */
  kind: StepKind;
  /** Its state. */
  state: StepState;
  /** What was found, or what the step waits for. */
  text: string;
  /** Its title. */
  title: string;
}

/** The steps, in the order in which they are due. */
export type StepKind = "created" | "requested" | "accepted" | "approved" | "signed" | "prepared" | "joined" | "lease" | "reports";

/** The state of a step. */
export type StepState = "done" | "waits" | "failed" | "later" | "unseen";

/** A taint. */
export interface TaintAnswer {
  added?: string;
  /** The hub set it, and removes it. */
  byHub: boolean;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  effect: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  key: string;
  /** Text that others wrote. Control characters and characters that reorder text are escaped, as the commands escape them. */
  value: string;
}

/** The event `answer` of `screen=timeline`. */
export interface TimelineAnswer {
  /** Older ones are not kept. */
  cut: boolean;
  /** Those that match, the newest first. */
  entries: TimelineEntry[];
  /** The kinds of all entries. */
  kinds: Facet[];
  /** Number of those that match. */
  matched: number;
  /** What cannot be shown, and why. */
  notes: string[];
  /** The reasons of all entries. */
  reasons: Facet[];
  /** The sets of all entries. */
  sets: Facet[];
  /** Number of all that are kept. */
  total: number;
}

/** Something that happened. */
export interface TimelineEntry {
  /** When it happened last. */
  at: string;
  /** The controller that reports it, or the field manager that wrote it; empty if the object does not say. */
  by: string;
  /** The cluster that it is about; empty if it is about none. */
  cluster: string;
  /** How often it happened. */
  count: number;
  /** When it happened first, if it happened more than once. */
  first?: string;
  /** Distinguishes it from all others. */
  id: string;
  /** The kind of its object. */
  kind: string;
  /** The name of its object. */
  name: string;
  /** The namespace of its object; empty for cluster-scoped kinds. */
  namespace: string;
  /** As a sentence. */
  note: string;
  /** The reason of an Event, the type of a condition, or `Written`. */
  reason: string;
  /** The ManagedClusterSet that it is about, or that its cluster belongs to; empty without one. */
  set: string;
  /** What it is. */
  source: TimelineSource;
  /** It is a warning, or a condition for the worse. */
  warning: boolean;
}

/** Where an entry is from. */
export type TimelineSource = "event" | "condition" | "write";

/** A way to sign in. */
export type Way = "code" | "token" | "oidc" | "proxy";

/** The answer of what-if. */
export interface WhatIfAnswer {
  /** Clusters that are not listed now. */
  added: ChangedCluster[];
  /** The mistakes of the YAML, each with its field. With mistakes the rest is left out. */
  mistakes: string[];
  /** The number of further ones. */
  moreAdded: number;
  /** The number of further ones. */
  moreRemoved: number;
  /** Clusters that are listed now, and would not be any more. */
  removed: ChangedCluster[];
  /** What the changed placement would select. */
  selection?: Selection;
  /** The number of clusters that are listed now and stay. */
  stay: number;
}

/** The event `window`: the rows from `from` on. */
export interface Window {
  /** The states of those. */
  counts: Counts;
  /** The place of the first row among those that match. */
  from: number;
  /** Number of clusters that the query matches. */
  matched: number;
  /** The rows, in order. */
  rows: ClusterRow[];
  /** Number of all clusters. */
  total: number;
}

/** The event `answer` of `screen=work`. */
export interface WorkAnswer {
  /** status.conditions */
  conditions: ConditionAnswer[];
  /** When it was created. */
  created?: string;
  /** The number of further objects. */
  more: number;
  /** What cannot be shown, and why. */
  notes: string[];
  /** Its objects, those that differ first. */
  objects: WorkObject[];
  /** How it is. */
  row: WorkRow;
}

/** The state of a ManifestWork, the worst first. */
export type WorkCondition = "notApplied" | "missing" | "unknown" | "degraded" | "drifted" | "held" | "notReported" | "progressing" | "deleting" | "asPrescribed";

/** The number of ManifestWorks in a state. */
export interface WorkCount {
  count: number;
  state: WorkCondition;
}

/** An object of a ManifestWork. */
export interface WorkObject {
  /** The status of the condition Applied; empty without it. */
  applied: string;
  /** The status of the condition Available; empty without it. */
  available: string;
  /** Its other conditions that are not as they should be, such as Progressing. */
  conditions: ConditionAnswer[];
  /** The agent puts the fields back, and another client changes them again and again. */
  contested: boolean;
  /** The fields that differ. */
  fields: FieldAnswer[];
  /** The number of further fields that differ. */
  moreFields: number;
  /** As kubectl names it, with its namespace before its name. */
  title: string;
  /** The values of its feedback rules. */
  values: FeedbackAnswer[];
  /** The states in which it is not as prescribed, and why. */
  wrong: ObjectState[];
}

/** A ManifestWork of the list. */
export interface WorkRow {
  /** Its namespace: the cluster. */
  cluster: string;
  /** The number of its manifests. */
  manifests: number;
  /** metadata.name */
  name: string;
  /** The replica set that made it. */
  set?: SetName;
  /** Since when. */
  since?: string;
  /** The state. */
  state: WorkCondition;
  /** Why. Empty if all objects are as prescribed. */
  why: string;
}

/** The event `answer` of `screen=works`. */
export interface WorksAnswer {
  /** What differs on the clusters of those, by field; the most frequent first. */
  differences: DifferenceGroup[];
  /** The number of ManifestWorks that match. */
  matched: number;
  /** The number of further groups. */
  moreDifferences: number;
  /** The number of further replica sets that match. */
  moreSets: number;
  /** What cannot be shown, and why. */
  notes: string[];
  /** Replica sets that match, the worst first. */
  sets: RolloutRow[];
  /** The states of those whose name or cluster matches, the worst first. */
  states: WorkCount[];
  /** The number of all ManifestWorks. */
  total: number;
  /** ManifestWorks that match, the worst first. */
  works: WorkRow[];
}

/** `GET /api/clusters/{name}/yaml` */
export interface YamlAnswer {
  /** The ManagedCluster. */
  yaml: string;
}
