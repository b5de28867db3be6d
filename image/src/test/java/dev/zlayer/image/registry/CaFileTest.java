package dev.zlayer.image.registry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import dev.zlayer.error.AgentException;
import dev.zlayer.host.process.Command;
import dev.zlayer.host.process.Processes;
import dev.zlayer.oci.ImageRef;
import dev.zlayer.task.Deadline;
import dev.zlayer.testkit.image.Content;
import dev.zlayer.testkit.image.ImageMaker;
import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CaFileTest {
  private static final String PASSWORD = "changeit";

  @TempDir Path temp;
  private final Content manifest = ImageMaker.scratch().make().manifest();
  private HttpsServer server;
  private ImageRef ref;

  @BeforeEach
  void start() throws Exception {
    Path store = temp.resolve("store.p12");
    keytool(
        "-genkeypair",
        "-alias",
        "a",
        "-keyalg",
        "EC",
        "-dname",
        "CN=localhost",
        "-ext",
        "san=dns:localhost",
        "-keystore",
        store.toString());
    keytool(
        "-exportcert",
        "-rfc",
        "-alias",
        "a",
        "-keystore",
        store.toString(),
        "-file",
        temp.resolve("ca.pem").toString());
    server = HttpsServer.create(new InetSocketAddress("localhost", 0), 0);
    server.setHttpsConfigurator(new HttpsConfigurator(context(store)));
    server.createContext(
        "/",
        exchange -> {
          try (exchange) {
            FakeRegistry.send(exchange, manifest);
          }
        });
    server.start();
    ref = ImageRef.parse("localhost:" + server.getAddress().getPort() + "/app:v1");
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private static void keytool(String... arguments) throws InterruptedException {
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(arguments));
    command.addAll(List.of("-storepass", PASSWORD, "-storetype", "PKCS12"));
    Processes.check(Command.of(command), Deadline.after(Duration.ofSeconds(30)));
  }

  private static SSLContext context(Path store) throws Exception {
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD.toCharArray());
    }
    var factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(keys, PASSWORD.toCharArray());
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(factory.getKeyManagers(), null, null);
    return context;
  }

  private Fetched fetch(String config) throws Exception {
    try (var registry =
        new Registry(
            RegistriesConfig.parse(config.formatted(ref.host())),
            ForwardProxies.NONE,
            Credentials.NONE,
            Timeouts.DEFAULT,
            InstantSource.system())) {
      return registry.repository(ref, Optional.empty(), _ -> {}).manifest("v1");
    }
  }

  @Test
  void trustsWhatTheOperatorTrustsAndNothingElse() throws Exception {
    String file = temp.resolve("ca.pem").toString();
    assertThat(
            fetch("{\"hosts\": {\"%s\": {\"plainHttp\": false, \"caFile\": \"" + file + "\"}}}")
                .digest())
        .isEqualTo(manifest.digest());
    assertThatThrownBy(() -> fetch("{\"hosts\": {\"%s\": {\"plainHttp\": false}}}"))
        .isInstanceOfSatisfying(
            RegistryException.class,
            e -> assertThat(e.problem()).isEqualTo(RegistryException.Problem.TLS))
        .hasMessageContaining("no secure connection to https://localhost");
  }

  @Test
  void aFileThatIsNoneIsTold() throws Exception {
    Path empty = Files.writeString(temp.resolve("empty.pem"), "");
    assertThatThrownBy(
            () ->
                fetch(
                    "{\"hosts\": {\"%s\": {\"plainHttp\": false, \"caFile\": \"" + empty + "\"}}}"))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining(empty.toString());
  }
}
