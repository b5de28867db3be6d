package dev.zlayer.daemon.http;

import dev.zlayer.json.Json;
import dev.zlayer.json.JsonText;
import java.util.HashMap;
import java.util.List;
import java.util.OptionalInt;

/** Gives a part of a list to those who ask for one, and tells how long it is. */
public final class Paging {
  public static final String LIMIT = "limit";
  public static final String OFFSET = "offset";

  /** The header with the length of the whole list. */
  public static final String TOTAL = "X-Total-Count";

  private Paging() {}

  public static RouteHandler around(RouteHandler action) {
    return call -> {
      OptionalInt limit = call.number(LIMIT);
      OptionalInt offset = call.number(OFFSET);
      ApiResponse answer = action.answer(call);
      return limit.isEmpty() && offset.isEmpty() ? answer : part(answer, limit, offset);
    };
  }

  private static ApiResponse part(ApiResponse answer, OptionalInt limit, OptionalInt offset) {
    if (answer instanceof ApiResponse.Whole whole
        && JsonText.parse(whole.body()) instanceof Json.Arr(List<Json> items)) {
      int from = Math.min(offset.orElse(0), items.size());
      long to = Math.min((long) from + limit.orElse(items.size()), items.size());
      var headers = new HashMap<>(whole.headers());
      headers.put(TOTAL, Integer.toString(items.size()));
      return new ApiResponse.Whole(
          whole.status(),
          whole.type(),
          JsonText.bytes(new Json.Arr(items.subList(from, (int) to))),
          headers);
    }
    return answer;
  }
}
