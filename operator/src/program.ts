import type { operatorSettings } from '@gwk/core/config/operator';
import type { ConfigOf } from '@gwk/core/config/load';
import { createLogger, type Logger } from '@gwk/core/log';
import { OperatorClient } from '@gwk/core/protocol/internal-client';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeAddress } from './cluster/local/address.js';
import { LocalCluster } from './cluster/local/local.js';
import { Controller } from './controller/controller.js';
import { internalPort } from './controller/internal-port.js';
import type { Backoff } from './controller/queue.js';
import { healthHandler } from './http/health.js';
import { resourcesHandler } from './http/resources.js';
import { listen } from './http/server.js';
import { operatorMetrics } from './metrics.js';
import { VERSION } from './version.js';

export type OperatorConfig = ConfigOf<typeof operatorSettings>;

export interface OperatorOptions {
  /** What is started for an engine, in place of `gwk engine`. */
  engineCommand?: [string, ...string[]];
  silentMs?: number;
  graceMs?: number;
  callTimeoutMs?: number;
  /** Takes the log lines of engines; standard output where not given. */
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
/** docs/operate: no engine keeps its resource from being deleted for longer than this and a lease. */
const STUCK_MS = 300_000;
/** The API was not heard for so long: what happens to instances is not seen any more. */
const UNHEARD_MS = 15_000;

/** Everything of `gwk operator` but signals and settings. */
export async function startOperator(
  config: OperatorConfig,
  options: OperatorOptions = {},
): Promise<RunningOperator> {
  const log = createLogger('operator', config.logLevel);
  const client = new OperatorClient({
    baseUrl: config.internalUrl,
    token: config.operatorToken,
    ca: config.internalCa,
    timeoutMs: options.callTimeoutMs ?? CALL_TIMEOUT_MS,
  });
  const cluster = localCluster(config, options, log);
  const controller = new Controller({
    cluster,
    port: internalPort(client),
    log,
    limits: { idleMs: config.idleEngineMs, silentMs: options.silentMs ?? SILENT_MS, stuckMs: STUCK_MS },
    ...(options.backoff && { backoff: options.backoff }),
  });
  const metrics = operatorMetrics({ cluster, controller, brokenManifests: () => cluster.sync.faults.size });
  let loaded = false;
  const ready = () => ({ started: loaded ? null : 'starting', ...cluster.checks(), ...checksOf(controller) });
  const resources = resourcesHandler(cluster.store, { token: config.localToken, isLoaded: () => loaded });
  // The port first: where it is taken, no engine is started in vain.
  const server = await listen(config, [healthHandler(ready, metrics), resources], log);
  const stop = async (): Promise<void> => {
    await server.close();
    await controller.stop();
    client.close();
    if (loaded) log.info('the operator has stopped');
  };
  try {
    await controller.start();
    await writeAddress(cluster.store.stateFolder, config, server.port);
  } catch (error) {
    await stop();
    throw error;
  }
  loaded = true;
  if (config.localToken === undefined) log.warn(NO_TOKEN);
  log.info({ port: server.port, folder: resolve(config.localFolder) }, 'the operator is listening');
  return { port: server.port, stop };
}

const NO_TOKEN = 'without GWK_OPERATOR_LOCAL_TOKEN the resources are reached through the folder alone';

function localCluster(config: OperatorConfig, options: OperatorOptions, log: Logger): LocalCluster {
  const gwk = fileURLToPath(new URL('../../bin/gwk.js', import.meta.url));
  return new LocalCluster({
    folder: resolve(config.localFolder),
    launch: {
      command: options.engineCommand ?? [process.execPath, gwk, 'engine'],
      settings: engineSettings(config),
      pass: options.print ?? ((line) => process.stdout.write(`${line}\n`)),
    },
    version: VERSION,
    log,
    startWidth: Math.max(4, 2 * availableParallelism()),
    ...(options.graceMs !== undefined && { graceMs: options.graceMs }),
  });
}

function engineSettings(config: OperatorConfig): Record<string, string> {
  return {
    GWK_LOG_LEVEL: config.logLevel,
    GWK_ENGINE_INTERNAL_URL: config.internalUrl,
    ...(config.internalCa !== undefined && { GWK_ENGINE_INTERNAL_CA: config.internalCa }),
    ...(config.sandboxNetwork !== undefined && { GWK_ENGINE_SANDBOX_NETWORK: config.sandboxNetwork }),
  };
}

function checksOf(controller: Controller): Record<string, string | null> {
  const unheard = controller.silentMs > UNHEARD_MS;
  return { api: unheard ? 'the internal port does not answer' : null };
}
