package dev.zlayer.daemon.config;

import dev.zlayer.error.AgentException;
import dev.zlayer.spec.form.TextForm;
import java.net.URI;
import java.net.URISyntaxException;

/** Where a notification is posted. Its path is often a credential and is never shown. */
@TextForm(is = "an http or https URL", example = "https://hooks.example.com/zlayer")
public record WebhookUrl(URI uri) {
  public static WebhookUrl parse(String text) {
    URI uri;
    try {
      uri = new URI(text);
    } catch (URISyntaxException e) {
      throw refused("is not a URL");
    }
    boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
    if (!http || uri.getHost() == null) {
      throw refused("needs http:// or https:// and a host");
    }
    if (uri.getRawUserInfo() != null || uri.getRawFragment() != null) {
      throw refused("must have no user, password or fragment");
    }
    return new WebhookUrl(uri);
  }

  private static AgentException refused(String reason) {
    return new AgentException.InvalidSpec(
        "the webhook " + reason + ", write one such as https://hooks.example.com/zlayer");
  }

  /** Without its path and query. */
  @Override
  public String toString() {
    return "%s://%s/...".formatted(uri.getScheme(), uri.getRawAuthority());
  }
}
