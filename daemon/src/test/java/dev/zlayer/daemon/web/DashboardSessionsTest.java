package dev.zlayer.daemon.web;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.Caller;
import dev.zlayer.engine.state.MemoryStateStore;
import dev.zlayer.engine.state.StateStore;
import dev.zlayer.error.AgentException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import org.junit.jupiter.api.Test;

/** Links and sessions over time. */
class DashboardSessionsTest {
  private static final Duration HOUR = Duration.ofHours(1);

  private Instant now = Instant.parse("2026-01-01T00:00:00Z");
  private final StateStore store = new MemoryStateStore();
  private final DashboardSessions sessions = DashboardSessions.open(store, () -> now);

  private DashboardSessions.Login login(boolean readOnly) {
    return sessions.login(sessions.createLink("anna", readOnly, HOUR), "127.0.0.1", "Chromium");
  }

  @Test
  void aLinkLogsInOnceWithinFiveMinutes() {
    String link = sessions.createLink("anna", false, HOUR);
    String old = sessions.createLink("anna", false, HOUR);

    assertThat(sessions.login(link, "127.0.0.1", "").info().user()).isEqualTo("anna");
    assertThatThrownBy(() -> sessions.login(link, "127.0.0.1", ""))
        .isInstanceOf(AccessDenied.class)
        .hasMessageContaining("was used already");
    now = now.plus(DashboardSessions.LINK);
    assertThatThrownBy(() -> sessions.login(old, "127.0.0.1", ""))
        .hasMessageContaining("older than 5 minutes");
  }

  @Test
  void aSessionEndsAtItsTime() {
    DashboardSessions.Login login = login(false);

    now = now.plus(HOUR).minusSeconds(1);
    assertThat(sessions.find(login.cookie())).isPresent();
    now = now.plusSeconds(1);

    assertThat(sessions.find(login.cookie())).isEmpty();
    assertThat(sessions.list()).isEmpty();
    DashboardSessions.open(store, () -> now);
    assertThat(store.list("dashboard-session")).isEmpty();
  }

  @Test
  void onlyItsHashIsKeptAndTheNextAgentKnowsIt() {
    DashboardSessions.Login login = login(true);

    var next = DashboardSessions.open(store, () -> now);

    assertThat(next.cookie()).isEqualTo(sessions.cookie());
    assertThat(next.find(login.cookie()))
        .hasValueSatisfying(
            session ->
                assertThat(session.token().access()).isInstanceOf(Caller.Access.ReadOnly.class));
    assertThat(
            new String(store.list("dashboard-session").getFirst().value(), StandardCharsets.UTF_8))
        .doesNotContain(login.cookie().substring(13));
    assertThat(login.toString()).doesNotContain(login.cookie());
  }

  @Test
  void aRevokedSessionIsReportedAndEnds() {
    DashboardSessions.Login login = login(false);
    var revoked = new ArrayList<String>();
    sessions.onRevoked(revoked::add);

    sessions.revoke(login.info().id());

    assertThat(revoked).containsExactly(login.info().id());
    assertThat(sessions.find(login.cookie())).isEmpty();
    assertThatThrownBy(() -> sessions.revoke(login.info().id()))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void anAddressThatGuessesHasToWaitAndOthersDoNot() {
    String link = sessions.createLink("anna", false, HOUR);
    for (int i = 0; i < DashboardSessions.FAILURES; i++) {
      assertThatThrownBy(() -> sessions.login("guess", "10.0.0.9", ""))
          .hasMessageContaining("unknown");
    }

    assertThatThrownBy(() -> sessions.login(link, "10.0.0.9", ""))
        .hasMessageContaining("too many failed logins");
    assertThat(sessions.login(link, "10.0.0.8", "").info().user()).isEqualTo("anna");
    now = now.plus(DashboardSessions.WINDOW);
    assertThatThrownBy(() -> sessions.login("guess", "10.0.0.9", ""))
        .hasMessageContaining("unknown");
  }

  @Test
  void linksAndSessionsHaveLimits() {
    String first = sessions.createLink("anna", false, HOUR);
    for (int i = 0; i < DashboardSessions.MOST_LINKS; i++) {
      String _ = sessions.createLink("anna", false, HOUR);
    }
    assertThatThrownBy(() -> sessions.login(first, "127.0.0.1", ""))
        .hasMessageContaining("unknown");
    for (int i = 0; i < DashboardSessions.MOST_SESSIONS; i++) {
      login(false);
    }
    assertThatThrownBy(() -> login(false)).hasMessageContaining("64 sessions");
    assertThatThrownBy(() -> sessions.createLink("anna", false, Duration.ofDays(31)))
        .isInstanceOf(AgentException.InvalidSpec.class);
  }
}
