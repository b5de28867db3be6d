package dev.zlayer.engine.volume;

/** What a cluster knows of the volumes of this machine. */
public interface BoundVolumes {
  /** There is no cluster. */
  BoundVolumes NONE =
      new BoundVolumes() {
        @Override
        public void requireUnused(String volume) {}

        @Override
        public boolean wanted(String volume) {
          return false;
        }

        @Override
        public boolean release(String volume) {
          return false;
        }
      };

  /** Throws while something that is placed on this machine uses it, whether or not it runs yet. */
  void requireUnused(String volume) throws InterruptedException;

  /** Whether deployments of the cluster name it, and have it here. */
  boolean wanted(String volume) throws InterruptedException;

  /** It is on no machine from now on; whether it was on this one. */
  boolean release(String volume) throws InterruptedException;
}
