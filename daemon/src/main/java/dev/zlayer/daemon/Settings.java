package dev.zlayer.daemon;

import dev.zlayer.cluster.network.NodeSubnet;
import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.credential.DockerConfig;
import dev.zlayer.host.file.DataDir;
import dev.zlayer.host.http.HttpAddress;
import dev.zlayer.host.linux.Ipv6;
import dev.zlayer.host.linux.Machine;
import dev.zlayer.image.ImagesConfig;
import dev.zlayer.image.registry.ForwardProxies;
import dev.zlayer.image.registry.RegistriesConfig;
import dev.zlayer.oci.Platform;
import dev.zlayer.proxy.ProxyConfig;
import dev.zlayer.proxy.ingress.IngressConfig;
import dev.zlayer.proxy.tls.AcmeConfig;
import dev.zlayer.runtime.cni.NetworkConfig;
import dev.zlayer.runtime.cni.Subnet;
import dev.zlayer.runtime.docker.DockerSettings;
import dev.zlayer.runtime.oci.OciSettings;
import dev.zlayer.runtime.oci.UserIds;
import dev.zlayer.runtime.oci.tool.OciTools;
import dev.zlayer.runtime.wsl.WslDistribution;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.NoSuchAlgorithmException;
import java.time.InstantSource;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32C;
import javax.net.ssl.SSLContext;

/** From the operator's words to what each part wants. */
final class Settings {
  private Settings() {}

  static ImagesConfig images(AgentConfig config, Map<String, String> env, InstantSource clock) {
    Path dockerConfig =
        config
            .dockerConfig()
            .map(Path::of)
            .or(() -> variable(env, "DOCKER_CONFIG").map(dir -> Path.of(dir, "config.json")))
            .orElseGet(
                () -> Path.of(System.getProperty("user.home", "/root"), ".docker", "config.json"));
    return ImagesConfig.of(Platform.of("linux", Machine.architecture()), clock)
        .withRegistries(
            RegistriesConfig.read(Path.of(config.configDir()).resolve("registries.json")))
        .withProxies(
            ForwardProxies.parse(
                config.httpProxy().or(() -> variable(env, "HTTP_PROXY")),
                config.httpsProxy().or(() -> variable(env, "HTTPS_PROXY")),
                config.noProxy().or(() -> variable(env, "NO_PROXY"))))
        .withCredentials(new DockerConfig(dockerConfig)::find);
  }

  /** Programs write these variables in both ways; the small letters are older. */
  private static Optional<String> variable(Map<String, String> env, String name) {
    return Optional.ofNullable(env.get(name.toLowerCase(Locale.ROOT)))
        .or(() -> Optional.ofNullable(env.get(name)));
  }

  static AcmeConfig acme(AgentConfig config) {
    if (config.acmeStaging() && config.acmeDirectory().isPresent()) {
      throw new AgentException.Configuration(
          "acme_staging and acme_directory name two servers: remove one of them");
    }
    if (config.acmeEabKeyId().isPresent() != config.acmeEabSecret().isPresent()) {
      throw new AgentException.Configuration(
          "acme_eab_key_id and acme_eab_secret belong together: set both or none");
    }
    boolean dns = config.acmeChallenge().equals("dns");
    if (dns && config.acmeDnsHook().isEmpty()) {
      throw new AgentException.Configuration("acme_challenge dns needs acme_dns_hook");
    }
    return new AcmeConfig(
        config
            .acmeDirectory()
            .orElse(config.acmeStaging() ? AcmeConfig.STAGING : AcmeConfig.PRODUCTION),
        config.acmeEmail(),
        config.acmeAcceptTerms(),
        config.acmeCaBundle().map(Path::of),
        dns,
        config.acmeDnsHook().map(Path::of),
        config
            .acmeEabKeyId()
            .map(id -> new AcmeConfig.Binding(id, config.acmeEabSecret().orElseThrow())));
  }

  static NetworkConfig networks(AgentConfig config) {
    DataDir dirs = config.directories();
    NetworkConfig usual = NetworkConfig.of(dirs.networkRun(), dirs.networks());
    return usual
        .withPrefix(
            config.networkPrefix().orElseGet(() -> prefix(dirs.data())),
            config.networkRange().map(Subnet::parse).orElse(usual.subnets()))
        .withIpv6(config.networkIpv6())
        .withForwardDrop(config.networkForwardDrop())
        .withPoolSize(config.networkPool());
  }

  static ProxyConfig endpoints(AgentConfig config) {
    NetworkConfig networks = networks(config);
    DataDir dirs = config.directories();
    Subnet cluster = Subnet.parse(NodeSubnet.RANGE);
    return ProxyConfig.of(
            dirs.endpoints(),
            dirs.formerEndpoints(),
            address -> networks.subnets().contains(address) || cluster.contains(address))
        .withPrefix(networks.prefix());
  }

  static IngressConfig ingress(AgentConfig config) {
    return IngressConfig.of(
            config.directories().ingress(),
            config.ingressHttp(),
            config.ingressHttps(),
            Ipv6.obstacle().isEmpty())
        .withProxies(config.ingressProxyProtocolFrom())
        .withState(config.directories().ingressState());
  }

  /** Agents on other directories of one machine must not share bridges and tables. */
  private static String prefix(Path data) {
    if (data.equals(DataDir.USUAL)) {
      return "zlayer";
    }
    var sum = new CRC32C();
    sum.update(data.toString().getBytes(StandardCharsets.UTF_8));
    return "zl" + Long.toString(sum.getValue() % 0x1000000L, 36) + "z";
  }

  static DockerSettings docker(AgentConfig config) {
    return DockerSettings.of(
        HttpAddress.parse(config.docker().orElseThrow(), Optional.empty()),
        prefix(config.directories().data()));
  }

  /** The distribution that is to run Linux containers; none where nobody named one but Windows. */
  static Optional<WslDistribution> wsl(AgentConfig config) throws InterruptedException {
    boolean windows = System.getProperty("os.name", "").startsWith("Windows");
    String program = config.wslProgram().orElse("wsl.exe");
    var quoting = windows ? WslDistribution.Quoting.WINDOWS : WslDistribution.Quoting.NONE;
    if (config.wsl().isPresent()) {
      return Optional.of(new WslDistribution(program, config.wsl().get(), quoting));
    }
    return windows ? WslDistribution.usual(program, quoting) : Optional.empty();
  }

  static OciSettings oci(AgentConfig config) {
    return OciSettings.DEFAULT
        .withTools(new OciTools.Choice(config.ociRuntime(), Optional.empty()))
        .withGpus(OciSettings.DEFAULT.cdiDirectories(), Path.of(config.gpuDriverRoot()))
        .withSeccompProfile(config.seccompProfile().map(Path::of))
        .withUsers(users(config));
  }

  private static UserIds.Pool users(AgentConfig config) {
    String[] pool = config.usernsPool().split(":", -1);
    return new UserIds.Pool(
        config.userns().equals("auto"), Long.parseLong(pool[0]), Long.parseLong(pool[1]));
  }

  static SSLContext tls() {
    try {
      return SSLContext.getDefault();
    } catch (NoSuchAlgorithmException e) {
      throw new AgentException.Internal("this JDK has no TLS", e);
    }
  }
}
