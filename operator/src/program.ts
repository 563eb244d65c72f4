import type { operatorSettings } from '@gwk/core/config/operator';
import type { ConfigOf } from '@gwk/core/config/load';
import { parseTokens } from '@gwk/core/config/shared';
import { createLogger, type Logger } from '@gwk/core/log';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import type { Cluster } from './cluster/cluster.js';
import { Controller } from './controller/controller.js';
import { internalPort } from './controller/internal-api-client.js';
import type { Backoff } from './controller/queue.js';

export type OperatorConfig = ConfigOf<typeof operatorSettings>;

export interface OperatorOptions {
  /** What is started for an engine, in place of `gwk engine` (local cluster). */
  engineCommand?: [string, ...string[]];
  silentMs?: number;
  stuckMs?: number;
  graceMs?: number;
  callTimeoutMs?: number;
  /** Takes the log lines of engines; standard output where not given (local cluster). */
  print?: (line: string) => void;
  /** Of passes that fail and of engines that end. */
  backoff?: Backoff;
}

export interface RunningOperator {
  port: number;
  stop(): Promise<void>;
}

const CALL_TIMEOUT_MS = 10_000;
/** An engine that works takes its lease within seconds. */
const SILENT_MS = 60_000;
/** No engine keeps its resource from being deleted for longer than this and a lease (docs/kubernetes.md). */
const STUCK_MS = 300_000;
/** The API was not heard for so long: what happens to instances is not seen any more. */
const UNHEARD_MS = 15_000;

/** Everything of `gwk operator` but signals and settings. What one cluster needs is loaded for that one alone. */
export async function startOperator(
  config: OperatorConfig,
  options: OperatorOptions = {},
): Promise<RunningOperator> {
  const log = createLogger('operator', config.logLevel);
  if (config.cluster === 'kubernetes') {
    const { startOnKubernetes } = await import('./program-kubernetes.js');
    return startOnKubernetes(config, options, log);
  }
  const { startOnOneMachine } = await import('./program-local.js');
  return startOnOneMachine(config, options, log);
}

/** What is the same for every cluster. */
export function makeController(
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
  });
  const { silentMs = SILENT_MS, stuckMs = STUCK_MS, backoff } = options;
  const controller = new Controller({
    cluster,
    port: internalPort(client),
    log,
    limits: { idleMs: config.idleEngineMs, silentMs, stuckMs },
    maxConcurrentUpgrades: config.maxConcurrentUpgrades,
    ...(backoff && { backoff }),
  });
  return { controller, close: () => client.close() };
}

export function checksOf({ silentMs }: Pick<Controller, 'silentMs'>): Record<string, string | null> {
  const unheard = silentMs > UNHEARD_MS;
  return { api: unheard ? 'the internal port does not answer' : null };
}
