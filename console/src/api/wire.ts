// Generated from src/kubedl/console/wire.py by `make generate`; do not edit.

/** A job in the list. */
export interface JobRow {
  readonly uid: string;
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly message: string;
  readonly ready: string;
  readonly gpus: number;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly user: string;
  readonly queue: string;
  readonly restarts: number;
  readonly progress: number | null;
  readonly progressUnknown: boolean;
  readonly ends: string | null;
  readonly created: string | null;
  readonly started: string | null;
  readonly finished: string | null;
}

/** All jobs that the caller may see, and where in the stream of changes the list was taken. */
export interface JobList {
  readonly cursor: string;
  readonly rows: readonly JobRow[];
  readonly hiddenNamespaces: number;
}

/** Changes since the frame before. */
export interface Frame {
  readonly rows: readonly JobRow[];
  readonly gone: readonly string[];
  readonly touched: readonly string[];
}

/** A sign of life. */
export interface Alive {
  readonly silentSeconds: number;
  readonly unansweredSeconds: number;
}

/** A right that the caller would need to see a part. */
export interface Missing {
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
}

/** A condition of a job. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | null;
}

/** A pod of a job. */
export interface PodRow {
  readonly uid: string;
  readonly name: string;
  readonly replica: string;
  readonly phase: string;
  readonly message: string;
  readonly node: string;
  readonly restarts: number;
  readonly created: string | null;
  readonly started: string | null;
  readonly containers: readonly string[];
}

/** An event about a job or one of its pods. */
export interface EventRow {
  readonly uid: string;
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly time: string | null;
}

/** One job. A part that the caller may not see is empty and named in `missing`. */
export interface JobPage {
  readonly job: JobRow;
  readonly suspended: boolean;
  readonly reason: string;
  readonly conditions: readonly Condition[];
  readonly pods: readonly PodRow[];
  readonly events: readonly EventRow[];
  readonly missing: readonly Missing[];
}

/** What supports the answer. */
export interface WhyFact {
  readonly label: string;
  readonly text: string;
}

/** What helps. */
export interface WhyTry {
  readonly command: string;
  readonly effect: string;
  readonly by: string;
}

/** Why a job waits, failed or is slow: what `kubedl why` prints. */
export interface WhyPage {
  readonly first: string;
  readonly pod: string;
  readonly rule: string;
  readonly known: boolean;
  readonly facts: readonly WhyFact[];
  readonly tries: readonly WhyTry[];
  readonly unread: readonly string[];
}

/** How long jobs like this one have waited for nodes. */
export interface StartPage {
  readonly installed: boolean;
  readonly waits: number;
  readonly enough: number;
  readonly halfSeconds: number | null;
  readonly mostSeconds: number | null;
  readonly queue: string;
  readonly leastGpus: number;
  readonly mostGpus: number;
  readonly days: number;
}

/** A field that differs. */
export interface ChangeRow {
  readonly field: string;
  readonly before: string;
  readonly now: string;
}

/** What is recorded otherwise of a job than of the last one of its name that succeeded before it. */
export interface ChangesPage {
  readonly name: string;
  readonly uid: string;
  readonly there: boolean;
  readonly finished: string | null;
  readonly rows: readonly ChangeRow[];
  readonly more: number;
  readonly history: string;
}

/** Who is signed in, and how people sign in. */
export interface Session {
  readonly mode: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly cluster: string;
  readonly version: string;
}

/** An error: what failed, why, and what to do next. */
export interface Problem {
  readonly what: string;
  readonly why: string;
  readonly next: string;
  readonly request: string;
  readonly fields: readonly FieldProblem[];
}

/** One resource: millicores, bytes or GPUs. What is not known is null, never 0. */
export interface Share {
  readonly total: number;
  readonly requested: number | null;
  readonly free: number | null;
  readonly closed: number | null;
}

/** What the cluster has and what is free. */
export interface Capacity {
  readonly nodes: number;
  readonly closedNodes: number;
  readonly cpu: Share;
  readonly memory: Share;
  readonly gpus: Share;
  readonly largestBlock: number;
  readonly largestBlockNode: string;
  readonly onlyNamespace: string;
}

/** A pod that holds GPUs of a node, if the caller may list it. */
export interface Holder {
  readonly namespace: string;
  readonly pod: string;
  readonly kind: string;
  readonly job: string;
  readonly gpus: number;
}

/** What a job, a user or a team holds of all GPUs. */
export interface HolderGroup {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly user: string;
  readonly gpus: number;
}

/** Who holds the GPUs of the cluster, most first. */
export interface HolderList {
  readonly by: string;
  readonly rows: readonly HolderGroup[];
  readonly more: number;
  readonly hiddenGpus: number;
  readonly held: number;
  readonly onlyNamespace: string;
}

