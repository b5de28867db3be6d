package dev.zlayer.daemon.rest;

import dev.zlayer.daemon.http.Route;
import java.util.List;

/** A part of the REST API. */
public interface Resource {
  /** What it is about, as a heading of the reference. */
  String title();

  List<Route> routes();
}
