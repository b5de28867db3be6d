package dev.zlayer.spec.check;

import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.service.InitAction;
import dev.zlayer.spec.service.InitStep;
import java.util.HashSet;
import java.util.List;

/** Init steps: unique names, times that are not zero. */
final class InitCheck {
  private InitCheck() {}

  static void check(ServiceSpec service, SpecPath servicePath, Findings findings) {
    List<InitStep> steps = service.lifecycle().init().steps();
    var ids = new HashSet<String>();
    for (int i = 0; i < steps.size(); i++) {
      SpecPath path = servicePath.key("init").key("steps").index(i);
      InitStep step = steps.get(i);
      if (!ids.add(step.id())) {
        findings.problem(
            path.key("id"), "'%s' names two steps, write another id".formatted(step.id()));
      }
      findings.positive(path.key("timeout"), step.timeout());
      checkTimes(step.action(), path.key("with"), findings);
    }
    var failure = service.lifecycle().errors().onInitFailure();
    if (failure.backoff().initial().compareTo(failure.backoff().max()) > 0) {
      findings.problem(
          servicePath.key("errors").key("on_init_failure").key("backoff"),
          "'initial' is longer than 'max', write a smaller first pause");
    }
  }

  private static void checkTimes(InitAction action, SpecPath with, Findings findings) {
    SpecPath timeout = with.key("timeout");
    switch (action) {
      case InitAction.WaitTcp wait -> {
        findings.positive(timeout, wait.timeout());
        findings.positive(with.key("interval"), wait.interval());
      }
      case InitAction.WaitHttp wait -> {
        findings.address(with.key("url"), wait.url());
        findings.positive(timeout, wait.timeout());
        findings.positive(with.key("interval"), wait.interval());
      }
      case InitAction.Run run -> findings.positive(timeout, run.timeout());
      case InitAction.HostRun run -> findings.positive(timeout, run.timeout());
      case InitAction.S3Push push -> {
        findings.positive(timeout, push.timeout());
        endpoint(push.access(), with, findings);
      }
      case InitAction.S3Pull pull -> {
        findings.positive(timeout, pull.timeout());
        endpoint(pull.access(), with, findings);
      }
    }
  }

  private static void endpoint(InitAction.S3Access access, SpecPath with, Findings findings) {
    access.endpoint().ifPresent(url -> findings.address(with.key("endpoint"), url));
  }
}
