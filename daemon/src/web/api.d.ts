// Made by ApiDescriptionTest from the routes of the agent.
export type Affinity = "spread" | "pack" | { pin: AffinityPin };
export type AffinityPin = any;
export type AuditAuditRecord = { seq: number; time: string; who: string; listener: string; remote?: string; method: string; route: string; object: { [name: string]: string }; status: number; suppressed_before?: number };
export type AutoUpdateStatus = { schedule: string; next?: string; last_checked?: string; last_result?: string };
export type BackoffSpec = any;
export type BuildLine = { type: string; text?: string; digest?: string };
export type CertificatesCertificateView = { host: string; kind: "self_signed" | "acme" | "secret"; deployment: string; issuer?: string; not_after?: string; renewal?: string; error?: string };
export type ClusterClusterStatusView = { cluster: string; node: string; name: string; problem?: string; unreachable?: string; leader?: string; certificate: ClusterNodeCertificateView; encrypted: boolean; users: boolean; servers: (ClusterServerView)[]; nodes: (ClusterNodeView)[] };
export type ClusterJoinTokenView = { token: string; address: string; command: string };
export type ClusterNetworkSpec = { overlays?: ClusterNetworkSpecOverlays; join?: ClusterNetworkSpecJoin };
export type ClusterNetworkSpecJoin = { mode?: "open" | "token" | "closed"; scope?: "service" | "global" };
export type ClusterNetworkSpecLevel = { enabled?: boolean; encrypted?: boolean; isolated?: boolean };
export type ClusterNetworkSpecOverlays = { service?: ClusterNetworkSpecLevel; global?: ClusterNetworkSpecLevel };
export type ClusterNodeCertificateView = { node: string; not_before: string; not_after: string; renewal: string; problem?: string };
export type ClusterNodeView = { id: string; name: string; address: string; status: string; self: boolean; server: boolean; joined: string; labels: { [name: string]: string }; cpus?: number; memory_bytes?: number; platforms: (string)[]; runtimes: (string)[]; gpus: (string)[]; version?: string; certificate_expires?: string; replicas: number };
export type ClusterResourceChangeLabels = { set?: { [name: string]: string }; remove?: (string)[] };
export type ClusterResourceChangeScheduling = { scheduling: "ready" | "cordoned" | "draining" };
export type ClusterResourceInitCluster = { name?: string; advertise?: string; etcd?: ClusterResourceUseEtcd; encrypt?: boolean };
export type ClusterResourceJoinCluster = { through: string; token: string; name?: string; advertise?: string; server?: boolean };
export type ClusterResourceLeaveCluster = { force?: boolean };
export type ClusterResourceNewJoinToken = { expires?: any };
export type ClusterResourceUseEtcd = { endpoints?: (string)[]; prefix?: string; authority?: string; certificate?: string; key?: string; user?: string; password?: string };
export type ClusterServerView = { name: string; address: string; role: string; version?: string; bytes: number; problem?: string };
export type CommandSpec = any;
export type ContainerId = { deployment: string; service: string; role: string; replica: number; generation: number };
export type ContainerInsideExecLine = { stream?: string; text?: string; bytes?: string; type?: string; code?: number };
export type ContainerInsideResourceExec = { command?: (string)[]; env?: { [name: string]: string }; working_directory?: string; user?: string; privileged?: boolean };
export type ContainerInsideVariable = { name: string; value?: string };
export type ContainerView = { id: string; name: string; deployment: string; service: string; role: string; replica: number; generation: number; image: string; image_digest?: string; command: (string)[]; state: string; health?: "starting" | "healthy" | "unhealthy"; exit?: OutcomeView; problem?: string; created: string; started?: string; pid?: number; ip?: string; ipv6?: string; ports: (ContainerViewPortView)[]; endpoints: (DeploymentViewEndpointView)[]; restarts: number; runtime: string; labels: { [name: string]: string }; node?: string };
export type ContainerViewPortView = { host_ip: string; host_port: number; container_port: number; protocol: string };
export type ContainersMade = { id: string; name: string };
export type ContainersRemoved = { removed: boolean };
export type ContainersUpdated = { warnings: (string)[] };
export type CreateContainer = { name?: string; pull?: "always" | "newer" | "if_not_present" | "never"; start?: boolean; rm?: boolean; rm_after?: any; start_within?: any; tty_size?: CreateContainerTtySize; directory?: string; rtype?: "service" | "job" | "cron"; schedule?: string; image: ImageSpec; command?: CommandSpec; env?: { [name: string]: string }; labels?: { [name: string]: string }; resources?: ResourcesSpec; storage?: (StorageSpec)[]; secrets?: (SecretFileSpec)[]; endpoints?: (EndpointSpec)[]; port_mappings?: (PortMapping)[]; network_mode?: string; host_network?: boolean; hostname?: string; dns?: (string)[]; extra_hosts?: (string)[]; expose?: (any)[]; network?: ClusterNetworkSpec; overlay?: OverlaySpec; localhost_reachability?: "auto" | "always" | "never"; capabilities?: (string)[]; cap_add?: (string)[]; cap_drop?: (string)[]; privileged?: boolean; user?: any; extra_groups?: (string)[]; read_only_root_fs?: boolean; security_opt?: (string)[]; pid_mode?: string; ipc_mode?: string; userns_mode?: string; sysctls?: { [name: string]: string }; ulimits?: { [name: string]: UlimitSpec }; devices?: (DeviceSpec)[]; cgroup_parent?: string; tty?: boolean; stdin_open?: boolean; init_container?: boolean; stop_signal?: any; stop_grace_period?: any; single_instance?: boolean; scale?: ScaleSpec; replica_groups?: (ReplicaGroup)[]; depends?: (DependsSpec)[]; health?: HealthSpec; init?: InitSpec; errors?: ErrorsSpec; restart_policy?: RestartPolicySpec; update?: UpdateSpec; lifecycle?: ExitSpec; platform?: PlatformSpec; node_mode?: "shared" | "dedicated" | "exclusive"; node_selector?: NodeSelector; affinity?: Affinity; isolation?: "auto" | "process" | "hyperv"; job?: JobSpec; cron?: CronSpec; service_type?: "standard" | "wasm_http" | "wasm_plugin" | "wasm_transformer" | "wasm_authenticator" | "wasm_rate_limiter" | "wasm_middleware" | "wasm_router" | "job"; wasm?: WasmSpec; wasm_http?: WasmSpec; logs?: LogsSpec };
export type CreateContainerTtySize = { rows: number; columns: number };
export type CronSpec = { timezone?: string; overlap?: "forbid" | "allow" | "replace" | "queue"; catch_up?: "none" | "last" | "all"; catch_up_limit?: number; jitter?: any; enabled?: boolean };
export type CronStatus = { job: string; expression: string; zone: string; enabled: boolean; last_due?: string; last_run?: string; next_due?: string; next_run?: string; last_skip?: Skipped; skips: number; trouble?: string };
export type DashboardLink = { url: string; expires: string };
export type DashboardResourceNewLink = { read_only?: boolean; expires?: any };
export type DashboardSessionsInfo = { id: string; user: string; read_only: boolean; created: string; expires: string; browser: string };
export type DependsSpec = any;
export type DeploymentDiff = { deployment: string; changes: (DeploymentDiffServiceChange)[] };
export type DeploymentDiffServiceChange = { service: string; action: "create" | "update" | "remove" | "keep"; fields: (string)[]; values: (DeploymentDiffValueChange)[]; runs?: number; replaces: boolean; replicas_now: number; replicas_then: number };
export type DeploymentDiffValueChange = { path: string; before?: string; after?: string };
export type DeploymentView = { name: string; state: string; revision: number; created: string; updated: string; directory: string; node?: string; share?: Share; services: (DeploymentViewServiceView)[]; jobs: (DeploymentViewJobView)[]; dependencies: (DeploymentViewDependencyView)[]; problem?: Failure };
export type DeploymentViewDependencyView = { from: string; to: string; condition: string };
export type DeploymentViewEndpointView = { name: string; protocol: string; port: number; target_port: number; expose: string };
export type DeploymentViewJobView = { name: string; cron?: CronStatus; last?: ExecutionView; waiting_for?: string; last_error?: Failure };
export type DeploymentViewReplicaView = { id: string; container: string; node?: string; role: string; replica: number; state: string; revision: number; health?: HealthStatus; ready: boolean; restarts: number; image: string; image_digest?: string; ip?: string; ports: (ContainerViewPortView)[]; started?: string; next_try?: string; last_error?: Failure };
export type DeploymentViewRevisionView = { revision: number; time: string; reason: string; directory: string };
export type DeploymentViewServiceView = { name: string; state: string; revision: number; wanted: number; ready: number; replicas: (DeploymentViewReplicaView)[]; endpoints: (DeploymentViewEndpointView)[]; waiting_for?: string; rollout?: RolloutStatus; last_error?: Failure; auto_update?: AutoUpdateStatus; traffic?: DeploymentViewTrafficView };
export type DeploymentViewTrafficView = { requests_per_second: number; requests: number; errors: number; p50_millis: number; p95_millis: number; p99_millis: number };
export type DeploymentsEnded = { name: string; deployment: string; service: string; role: string; replica: number; state: string; status: string; finished: string };
export type DeploymentsProgressLine = { type: string; outcome?: string; status?: DeploymentView };
export type DeploymentsResourceScale = { replicas: number };
export type DeviceSpec = any;
export type EndedReplica = { container: string; role: string; replica: number; at: string; status: string; lines: (string)[] };
export type EndpointSpec = { name: string; protocol: "http" | "https" | "tcp" | "udp" | "websocket"; port: number; target_port?: number; expose?: "public" | "internal"; target_role?: string; stream?: StreamSpec; tunnel?: EndpointTunnel; host?: any; path?: string; strip_prefix?: boolean; balance?: "round_robin" | "least_connections" | "client_address"; sticky?: boolean; hold?: any; retries?: number; timeouts?: RouteSpecTimeouts; headers?: RouteSpecHeaders; allow?: (string)[]; deny?: (string)[]; rate_limit?: number; compress?: boolean; tls?: TlsSpec; redirect_http?: boolean; hsts?: any; basic_auth?: string; max_body?: any; maintenance_page?: string; send_proxy?: "v1" | "v2"; eject_failing?: any; replica_protocol?: "http1" | "http2"; drain?: any };
export type EndpointTunnel = { enabled?: boolean; from?: string; to?: string; remote_port?: number; expose?: "public" | "internal"; access?: EndpointTunnelAccess };
export type EndpointTunnelAccess = { enabled?: boolean; max_ttl?: any; audit?: boolean };
export type ErrorsSpec = { on_init_failure?: ErrorsSpecInitFailure; on_panic?: ErrorsSpecPanic };
export type ErrorsSpecInitFailure = { action?: "fail" | "restart" | "backoff"; retries?: number; backoff?: BackoffSpec };
export type ErrorsSpecPanic = { action?: "restart" | "shutdown" | "isolate" };
export type EventsEventView = { seq: number; time: string; kind: string; subject: string; facts: any; node?: string };
export type EventsPage = { events: (EventsEventView)[]; next: number; missed: boolean; oldest: number; newest: number; resume: string; missed_on?: (string)[] };
export type ExecutionView = { id: string; name: string; job: string; status: string; code?: number; signal?: string; oom: boolean; reason?: string; trigger: string; remote?: string; because?: string; due?: string; priority: number; created: string; started?: string; finished?: string; took?: string; deadline?: string; not_before?: string; cancel_requested: boolean; needs: (string)[]; follows: (string)[]; attempts: (ExecutionViewAttemptView)[] };
export type ExecutionViewArtifactView = { path: string; bytes: number };
export type ExecutionViewAttemptView = { number: number; container: string; started: string; running?: string; finished?: string; code?: number; ended?: string; error?: string; steps: (ExecutionViewStepView)[]; output_bytes: number; output_truncated: boolean; artifacts: (ExecutionViewArtifactView)[]; notes: (string)[] };
export type ExecutionViewStepView = { step: string; pass: number; attempt: number; started: string; result: string; took: string; error?: string; log?: string };
export type ExecutionsWaiting = { position: number; execution: ExecutionView };
export type ExitSpec = { delete_on_exit?: boolean };
export type Failure = { kind: string; blame: "request" | "workload" | "outside" | "placement" | "self"; message: string; exit_code?: number; last_lines: (string)[]; at: string };
export type FileChange = { path: string; kind: "added" | "modified" | "deleted" };
export type FileSystemSpec = { mounts: (Mount)[]; read_only_root: boolean };
export type GpuRequest = { count: number; vendor: string; model?: string; devices: (string)[]; sharing: GpuRequestSharing };
export type GpuRequestSharing = { type: "exclusive" } | { type: "mps"; pipe_dir?: string; log_dir?: string; memory_bytes?: number; thread_percent?: number } | { type: "time_slice"; index?: number; config_file?: string; turn?: "default" | "short" | "medium" | "long" };
export type GpuSpec = { count?: number; vendor?: "nvidia" | "amd" | "intel" | "apple" | "other"; mode?: "native" | "vm" | "mps"; model?: string; devices?: (string)[]; scheduling?: "best-effort" | "gang" | "spread"; distributed?: GpuSpecDistributed; sharing?: "exclusive" | "mps" | "time-slice"; mps_pipe_dir?: string; mps_log_dir?: string; mps_memory?: any; mps_threads?: number; time_slice_index?: number; time_slicing_config_path?: string; time_slice?: "default" | "short" | "medium" | "long" };
export type GpuSpecDistributed = { backend?: "nccl" | "gloo" | "mpi"; master_port?: number };
export type GpusGpuUser = { id: string; name: string; sharing: string };
export type GpusGpuView = { name: string; kind: string; model?: string; uuid?: string; bus?: string; source: string; memory_bytes?: number; memory_used_bytes?: number; percent?: number; used_by: (GpusGpuUser)[] };
export type Health = { ready: boolean; parts: { [name: string]: string }; owners: (SupervisorStatus)[] };
export type HealthCheck = { type: "tcp"; port: number } | { type: "http"; url: string; expect_status?: any; headers?: { [name: string]: string } } | { type: "command"; command: any } | { type: "none" };
export type HealthSpec = { check?: HealthCheck; start_grace?: any; interval?: any; timeout?: any; retries?: number; on_unhealthy?: "restart" | "stop" | "none" };
export type HealthStatus = { state: "starting" | "healthy" | "unhealthy"; streak: number; succeeding: boolean; failures: number; output: string; since: string; next: string; history: (HealthStatusRun)[] };
export type HealthStatusRun = { success: boolean; output: string; checks: number; first: string; last: string };
export type ImageRemoval = { untagged: (string)[]; deleted: (string)[]; reclaimed_bytes: number };
export type ImageSpec = any;
export type ImageView = { digest: string; references: (string)[]; platform?: string; kind: string; size: number; created?: string };
export type ImageViewDetails = { digest: string; references: (string)[]; platform?: string; kind: string; size: number; created?: string; config: string; entrypoint: (string)[]; command: (string)[]; env: (string)[]; workdir?: string; user?: string; exposed_ports: (string)[]; volumes: (string)[]; labels: { [name: string]: string }; stop_signal?: string; annotations: { [name: string]: string }; layers: (ImageViewLayer)[] };
export type ImageViewLayer = { digest: string; diff_id?: string; size: number; media_type: string };
export type ImageViewStep = { created?: string; created_by: string; comment: string; empty_layer: boolean };
export type ImagesCheck = { images: number; blobs: number; bytes: number; sound: boolean; repaired: boolean; findings: (ImagesCheckFound)[] };
export type ImagesCheckFound = { damage: boolean; text: string };
export type ImagesResourceAuth = { user?: string; password?: string; token?: string };
export type ImagesResourceCommit = { container: string; ref: string; author?: string; message?: string; changes?: (string)[]; live?: boolean };
export type ImagesResourceLogin = { host: string; auth: ImagesResourceAuth };
export type ImagesResourcePrune = { all?: boolean; older_than?: any };
export type ImagesResourcePull = { ref: string; policy?: "always" | "newer" | "if_not_present" | "never"; platform?: string; auth?: ImagesResourceAuth };
export type ImagesResourcePush = { ref: string; auth?: ImagesResourceAuth };
export type ImagesResourceTag = { source: string; target: string };
export type IngressAccessView = { time: string; client: string; method: string; host: string; uri: string; protocol: string; status: number; bytes: number; request_bytes: number; ms: number; response_ms: number; replica: string; end: string; agent: string; referer: string; id: string };
export type IngressEndpointView = { name: string; hosts: (string)[]; path: string; port: number; traffic: IngressTrafficView; replicas: (IngressReplicaView)[] };
export type IngressLatencyView = { requests: number; p50_millis: number; p95_millis: number; p99_millis: number };
export type IngressReplicaView = { container: string; address: string; ready: boolean; ejected: boolean; traffic: IngressTrafficView };
export type IngressResourceMode = { state: "serving" | "paused" | "maintenance"; hold?: any };
export type IngressRouteView = { host: string; path: string; deployment: string; service: string; endpoint: string; port: number; ready: number; replicas: number; state: "serving" | "paused" | "maintenance"; requests_per_second: number; requests: number; errors: number; certificate_not_after?: string; certificate_error?: string };
export type IngressServiceView = { deployment: string; service: string; state: "serving" | "paused" | "maintenance"; hold?: string; recent: IngressLatencyView; endpoints: (IngressEndpointView)[] };
export type IngressTrafficView = { requests_per_second: number; requests: number; statuses: { [name: string]: number }; failures: number; open: number; average_millis: number };
export type InitActionHostRun = { command: any; timeout?: any };
export type InitActionRun = { command: any; timeout?: any };
export type InitActionS3Pull = { bucket: string; key: string; destination: string; endpoint?: string; region?: string; credentials?: S3Credentials; timeout?: any };
export type InitActionS3Push = { source: string; bucket: string; key: string; endpoint?: string; region?: string; credentials?: S3Credentials; timeout?: any };
export type InitActionWaitHttp = { url: string; expect_status?: number; headers?: { [name: string]: string }; timeout?: any; interval?: any };
export type InitActionWaitTcp = { host: string; port: number; timeout?: any; interval?: any };
export type InitSpec = { steps?: (InitStep)[] };
export type InitStep = { id: string; uses: "init.wait_tcp" | "init.wait_http" | "init.run" | "init.host_run" | "init.s3_push" | "init.s3_pull"; with?: { [name: string]: any }; retry?: number; timeout?: any; on_failure?: "fail" | "warn" | "continue" };
export type InspectView = { container: ContainerView; platform?: string; process: InspectViewProcessView; file_system: FileSystemSpec; network: NetworkSpec; resources: Resources; security: SecuritySpec; gpu?: GpuRequest; logs: LogSpec; stop: StopSpec; health_check?: InspectViewHealthView; root_file_system?: string };
export type InspectViewHealthView = { state: "starting" | "healthy" | "unhealthy"; failures: number; output: string; since: string; next: string; history: (HealthStatusRun)[] };
export type InspectViewProcessView = { entrypoint?: (string)[]; args?: (string)[]; env: (string)[]; workdir?: string; user?: string; extra_groups: (string)[]; terminal: boolean; stdin: boolean; init: boolean };
export type JobSpec = { concurrency?: number; queue?: number; priority?: number; deadline?: any; retries?: number; backoff?: BackoffSpec; exit_codes?: { [name: string]: "retry" | "fail" | "succeed" }; warm?: number; needs?: (string)[]; artifacts?: (string)[]; max_artifact_size?: any; max_log_size?: any; retention?: RetentionSpec };
export type JobsBegun = { id: string; name: string };
export type JobsJobView = { job: string; deployment: string; name: string; type: string; image: string; schedule?: string; needs: (string)[]; concurrency: number; live: number; cron?: CronStatus; last?: ExecutionView };
export type JobsResourceRun = { args?: (string)[]; env?: { [name: string]: string }; deadline?: any; priority?: number };
export type JobsUpcomingView = { job: string; due: string; local: string; zone: string; note?: string };
export type LogResponseLine = { time: string; stream: string; text?: string; bytes?: string; partial?: boolean; gap?: boolean };
export type LogSpec = { max_file_bytes: number; files: number; retention?: string; destination?: "memory" };
export type LogsSpec = { destination?: "disk" | "memory"; max_size_bytes?: any; retention_secs?: any };
export type MetricHistoryView = { name: string; span: string; step_seconds: number; time: (number)[]; cpu_percent: (number)[]; memory_bytes: (number)[]; network_received_bytes_per_second: (number)[]; network_sent_bytes_per_second: (number)[]; block_read_bytes_per_second: (number)[]; block_write_bytes_per_second: (number)[]; disk_used_bytes: (number)[] };
export type Mount = { type: "bind"; source: string; target: string; read_only: boolean; propagation?: "private" | "rprivate" | "shared" | "rshared" | "slave" | "rslave" } | { type: "named"; name: string; target: string; read_only: boolean; subpath?: string } | { type: "anonymous"; target: string } | { type: "supplied"; target: string; read_only: boolean } | { type: "tmpfs"; target: string; size_bytes?: number; mode?: number };
export type NetworkSpec = { mode: NetworkSpecMode; hostname?: string; ports: (NetworkSpecPort)[]; dns: (string)[]; dns_search: (string)[]; hosts: { [name: string]: string } };
export type NetworkSpecMode = { type: "bridge"; network?: string } | { type: "host" } | { type: "none" } | { type: "shared"; with: ContainerId };
export type NetworkSpecPort = { host_port?: number; container_port: number; protocol: "tcp" | "udp"; host_ip?: string };
export type NodeSelector = { labels?: { [name: string]: string }; prefer_labels?: { [name: string]: string } };
export type OutcomeView = { code?: number; signal?: string; oom: boolean; reason: string; started?: string; finished?: string };
export type OverlaySpec = { mode?: "auto" | "shared" | "dedicated"; parent?: string };
export type PlatformSpec = { os: "linux" | "windows" | "macos" | "darwin"; arch: "amd64" | "x86_64" | "arm64" | "aarch64"; osVersion?: string };
export type PortMapping = { host_port?: number; container_port: number; protocol?: "tcp" | "udp"; host_ip?: string };
export type Problem = { type: string; title: string; status: number; kind: string; blame: string; detail: string; request_id: string; last_lines?: (string)[] };
export type ProcessTable = { titles: (string)[]; rows: ((string)[])[] };
export type PullLinesLine = { type: string; manifest?: string; layers?: number; bytes?: number; layer?: string; step?: "present" | "waiting" | "downloading" | "verifying" | "unpacking" | "done"; done?: number; total?: number; text?: string };
export type PushLinesLine = { type: string; blob?: string; step?: "waiting" | "exists" | "mounted" | "pushing" | "pushed"; done?: number; total?: number; text?: string; digest?: string; size?: number };
export type ReplicaGroup = { role: string; count: number; image?: ImageSpec; env?: { [name: string]: string }; command?: CommandSpec; resources?: ResourcesSpec; affinity?: Affinity };
export type ReplicaSettings = { gpus: (string)[]; variables: { [name: string]: string } };
export type Resources = { cpus?: number; cpu_shares?: number; cpuset?: string; memory_bytes?: number; memory_swap_bytes?: number; memory_reservation_bytes?: number; memory_swappiness?: number; pids?: number; oom_score_adjust?: number; oom_kill_disabled: boolean; block_io_weight?: number; ulimits: { [name: string]: ResourcesUlimit }; cgroup_parent?: string };
export type ResourcesSpec = { cpu?: number; memory?: any; gpu?: GpuSpec; pids_limit?: number; cpuset?: any; cpu_shares?: number; memory_swap?: any; memory_reservation?: any; memory_swappiness?: number; oom_score_adj?: number; oom_kill_disable?: boolean; blkio_weight?: number };
export type ResourcesUlimit = { soft: number; hard: number };
export type RestartPolicySpec = { kind: "no" | "always" | "unless_stopped" | "on_failure"; max_attempts?: number; delay?: any };
export type RetentionSpec = any;
export type RolloutStatus = { revision: number; updated: number; of: number; step?: string; rolled_back_to?: number; reason?: Failure };
export type RouteSpecHeaders = { request?: { [name: string]: string }; response?: { [name: string]: string } };
export type RouteSpecTimeouts = { connect?: any; response?: any; tunnel?: any };
export type S3Credentials = { access_key: string; secret_key: string; session_token?: string };
export type ScaleSpec = { mode: "adaptive"; min?: number; max?: number; cooldown?: any; targets?: ScaleSpecTargets; idle?: any } | { mode: "fixed"; replicas: number } | { mode: "manual"; replicas?: number };
export type ScaleSpecTargets = { cpu?: number; memory?: number; rps?: number };
export type SecretFileSpec = any;
export type SecretsSecretView = { name: string; deployment?: string; service?: string; changed: string; revision: number; fingerprint: string; node?: string };
export type SecuritySpec = { add_capabilities: (string)[]; drop_capabilities: (string)[]; seccomp: SecuritySpecSeccomp; no_new_privileges: boolean; privileged: boolean; pid: SecuritySpecNamespace; ipc: SecuritySpecNamespace; sysctls: { [name: string]: string }; devices: (SecuritySpecDevice)[]; apparmor?: string; users?: "private" | "host"; uts?: SecuritySpecNamespace; device_rules?: (string)[] };
export type SecuritySpecDevice = { path: string; read: boolean; write: boolean; mknod: boolean; inside?: string };
export type SecuritySpecNamespace = { type: "private" } | { type: "host" } | { type: "shared"; with: ContainerId };
export type SecuritySpecSeccomp = { type: "default" } | { type: "unconfined" } | { type: "profile"; file: string };
export type Share = { revision: number; replicas: { [name: string]: (number)[] }; settings: { [name: string]: { [name: string]: ReplicaSettings } } };
export type Skipped = { first: string; last: string; count: number; reason: string };
export type StatsStatsView = { id: string; name: string; time: string; cpu_percent?: number; cpu_nanos: number; memory_bytes: number; memory_limit_bytes?: number; pids: number; pids_limit?: number; block_read_bytes: number; block_write_bytes: number; network_received_bytes: number; network_sent_bytes: number; gpu_percent?: number; gpu_memory_bytes?: number };
export type StopSpec = { signal?: string; grace: string };
export type StorageMember = { id: string; name: string; ip?: string; ipv6?: string; aliases: (string)[] };
export type StorageNetworkDetails = { name: string; bridge: string; subnet: string; gateway: string; subnet_ipv6?: string; gateway_ipv6?: string; internal: boolean; containers: (StorageMember)[] };
export type StorageNetworkView = { name: string; bridge: string; subnet: string; gateway: string; subnet_ipv6?: string; gateway_ipv6?: string; internal: boolean; containers: (string)[] };
export type StorageResourceConnect = { aliases?: (string)[]; ip?: string };
export type StorageResourceCreateNetwork = { name: string; subnet?: string; gateway?: string; ip_range?: string; ipv6?: boolean; subnet_ipv6?: string; internal?: boolean; labels?: { [name: string]: string } };
export type StorageResourceCreateVolume = { name: string };
export type StorageSpec = { type: "bind"; source: string; target: string; readonly?: boolean } | { type: "named"; name: string; target: string; readonly?: boolean; tier?: "local" | "cached" | "network"; size?: any } | { type: "anonymous"; target: string; tier?: "local" | "cached" | "network" } | { type: "tmpfs"; target: string; size?: any; mode?: number } | { type: "s3"; bucket: string; prefix?: string; target: string; readonly?: boolean; endpoint?: string; region?: string; credentials?: string };
export type StorageVolumeView = { name: string; driver: string; path: string; created: string; used_by: (string)[]; deployments: (string)[]; size?: number; files?: number; complete?: boolean };
export type StreamCheck = { type: "tcp_connect" } | { type: "udp_probe"; request: string; expect?: string };
export type StreamSpec = { tls?: boolean; proxy_protocol?: boolean; session_timeout?: any; health_check?: StreamCheck };
export type SupervisorStatus = { name: string; condition: "running" | "unresponsive" | "failed"; restarts: number; reason?: string };
export type TlsSpec = any;
export type TokensCreatedToken = { token: TokensTokenView; secret: string };
export type TokensResourceNewToken = { name?: string; read_only?: boolean; deployment?: string; expires?: any };
export type TokensTokenView = { id: string; name: string; scope: string; deployment?: string; created: string; expires?: string; expired: boolean };
export type UlimitSpec = any;
export type UpdateContainer = { cpu?: number; cpu_shares?: number; cpuset?: any; memory?: any; memory_swap?: any; memory_reservation?: any; pids_limit?: number; blkio_weight?: number; restart_policy?: RestartPolicySpec };
export type UpdateSpec = { strategy?: "start_first" | "stop_first" | "rolling" | "blue_green" | "canary"; max_unavailable?: number; max_surge?: number; rollback?: boolean; min_healthy_time?: any; auto_update?: string; steps?: (string)[]; max_error_rate?: string; bake?: any };
export type Version = { version: string; api: string; java: string };
export type WasmCapabilities = { config?: boolean; keyvalue?: boolean; logging?: boolean; secrets?: boolean; metrics?: boolean; http_client?: boolean; cli?: boolean; filesystem?: boolean; sockets?: boolean };
export type WasmPreopen = { source: string; target: string; readonly?: boolean };
export type WasmSpec = { min_instances?: number; max_instances?: number; idle_timeout?: any; request_timeout?: any; max_memory?: any; max_fuel?: number; epoch_interval?: any; capabilities?: WasmCapabilities; allow_http_outgoing?: boolean; allowed_hosts?: (string)[]; allow_tcp?: boolean; allow_udp?: boolean; preopens?: (WasmPreopen)[]; kv_enabled?: boolean; kv_namespace?: string; kv_max_value_size?: any; secrets?: (string)[]; precompile?: boolean };
/** What a path is answered with; the more specific ones first. */
export type Answer<P> =
  P extends `/deployments/${string}/services/${string}/ended` | `/deployments/${string}/services/${string}/ended?${string}` ? (EndedReplica)[] :
  P extends `/containers/${string}/stats/history` | `/containers/${string}/stats/history?${string}` ? MetricHistoryView :
  P extends `/deployments/${string}/services/${string}` | `/deployments/${string}/services/${string}?${string}` ? DeploymentViewServiceView :
  P extends `/ingress/services/${string}/${string}` | `/ingress/services/${string}/${string}?${string}` ? IngressServiceView :
  P extends `/containers/${string}/changes` | `/containers/${string}/changes?${string}` ? (FileChange)[] :
  P extends `/containers/${string}/environment` | `/containers/${string}/environment?${string}` ? (ContainerInsideVariable)[] :
  P extends `/containers/${string}/ports` | `/containers/${string}/ports?${string}` ? (ContainerViewPortView)[] :
  P extends `/containers/${string}/stats` | `/containers/${string}/stats?${string}` ? StatsStatsView :
  P extends `/containers/${string}/top` | `/containers/${string}/top?${string}` ? ProcessTable :
  P extends `/deployments/${string}/revisions` | `/deployments/${string}/revisions?${string}` ? (DeploymentViewRevisionView)[] :
  P extends `/deployments/${string}/services` | `/deployments/${string}/services?${string}` ? (DeploymentViewServiceView)[] :
  P extends `/executions/${string}/artifacts` | `/executions/${string}/artifacts?${string}` ? (ExecutionViewArtifactView)[] :
  P extends `/executions/${string}/wait` | `/executions/${string}/wait?${string}` ? ExecutionView :
  P extends `/jobs/${string}/${string}` | `/jobs/${string}/${string}?${string}` ? JobsJobView :
  P extends `/cluster/certificate` | `/cluster/certificate?${string}` ? ClusterNodeCertificateView :
  P extends `/cron/upcoming` | `/cron/upcoming?${string}` ? (JobsUpcomingView)[] :
  P extends `/dashboard/sessions` | `/dashboard/sessions?${string}` ? (DashboardSessionsInfo)[] :
  P extends `/health/ready` | `/health/ready?${string}` ? Health :
  P extends `/images/history` | `/images/history?${string}` ? (ImageViewStep)[] :
  P extends `/images/inspect` | `/images/inspect?${string}` ? ImageViewDetails :
  P extends `/ingress/certificates` | `/ingress/certificates?${string}` ? (CertificatesCertificateView)[] :
  P extends `/ingress/routes` | `/ingress/routes?${string}` ? (IngressRouteView)[] :
  P extends `/stats/history` | `/stats/history?${string}` ? MetricHistoryView :
  P extends `/containers/${string}` | `/containers/${string}?${string}` ? InspectView :
  P extends `/deployments/${string}` | `/deployments/${string}?${string}` ? DeploymentView :
  P extends `/executions/${string}` | `/executions/${string}?${string}` ? ExecutionView :
  P extends `/networks/${string}` | `/networks/${string}?${string}` ? StorageNetworkDetails :
  P extends `/nodes/${string}` | `/nodes/${string}?${string}` ? ClusterNodeView :
  P extends `/volumes/${string}` | `/volumes/${string}?${string}` ? StorageVolumeView :
  P extends `/cluster` | `/cluster?${string}` ? ClusterClusterStatusView :
  P extends `/containers` | `/containers?${string}` ? (ContainerView)[] :
  P extends `/cron` | `/cron?${string}` ? (CronStatus)[] :
  P extends `/deployments` | `/deployments?${string}` ? (DeploymentView)[] :
  P extends `/ended` | `/ended?${string}` ? (DeploymentsEnded)[] :
  P extends `/events` | `/events?${string}` ? EventsPage :
  P extends `/executions` | `/executions?${string}` ? (ExecutionView)[] :
  P extends `/gpus` | `/gpus?${string}` ? (GpusGpuView)[] :
  P extends `/images` | `/images?${string}` ? (ImageView)[] :
  P extends `/jobs` | `/jobs?${string}` ? (JobsJobView)[] :
  P extends `/networks` | `/networks?${string}` ? (StorageNetworkView)[] :
  P extends `/nodes` | `/nodes?${string}` ? (ClusterNodeView)[] :
  P extends `/queue` | `/queue?${string}` ? (ExecutionsWaiting)[] :
  P extends `/secrets` | `/secrets?${string}` ? (SecretsSecretView)[] :
  P extends `/stats` | `/stats?${string}` ? (StatsStatsView)[] :
  P extends `/tokens` | `/tokens?${string}` ? (TokensTokenView)[] :
  P extends `/version` | `/version?${string}` ? Version :
  P extends `/volumes` | `/volumes?${string}` ? (StorageVolumeView)[] :
  any;
