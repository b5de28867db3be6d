package dev.zlayer.spec.check;

import dev.zlayer.spec.RunType;
import dev.zlayer.spec.ServiceSpec;
import dev.zlayer.spec.job.JobSpec;
import dev.zlayer.spec.problem.SpecPath;
import dev.zlayer.spec.value.ExitCodes;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;

/**
 * A schedule exactly for cron; settings of jobs, schedules and services where they mean something.
 */
final class RunTypeCheck {
  private static final LocalDateTime LONG_AGO = LocalDateTime.of(2000, 1, 1, 0, 0);
  private static final List<String> FOR_SERVICES =
      List.of("scale", "replica_groups", "health", "update", "restart_policy");

  private RunTypeCheck() {}

  static void check(ServiceSpec service, SpecPath path, Findings findings) {
    if (!findings.clean(path.key("rtype"))) {
      return;
    }
    RunType type = service.rtype();
    if (type == RunType.CRON) {
      checkSchedule(service, path.key("schedule"), findings);
    } else {
      only(path, "schedule", "rtype: cron", findings);
      only(path, "cron", "rtype: cron", findings);
    }
    if (type == RunType.SERVICE) {
      only(path, "job", "rtype: job or rtype: cron", findings);
    } else {
      checkJob(service.job(), path.key("job"), findings);
      for (String key : FOR_SERVICES) {
        if (findings.written(path.key(key))) {
          findings.warn(path.key(key), "has no effect on a job, remove it");
        }
      }
      if (findings.written(path.key("endpoints"))) {
        findings.notHonoured(path.key("endpoints"), "a job is not given connections, remove them");
      }
      SpecPath panic = path.key("errors").key("on_panic");
      if (findings.written(panic)) {
        findings.notHonoured(panic, "a job that fails is tried again by job.retries, remove it");
      }
    }
  }

  private static void checkSchedule(ServiceSpec service, SpecPath path, Findings findings) {
    if (service.schedule().isEmpty()) {
      findings.problem(path, "is missing, write when to run, for example \"0 3 * * *\"");
    } else if (service.schedule().get().nextAfter(LONG_AGO).isEmpty()) {
      findings.problem(
          path, "'%s' never comes, write a day that exists".formatted(service.schedule().get()));
    }
  }

  private static void only(SpecPath path, String key, String where, Findings findings) {
    if (findings.written(path.key(key))) {
      findings.problem(
          path.key(key), "is only for %s, write that or remove '%s'".formatted(where, key));
    }
  }

  private static void checkJob(JobSpec job, SpecPath path, Findings findings) {
    job.deadline().ifPresent(deadline -> findings.positive(path.key("deadline"), deadline));
    if (job.backoff().initial().compareTo(job.backoff().max()) > 0) {
      findings.problem(
          path.key("backoff"), "'initial' is longer than 'max', write a smaller first pause");
    }
    var seen = new ArrayList<ExitCodes>();
    for (ExitCodes codes : job.exitCodes().keySet()) {
      if (seen.stream().anyMatch(one -> one.from() <= codes.to() && codes.from() <= one.to())) {
        findings.problem(
            path.key("exit_codes").key(codes.toString()),
            "an exit code is named twice, write each in one range only");
      }
      seen.add(codes);
    }
  }
}
