package dev.zlayer.cluster.deploy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.zlayer.cluster.deploy.Desired.Settings;
import dev.zlayer.cluster.schedule.NodeFacts.Gpu;
import dev.zlayer.spec.resources.GpuSpec.Vendor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Roles and GPUs, from requests over assignments to what nodes are given, in memory. */
class PlacedGroupsTest {
  private static final String TRAIN =
      "  train: {image: {name: t}, scale: {mode: manual, replicas: 3},"
          + " resources: {gpu: {count: 1, model: H200%s}}}\n";

  private final Simulation cluster = new Simulation();

  /** Node a has no GPU, b one and c two. */
  @BeforeEach
  void threeNodes() throws InterruptedException {
    cluster.gpus.put("b", List.of(gpu(0, "NVIDIA H200")));
    cluster.gpus.put("c", List.of(gpu(0, "NVIDIA H200"), gpu(1, "NVIDIA H200")));
    cluster.node("a").node("b").node("c");
  }

  private static Gpu gpu(int number, String model) {
    return new Gpu(Integer.toString(number), "GPU-" + number, Vendor.NVIDIA, model);
  }

  private static String train(String more) {
    return TRAIN.formatted(more);
  }

  /** What each replica gets: {@code b:1=0}. */
  private List<String> gpus(String group) throws InterruptedException {
    var found = new ArrayList<String>();
    cluster
        .state()
        .assignments("shop")
        .forEach(
            (node, one) ->
                one.numbers(group)
                    .forEach(
                        number ->
                            found.add(
                                "%s:%d=%s"
                                    .formatted(
                                        node,
                                        number,
                                        one.settings(group, number)
                                            .map(Settings::gpus)
                                            .map(gpus -> String.join("+", gpus))
                                            .orElse("none")))));
    return found;
  }

