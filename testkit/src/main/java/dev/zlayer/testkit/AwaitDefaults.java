package dev.zlayer.testkit;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * For every wait of a test that names no limit of its own: one that a machine with much else to do
 * does not reach. JUnit finds it by its entry in {@code META-INF/services}.
 */
public final class AwaitDefaults implements BeforeAllCallback {
  @Override
  public void beforeAll(ExtensionContext context) {
    Awaitility.setDefaultTimeout(Duration.ofSeconds(60));
  }
}
