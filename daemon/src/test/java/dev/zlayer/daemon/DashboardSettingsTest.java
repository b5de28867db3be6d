package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.config.AgentConfig;
import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.daemon.http.DashboardListener;
import dev.zlayer.daemon.web.Dashboard;
import dev.zlayer.daemon.web.DashboardSessions;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.error.AgentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where the dashboard may be served. */
class DashboardSettingsTest {
  @TempDir Path directory;

  private AgentConfig config(String settings) throws IOException {
    Path file = Files.writeString(directory.resolve("zlayer.yml"), settings);
    return ConfigReader.read(Optional.of(file), Map.of(), Map.of()).config();
  }

  @Test
  void withoutASettingItIsOnLoopbackOnAFreePort() throws IOException {
    DashboardListener listener = TcpSettings.dashboard(config("data_dir: /tmp\n")).orElseThrow();

    assertThat(listener.address().getAddress().isLoopbackAddress()).isTrue();
    assertThat(listener.address().getPort()).isZero();
    assertThat(listener.url(80)).isEqualTo("http://127.0.0.1:80/");
  }

  @Test
  void otherMachinesReachItWithTlsAlone() throws IOException {
    AgentConfig plain = config("dashboard_listen: 192.0.2.1:7879\n");
    AgentConfig everywhere = config("dashboard_listen: 0.0.0.0:7879\n");

    assertThatThrownBy(() -> TcpSettings.dashboard(plain))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("would send sessions in the clear");
    assertThatThrownBy(() -> TcpSettings.dashboard(everywhere)).hasMessageContaining("set 'hosts'");
  }

  @Test
  void itCanBeSwitchedOff() throws IOException {
    Optional<DashboardListener> off = TcpSettings.dashboard(config("dashboard_listen: 'off'\n"));
    var store = new MemoryStateStore();
    var sessions = DashboardSessions.open(store, InstantSource.system());
    var dashboard = new Dashboard(off, sessions, store, InstantSource.system());

    assertThatThrownBy(() -> dashboard.createLink("anna", false, Duration.ofHours(1)))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("the dashboard is off");
  }
}
