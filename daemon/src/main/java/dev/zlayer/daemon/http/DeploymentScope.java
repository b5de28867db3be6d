package dev.zlayer.daemon.http;

/** What a route offers to a caller whose token is for one deployment. */
public enum DeploymentScope {
  /** Nothing. */
  DENIED("not offered"),
  /** The same as to everybody, since it concerns no deployment. */
  ANY("offered"),
  /** What is below the deployment that the path names, if that is the token's. */
  PATH("its own deployment"),
  /** A list or a thing whose parameter {@code deployment} is set to the token's. */
  PARAMETER("`deployment` is the token's"),
  /** A container or an execution, looked up among those of the token's deployment. */
  LOOKUP("those of its deployment");

  private final String text;

  DeploymentScope(String text) {
    this.text = text;
  }

  public String text() {
    return text;
  }
}
