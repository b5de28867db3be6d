package dev.zlayer.daemon.http;

/** What a route does. Runs on a virtual thread of its own and may block. */
@FunctionalInterface
public interface RouteHandler {
  ApiResponse answer(ApiRequest call) throws InterruptedException;
}
