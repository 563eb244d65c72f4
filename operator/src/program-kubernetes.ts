import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from '@gwk/core/log';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { KubeClient } from './cluster/kubernetes/client.js';
import { KubernetesCluster } from './cluster/kubernetes/kubernetes.js';
import { LeaderElector, type LeaderTimes } from './cluster/kubernetes/leader-election.js';
import { createKubernetesMetrics } from './cluster/kubernetes/metrics.js';
import { readProfiles } from './cluster/kubernetes/profiles.js';
import type { WatchTimes } from './cluster/kubernetes/informer.js';
import type { Controller } from './controller/controller.js';
import { checkApi, createController } from './controller/create-controller.js';
import { createHealthHandler } from './http/health.js';
import { listen } from './http/server.js';
import { createOperatorMetrics } from './metrics.js';
import type { OperatorConfig, OperatorOptions, RunningOperator } from './options.js';

export interface KubernetesOptions extends OperatorOptions {
  leaderTimes?: LeaderTimes;
  watchTimes?: Partial<WatchTimes>;
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
  if (config.profilesFile === undefined)
    throw new Error('set GWK_OPERATOR_PROFILES to a file with engine profiles');
  const profiles = readProfiles(config.profilesFile);
  const calls = createKubernetesMetrics();
  const client = new KubeClient({ kube: options.kube, onCall: calls.count });
  const own = client.namespace;
  const cluster = new KubernetesCluster({
    client,
    log,
    profiles,
    namespaces: parseNamespaces(config.namespaces, own),
    settings: {
      internalUrl: config.engineInternalUrl ?? config.internalUrl,
      internalCa: config.internalCa,
      logLevel: config.logLevel,
      networks: config,
    },
    ...(options.watchTimes && { watchTimes: options.watchTimes }),
  });
  const { controller, close } = createController(cluster, config, options, log);
  const leader = new LeaderElector({
    client,
    log,
    namespace: own,
    name: config.leaseName,
    identity: `${hostname()}_${randomBytes(4).toString('hex')}`,
    ...(options.leaderTimes && { times: options.leaderTimes }),
  });
  const metrics = createOperatorMetrics({ cluster, controller, invalidManifests: () => cluster.unreadable });
  calls.register(metrics, { cluster, leader });
  const term = new LeaderTerm(controller, leader, log);
  const ready = () =>
    leader.leading ? { ...term.checks(), ...cluster.checks(), ...checkApi(controller) } : {};
  const server = await listen(config, [createHealthHandler(ready, metrics)], log);
  const lost = options.lost ?? (() => process.exit(1));
  leader.start(
    () => term.begin(),
    () => {
      log.error('leadership lost; exiting');
      lost();
    },
  );
  log.info({ port: server.port }, 'operator listening; waiting for leadership');
  const stop = async (): Promise<void> => {
    await server.close();
    await term.end();
    // Release the lease last, so that the next leader finds no work of this operator in progress.
    await leader.stop();
    close();
    await client.close();
    log.info('operator stopped');
  };
  return { port: server.port, stop };
}

/** The work of this operator while it leads. */
class LeaderTerm {
  readonly #controller: Controller;
  readonly #leader: LeaderElector;
  readonly #log: Logger;
  #starting: Promise<void> | null = null;
  #started = false;

  constructor(controller: Controller, leader: LeaderElector, log: Logger) {
    this.#controller = controller;
    this.#leader = leader;
    this.#log = log;
  }

  begin(): void {
    this.#log.info('operator is the leader');
    this.#starting = this.#controller.start().then(() => {
      this.#started = true;
      this.#log.info('initial list complete');
    });
  }

  async end(): Promise<void> {
    if (this.#starting === null) return;
    await this.#controller.stop();
  }

  checks(): Record<string, string | null> {
    return { started: this.#leader.leading && !this.#started ? 'starting' : null };
  }
}

function parseNamespaces(given: string | undefined, own: string): string[] | null {
  if (given === '*') return null;
  return given === undefined ? [own] : [...new Set(given.split(','))];
}