/** A node in the list. */
export interface NodeRow {
  readonly name: string;
  readonly ready: boolean;
  readonly cordoned: boolean;
  readonly gpuModel: string;
  readonly cpu: Share;
  readonly memory: Share;
  readonly gpus: Share;
  readonly pods: number;
  readonly holders: readonly Holder[];
  readonly hiddenGpus: number;
}

/** A page of the list of nodes, by name. */
export interface NodeList {
  readonly rows: readonly NodeRow[];
  readonly total: number;
  readonly after: string;
  readonly onlyNamespace: string;
}

/** A condition of a node. */
export interface NodeStateRow {
  readonly type: string;
  readonly status: string;
  readonly since: string | null;
}

/** A pod on a node. */
export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly phase: string;
  readonly kind: string;
  readonly job: string;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly gpus: number;
  readonly created: string | null;
}

/** One node. */
export interface NodePage {
  readonly node: NodeRow;
  readonly conditions: readonly NodeStateRow[];
  readonly pods: readonly NodePod[];
  readonly morePods: number;
  readonly hiddenPods: number;
  readonly onlyNamespace: string;
}

/** The quota of one resource of one flavor: cores, bytes or pieces. */
export interface Quota {
  readonly flavor: string;
  readonly resource: string;
  readonly nominal: number;
  readonly used: number | null;
  readonly borrowed: number | null;
}

/** Quota that queues of namespaces share. */
export interface ClusterQueueRow {
  readonly name: string;
  readonly cohort: string;
  readonly problem: string;
  readonly quotas: readonly Quota[];
  readonly waiting: number | null;
  readonly admitted: number | null;
}

/** A queue of a namespace. */
export interface LocalQueueRow {
  readonly namespace: string;
  readonly name: string;
  readonly clusterQueue: string;
  readonly problem: string;
  readonly waiting: number | null;
  readonly admitted: number | null;
}

/** A Workload that waits. */
export interface WaitingRow {
  readonly uid: string;
  readonly position: number;
  readonly namespace: string;
  readonly queue: string;
  readonly clusterQueue: string;
  readonly kind: string;
  readonly name: string;
  readonly priority: number;
  readonly cpuMillis: number;
  readonly memoryBytes: number;
  readonly gpus: number;
  readonly since: string | null;
  readonly message: string;
}

/** The queues that a person may list, and who waits in them. */
export interface QueueList {
  readonly installed: boolean;
  readonly clusterQueues: readonly ClusterQueueRow[];
  readonly localQueues: readonly LocalQueueRow[];
  readonly waiting: readonly WaitingRow[];
  readonly moreWaiting: number;
  readonly moreQueues: number;
  readonly missing: readonly Missing[];
}

/** A predictor that runs a version. */
export interface Serving {
  readonly service: string;
  readonly predictor: string;
  readonly percent: number | null;
  readonly canary: boolean;
}

/** A Model. */
export interface ModelRow {
  readonly namespace: string;
  readonly name: string;
  readonly description: string;
  readonly versions: number;
  readonly latest: string;
  readonly found: string;
  readonly servedBy: readonly string[];
  readonly created: string | null;
}

/** The models that a person may list. */
export interface ModelList {
  readonly installed: boolean;
  readonly rows: readonly ModelRow[];
  readonly more: number;
  readonly missing: readonly Missing[];
}

/** A version of a model: what it is made from, which job made it, its image, and who serves it. */
export interface VersionRow {
  readonly name: string;
  readonly state: string;
  readonly message: string;
  readonly image: string;
  readonly size: number;
  readonly signed: boolean;
  readonly author: string;
  readonly parent: string;
  readonly jobKind: string;
  readonly job: string;
  readonly jobHidden: boolean;
  readonly jobThere: boolean;
  readonly codeRepository: string;
  readonly codeRevision: string;
  readonly images: readonly string[];
  readonly serving: readonly Serving[];
  readonly created: string | null;
}

/** One model. */
export interface ModelPage {
  readonly model: ModelRow;
  readonly versions: readonly VersionRow[];
  readonly moreVersions: number;
  readonly missing: readonly Missing[];
}

/** A part of the lineage of a model. What a kind of part does not have is empty. */
export interface LineageNode {
  readonly id: string;
  readonly column: number;
  readonly kind: string;
  readonly name: string;
  readonly revision: string;
  readonly state: string;
  readonly user: string;
  readonly gpus: number;
  readonly started: string | null;
  readonly finished: string | null;
  readonly signed: boolean;
  readonly model: string;
  readonly jobKind: string;
  readonly uid: string;
  readonly sight: string;
  readonly count: number;
}

