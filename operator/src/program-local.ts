import type { Logger } from '@gwk/core/process/log';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildNetworkSettings } from './cluster/engine-networks.js';
import { writeAddress } from './cluster/local/address.js';
import { detectEngineIsolation } from './cluster/local/engine-isolation.js';
import { LocalCluster } from './cluster/local/local.js';
import { checkApi, createController } from './controller/create-controller.js';
import { createDesiredStateHandler } from './http/desired-state.js';
import { createHealthHandler, listen } from './http/server.js';
import { createOperatorMetrics } from './metrics.js';
import type { OperatorConfig, OperatorOptions, RunningOperator } from './options.js';
import { VERSION } from './version.js';

const NO_TOKEN = 'GWK_OPERATOR_LOCAL_TOKEN is not set: nobody can change instances';

/** Runs the operator on one machine: Instances in a file, engines as child processes. */
export async function startOnOneMachine(
  config: OperatorConfig,
  options: OperatorOptions,
  log: Logger,
): Promise<RunningOperator> {
  const cluster = localCluster(config, options, log);
  const { controller, close } = createController(cluster, config, options, log);
  const metrics = createOperatorMetrics(cluster, controller);
  let loaded = false;
  const ready = () => ({
    started: loaded ? null : 'starting',
    ...cluster.checks(),
    ...checkApi(controller.observer),
  });
  const desiredState = createDesiredStateHandler(cluster.store, {
    token: config.localToken,
    isLoaded: () => loaded,
  });
  // Open the port first: if it is taken, no engine starts in vain.
  const server = await listen(config, [createHealthHandler(ready, metrics), desiredState], log);
  const stop = async (): Promise<void> => {
    await server.close();
    await controller.stop();
    close();
    if (loaded) log.info('operator stopped');
  };
  try {
    await controller.start();
    await writeAddress(cluster.folder, config, server.port);
  } catch (error) {
    await stop();
    throw error;
  }
  loaded = true;
  if (config.localToken === undefined) log.warn(NO_TOKEN);
  log.info({ port: server.port, folder: cluster.folder }, 'operator listening');
  return { port: server.port, stop };
}

function localCluster(config: OperatorConfig, options: OperatorOptions, log: Logger): LocalCluster {
  const gwk = fileURLToPath(new URL('../../bin/gwk.js', import.meta.url));
  const command: [string, ...string[]] = [process.execPath, gwk, 'engine'];
  const isolation = options.engineCommand ? null : detectEngineIsolation(command);
  if (isolation) log.info({ separate_users: isolation.separateUsers }, 'engines are isolated');
  return new LocalCluster({
    folder: resolve(config.localFolder),
    launch: {
      command: options.engineCommand ?? command,
      isolation,
      settings: engineSettings(config),
      print: options.print ?? ((line) => process.stdout.write(`${line}\n`)),
    },
    version: VERSION,
    log,
    maxConcurrentStarts: Math.max(4, 2 * availableParallelism()),
    graceMs: options.graceMs,
  });
}

function engineSettings(config: OperatorConfig): Record<string, string> {
  return {
    GWK_LOG_LEVEL: config.logLevel,
    GWK_ENGINE_INTERNAL_URL: config.internalUrl,
    ...(config.internalCa !== undefined && { GWK_ENGINE_INTERNAL_CA: config.internalCa }),
    ...buildNetworkSettings(config),
  };
}
