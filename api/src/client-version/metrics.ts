import { BUNDLED, compareClientVersions, computeDaysBehind } from '@gwk/core/client-version';
import { WORKER_METRICS } from '@gwk/core/metrics/worker';
import { Counter, Gauge, type Registry } from 'prom-client';
import { observedGauge } from '../platform/metrics/gauge.js';
import type { StoredClientVersions } from './store.js';

const DAY_S = 86_400;

type State = StoredClientVersions['state'];

/** Age of the bundled version while the network serves a newer one. */
export const computeSecondsBehind = (served: string | null, now: number): number =>
  served !== null && compareClientVersions(served, BUNDLED.version) > 0
    ? (now - Date.parse(BUNDLED.day)) / 1000
    : 0;

/** Estimated from the growth of revisions, because the day of a pinned version is not known. */
const computePinSecondsBehind = ({ pinnedVersion, servedVersion }: State): number =>
  pinnedVersion === null || servedVersion === null
    ? 0
    : computeDaysBehind(pinnedVersion, servedVersion) * DAY_S;

/**
 * Registers the metrics of the client version.
 *
 * @param read the stored state, and whether there is an instance for which workers read; null: Postgres does not answer
 * @param isReader whether this worker reads the served version
 * @returns counts a read by its result
 */
export function clientVersionMetrics(
  registry: Registry,
  { read, isReader }: { read: () => Promise<(State & { isRead: boolean }) | null>; isReader: boolean },
): (result: string) => void {
  new Gauge({
    ...WORKER_METRICS.clientVersions,
    registers: [registry],
    async collect() {
      const state = await read();
      this.reset();
      this.set({ kind: 'bundled', version: BUNDLED.version }, 1);
      if (state?.servedVersion) this.set({ kind: 'served', version: state.servedVersion }, 1);
      if (state?.pinnedVersion) this.set({ kind: 'pinned', version: state.pinnedVersion }, 1);
    },
  });
  observedGauge(registry, WORKER_METRICS.clientVersionBehind, async () => {
    const state = await read();
    const now = Date.now();
    return {
      bundled: state ? computeSecondsBehind(state.servedVersion, now) : Number.NaN,
      pinned: state ? computePinSecondsBehind(state) : Number.NaN,
    };
  });
  const reads = new Counter({ ...WORKER_METRICS.clientVersionReads, registers: [registry] });
  reads.inc({ result: 'ok' }, 0);
  observedGauge(registry, WORKER_METRICS.clientVersionReadAge, async () => {
    const state = isReader ? await read() : null;
    return state?.isRead ? (Date.now() - (state.readAt ?? state.createdAt).getTime()) / 1000 : Number.NaN;
  });
  return (result) => reads.inc({ result });
}
