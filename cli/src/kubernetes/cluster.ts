import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  type CoreV1Event,
  type V1Deployment,
  type V1Pod,
} from '@kubernetes/client-node';
import { INSTANCES, KubeError, orNull, PATCH, type KubeClient } from '@gwk/core/kubernetes/client';
import { buildPodName, ENGINE_SELECTOR, LABELS } from '@gwk/core/kubernetes/names';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { openText, readText } from './text.js';
import { parseMetrics } from './metrics.js';
import {
  isUnknown,
  type ClusterEvent,
  type EnginePod,
  type Gateway,
  type Known,
  type Picture,
} from './picture.js';

export interface Target {
  namespace: string;
  name: string;
}

/** Ports of the programs' metrics, by the names that chart and operator give them. */
const METRICS_PORTS = ['metrics', 'health'];

/** Reads and writes of these commands, by the rights of the user. */
export class Cluster {
  readonly client: KubeClient;
  readonly #core: CoreV1Api;
  readonly #apps: AppsV1Api;
  readonly #objects: CustomObjectsApi;

  constructor(client: KubeClient) {
    this.client = client;
    this.#core = client.makeApiClient(CoreV1Api);
    this.#apps = client.makeApiClient(AppsV1Api);
    this.#objects = client.makeApiClient(CustomObjectsApi);
  }

  async instance({ namespace, name }: Target): Promise<InstanceResource | null> {
    const target = { ...INSTANCES, namespace, name };
    return orNull(this.#objects.getNamespacedCustomObject(target) as Promise<InstanceResource>);
  }

  /** @param namespace null: all */
  async instances(namespace: string | null): Promise<InstanceResource[]> {
    const answer: unknown =
      namespace === null
        ? await this.#objects.listClusterCustomObject(INSTANCES)
        : await this.#objects.listNamespacedCustomObject({ ...INSTANCES, namespace });
    return (answer as { items: InstanceResource[] }).items;
  }

  async setSuspended({ namespace, name }: Target, suspended: boolean): Promise<void> {
    const target = { ...INSTANCES, namespace, name, fieldManager: 'kubectl-gwk' };
    await this.#objects.patchNamespacedCustomObject(
      { ...target, body: { spec: { suspended } } },
      PATCH.merge,
    );
  }

