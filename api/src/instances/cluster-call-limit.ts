import { withTimeout } from '@gwk/core/async/timeout';
import pLimit from 'p-limit';
import { Problem } from '@gwk/core/problems/problems';

declare module '../http/services.js' {
  interface Services {
    /** Runs a transaction that calls the cluster. */
    limitClusterCalls: ClusterCallLimit;
  }
}

/** @throws Problem `engine-unavailable` */
type ClusterCallLimit = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Limits concurrent work. A transaction that calls the cluster holds a Postgres connection meanwhile, so an unresponsive cluster
 * must not take the connections that messages need. The caller of work that exceeds the deadline gets an error: work that has
 * begun continues and keeps its place, other work never begins.
 */
export function createClusterCallLimit(places: number, deadlineMs: number): ClusterCallLimit {
  const limit = pLimit(places);
  return <T>(work: () => Promise<T>) => {
    let late = false;
    const refuse = (): never => {
      late = true;
      throw new Problem('engine-unavailable', { retryAfter: 2 });
    };
    return withTimeout(
      limit(() => (late ? refuse() : work())),
      deadlineMs,
      refuse,
    );
  };
}