/** What came from what. */
export interface LineageEdge {
  readonly source: string;
  readonly target: string;
  readonly percent: number | null;
  readonly canary: boolean;
  readonly parent: boolean;
}

/** Where the versions of a model come from, and who serves them. */
export interface LineagePage {
  readonly nodes: readonly LineageNode[];
  readonly edges: readonly LineageEdge[];
  readonly leftOut: number;
  readonly history: string;
  readonly missing: readonly Missing[];
}

/** A canary of a predictor. */
export interface RolloutRow {
  readonly phase: string;
  readonly stable: string;
  readonly candidate: string;
  readonly rejected: string;
  readonly step: number;
  readonly since: string | null;
  readonly reason: string;
  readonly message: string;
}

/** A version that a predictor runs. */
export interface VersionShare {
  readonly version: string;
  readonly model: string;
  readonly percent: number | null;
  readonly canary: boolean;
}

/** A predictor of a service. */
export interface PredictorRow {
  readonly name: string;
  readonly modelVersion: string;
  readonly model: string;
  readonly replicas: number;
  readonly ready: number;
  readonly weight: number | null;
  readonly percent: number | null;
  readonly reason: string;
  readonly message: string;
  readonly rollout: RolloutRow | null;
  readonly runs: readonly VersionShare[];
}

/** A step of a rollout. */
export interface StepRow {
  readonly weight: number;
  readonly pause: number | null;
}

/** An Inference. */
export interface ServiceRow {
  readonly namespace: string;
  readonly name: string;
  readonly framework: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly endpoint: string;
  readonly predictors: readonly PredictorRow[];
  readonly steps: readonly StepRow[];
  readonly created: string | null;
}

/** The services that a person may list. */
export interface ServiceList {
  readonly installed: boolean;
  readonly rows: readonly ServiceRow[];
  readonly more: number;
  readonly missing: readonly Missing[];
}

/** Requests of one version, as the gateway counted them. */
export interface Figures {
  readonly requests: number;
  readonly failures: number;
  readonly seconds: number;
  readonly p99Seconds: number | null;
}

/** A version that a predictor runs, in the last minutes; a canary since its step began if that is later. */
export interface MetricsRow {
  readonly predictor: string;
  readonly version: string;
  readonly canary: boolean;
  readonly figures: Figures | null;
  readonly reason: string;
}

/** A canary in its step, as the operator judges it. */
export interface JudgedRow {
  readonly predictor: string;
  readonly version: string;
  readonly figures: Figures | null;
  readonly outcome: string;
  readonly reason: string;
  readonly message: string;
  readonly mostErrorRate: number | null;
  readonly mostP99Seconds: number | null;
  readonly leastRequests: number;
}

/** The requests of an Inference. */
export interface ServiceMetrics {
  readonly namespace: string;
  readonly name: string;
  readonly rows: readonly MetricsRow[];
  readonly judged: readonly JudgedRow[];
}

/** The requests of the services that a person may list. */
export interface MetricsList {
  readonly problem: string;
  readonly services: readonly ServiceMetrics[];
  readonly leftOut: number;
}

/** A run of a Cron. */
export interface RunRow {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly there: boolean;
  readonly created: string | null;
  readonly finished: string | null;
}

/** A Cron, with its last runs. */
export interface CronRow {
  readonly namespace: string;
  readonly name: string;
  readonly kind: string;
  readonly schedule: string;
  readonly timeZone: string;
  readonly policy: string;
  readonly suspended: boolean;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly missed: boolean;
  readonly next: string | null;
  readonly last: string | null;
  readonly runs: readonly RunRow[];
}

/** The Crons that a person may list. */
export interface CronList {
  readonly installed: boolean;
  readonly rows: readonly CronRow[];
  readonly more: number;
  readonly missing: readonly Missing[];
}

/** Something that a person could do with an object. */
export interface ActionRow {
  readonly name: string;
  readonly missing: Missing | null;
}

/** What could be done with an object, whether it makes sense now or not. */
export interface ActionList {
  readonly rows: readonly ActionRow[];
}

/** What an action has changed or made; the operator does the rest, and pages show what comes of it. */
export interface Done {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
}

/** What is wrong with one field of an object, as the API server says it. */
export interface FieldProblem {
  readonly field: string;
  readonly message: string;
}

/** A role of a kind of jobs. */
export interface RoleRow {
  readonly name: string;
  readonly required: boolean;
  readonly atMost: number | null;
}

/** A kind of jobs, as a form needs it. */
export interface KindRow {
  readonly kind: string;
  readonly apiVersion: string;
  readonly replicasField: string;
  readonly container: string;
  readonly roles: readonly RoleRow[];
}

