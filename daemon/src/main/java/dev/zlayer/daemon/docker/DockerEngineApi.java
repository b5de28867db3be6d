package dev.zlayer.daemon.docker;

import dev.zlayer.daemon.http.AccessDenied;
import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.HttpApi;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.http.Router;
import dev.zlayer.error.AgentException;
import dev.zlayer.error.Statuses;
import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import dev.zlayer.runtime.oci.exec.ExecExit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.eclipse.jetty.util.URIUtil;

/** Serves the routes with and without a version, and words failures as Docker does. */
public final class DockerEngineApi implements HttpApi {
  static final String VERSION = "1.51";
  static final String OLDEST = "1.24";

  /** The engine whose API this is; clients compare it with the one that they need. */
  static final String ENGINE = "28.5.2+zlayer";

  /** What the agent says before the reason of the OCI runtime. */
  private static final Pattern FAILED_START =
      Pattern.compile("^failed to start container '[^']*': ");

  /** The variable of every route that holds the version in the path, or the newest. */
  private static final String ASKED = "API version";

  private static final Pattern PREFIX = Pattern.compile("v([0-9]{1,3})\\.([0-9]{1,3})");

  private final Router router;
  private final Map<String, String> headers;

  /** {@code version} is that of the agent. */
  public DockerEngineApi(List<Route> routes, String version) {
    this.router = new Router("", routes.stream().map(RequestFields::guarded).toList());
    this.headers =
        Map.of(
            "Api-Version",
            VERSION,
            "Ostype",
            "linux",
            "Docker-Experimental",
            "false",
            "Server",
            "zlayer/%s (linux)".formatted(version));
  }

  @Override
  public Router.Match find(String method, String path) {
    var segments = new ArrayList<String>();
    for (String segment : URIUtil.decodePath(path).split("/", -1)) {
      if (!segment.isEmpty()) {
        segments.add(segment);
      }
    }
    String asked = VERSION;
    if (!segments.isEmpty()) {
      Matcher version = PREFIX.matcher(segments.getFirst());
      if (version.matches()) {
        asked = version.group(1) + "." + version.group(2);
        requireServed(asked);
        segments.removeFirst();
      }
    }
    try {
      Router.Match match = router.find(method, segments);
      var variables = new HashMap<>(match.variables());
      variables.put(ASKED, asked);
      return new Router.Match(match.route(), variables);
    } catch (AccessDenied e) {
      throw e.status() == 404 ? DockerError.notFound("page not found") : e;
    }
  }

  /** Whether a client speaks an older version of the API. */
  static boolean before(ApiRequest call, String version) {
    return compare(call.path(ASKED), version) < 0;
  }

  private static void requireServed(String asked) {
    if (compare(asked, OLDEST) < 0) {
      throw DockerError.badRequest(
          ("client version %s is too old. Minimum supported API version is %s, please upgrade your"
                  + " client to a newer version")
              .formatted(asked, OLDEST));
    }
    if (compare(asked, VERSION) > 0) {
      throw DockerError.badRequest(
          "client version %s is too new. Maximum supported API version is %s"
              .formatted(asked, VERSION));
    }
  }

  private static int compare(String one, String other) {
    String[] a = one.split("\\.", 2);
    String[] b = other.split("\\.", 2);
    int major = Integer.compare(Integer.parseInt(a[0]), Integer.parseInt(b[0]));
    return major != 0 ? major : Integer.compare(Integer.parseInt(a[1]), Integer.parseInt(b[1]));
  }

  @Override
  public Map<String, String> headers() {
    return headers;
  }

  @Override
  public boolean refusal(Throwable thrown) {
    return thrown instanceof DockerError || HttpApi.super.refusal(thrown);
  }

  @Override
  public boolean lenient() {
    return true;
  }

  @Override
  public ApiResponse.Whole problem(Throwable thrown, String requestId) {
    int status =
        switch (thrown) {
          case DockerError error -> error.status();
          case AccessDenied denied -> denied.status();
          case AgentException error -> Statuses.docker(error);
          default -> 500;
        };
    return new ApiResponse.Whole(
        status,
        ApiRequest.JSON,
        JsonText.bytes(Json.object().put("message", message(thrown, requestId)).build()),
        Map.of());
  }

  /** What a failure is called, also as the last part of a stream that had begun. */
  static String message(Throwable thrown, String requestId) {
    return switch (thrown) {
      case AgentException.StartFailed error -> startFailed(error);
      case AgentException error -> String.valueOf(error.getMessage());
      case DockerError error -> String.valueOf(error.getMessage());
      case AccessDenied denied -> String.valueOf(denied.getMessage());
      default ->
          "internal error, the log of the agent has the details under request id " + requestId;
    };
  }

  /** The command line of Docker derives its exit code from these words. */
  private static String startFailed(AgentException.StartFailed error) {
    String message =
        FAILED_START
            .matcher(String.valueOf(error.getMessage()))
            .replaceFirst(
                "failed to create task for container: failed to create shim task: OCI runtime"
                    + " create failed: ");
    var code = ExecExit.notStarted(message.lines().findFirst().orElse(""));
    return switch (code.orElse(0)) {
      case 127 -> with(message, "executable file not found");
      case 126 -> with(message, "permission denied");
      default -> message;
    };
  }

  private static String with(String message, String words) {
    return message.contains(words) ? message : message + ": " + words;
  }
}
