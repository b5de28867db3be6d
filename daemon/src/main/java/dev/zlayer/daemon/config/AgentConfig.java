package dev.zlayer.daemon.config;

import dev.zlayer.daemon.log.Log;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import dev.zlayer.spec.form.Range;
import dev.zlayer.spec.form.Text;
import dev.zlayer.spec.value.AddressRange;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * What the operator can set. The keys of the file are these names in snake_case; the environment
 * has {@code ZLAYER_} and the key in capitals, the command line {@code --} and the key with
 * hyphens.
 */
@Doc("The agent's configuration.")
public record AgentConfig(
    @Doc("Where everything durable lies.") @Default("/var/lib/zlayer") String dataDir,
    @Doc(
            "Where things lie that a reboot may take, best in memory; /run/zlayer for the usual"
                + " data_dir, below any other.")
        Optional<String> runDir,
    @Doc("The socket that commands use; zlayer.sock in run_dir when absent.")
        Optional<String> socket,
    @Doc("Whose members may use the socket besides its owner.") Optional<String> socketGroup,
    @Doc("A further socket that only reads: statuses, logs and events.")
        Optional<String> readOnlySocket,
    @Doc(
            "The socket that speaks the API of the Docker Engine; docker.sock in run_dir when"
                + " absent, off for none.")
        Optional<String> dockerSocket,
    @Doc(
            "Whose members may use that socket besides its owner; the group zlayer where there is"
                + " one when absent.")
        Optional<String> dockerSocketGroup,
    @Doc(
            "What containers made through that socket may have besides the usual, separated by"
                + " commas: privileged, host_mounts, host_namespaces; none for nothing of it.")
        @Default("privileged,host_mounts,host_namespaces")
        @Text(
            pattern =
                "none|(privileged|host_mounts|host_namespaces)"
                    + "(,(privileged|host_mounts|host_namespaces))*",
            write = "none, or some of privileged,host_mounts,host_namespaces")
        String dockerAllow,
    @Doc("Address and port for other machines; needs token_file or tls_client_ca.")
        @Text(pattern = "[^\\s]+:[0-9]{1,5}", write = "an address and a port, 127.0.0.1:7878")
        Optional<String> listen,
    @Doc("Further names under which other machines may call this agent.") List<String> hosts,
    @Doc("The agent's certificate chain as PEM.") Optional<String> tlsCertificate,
    @Doc("Its private key as PEM (PKCS 8), readable by the owner only.") Optional<String> tlsKey,
    @Doc("Callers need a certificate signed by one of these (PEM).") Optional<String> tlsClientCa,
    @Doc("A file with the token that callers must show, readable by the owner only.")
        Optional<String> tokenFile,
    @Doc(
            "Address and port of the dashboard: loopback, or with tls_certificate; off for none."
                + " When absent 'zlayer dashboard' opens it on a free port of 127.0.0.1.")
        @Text(
            pattern = "off|[^\\s]+:[0-9]{1,5}",
            write = "off, or an address and a port, 127.0.0.1:7879")
        Optional<String> dashboardListen,
    @Doc("Which lines are logged.") @Default("info") Log.Level logLevel,
    @Doc("How they are written.") @Default("text") Log.Format logFormat,
    @Doc("Which OCI runtime to use, a name or a path; the fastest that works when absent.")
        Optional<String> ociRuntime,
    @Doc(
            "A seccomp profile for containers that name none, such as"
                + " /usr/share/containers/seccomp.json; the agent's own, which allows what Docker's"
                + " does, when absent.")
        Optional<String> seccompProfile,
    @Doc(
            "Below which directory the GPU driver is installed, such as /run/nvidia/driver for one"
                + " in a container of its own.")
        @Default("/")
        @Text(pattern = "/.*", write = "an absolute path")
        String gpuDriverRoot,
    @Doc(
            "User namespace of containers that name none: host, or auto for a private one each, so"
                + " that root inside is an unprivileged user of the host.")
        @Default("host")
        @Text(pattern = "auto|host", write = "auto or host")
        String userns,
    @Doc(
            "Host ids for private user namespaces, FIRST:COUNT; each container takes 65536. No"
                + " other agent or tool may use them.")
        @Default("1879048192:268304384")
        @Text(pattern = "[0-9]{1,10}:[0-9]{1,10}", write = "FIRST:COUNT, as 1879048192:268304384")
        String usernsPool,
    @Doc(
            "A Docker Engine for what it serves better, unix:///var/run/docker.sock; none when"
                + " absent.")
        Optional<String> docker,
    @Doc("A WSL distribution that runs Linux containers; on Windows its usual one when absent.")
        Optional<String> wsl,
    @Doc("The program that leads into it; wsl.exe when absent.") Optional<String> wslProgram,
    @Doc("Begins the names of bridges and is the name of the packet filter table.")
        Optional<String> networkPrefix,
    @Doc("The range from which networks get their addresses.") Optional<String> networkRange,
    @Doc(
            "Whether the default network and those of deployments have IPv6 addresses, too;"
                + " containers get one when they are created.")
        @Default("false")
        boolean networkIpv6,
    @Doc(
            "Whether packets between other interfaces of the host are dropped when the agent had to"
                + " switch forwarding on for its containers.")
        @Default("true")
        boolean networkForwardDrop,
    @Doc("How many network namespaces are kept ready.") @Default("4") @Range(min = 0, max = 256)
        int networkPool,
    @Doc(
            "Where the ingress accepts HTTP requests, ADDRESS:PORT or :PORT for all addresses; used"
                + " while an endpoint has a host or a path.")
        @Default(":80")
        @Text(pattern = "[0-9.]*:[0-9]{1,5}", write = ":PORT or ADDRESS:PORT, 127.0.0.1:8080")
        String ingressHttp,
    @Doc("The same for HTTPS; used while an endpoint has tls.")
        @Default(":443")
        @Text(pattern = "[0-9.]*:[0-9]{1,5}", write = ":PORT or ADDRESS:PORT, 127.0.0.1:8443")
        String ingressHttps,
    @Doc(
            "Addresses and ranges of load balancers in front of the ingress, whose connections"
                + " begin with the PROXY protocol; nobody else is believed.")
        List<AddressRange> ingressProxyProtocolFrom,
    @Doc("Executions of jobs at the same time.") @Default("64") @Range(min = 1, max = 10000)
        int jobConcurrency,
    @Doc("Executions of jobs that may wait.") @Default("10000") @Range(min = 1, max = 1000000)
        int jobQueue,
    @Doc("Newest events that are kept.") @Default("100000") @Range(min = 1000, max = 100000000)
        int events,
    @Doc("Newest records of the audit log that are kept.")
        @Default("100000")
        @Range(min = 1000, max = 10000000)
        int auditRecords,
    @Doc("Whether init.host_run may run commands on the machine itself.") @Default("false")
        boolean hostCommands,
    @Doc("The directory of registries.json: mirrors, certificates, plain HTTP.")
        @Default("/etc/zlayer")
        String configDir,
    @Doc(
            "Remove unused images, then kept logs, when the disk is fuller than this, in percent; 0"
                + " for never.")
        @Default("85")
        @Range(min = 0, max = 100)
        int imageGcHigh,
    @Doc("Remove no more of them when it is not fuller than this.")
        @Default("75")
        @Range(min = 0, max = 100)
        int imageGcLow,
    @Doc(
            "Proxy for registries that speak plain HTTP, http://[user:password@]host[:port];"
                + " $HTTP_PROXY when absent.")
        Optional<String> httpProxy,
    @Doc("Proxy for all other registries; $HTTPS_PROXY when absent.") Optional<String> httpsProxy,
    @Doc("Hosts that need no proxy, separated by commas; $NO_PROXY when absent.")
        Optional<String> noProxy,
    @Doc("The file that docker login and its kin write.") Optional<String> dockerConfig,
    @Doc(
            "The ACME server that certificates of hosts are ordered from; Let's Encrypt when"
                + " absent.")
        @Text(pattern = "https://[^\\s]+", write = "an https:// address")
        Optional<String> acmeDirectory,
    @Doc("Whether certificates are ordered from the test server of Let's Encrypt.")
        @Default("false")
        boolean acmeStaging,
    @Doc("Whether the terms of service of the ACME server are accepted; nothing is ordered before.")
        @Default("false")
        boolean acmeAcceptTerms,
    @Doc("Where the ACME server may write to.")
        @Text(pattern = "[^\\s@]+@[^\\s@]+", write = "a mail address")
        Optional<String> acmeEmail,
    @Doc("Certificates (PEM) to trust the ACME server by, instead of the system's.")
        Optional<String> acmeCaBundle,
    @Doc(
            "How hosts are validated: http (HTTP-01, on port 80) or dns (DNS-01, by acme_dns_hook);"
                + " wildcards always by dns.")
        @Default("http")
        @Text(pattern = "http|dns", write = "http or dns")
        String acmeChallenge,
    @Doc(
            "The program that writes DNS records, called with present or cleanup, domain, name and"
                + " value; it has five minutes to return when the record is served.")
        @Text(pattern = "/.*", write = "an absolute path")
        Optional<String> acmeDnsHook,
    @Doc("The key id of an account that exists elsewhere (external account binding).")
        Optional<String> acmeEabKeyId,
    @Doc("The secret of all deployments that holds the key for acme_eab_key_id, as base64url.")
        Optional<String> acmeEabSecret,
    @Doc(
            "Seconds after which a single instance is stopped on a node that has lost its cluster;"
                + " others start it after 7/4 of them. Write the same on all nodes.")
        @Default("20")
        @Range(min = 4, max = 3600)
        int clusterClaimSeconds,
    @Doc("Who is notified of failures, by a webhook or a program.")
        List<NotificationConfig> notifications) {
  public AgentConfig {
    hosts = List.copyOf(hosts);
    ingressProxyProtocolFrom = List.copyOf(ingressProxyProtocolFrom);
    notifications = List.copyOf(notifications);
  }

  /** Everything as usual, below one directory; for those who embed the agent. */
  public static AgentConfig under(Path directory) {
    return ConfigReader.defaults(directory);
  }

  public DataDir directories() {
    Path data = Path.of(dataDir).toAbsolutePath();
    return runDir
        .map(run -> new DataDir(data, Path.of(run).toAbsolutePath()))
        .orElseGet(() -> DataDir.of(data));
  }

  /** Where the API of the Docker Engine is served, unless it is switched off. */
  public Optional<Path> dockerSocketPath() {
    return dockerSocket.filter("off"::equals).isPresent()
        ? Optional.empty()
        : Optional.of(dockerSocket.map(Path::of).orElseGet(() -> directories().dockerSocket()));
  }

  public Path socketPath() {
    return socket.map(Path::of).orElseGet(() -> directories().socket());
  }
}
