package dev.zlayer.daemon;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.daemon.config.ConfigReader;
import dev.zlayer.error.AgentException;
import dev.zlayer.proxy.tls.AcmeConfig;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What the configuration says about the authority for certificates. */
class SettingsTest {
  private static AcmeConfig acme(Map<String, String> variables) {
    return Settings.acme(ConfigReader.read(Optional.empty(), variables, Map.of()).config());
  }

  @Test
  void oneSwitchAsksTheAuthorityForTrials() {
    assertThat(acme(Map.of()).directory()).isEqualTo(AcmeConfig.PRODUCTION);
    assertThat(acme(Map.of("ZLAYER_ACME_STAGING", "true")).directory())
        .isEqualTo(AcmeConfig.STAGING);
    assertThat(acme(Map.of("ZLAYER_ACME_DIRECTORY", "https://ca.test/dir")).directory())
        .isEqualTo("https://ca.test/dir");
  }

  @Test
  void twoAuthoritiesAreRefused() {
    assertThatThrownBy(
            () ->
                acme(
                    Map.of(
                        "ZLAYER_ACME_STAGING", "true",
                        "ZLAYER_ACME_DIRECTORY", "https://ca.test/dir")))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("acme_staging and acme_directory name two servers");
  }

  @Test
  void halfABindingIsRefused() {
    assertThatThrownBy(() -> acme(Map.of("ZLAYER_ACME_EAB_KEY_ID", "one")))
        .isInstanceOf(AgentException.Configuration.class)
        .hasMessageContaining("acme_eab_secret");
  }
}
