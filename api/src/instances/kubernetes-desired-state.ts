import {
  DesiredStateUnavailable,
  ResourceConflict,
  type DesiredState,
  type NewResource,
  type Place,
} from '@gwk/core/desired-state/desired-state';
import { API_GROUP, API_VERSION, InstanceResource, MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { Agent, fetch, type Response } from 'undici';

/** The operations that the API needs. */
export type InstanceResources = Omit<DesiredState, 'list'>;

declare module '../http/services.js' {
  interface Services {
    resources: InstanceResources;
  }
}

interface KubernetesApi {
  url: string;
  /** Called for each request, because tokens of service accounts rotate. */
  token: () => string;
  ca?: string | undefined;
  timeoutMs: number;
}

interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body?: unknown;
  type?: string;
}

/** Instance resources in the Kubernetes API. */
export class KubernetesDesiredState implements InstanceResources {
  readonly #api: KubernetesApi;
  readonly #agent: Agent;

  constructor(api: KubernetesApi) {
    this.#api = api;
    const { ca, timeoutMs } = api;
    this.#agent = new Agent({ connect: { timeout: timeoutMs, ...(ca !== undefined && { ca }) } });
  }

  async get(place: Place): Promise<InstanceResource | null> {
    const response = await this.#call({ method: 'GET', path: buildPath(place) });
    return response.status === 404 ? null : readResource(response);
  }

  async create(resource: NewResource): Promise<InstanceResource> {
    const path = buildPath({ ...resource.metadata, name: '' });
    const body = { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', ...resource };
    return readResource(await this.#call({ method: 'POST', path, body }));
  }

  /** Writes the spec only. The API server rejects an outdated `resourceVersion` with 409. */
  async change({ metadata, spec }: InstanceResource): Promise<InstanceResource> {
    const body = [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'replace', path: '/spec', value: spec },
    ];
    const type = 'application/json-patch+json';
    const response = await this.#call({ method: 'PATCH', path: buildPath(metadata), body, type });
    if (response.status === 404) throw new ResourceConflict('the resource was deleted');
    return readResource(response);
  }

  async delete(place: Place): Promise<void> {
    const response = await this.#call({ method: 'DELETE', path: buildPath(place) });
    await response.text();
    if (!response.ok && response.status !== 404)
      throw new DesiredStateUnavailable(`DELETE answered ${response.status}`);
  }

  async #call({ method, path, body, type = 'application/json' }: Call): Promise<Response> {
    const { url, token, timeoutMs } = this.#api;
    try {
      return await fetch(new URL(`${path}?fieldManager=gwk-api`, url), {
        method,
        dispatcher: this.#agent,
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          authorization: `Bearer ${token()}`,
          accept: 'application/json',
          ...(body !== undefined && { 'content-type': type }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new DesiredStateUnavailable((error as Error).name, { cause: error });
    }
  }
}

function buildPath({ namespace, name }: Place): string {
  const parts = ['apis', API_GROUP, API_VERSION, 'namespaces', namespace, 'instances'];
  if (name !== '') parts.push(name);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}

async function readResource(response: Response): Promise<InstanceResource> {
  try {
    const text = await response.text();
    if (response.status === 409)
      throw new ResourceConflict('the resource exists, or changed since it was read');
    if (!response.ok) throw new Error(`the Kubernetes API answered ${response.status}`);
    return InstanceResource.parse(JSON.parse(text));
  } catch (error) {
    if (error instanceof ResourceConflict) throw error;
    throw new DesiredStateUnavailable('the Kubernetes API gave no Instance', { cause: error });
  }
}
