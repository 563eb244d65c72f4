import { hostname } from 'node:os';
import { parseTokens } from '@gwk/core/config/shared';
import type { Logger } from '@gwk/core/process/log';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import { VERSION } from '../version.js';
import type { Cluster } from '../cluster/cluster.js';
import type { OperatorConfig, OperatorOptions } from '../options.js';
import { Controller } from './controller.js';
import type { Observer } from './observer.js';
import { createInternalApiClient } from './internal-api-client.js';

const CALL_TIMEOUT_MS = 10_000;
/** A healthy engine takes its lease within seconds. */
const LEASE_TIMEOUT_MS = 60_000;
/** An engine that does not end delays the deletion of its resource by at most this and one lease. */
const STUCK_MS = 300_000;
/** Without an answer from the API for this long, the operator no longer sees changes of instances. */
const UNRESPONSIVE_MS = 15_000;

/** Creates the controller, which is the same for every cluster. */
export function createController(
  cluster: Cluster,
  config: OperatorConfig,
  options: OperatorOptions,
  log: Logger,
): { controller: Controller; close: () => void } {
  const client = new OperatorClient({
    baseUrl: config.internalUrl,
    token: parseTokens(config.operatorToken)[0],
    ca: config.internalCa,
    timeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
    userAgent: `gwk-operator/${VERSION} (${hostname()})`,
  });
  const { leaseTimeoutMs = LEASE_TIMEOUT_MS, stuckMs = STUCK_MS, backoff } = options;
  const controller = new Controller({
    cluster,
    api: createInternalApiClient(client),
    log,
    limits: {
      idleMs: config.idleEngineMs,
      maxUnpairedEngines: config.maxUnpairedEngines,
      leaseTimeoutMs,
      stuckMs,
    },
    maxConcurrentUpgrades: config.maxConcurrentUpgrades,
    canary: config.upgradeCanary ?? null,
    outageMs: options.outageMs,
    backoff,
  });
  return { controller, close: () => client.close() };
}

export function checkApi({
  unresponsiveMs,
}: Pick<Observer, 'unresponsiveMs'>): Record<string, string | null> {
  const isUnresponsive = unresponsiveMs > UNRESPONSIVE_MS;
  return { api: isUnresponsive ? 'the internal API does not answer' : null };
}
