import type { KubeConfig } from '@kubernetes/client-node';
import type { Logger } from '@gwk/core/log';
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { kubeAccess, kubeConfigAccess } from './cluster/kubernetes/access.js';
import { KubeClient } from './cluster/kubernetes/client.js';
import { KubernetesCluster } from './cluster/kubernetes/kubernetes.js';
import { LeaderElector, type LeaderTimes } from './cluster/kubernetes/leader-election.js';
import { kubernetesMetrics } from './cluster/kubernetes/metrics.js';
import { readProfiles } from './cluster/kubernetes/profiles.js';
import type { WatchTimes } from './cluster/kubernetes/informer.js';
import type { Controller } from './controller/controller.js';
import { checkApi, createController } from './controller/create-controller.js';
import { healthHandler } from './http/health.js';
import { listen } from './http/server.js';
import { operatorMetrics } from './metrics.js';
import type { OperatorConfig, OperatorOptions, RunningOperator } from './options.js';

export interface KubernetesOptions extends OperatorOptions {
  leaderTimes?: LeaderTimes;
  watchTimes?: Partial<WatchTimes>;
  /** That of the environment where not given. */
  kube?: KubeConfig;
  /** What becomes of an operator that leads no more: it must not go on for another moment. */
  lost?: () => void;
}

/** Several may run; one leads, the others wait, ready to. */
export async function startOnKubernetes(
  config: OperatorConfig,
  options: KubernetesOptions,
  log: Logger,
): Promise<RunningOperator> {
  if (config.profilesFile === undefined)
    throw new Error('set GWK_OPERATOR_PROFILES to a file of engine profiles');
  const profiles = readProfiles(config.profilesFile);
  const access = options.kube ? kubeConfigAccess(options.kube) : await kubeAccess();
  const own = access.namespace ?? 'default';
  const calls = kubernetesMetrics();
  const client = new KubeClient(access, { onCall: calls.count });
  const cluster = new KubernetesCluster({
    client,
    log,
    profiles,
    namespaces: namespacesOf(config.namespaces, own),
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
  const metrics = operatorMetrics({ cluster, controller, unreadable: () => cluster.unreadable });
  calls.register(metrics, { cluster, leader });
  const term = new Term(controller, leader, log);
  const ready = () =>
    leader.leading ? { ...term.checks(), ...cluster.checks(), ...checkApi(controller) } : {};
  const server = await listen(config, [healthHandler(ready, metrics)], log);
  const lost = options.lost ?? (() => process.exit(1));
  leader.start(
    () => term.begin(),
    () => {
      log.error('another operator may lead now; this one ends');
      lost();
    },
  );
  log.info({ port: server.port }, 'the operator is listening, and waits to lead');
  const stop = async (): Promise<void> => {
    await server.close();
    await term.end();
    // Only now: whoever leads next finds nothing of ours under way.
    await leader.stop();
    close();
    await client.close();
    log.info('the operator has stopped');
  };
  return { port: server.port, stop };
}

/** The time in which this operator leads. */
class Term {
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
    this.#log.info('this operator leads');
    this.#starting = this.#controller.start().then(() => {
      this.#started = true;
      this.#log.info('everything was listed');
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

function namespacesOf(given: string | undefined, own: string): string[] | null {
  if (given === '*') return null;
  return given === undefined ? [own] : [...new Set(given.split(','))];
}
