import { Problem } from '@gwk/core/problems';
import {
  API_GROUP,
  API_VERSION,
  InstanceResource,
  MANIFEST_API_VERSION,
  type InstanceSpec,
} from '@gwk/core/resources/manifest';
import { Agent, fetch, type Response } from 'undici';

declare module '../http/services.js' {
  interface Services {
    cluster: Cluster;
  }
}

/**
 * Client for Instance resources in Kubernetes or, on one machine, in the operator, which has the same REST interface. Every
 * failure is the problem `engine-unavailable`, which consumers may retry.
 */
export interface Cluster {
  /** Null: not found. */
  get(namespace: string, name: string): Promise<InstanceResource | null>;
  /**
   * Server-side apply: creates the resource or changes the given fields.
   * @throws ResourceConflict if `resourceVersion` is outdated
   */
  apply(manifest: AppliedManifest): Promise<InstanceResource>;
  /** Starts the deletion; no effect if the resource does not exist. */
  delete(namespace: string, name: string): Promise<void>;
  close(): Promise<void>;
}

export interface AppliedManifest {
  metadata: {
    namespace: string;
    name: string;
    labels?: Record<string, string>;
    resourceVersion?: string;
    uid?: string;
  };
  spec: Partial<InstanceSpec>;
}

/** The resource has changed since it was read. */
export class ResourceConflict extends Error {
  override name = 'ResourceConflict';
}

/** Field manager of the API. */
export const FIELD_MANAGER = 'gwk-api';
const TIMEOUT_MS = 2_500;
const RETRY_AFTER_SECONDS = 2;

interface ClusterOptions {
  url: string;
  /** Called for each request, because tokens of service accounts rotate. */
  token: () => string;
  ca?: string | undefined;
}

export class RestCluster implements Cluster {
  readonly #options: ClusterOptions;
  readonly #agent: Agent;

  constructor(options: ClusterOptions) {
    this.#options = options;
    const { ca } = options;
    this.#agent = new Agent({ connect: { timeout: TIMEOUT_MS, ...(ca !== undefined && { ca }) } });
  }

  async get(namespace: string, name: string): Promise<InstanceResource | null> {
    const response = await this.#call('GET', pathOf(namespace, name));
    return response.status === 404 ? null : resourceIn(response);
  }

  async apply(manifest: AppliedManifest): Promise<InstanceResource> {
    const { namespace, name } = manifest.metadata;
    const query = new URLSearchParams({ fieldManager: FIELD_MANAGER, force: 'true' });
    const body = { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', ...manifest };
    return resourceIn(await this.#call('PATCH', `${pathOf(namespace, name)}?${query.toString()}`, body));
  }

  async delete(namespace: string, name: string): Promise<void> {
    const response = await this.#call('DELETE', pathOf(namespace, name));
    await response.text();
    if (!response.ok && response.status !== 404) throw unavailable(`DELETE answered ${response.status}`);
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  async #call(method: string, path: string, body?: unknown): Promise<Response> {
    try {
      return await fetch(new URL(path, this.#options.url), {
        method,
        dispatcher: this.#agent,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        headers: {
          authorization: `Bearer ${this.#options.token()}`,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': 'application/apply-patch+yaml' }),
        },
        // JSON is valid YAML.
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw unavailable((error as Error).name, error);
    }
  }
}

function pathOf(namespace: string, name: string): string {
  const parts = ['apis', API_GROUP, API_VERSION, 'namespaces', namespace, 'instances', name];
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

async function resourceIn(response: Response): Promise<InstanceResource> {
  const text = await response.text().catch((error: unknown) => {
    throw unavailable('response interrupted', error);
  });
  if (response.status === 409) throw new ResourceConflict('the resource changed since it was read');
  if (!response.ok) throw unavailable(`answered ${response.status}`);
  try {
    return InstanceResource.parse(JSON.parse(text));
  } catch (error) {
    throw unavailable('the answer is not an Instance', error);
  }
}

/** Creates the problem with `Retry-After`; its cause is logged. */
function unavailable(reason: string, cause?: unknown): Problem {
  const problem = new Problem('engine-unavailable', { retryAfter: RETRY_AFTER_SECONDS });
  problem.cause = cause ?? new Error(`the cluster: ${reason}`);
  return problem;
}
