package dev.zlayer.runtime.composite;

import dev.zlayer.port.ContainerRuntime;
import java.util.List;

/** Puts real runtimes before {@link Selection}. */
final class RuntimeSelector {
  private RuntimeSelector() {}

  static ContainerRuntime choose(List<ContainerRuntime> runtimes, Selection.Request request) {
    List<Selection.Candidate> candidates =
        runtimes.stream()
            .map(runtime -> new Selection.Candidate(runtime.name(), runtime.capabilities()))
            .toList();
    return runtimes.get(candidates.indexOf(Selection.choose(candidates, request)));
  }
}
