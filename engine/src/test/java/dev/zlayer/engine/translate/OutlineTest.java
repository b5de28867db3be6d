package dev.zlayer.engine.translate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.container.ContainerSpec;
import dev.zlayer.container.Mount;
import dev.zlayer.error.AgentException;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.value.SecretRef;
import java.nio.file.Path;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Services without replicas on a node that is given secrets with the first one only. */
class OutlineTest {
  private static final ServiceSpec SERVICE =
      ServiceTranslatorTest.definition(
              """
              env: {DB: "$S:db/user", PLAIN: text}
              secrets: [db]
              """)
          .service();

  /** It has none of any deployment. */
  private static ServiceTranslator translator(boolean partial) {
    var secrets =
        new SecretSource() {
          @Override
          public Optional<String> find(String deployment, SecretRef.Scope scope, String name) {
            return Optional.empty();
          }

          @Override
          public boolean partial(String deployment) {
            return partial;
          }
        };
    return new ServiceTranslator(
        new EnvResolver(_ -> Optional.empty(), secrets),
        (_, _) -> Optional.empty(),
        (file, value) -> new Mount.Bind(Path.of("/memory/" + value), file.path(), true));
  }

  @Test
  void itsSecretsAreLeftOut() {
    ContainerSpec outline = translator(true).outline("shop", "web", SERVICE, Path.of("/srv"));
    assertThat(outline.process().env()).isEqualTo(Map.of("DB", "", "PLAIN", "text"));
  }

  @Test
  void aContainerIsNeverMadeWithoutThem() {
    assertThatThrownBy(() -> translator(true).translate("shop", "web", SERVICE, Path.of("/srv")))
        .isInstanceOf(AgentException.NotFound.class);
  }

  @Test
  void otherDeploymentsAreToldAtOnce() {
    assertThatThrownBy(() -> translator(false).outline("shop", "web", SERVICE, Path.of("/srv")))
        .isInstanceOf(AgentException.NotFound.class);
  }
}