/** The kinds of jobs. */
export interface KindList {
  readonly rows: readonly KindRow[];
}

/** An object as people write it. */
export interface Manifest {
  readonly json: string;
}

/** An amount of one currency. */
export interface Money {
  readonly currency: string;
  readonly micros: number;
}

/** How long jobs waited, and which time of their pods had no result. */
export interface Waste {
  readonly jobs: number;
  readonly waitingSeconds: number;
  readonly restartedSeconds: number;
  readonly lostSeconds: number;
}

/** What a team, a user, a queue or a day has used and spent. */
export interface CostRow {
  readonly name: string;
  readonly costs: readonly Money[];
  readonly gpuSeconds: number;
  readonly cpuSeconds: number;
  readonly memoryGibSeconds: number;
  readonly unpricedGpuSeconds: number;
  readonly unpricedCpuSeconds: number;
  readonly waste: Waste | null;
}

/** What ended jobs of namespaces that the caller may see have used and spent in some days, dearest first. */
export interface CostPage {
  readonly installed: boolean;
  readonly days: number;
  readonly first: string;
  readonly last: string;
  readonly total: CostRow;
  readonly teams: readonly CostRow[];
  readonly users: readonly CostRow[];
  readonly queues: readonly CostRow[];
  readonly byDay: readonly CostRow[];
  readonly moreTeams: number;
  readonly moreUsers: number;
  readonly moreQueues: number;
  readonly hiddenNamespaces: number;
}

/** How much of the GPU time of a namespace was idle, as far as it was measured. */
export interface IdleRow {
  readonly name: string;
  readonly measuredSeconds: number;
  readonly idleSeconds: number;
}

/** GPUs that pods of namespaces held without using them. */
export interface IdlePage {
  readonly problem: string;
  readonly rows: readonly IdleRow[];
}

/** A job as the history has it. */
export interface PastJobRow {
  readonly uid: string;
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly reason: string;
  readonly user: string;
  readonly queue: string;
  readonly gpus: number;
  readonly restarts: number;
  readonly modelVersion: string;
  readonly created: string;
  readonly started: string | null;
  readonly finished: string | null;
  readonly deleted: string | null;
  readonly deletion: string;
}

/** A page of jobs that were deleted, newest first. If `next` is not empty there may be more. */
export interface PastJobList {
  readonly installed: boolean;
  readonly rows: readonly PastJobRow[];
  readonly next: string;
  readonly hiddenNamespaces: number;
}

/** A pod of such a job. */
export interface PastPodRow {
  readonly uid: string;
  readonly name: string;
  readonly replica: string;
  readonly attempt: number;
  readonly phase: string;
  readonly reason: string;
  readonly exitCode: number | null;
  readonly node: string;
  readonly restarts: number;
  readonly started: string | null;
  readonly finished: string | null;
  readonly log: string;
  readonly logCut: boolean;
  readonly logReadable: boolean;
}

/** An event about the job or one of its pods. */
export interface PastEventRow {
  readonly about: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly count: number;
  readonly time: string;
}

/** What was used on one day in one pool of nodes. */
export interface ReceiptLine {
  readonly day: string;
  readonly pool: string;
  readonly spot: boolean;
  readonly gpuSeconds: number;
  readonly cpuSeconds: number;
  readonly memoryGibSeconds: number;
  readonly cost: Money | null;
}

/** What a job used and cost. */
export interface Receipt {
  readonly waitingSeconds: number;
  readonly runningSeconds: number;
  readonly restartedSeconds: number;
  readonly lostSeconds: number;
  readonly gpuSeconds: number;
  readonly cpuSeconds: number;
  readonly memoryGibSeconds: number;
  readonly cost: Money | null;
  readonly unpriced: boolean;
  readonly lines: readonly ReceiptLine[];
}

/** One job. A part that the caller may not see is empty and named in `missing`. */
export interface PastJobPage {
  readonly job: PastJobRow;
  readonly message: string;
  readonly pods: readonly PastPodRow[];
  readonly events: readonly PastEventRow[];
  readonly receipt: Receipt | null;
  readonly missing: readonly Missing[];
}

/** A line, of which at most 4,096 characters are sent. */
export interface LogLineRow {
  readonly time: string;
  readonly text: string;
}

/** Some lines of a log. */
export interface LogPage {
  readonly total: number;
  readonly first: number;
  readonly lines: readonly LogLineRow[];
  readonly cut: boolean;
  readonly silentSeconds: number;
}

/** A line that has the text of a search. */
export interface LogHit {
  readonly line: number;
  readonly time: string;
  readonly text: string;
}

/** The first lines of a log that have a text. */
export interface LogHits {
  readonly hits: readonly LogHit[];
  readonly more: boolean;
}
