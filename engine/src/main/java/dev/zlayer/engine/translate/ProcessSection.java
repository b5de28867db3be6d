package dev.zlayer.engine.translate;

import dev.zlayer.container.ProcessSpec;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.value.UserName;
import java.util.Map;
import java.util.Optional;

/** What runs, as whom, with what environment. */
final class ProcessSection {
  private ProcessSection() {}

  static ProcessSpec of(ServiceSpec service, Map<String, String> env) {
    return new ProcessSpec(
        service.command().entrypoint(),
        service.command().args(),
        env,
        service.command().workdir(),
        service.security().user().map(ProcessSection::user),
        service.security().extraGroups(),
        service.process().tty(),
        service.process().stdinOpen(),
        service.process().initContainer(),
        Optional.empty());
  }

  private static String user(UserName name) {
    return name.group().map(group -> name.user() + ":" + group).orElse(name.user());
  }
}
