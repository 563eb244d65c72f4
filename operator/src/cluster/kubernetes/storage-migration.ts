import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiextensionsV1Api,
  CustomObjectsApi,
  type V1CustomResourceDefinition,
} from '@kubernetes/client-node';
import { backoffDelay } from '@gwk/core/async/backoff';
import { INSTANCES, isCode, isNotFound, PATCH, type KubeClient } from '@gwk/core/kubernetes/client';
import type { Logger } from '@gwk/core/process/log';
import { LIST_TIMEOUT_MS } from './engine-pods.js';
import { FIELD_MANAGERS } from '@gwk/core/kubernetes/names';

export interface MigrationTimes {
  /** How long API servers may still store the former version after the CRD has changed. */
  settleMs: number;
  firstMs: number;
  maxMs: number;
  pageSize: number;
}

const TIMES: MigrationTimes = { settleMs: 30_000, firstMs: 1_000, maxMs: 300_000, pageSize: 500 };
const CRD = { name: `${INSTANCES.plural}.${INSTANCES.group}` };

interface ListedObject {
  metadata: { namespace: string; name: string };
}

/**
 * Rewrites all Instances in the storage version of the CRD, and then removes the other versions from
 * `status.storedVersions`. Without this the API server would refuse a CRD without a former version for ever.
 *
 * The versions are removed last, and only from the CRD that was read first. So an interrupted migration, or one beside
 * another operator, at worst repeats writes that change nothing.
 */
export class StorageMigration {
  readonly #crds: ApiextensionsV1Api;
  readonly #objects: CustomObjectsApi;
  readonly #lists: CustomObjectsApi;
  readonly #log: Logger;
  readonly #times: MigrationTimes;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubeClient, log: Logger, times: Partial<MigrationTimes> = {}) {
    this.#crds = client.makeApiClient(ApiextensionsV1Api);
    this.#objects = client.makeApiClient(CustomObjectsApi);
    this.#lists = client.makeApiClient(CustomObjectsApi, LIST_TIMEOUT_MS);
    this.#log = log;
    this.#times = { ...TIMES, ...times };
  }

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        return await this.#migrate();
      } catch (error) {
        if (signal.aborted) return;
        this.#log.warn({ err: error }, 'migration of stored Instances failed; retrying');
        await sleep(backoffDelay(this.#times, failures), undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #migrate(): Promise<void> {
    const { signal } = this.#stopping;
    const first = await this.#readIfAllowed();
    if (first === null || findStale(first) === null) return;
    await sleep(this.#times.settleMs, undefined, { signal });
    const crd = await this.#crds.readCustomResourceDefinition(CRD);
    const stale = findStale(crd);
    if (stale === null) return;
    const instances = await this.#rewriteAll();
    const { resourceVersion } = crd.metadata!;
    const body = { metadata: { resourceVersion }, status: { storedVersions: [stale.storage] } };
    const patch = { ...CRD, fieldManager: FIELD_MANAGERS.resource, body };
    await this.#crds.patchCustomResourceDefinitionStatus(patch, PATCH.merge);
    this.#log.info({ ...stale, instances }, 'stored Instances migrated');
  }

  /**
   * Null: the chart withholds the right (`crds.migrateStorage`). Only here does a 403 end the migration: later ones may
   * come from admission webhooks or policies that refuse one Instance for a time.
   */
  async #readIfAllowed(): Promise<V1CustomResourceDefinition | null> {
    try {
      return await this.#crds.readCustomResourceDefinition(CRD);
    } catch (error) {
      if (!isCode(error, 403)) throw error;
      this.#log.info({ err: error }, 'no right to migrate stored Instances; see docs/upgrade.md');
      return null;
    }
  }

  async #rewriteAll(): Promise<number> {
    const { signal } = this.#stopping;
    let [count, next]: [number, string | undefined] = [0, undefined];
    do {
      const page = { limit: this.#times.pageSize, ...(next !== undefined && { _continue: next }) };
      const list = (await this.#lists.listClusterCustomObject({ ...INSTANCES, ...page })) as {
        metadata: { continue?: string };
        items: ListedObject[];
      };
      for (const { metadata } of list.items) {
        signal.throwIfAborted();
        await this.#rewrite(metadata);
      }
      count += list.items.length;
      next = list.metadata.continue || undefined;
    } while (next !== undefined);
    return count;
  }

  /** The API server stores an object again if its stored form is outdated, even if a patch changes nothing. */
  async #rewrite({ namespace, name }: ListedObject['metadata']): Promise<void> {
    const target = { ...INSTANCES, namespace, name, fieldManager: FIELD_MANAGERS.resource, body: {} };
    try {
      await this.#objects.patchNamespacedCustomObjectStatus(target, PATCH.merge);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

/** Null: all objects are stored in the storage version. */
function findStale({
  spec,
  status,
}: V1CustomResourceDefinition): { storage: string; storedVersions: string[] } | null {
  const storage = spec.versions.find((version) => version.storage)!.name;
  const storedVersions = status?.storedVersions ?? [];
  return storedVersions.every((stored) => stored === storage) ? null : { storage, storedVersions };
}
