package dev.zlayer.cli.print;

import static org.assertj.core.api.Assertions.assertThat;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class DeployViewTest {
  private final DeployModel model = new DeployModel();

  private Optional<String> take(String json) {
    return model.take(JsonText.parse(json));
  }

  @Test
  void servicesAreShownWithWhatTheyWaitFor() {
    take(
        "{'type':'service','name':'db','state':'running','ready':1,'wanted':1}".replace('\'', '"'));
    Optional<String> news =
        take(
            "{'type':'service','name':'api','state':'waiting','ready':0,'wanted':2,'waiting_for':'db to be healthy'}"
                .replace('\'', '"'));

    assertThat(news).contains("api: waiting, 0 of 2 ready (waiting for db to be healthy)");
    assertThat(DeployView.lines(model, Style.PLAIN))
        .containsExactly(
            "SERVICE  STATE    READY",
            "db       running  1/1",
            "api      waiting  0/2    waiting for db to be healthy");
  }

  @Test
  void theSameOnceMoreIsNoNews() {
    String line = "{\"type\":\"service\",\"name\":\"db\",\"state\":\"running\",\"ready\":1}";

    assertThat(take(line)).isPresent();
    assertThat(take(line)).isEmpty();
  }

  @Test
  void anImageOnItsWayIsABarUntilItIsThere() {
    String layer =
        "{\"type\":\"pull\",\"image\":\"app:1\",\"progress\":"
            + "{\"type\":\"layer\",\"layer\":\"sha256:a\",\"step\":\"%s\",\"done\":%d,\"total\":1024}}";

    assertThat(take(layer.formatted("downloading", 512))).contains("pulling app:1");
    assertThat(take(layer.formatted("downloading", 600))).isEmpty();
    assertThat(DeployView.lines(model, Style.PLAIN).getLast())
        .isEqualTo("pulling app:1 [##############          ] 600 B of 1.0 KiB");
    take(layer.formatted("done", 1024));
    assertThat(DeployView.lines(model, Style.PLAIN)).hasSize(1);
  }

  @Test
  void eventsAreNewsOnlyWhenServicesDoNotTellThemThemselves() {
    String event =
        "{\"type\":\"event\",\"seq\":1,\"time\":\"t\",\"kind\":\"%s\",\"subject\":\"s/a/1@1\"}";

    assertThat(take(event.formatted("replica.failed"))).isEmpty();
    assertThat(take(event.formatted("replica.unhealthy"))).contains("replica.unhealthy s/a/1");
  }

  @Test
  void linesOfANewerDaemonArePassedOver() {
    assertThat(model.take(Json.object().put("type", "weather").build())).isEmpty();
  }
}
