import {
  DesiredStateUnavailable,
  ResourceConflict,
  type DesiredState,
  type NewResource,
  type Place,
} from '@gwk/core/desired-state/desired-state';
import { INSTANCES, isCode, isNotFound, KubeClient, PATCH } from '@gwk/core/kubernetes/client';
import { InstanceResource, MANIFEST_API_VERSION } from '@gwk/core/resources/manifest';
import { CustomObjectsApi, KubeConfig } from '@kubernetes/client-node';

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

const TARGET = { ...INSTANCES, fieldManager: 'gwk-api' };

/** Instance resources in the Kubernetes API. */
export class KubernetesDesiredState implements InstanceResources {
  readonly #objects: CustomObjectsApi;

  constructor({ url, token, ca, timeoutMs }: KubernetesApi) {
    const kube = new KubeConfig();
    const caData = ca && Buffer.from(ca).toString('base64');
    const cluster = { name: 'cluster', server: url, skipTLSVerify: url.startsWith('http:') };
    kube.loadFromClusterAndUser({ ...cluster, ...(caData && { caData }) }, { name: 'api' });
    this.#objects = new KubeClient({ kube, token, timeoutMs }).makeApiClient(CustomObjectsApi);
  }

  async get(place: Place): Promise<InstanceResource | null> {
    try {
      return await read(this.#objects.getNamespacedCustomObject({ ...TARGET, ...pick(place) }));
    } catch (error) {
      if (isNotFound((error as Error).cause)) return null;
      throw error;
    }
  }

  async create(resource: NewResource): Promise<InstanceResource> {
    const { namespace } = resource.metadata;
    const body = { apiVersion: MANIFEST_API_VERSION, kind: 'Instance', ...resource };
    return read(this.#objects.createNamespacedCustomObject({ ...TARGET, namespace, body }));
  }

  /** Writes the spec only. The API server rejects an outdated `resourceVersion` with 409. */
  async change({ metadata, spec }: InstanceResource): Promise<InstanceResource> {
    const body = [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      { op: 'replace', path: '/spec', value: spec },
    ];
    const patch = { ...TARGET, ...pick(metadata), body };
    return read(this.#objects.patchNamespacedCustomObject(patch, PATCH.json)).catch((error: unknown) => {
      if (isNotFound((error as Error).cause)) throw new ResourceConflict('the resource was deleted');
      throw error;
    });
  }

  async delete(place: Place): Promise<void> {
    try {
      await this.#objects.deleteNamespacedCustomObject({ ...INSTANCES, ...pick(place) });
    } catch (error) {
      if (!isNotFound(error)) throw new DesiredStateUnavailable((error as Error).message, { cause: error });
    }
  }
}

const pick = ({ namespace, name }: Place): Place => ({ namespace, name });

async function read(call: Promise<unknown>): Promise<InstanceResource> {
  try {
    return InstanceResource.parse(await call);
  } catch (error) {
    if (isCode(error, 409)) throw new ResourceConflict('the resource exists, or changed since it was read');
    throw new DesiredStateUnavailable('the Kubernetes API gave no Instance', { cause: error });
  }
}