  private Map<String, String> variables(int number) throws InterruptedException {
    return cluster.state().assignments("shop").values().stream()
        .flatMap(one -> one.settings("train", number).stream())
        .map(Settings::variables)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void everyReplicaGetsAGpuOfItsOwn() throws InterruptedException {
    cluster.up("shop", train(""));
    cluster.converge();
    assertThat(gpus("train")).containsExactlyInAnyOrder("b:1=0", "c:2=0", "c:3=1");

    cluster.deployments.scale("shop", "train", 4);
    cluster.converge();
    assertThat(cluster.state().unplaced().get("shop").get("train"))
        .contains("without 1 matching free GPUs", "free GPUs on a node, or add a node");

    cluster.gpus.put("d", List.of(gpu(0, "NVIDIA H200")));
    cluster.node("d");
    cluster.converge();
    assertThat(gpus("train")).hasSize(4).contains("d:4=0");
    assertThat(cluster.state().unplaced()).isEmpty();
  }

  @Test
  void anUpdateKeepsReplicasOnTheirGpus() throws InterruptedException {
    cluster.up("shop", train(""));
    cluster.converge();
    List<String> before = gpus("train");
    cluster.up("shop", train("").replace("name: t", "name: t2"));
    cluster.converge();
    assertThat(gpus("train")).isEqualTo(before);
  }

  @Test
  void aServiceThatGetsAGpuLaterGetsOneOfItsOwn() throws InterruptedException {
    cluster.up("shop", "  train: {image: {name: t}, scale: {mode: manual, replicas: 3}}\n");
    cluster.converge();
    assertThat(gpus("train")).containsExactlyInAnyOrder("a:1=none", "b:2=none", "c:3=none");
    cluster.up("shop", train(""));
    cluster.converge();
    assertThat(gpus("train")).hasSize(3).contains("b:2=0", "c:3=0", "c:1=1");
  }

  @Test
  void modelsDevicesAndSharingAreHonoured() throws InterruptedException {
    cluster.up("shop", train("").replace("H200", "A100"));
    cluster.converge();
    assertThat(gpus("train")).isEmpty();

    cluster.up("shop", train(", sharing: time-slice"));
    cluster.converge();
    assertThat(gpus("train")).hasSize(3).allMatch(one -> one.endsWith("=0"));

    cluster.up("shop", train("").replace("count: 1, model: H200", "devices: [GPU-1]"));
    cluster.converge();
    assertThat(gpus("train")).contains("c:1=1");
    assertThat(cluster.state().unplaced().get("shop").get("train"))
        .contains("without 1 matching free GPUs");
  }

  @Test
  void aGangIsPlacedAsAWhole() throws InterruptedException {
    cluster.up("shop", train(", scheduling: gang").replace("replicas: 3", "replicas: 4"));
    cluster.converge();
    assertThat(gpus("train")).isEmpty();
    assertThat(cluster.state().unplaced().get("shop").get("train"))
        .contains("all 4 missing replicas of 'shop/train' are placed together");

    cluster.gpus.put("d", List.of(gpu(0, "NVIDIA H200")));
    cluster.node("d");
    cluster.converge();
    assertThat(gpus("train")).hasSize(4);
  }

  @Test
  void thoseThatComputeTogetherKnowEachOther() throws InterruptedException {
    cluster.up("shop", train(", distributed: {backend: nccl}"));
    cluster.converge();
    assertThat(variables(3))
        .containsEntry("RANK", "2")
        .containsEntry("WORLD_SIZE", "3")
        .containsEntry("MASTER_ADDR", "1.train")
        .containsEntry("MASTER_PORT", "29500")
        .containsEntry("NCCL_SOCKET_IFNAME", "eth0");

    cluster.deployments.scale("shop", "train", 2);
    cluster.converge();
    assertThat(variables(1)).containsEntry("WORLD_SIZE", "2");
    assertThat(variables(2)).containsEntry("WORLD_SIZE", "2");
  }

  @Test
  void anExecutionGetsAGpuThatNobodyHas() throws InterruptedException {
    cluster.up(
        "shop",
        train("").replace("replicas: 3", "replicas: 2")
            + "  job: {rtype: job, image: {name: j}, job: {concurrency: 2},"
            + " resources: {gpu: {count: 1}}}\n");
    cluster.converge();
    assertThat(gpus("train")).containsExactlyInAnyOrder("b:1=0", "c:2=0");
    var request =
        new ClusterExecution.Request(
            "cli",
            Optional.empty(),
            Optional.empty(),
            Optional.empty(),
            Map.of(),
            Optional.empty(),
            0,
            Optional.empty());
    var first = cluster.jobs.trigger("shop", "job", request);
    var second = cluster.jobs.trigger("shop", "job", request);
    cluster.converge();
    var placed = cluster.state().executions().get(first.key());
    assertThat(placed.node()).contains("c");
    assertThat(placed.gpus()).containsExactly("1");
    assertThat(cluster.state().executions().get(second.key()).node()).isEmpty();
    assertThat(cluster.state().unplaced().get("shop").get("job/2")).contains("matching free GPUs");
  }

  @Test
  void everyRoleHasReplicasOfItsOwnNumbers() throws InterruptedException {
    cluster.up(
        "shop",
        "  web: {image: {name: w}, replica_groups: [{role: front, count: 2},"
            + " {role: back, count: 3, affinity: pack}]}\n");
    cluster.converge();
    assertThat(cluster.where("shop", "web/front")).isEqualTo("b:1 c:2");
    assertThat(cluster.where("shop", "web/back")).isEqualTo("a:1,2,3");
    assertThat(cluster.state().ready("shop", "web")).isEqualTo(5);

    cluster.lose("a");
    cluster.leader = cluster.leader("b", Duration.ZERO);
    cluster.converge();
    assertThat(
            cluster.state().assignments("shop").get("b").count("web")
                + cluster.state().assignments("shop").get("c").count("web"))
        .isEqualTo(5);
    assertThatThrownBy(() -> cluster.deployments.scale("shop", "web", 3))
        .hasMessageContaining("its replica groups have fixed counts");

    cluster.deployments.stop("shop", Optional.of("web"));
    cluster.converge();
    assertThat(cluster.where("shop", "web/front")).isEmpty();
    cluster.up("shop", "  web: {image: {name: w}, scale: {mode: fixed, replicas: 1}}\n");
    cluster.deployments.start("shop", Optional.empty());
    cluster.converge();
    assertThat(cluster.state().ready("shop", "web")).isEqualTo(1);
  }

  @Test
  void whatANodeHasNoRuntimeForGoesToAnotherOne() throws InterruptedException {
    String web = "  web: {image: {name: w}, scale: {mode: fixed, replicas: 2}}\n";
    cluster.engines.get("a").misfits.add("web");
    cluster.engines.get("b").misfits.add("web");
    cluster.up("shop", web);
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("c:1,2");

    cluster.up("shop", web.replace("name: w", "name: w2"));
    cluster.engines.get("c").misfits.add("web");
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEmpty();
    assertThat(cluster.state().unplaced().get("shop").get("web"))
        .contains("none of 3 nodes fits (3 refused it)")
        .contains("node 'node-a': enable it, or add a peer to the cluster");

    cluster.node("d");
    cluster.converge();
    assertThat(cluster.where("shop", "web")).isEqualTo("d:1,2");
  }

  @Test
  void aNodeThatRefusesAPartOfATrainingIsNotAskedAgain() throws InterruptedException {
    cluster.engines.get("c").refuses.add("shop");
    cluster.up(
        "shop", train(", distributed: {backend: gloo}").replace("replicas: 3", "replicas: 1"));
    cluster.converge();
    assertThat(gpus("train")).containsExactly("b:1=0");
  }
}
