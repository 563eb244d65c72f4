import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from '@gwk/core/process/log';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { KubeClient } from '@gwk/core/kubernetes/client';
import { KubernetesCluster } from './cluster/kubernetes/kubernetes.js';
import { LeaderElector, type LeaderTimes } from './cluster/kubernetes/leader-election.js';
import { createKubernetesMetrics } from './cluster/kubernetes/metrics.js';
import { readProfiles } from './cluster/kubernetes/profiles.js';
import { StorageMigration, type MigrationTimes } from './cluster/kubernetes/storage-migration.js';
import type { WatchTimes } from './cluster/kubernetes/informer.js';
import { checkApi, createController } from './controller/create-controller.js';
import { createHealthHandler, listen } from './http/server.js';
import { createOperatorMetrics } from './metrics.js';
import type { OperatorConfig, OperatorOptions, RunningOperator } from './options.js';

export interface KubernetesOptions extends OperatorOptions {
  leaderTimes?: LeaderTimes;
  watchTimes?: Partial<WatchTimes>;
  migrationTimes?: Partial<MigrationTimes>;
  /** Access to the cluster; by default from the environment. */
  kube?: KubeConfig;
  /** Called when the operator loses its leadership: it must stop working at once. */
  lost?: () => void;
}

/** Runs the operator on Kubernetes. Several may run: one leads, the others stand by. */
export async function startOnKubernetes(
  config: OperatorConfig,
  options: KubernetesOptions,
  log: Logger,
): Promise<RunningOperator> {
  const calls = createKubernetesMetrics();
  const client = new KubeClient({ kube: options.kube, onCall: calls.count });
  const cluster = createCluster(config, options, client, log);
  const { controller, close } = createController(cluster, config, options, log);
  const leader = new LeaderElector({
    client,
    log,
    namespace: client.namespace,
    name: config.leaseName,
    identity: `${hostname()}_${randomBytes(4).toString('hex')}`,
    times: options.leaderTimes,
  });
  const metrics = createOperatorMetrics(cluster, controller);
  calls.register(metrics, { cluster, leader });
  const migration = new StorageMigration(client, log, options.migrationTimes);
  let work: 'none' | 'starting' | 'started' = 'none';
  const ready = (): Record<string, string | null> => {
    if (!leader.leading) return leader.fault === null ? {} : { lease: leader.fault };
    const started = work === 'started' ? null : 'starting';
    return { started, ...cluster.checks(), ...checkApi(controller.observer) };
  };
  const server = await listen(config, [createHealthHandler(ready, metrics)], log);
  const lost = options.lost ?? (() => process.exit(1));
  leader.start(
    () => {
      log.info('operator is the leader');
      work = 'starting';
      migration.start();
      void controller.start().then(() => {
        work = 'started';
        log.info('initial list complete');
      });
    },
    () => {
      log.error('leadership lost; exiting');
      lost();
    },
  );
  log.info({ port: server.port }, 'operator listening; waiting for leadership');
  const stop = async (): Promise<void> => {
    await server.close();
    await migration.stop();
    if (work !== 'none') await controller.stop();
    // Release the lease last, so that the next leader finds no work of this operator in progress.
    await leader.stop();
    close();
    await client.close();
    log.info('operator stopped');
  };
  return { port: server.port, stop };
}

/** @throws Error if the engine profiles are missing or invalid */
function createCluster(
  config: OperatorConfig,
  { watchTimes }: KubernetesOptions,
  client: KubeClient,
  log: Logger,
): KubernetesCluster {
  if (config.profilesFile === undefined)
    throw new Error('set GWK_OPERATOR_PROFILES to a file with engine profiles');
  return new KubernetesCluster({
    client,
    log,
    profiles: readProfiles(config.profilesFile),
    namespaces: parseNamespaces(config.namespaces, client.namespace),
    settings: {
      internalUrl: config.engineInternalUrl ?? config.internalUrl,
      internalCa: config.internalCa,
      logLevel: config.logLevel,
      mediaMaxMb: config.mediaMaxMb,
      networks: config,
    },
    watchTimes,
  });
}

function parseNamespaces(given: string | undefined, own: string): string[] | null {
  if (given === '*') return null;
  return given === undefined ? [own] : [...new Set(given.split(','))];
}
