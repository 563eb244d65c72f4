import type { ProxyAgents } from '@gwk/core/proxy/agents';
import { readServedVersion, ReadFailure } from '../client-version/source.js';
import { claimRead, storeFault, storeServed } from '../client-version/store.js';
import { NOTHING, type Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

interface ReaderOptions {
  /** Address of the service worker script of the web client. */
  url: string;
  agents: ProxyAgents | null;
  onRead: (result: string) => void;
  random?: () => number;
  read?: typeof readServedVersion;
}

const HOUR_MS = 3_600_000;
/** Time to the next read. Refusals of engines bring it forward. */
const AFTER_SUCCESS_MS = 6 * HOUR_MS;
const AFTER_FAILURE_MS = HOUR_MS;
/** How often a worker looks for a read that engines have asked for. */
const LOOK_EVERY_MS = 2_000;

/** Up to a quarter less, so that installations do not read at the same time. */
const spread = (ms: number, random: number): number => Math.round(ms * (1 - random / 4));

/** Reads the client version that the network serves, when a read is due. One worker reads for all. */
export function clientVersionJob(
  { db, log }: Pick<JobDependencies, 'db' | 'log'>,
  { url, agents, onRead, random = Math.random, read = readServedVersion }: ReaderOptions,
): Job {
  return {
    name: 'client-version',
    everyMs: LOOK_EVERY_MS,
    async pass() {
      if (!(await claimRead(db, spread(AFTER_FAILURE_MS, random())))) return NOTHING;
      try {
        const version = await read({ url, agents });
        await storeServed(db, { version, from: url, pauseMs: spread(AFTER_SUCCESS_MS, random()) });
        log.info({ version }, 'client version read');
        onRead('ok');
      } catch (error) {
        if (!(error instanceof ReadFailure)) throw error;
        await storeFault(db, error.fault);
        log.warn({ fault: error.fault, err: error.cause }, 'client version not read; keeping the last one');
        onRead(error.fault);
      }
      return { amount: 1, more: false };
    },
  };
}
