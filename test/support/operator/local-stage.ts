import { changeResource } from '@gwk/operator/cli/pair/change';
import { LocalCluster } from '@gwk/operator/cluster/local/local';
import { createDesiredStateHandler } from '@gwk/operator/http/desired-state';
import type { Listener } from '@gwk/core/http/listener-limits';
import { listen } from '@gwk/operator/http/server';
import { OperatorDesiredState, type NewResource } from '@gwk/core/desired-state/desired-state';
import type { InstanceResource, InstanceSpec } from '@gwk/core/resources/manifest';
import { recordingLog, FAKE_ENGINE } from './folder.js';

export const TOKEN = 'a-token-of-the-local-cluster-for-tests';
const TIMEOUT_MS = 15_000;

export const connectTo = (url: string, token = TOKEN): OperatorDesiredState =>
  new OperatorDesiredState({ url, token, timeoutMs: TIMEOUT_MS });

/** Creates the resource, or replaces its spec. */
export async function applySpec(
  state: OperatorDesiredState,
  name: string,
  spec: NewResource['spec'],
): Promise<InstanceResource> {
  const metadata = { namespace: 'default', name };
  const changed = await changeResource(state, metadata, (before) => ({
    ...before,
    spec: spec as InstanceSpec,
  }));
  return changed?.after ?? state.create({ metadata, spec });
}

/** A local cluster that serves its desired state, without a controller. */
export class LocalStage {
  readonly changed: string[] = [];
  readonly logs: string[] = [];
  readonly cluster: LocalCluster;
  state!: OperatorDesiredState;
  #listening!: Listener;

  constructor(folder: string, lockWaitMs = 0) {
    this.cluster = new LocalCluster({
      folder,
      launch: { command: FAKE_ENGINE, isolation: null, settings: {}, print: () => undefined },
      version: '0.1.0',
      log: recordingLog(this.logs),
      maxConcurrentStarts: 4,
      graceMs: 1000,
      lockWaitMs,
    });
  }

  static async start(folder: string, lockWaitMs?: number): Promise<LocalStage> {
    const stage = new LocalStage(folder, lockWaitMs);
    await stage.cluster
      .start((key) => stage.changed.push(key))
      .catch(async (error: unknown) => {
        await stage.cluster.stop();
        throw error;
      });
    const { store } = stage.cluster;
    const handlers = [createDesiredStateHandler(store, { token: TOKEN, isLoaded: () => true })];
    stage.#listening = await listen({ host: '127.0.0.1', port: 0 }, handlers, recordingLog(stage.logs));
    stage.state = connectTo(stage.url);
    return stage;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listening.port}`;
  }

  async stop(): Promise<void> {
    await this.#listening.close();
    await this.cluster.endPods();
    await this.cluster.stop();
  }

  create(
    name: string,
    spec: NewResource['spec'] = { account: 'main' },
    metadata: Partial<NewResource['metadata']> = {},
  ): Promise<InstanceResource> {
    return this.state.create({ metadata: { namespace: 'default', name, ...metadata }, spec });
  }

  find(name: string): Promise<InstanceResource | null> {
    return this.state.get({ namespace: 'default', name });
  }

  async get(name: string): Promise<InstanceResource> {
    return (await this.find(name))!;
  }

  async change(
    name: string,
    spec: Partial<InstanceSpec>,
    labels?: Record<string, string>,
  ): Promise<InstanceResource> {
    const changed = await changeResource(this.state, { namespace: 'default', name }, (before) => ({
      ...before,
      metadata: { ...before.metadata, labels: { ...before.metadata.labels, ...labels } },
      spec: { ...before.spec, ...spec },
    }));
    return changed!.after;
  }

  delete(name: string): Promise<void> {
    return this.state.delete({ namespace: 'default', name });
  }

  async setFinalizer(name: string, isSet: boolean): Promise<void> {
    const { uid } = (await this.get(name)).metadata;
    await this.cluster.setFinalizer({ key: `default/${name}`, uid }, isSet);
  }
}
