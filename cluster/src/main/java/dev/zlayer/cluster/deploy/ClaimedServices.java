package dev.zlayer.cluster.deploy;

import dev.zlayer.cluster.deploy.ClusterState.Place;
import dev.zlayer.cluster.schedule.Placement;
import dev.zlayer.cluster.schedule.Workloads;
import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Single instances as the scheduler sees them when they are assigned to nobody. Pure. */
final class ClaimedServices {
  private ClaimedServices() {}

  /** Services that are no longer assigned to a node that has not said that they have ended. */
  static List<Placement.Current> stopping(
      ClusterState state, ClusterPlan.Files files, Targets targets) {
    var stopping = new ArrayList<Placement.Current>();
    state
        .claims()
        .forEach(
            (name, claim) -> {
              int slash = name.indexOf('/');
              if (slash < 0) {
                return; // of no service
              }
              var place = new Place(claim.node(), name.substring(0, slash));
              String service = name.substring(slash + 1);
              Optional<ServiceSpec> spec =
                  Optional.ofNullable(state.desired().get(place.deployment()))
                      .flatMap(desired -> files.find(desired.name(), desired.revision()))
                      .flatMap(file -> Optional.ofNullable(file.services().get(service)))
                      .filter(found -> found.rtype() == RunType.SERVICE);
              boolean placed =
                  Optional.ofNullable(state.assignments().get(place))
                      .filter(one -> one.removing().isEmpty())
                      .filter(one -> !one.numbers(service).isEmpty())
                      .isPresent();
              if (spec.isPresent() && !placed) {
                stopping.add(
                    new Placement.Current(
                        new Placement(
                            new Placement.Replica(
                                targets.group(place.deployment(), service, service), 1),
                            claim.node(),
                            "",
                            Workloads.demand(spec.get()),
                            List.of(),
                            Map.of()),
                        Placement.State.STOPPING,
                        true));
              }
            });
    return stopping;
  }
}
