import type { InstanceResource } from '@gwk/core/resources/manifest';
import { LocalCluster } from '@gwk/operator/cluster/local/local';
import { createResourcesHandler } from '@gwk/operator/http/resources';
import { listen, type Listening } from '@gwk/operator/http/server';
import { recordingLog, FAKE_ENGINE } from './folder.js';

export const TOKEN = 'a-token-of-the-local-cluster-for-tests';
export const INSTANCES = '/apis/gwk.dev/v1alpha1/namespaces/default/instances';

export interface Answer {
  code: number;
  /** The body, typed by the test. */
  body: InstanceResource & Record<string, unknown>;
  headers: Headers;
}

/** A local cluster with its HTTP API, without a controller. */
export class LocalRest {
  readonly changed: string[] = [];
  readonly logs: string[] = [];
  readonly cluster: LocalCluster;
  /** Clock for missing files; it does not advance by itself. */
  now = Date.now();
  #listening!: Listening;

  constructor(folder: string, relistMs: number) {
    this.cluster = new LocalCluster({
      folder,
      launch: { command: FAKE_ENGINE, settings: {}, print: () => undefined },
      version: '0.1.0',
      log: recordingLog(this.logs),
      maxConcurrentStarts: 4,
      graceMs: 1000,
      syncTimes: { relistMs, now: () => this.now },
    });
  }

  static async start(folder: string, relistMs = 5_000): Promise<LocalRest> {
    const rest = new LocalRest(folder, relistMs);
    await rest.cluster
      .start((key) => rest.changed.push(key))
      .catch(async (error: unknown) => {
        await rest.cluster.stop();
        throw error;
      });
    const handlers = [
      createResourcesHandler(rest.cluster.store, {
        token: TOKEN,
        isLoaded: () => true,
        pairings: rest.cluster.pairings,
      }),
    ];
    rest.#listening = await listen({ host: '127.0.0.1', port: 0 }, handlers, recordingLog(rest.logs));
    return rest;
  }

  /** Reads the folder and completes the resulting work. */
  async read(): Promise<void> {
    await this.cluster.sync.syncNow();
    await this.cluster.store.idle();
  }

  /** Reads once more after advancing the clock past the delay for missing files. */
  async readMuchLater(): Promise<void> {
    await this.read();
    this.now += 60_000;
    await this.read();
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listening.port}`;
  }

  async stop(): Promise<void> {
    await this.#listening.close();
    await this.cluster.endPods();
    await this.cluster.stop();
  }

  async call(
    method: string,
    path: string,
    given: { body?: unknown; type?: string; token?: string } = {},
  ): Promise<Answer> {
    const { body, type, token = TOKEN } = given;
    const response = await fetch(new URL(path, this.url), {
      method,
      headers: { authorization: `Bearer ${token}`, ...(type !== undefined && { 'content-type': type }) },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return {
      code: response.status,
      body: (await response.json()) as Answer['body'],
      headers: response.headers,
    };
  }

  get(name: string): Promise<Answer> {
    return this.call('GET', `${INSTANCES}/${name}`);
  }

  apply(
    name: string,
    spec: object,
    options: { manager?: string; force?: boolean; metadata?: object } = {},
  ): Promise<Answer> {
    const { manager = 'test', force = false, metadata = {} } = options;
    const path = `${INSTANCES}/${name}?fieldManager=${manager}&force=${force}`;
    return this.call('PATCH', path, {
      body: manifest(name, spec, metadata),
      type: 'application/apply-patch+yaml',
    });
  }

  merge(name: string, body: object): Promise<Answer> {
    return this.call('PATCH', `${INSTANCES}/${name}`, { body, type: 'application/merge-patch+json' });
  }
}

export function manifest(name: string, spec: object = { account: 'main' }, metadata: object = {}): object {
  return { apiVersion: 'gwk.dev/v1alpha1', kind: 'Instance', metadata: { name, ...metadata }, spec };
}