  async pod({ namespace, name }: Target): Promise<V1Pod | null> {
    return orNull(this.#core.readNamespacedPod({ namespace, name: buildPodName(name) }));
  }

  /** Not a successor of the same name. */
  async deletePod({ metadata }: V1Pod): Promise<void> {
    const { namespace, name, uid } = metadata!;
    await this.#core.deleteNamespacedPod({
      namespace: namespace!,
      name: name!,
      body: { preconditions: { uid: uid! } },
    });
  }

  async enginePods(namespace: string | null): Promise<V1Pod[]> {
    const selector = { labelSelector: ENGINE_SELECTOR };
    const { items } =
      namespace === null
        ? await this.#core.listPodForAllNamespaces(selector)
        : await this.#core.listNamespacedPod({ namespace, ...selector });
    return items;
  }

  async events({ namespace, name }: Target): Promise<ClusterEvent[]> {
    const found = await Promise.all(
      [
        `involvedObject.kind=Instance,involvedObject.name=${name}`,
        `involvedObject.name=${buildPodName(name)}`,
      ].map((fieldSelector) => this.#core.listNamespacedEvent({ namespace, fieldSelector })),
    );
    return found.flatMap(({ items }) => items.map(readEvent)).sort((a, b) => b.at.localeCompare(a.at));
  }

  /** The Deployments of releases that this user may see: of the cluster, else of the namespace. */
  async deployments(namespace: string): Promise<V1Deployment[]> {
    const labelSelector = 'app.kubernetes.io/part-of=gwk';
    try {
      return (await this.#apps.listDeploymentForAllNamespaces({ labelSelector })).items;
    } catch (error) {
      if (!(error instanceof KubeError && error.code === 403)) throw error;
      return (await this.#apps.listNamespacedDeployment({ namespace, labelSelector })).items;
    }
  }

  async podsOf({ metadata, spec }: V1Deployment): Promise<V1Pod[]> {
    const labels = Object.entries(spec?.selector.matchLabels ?? {}).map(([key, value]) => `${key}=${value}`);
    const labelSelector = labels.join(',');
    return (await this.#core.listNamespacedPod({ namespace: metadata!.namespace!, labelSelector })).items;
  }

  /** Through the proxy of the API server. */
  metrics(pod: V1Pod): Promise<string> {
    const { name, namespace } = pod.metadata!;
    const ports = pod.spec!.containers.flatMap((container) => container.ports ?? []);
    const port = METRICS_PORTS.map((wanted) => ports.find((one) => one.name === wanted)).find(Boolean);
    return readText(
      this.client,
      `/api/v1/namespaces/${namespace}/pods/${name}:${port?.containerPort ?? ''}/proxy/metrics`,
    );
  }

  log(pod: V1Pod, query: Record<string, string>): ReturnType<typeof openText> {
    const { name, namespace } = pod.metadata!;
    const container = pod.spec!.containers[0]!.name;
    const search = new URLSearchParams({ container, ...query }).toString();
    return openText(this.client, `/api/v1/namespaces/${namespace}/pods/${name}/log?${search}`);
  }
}

/** Everything about one Instance. A part that the user may not read is unknown. */
export async function readPicture(cluster: Cluster, instance: InstanceResource): Promise<Picture> {
  const { metadata } = instance;
  const target = { namespace: metadata.namespace, name: metadata.name };
  const [pod, events, gateway] = await Promise.all([
    orUnknown(cluster.pod(target)),
    orUnknown(cluster.events(target)),
    readGateway(cluster, target.namespace),
  ]);
  return {
    now: Date.now(),
    instance,
    events,
    gateway,
    pod: mapKnown(pod, (known) => known && readPod(known)),
    metrics: await readMetrics(cluster, pod),
  };
}

/** Pictures for a table, without events and metrics, which would take two calls for each Instance. */
export async function readPictures(cluster: Cluster, namespace: string | null): Promise<Picture[]> {
  const [instances, pods, gateway] = await Promise.all([
    cluster.instances(namespace),
    orUnknown(cluster.enginePods(namespace)),
    readGateway(cluster, namespace ?? cluster.client.namespace),
  ]);
  const unread = { unknown: 'not read for a table' };
  const byPlace = mapKnown(pods, (known) => new Map(known.map((pod) => [placeOf(pod), readPod(pod)])));
  return instances.map((instance) => {
    const { namespace: of, name } = instance.metadata;
    const pod = mapKnown(byPlace, (known) => known.get(`${of}/${buildPodName(name)}`) ?? null);
    return { now: Date.now(), instance, pod, gateway, metrics: unread, events: unread };
  });
}

const placeOf = ({ metadata }: V1Pod): string => `${metadata!.namespace}/${metadata!.name}`;

const isComponent = (name: string) => (one: V1Deployment) =>
  one.metadata?.labels?.[LABELS.component] === name;

/** The Deployments of the release with the operator in this namespace, else of the first release that is visible. */
export async function readRelease(cluster: Cluster, namespace: string): Promise<Known<V1Deployment[]>> {
  const found = await orUnknown(cluster.deployments(namespace));
  if (isUnknown(found)) return found;
  const operators = found.filter(isComponent('operator'));
  const operator = operators.find(({ metadata }) => metadata?.namespace === namespace) ?? operators[0];
  if (!operator) return { unknown: 'no Deployment of an operator is visible' };
  const place = ({ metadata }: V1Deployment) =>
    `${metadata?.namespace}/${metadata?.labels?.['app.kubernetes.io/instance']}`;
  return found.filter((one) => place(one) === place(operator));
}

export async function readGateway(cluster: Cluster, namespace: string): Promise<Known<Gateway>> {
  return mapKnown(await readRelease(cluster, namespace), (release) => {
    const { namespace: home, labels } = release.find(isComponent('operator'))!.metadata!;
    const api = release.find(isComponent('api'))?.metadata?.name ?? null;
    return { namespace: home!, api, version: labels?.[LABELS.version] ?? null };
  });
}

async function readMetrics(cluster: Cluster, pod: Known<V1Pod | null>): Promise<Picture['metrics']> {
  if (isUnknown(pod)) return pod;
  if (pod === null) return { unknown: 'no engine' };
  if (pod.status?.phase !== 'Running') return { unknown: 'the engine has not started' };
  return mapKnown(await orUnknown(cluster.metrics(pod)), parseMetrics);
}

function mapKnown<T, U>(value: Known<T>, map: (known: T) => U): Known<U> {
  return isUnknown(value) ? value : map(value);
}

/** An error becomes the reason why the value is unknown. */
export async function orUnknown<T>(work: Promise<T>): Promise<Known<T>> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    if (error.code === 403) return { unknown: `no right: ${error.message.replace(/^403 \w+: /, '')}` };
    return { unknown: error.message };
  }
}

function readPod({ metadata, spec, status }: V1Pod): EnginePod {
  const { running, waiting } = status?.containerStatuses?.[0]?.state ?? {};
  return {
    name: metadata!.name!,
    phase: status?.phase ?? 'Unknown',
    image: spec!.containers[0]!.image ?? '',
    node: spec!.nodeName ?? null,
    startedAt: running?.startedAt ? new Date(running.startedAt).toISOString() : null,
    waiting: waiting ? [waiting.reason, waiting.message].filter(Boolean).join(': ') : null,
    deleting: metadata!.deletionTimestamp !== undefined,
  };
}

function readEvent({
  type,
  reason,
  message,
  count,
  lastTimestamp,
  eventTime,
  metadata,
}: CoreV1Event): ClusterEvent {
  const at = lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? 0;
  return {
    at: new Date(at).toISOString(),
    type: type ?? 'Normal',
    reason: reason ?? '',
    message: message ?? '',
    count: count ?? 1,
  };
}
