package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.ApiRequest;
import dev.zlayer.daemon.http.ApiResponse;
import dev.zlayer.daemon.http.Route;
import dev.zlayer.daemon.web.Dashboard;
import dev.zlayer.daemon.web.DashboardSessions;
import dev.zlayer.spec.form.Default;
import dev.zlayer.spec.form.Doc;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Links to the dashboard, and the sessions of browsers. */
public final class DashboardResource implements Resource {
  private static final String USER = "user ";

  private final Dashboard dashboard;

  @Doc("What the session of the link may do, and for how long.")
  public record NewLink(
      @Doc("It may read what the read-only socket offers.") @Default("false") boolean readOnly,
      @Doc("How long the session lasts, up to 30 days; 12 hours when absent.")
          Optional<Duration> expires) {}

  public DashboardResource(Dashboard dashboard) {
    this.dashboard = dashboard;
  }

  @Override
  public String title() {
    return "Dashboard";
  }

  @Override
  public List<Route> routes() {
    return List.of(
        Route.post(
                "/dashboard/links",
                "Create a link to the dashboard that logs in once within five minutes.",
                this::create)
            .takes(NewLink.class)
            .creates(Dashboard.Link.class),
        Route.get(
                "/dashboard/sessions",
                "List sessions of browsers.",
                _ -> ApiResponse.json(ViewJson.of(dashboard.sessions().list())))
            .givesMany(DashboardSessions.Info.class),
        Route.delete(
                "/dashboard/sessions/{name}",
                "End a session by its id; its open connections are closed.",
                this::revoke)
            .givesNothing());
  }

  private ApiResponse create(ApiRequest call) {
    NewLink wanted = call.body(NewLink.class);
    String who = call.who();
    return ApiResponse.json(
        201,
        ViewJson.of(
            dashboard.createLink(
                who.startsWith(USER) ? who.substring(USER.length()) : who,
                wanted.readOnly(),
                wanted.expires().orElse(DashboardSessions.STANDARD))));
  }

  private ApiResponse revoke(ApiRequest call) {
    dashboard.sessions().revoke(call.path("name"));
    return ApiResponse.done();
  }
}
