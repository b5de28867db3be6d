package dev.zlayer.cluster.member;

/** Where things are in the store of the cluster. */
public final class StoreKeys {
  /** Everything but files, which are large and read one by one. */
  public static final String ALL = "/zlayer/";

  /** {@link ClusterSettings}; older clusters have none. */
  public static final String CLUSTER = "/zlayer/cluster";

  public static final String MEMBERS = "/zlayer/members/";
  public static final String ALIVE = "/zlayer/nodes/";

  /** When certificates of nodes expire, by node and serial number. */
  static final String CERTIFICATES = "/zlayer/certificates/";

  /** When certificates expire that must not be used any more, by serial number. */
  static final String REVOKED = "/zlayer/revoked/";

  /** Outside of what every node reads. */
  static final String TOKENS = "/zlayer-tokens/";

  /** Changes with every admission, so that two of them cannot be decided on the same nodes. */
  static final String ADMISSION = "/zlayer/admission";

  /** Who alone makes assignments. */
  public static final String LEADER = "/zlayer/leader";

  /** Deployments that are wanted. */
  public static final String DESIRED = "/zlayer/desired/";

  /** What each node runs of a deployment. */
  public static final String ASSIGNMENTS = "/zlayer/assignments/";

  /** What each node says about that. */
  public static final String REPORTS = "/zlayer/reports/";

  /** Where named volumes lie. */
  public static final String VOLUMES = "/zlayer/volumes/";

  /** Who alone may run something, whatever else is assigned. */
  public static final String CLAIMS = "/zlayer/claims/";

  /**
   * Changes when a node renews its claims; outside of what is read at every decision, as it says
   * nothing to anybody but the one who waits for a claim of a lost node.
   */
  public static final String RENEWALS = "/zlayer-renewals/";

  /** Why replicas are not placed. */
  public static final String UNPLACED = "/zlayer/unplaced/";

  /** The part of the cluster's addresses that each node has. */
  public static final String SUBNETS = "/zlayer/subnets/";

  /** Changes with every subnet that is given, so that two nodes cannot get the same one. */
  public static final String SUBNET_TURN = "/zlayer/subnet-turn";

  /** The networks of deployments on each node; not under its lease, as they outlive its agent. */
  public static final String NETWORKS = "/zlayer/networks/";

  /** With which nodes encrypt packets to each other; each is signed by its node. */
  public static final String LINK_KEYS = "/zlayer/link-keys/";

  /** Executions of jobs that have not ended. */
  public static final String EXECUTIONS = "/zlayer/executions/";

  /** How far schedules have come. */
  public static final String SCHEDULES = "/zlayer/schedules/";

  /** The runs of jobs for which services wait. */
  public static final String DEPENDENCIES = "/zlayer/dependencies/";

  /** What everybody may know of a secret, by deployment, service and name. */
  public static final String SECRETS = "/zlayer/secrets/";

  /** Values of secrets, sealed; outside of what every node follows. */
  public static final String SEALED = "/zlayer-sealed/";

  /** How executions ended; outside of what is read at every decision. */
  public static final String RESULTS = "/zlayer-results/";

  /** The last number of each job's executions; it outlives the deployment. */
  static final String NUMBERS = "/zlayer-numbers/";

  static final String FILES = "/zlayer-files/";

  /** All that is kept about events. */
  static final String EVENTS_ALL = "/zlayer-events/";

  /** What happened to the cluster; outside of what is read at every decision. */
  public static final String EVENTS = "/zlayer-events/log/";

  /** The number of the last of these. */
  public static final String LAST_EVENT = "/zlayer-events/last";

  /** What they have said about leader and nodes. */
  public static final String SEEN_NODES = "/zlayer-events/seen";

  private StoreKeys() {}

  /** Every node that belongs to the cluster. */
  public static String member(String id) {
    return MEMBERS + id;
  }

  /** Nodes that are alive, each under its lease. */
  public static String alive(String id) {
    return ALIVE + id;
  }

  /** The certificates of a node. */
  static String certificates(String id) {
    return CERTIFICATES + id + "/";
  }

  /** The subnet of a node. */
  public static String subnet(String id) {
    return SUBNETS + id;
  }

  /** The public key of a node for encrypted packets. */
  public static String linkKey(String id) {
    return LINK_KEYS + id;
  }

  /** The file of one revision of a deployment. */
  public static String file(String deployment, long revision) {
    return "%s%010d".formatted(files(deployment), revision);
  }

  /** All files of a deployment. */
  public static String files(String deployment) {
    return FILES + deployment + "/";
  }

  /** One execution, in the order of their numbers. */
  public static String execution(String deployment, String job, long number) {
    return "%s%s/%s/%010d".formatted(EXECUTIONS, deployment, job, number);
  }

  /** The end of one execution. */
  public static String result(String deployment, String job, long number) {
    return "%s%010d".formatted(results(deployment, job), number);
  }

  /** Those of a job that are kept. */
  public static String results(String deployment, String job) {
    return RESULTS + deployment + "/" + job + "/";
  }

  /** The number of a job's last execution. */
  public static String number(String deployment, String job) {
    return NUMBERS + deployment + "/" + job;
  }

  /** What a node runs of a deployment. */
  public static String assignment(String node, String deployment) {
    return ASSIGNMENTS + node + "/" + deployment;
  }

  static String token(String id) {
    return TOKENS + id;
  }
}
