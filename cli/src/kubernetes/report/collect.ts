import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import type { InstanceResource } from '@gwk/core/resources/manifest';
import { PAIRING_ANNOTATION } from '@gwk/core/resources/pairing-request';
import { text } from 'node:stream/consumers';
import { basename, dirname, join } from 'node:path/posix';
import { strToU8, zipSync } from 'fflate';
import { orUnknown, readPicture, readRelease, type Cluster } from '../cluster.js';
import { isUnknown, type Known } from '../picture.js';
import { renderStatus, toJson } from '../view.js';
import {
  redactLog,
  redactMetrics,
  redactText,
  redactValue,
  type Included,
  type Redaction,
} from './redact.js';

export interface ReportSource {
  cluster: Cluster;
  instances: readonly InstanceResource[];
  namespace: string;
  version: string;
  now: Date;
}

export interface Report {
  zip: Uint8Array;
  files: number;
  /** Parts that the user may not read, or that did not answer. */
  missing: string[];
}

/** Bounds of a log in the report. */
const LOG_LINES = 5000;
const LOG_BYTES = 5_000_000;

/** Reads no Secret and no ConfigMap. */
export async function collectReport(source: ReportSource, included: readonly Included[]): Promise<Report> {
  const names = source.instances
    .flatMap(({ spec }) => spec.displayName ?? [])
    .filter((name) => name.length > 1);
  const collector = new Collector({ included, names });
  for (const instance of source.instances) await collectInstance(source, instance, collector);
  await collectGateways(source, collector);
  const { version, now } = source;
  const hidden = [
    'secrets',
    ...(['numbers', 'names', 'content'] as const).filter((one) => !included.includes(one)),
  ];
  collector.addJson('report.json', { version, at: now.toISOString(), hidden, missing: collector.missing });
  return { zip: collector.zip(now), files: collector.count, missing: collector.missing };
}

async function collectInstance(
  { cluster, version }: ReportSource,
  instance: InstanceResource,
  collector: Collector,
): Promise<void> {
  const { namespace, name } = instance.metadata;
  const folder = `instances/${namespace}/${name}`;
  const picture = await readPicture(cluster, instance);
  collector.add(`${folder}/status.txt`, `${renderStatus(picture, version)}\n`);
  collector.addJson(`${folder}/status.json`, toJson(picture));
  collector.addJson(`${folder}/instance.json`, describeInstance(instance));
  const pod = collector.known(
    `pod of ${namespace}/${name}`,
    await orUnknown(cluster.pod({ namespace, name })),
  );
  if (pod) await collectPod(cluster, pod, folder, collector);
}

/** A cluster may have releases that serve other Instances. Those are left out. */
async function collectGateways(
  { cluster, instances, namespace }: ReportSource,
  collector: Collector,
): Promise<void> {
  const places = instances.map(({ metadata }) => metadata.namespace);
  for (const place of new Set(places.length === 0 ? [namespace] : places)) {
    const release = collector.known(`gateway of ${place}`, await readRelease(cluster, place));
    await collectRelease(cluster, release ?? [], collector);
  }
}

async function collectRelease(
  cluster: Cluster,
  release: readonly V1Deployment[],
  collector: Collector,
): Promise<void> {
  for (const deployment of release) {
    const { name, namespace: home } = deployment.metadata!;
    const folder = `gateway/${home}/${name}`;
    // Several namespaces can have one release.
    if (collector.has(`${folder}/deployment.json`)) continue;
    const { status, metadata, spec } = deployment;
    const images = spec?.template.spec?.containers.map(({ image }) => image);
    collector.addJson(`${folder}/deployment.json`, { labels: metadata?.labels, images, status });
    const pods =
      collector.known(`pods of ${home}/${name}`, await orUnknown(cluster.podsOf(deployment))) ?? [];
    for (const pod of pods) await collectPod(cluster, pod, `${folder}/${pod.metadata!.name}`, collector);
  }
}

async function collectPod(cluster: Cluster, pod: V1Pod, folder: string, collector: Collector): Promise<void> {
  const place = `${pod.metadata!.namespace}/${pod.metadata!.name}`;
  collector.addJson(`${folder}/pod.json`, describePod(pod));
  const query = { tailLines: String(LOG_LINES), limitBytes: String(LOG_BYTES) };
  const log = await orUnknown(cluster.log(pod, query).then((body) => text(body)));
  const lines = collector.known(`log of ${place}`, log);
  if (lines !== null) collector.addLog(`${folder}/log.txt`, lines);
  const metrics = collector.known(`metrics of ${place}`, await orUnknown(cluster.metrics(pod)));
  if (metrics !== null) collector.addMetrics(`${folder}/metrics.txt`, metrics);
}

/** Annotations of others, such as the last applied manifest, can contain anything. */
function describeInstance({ metadata, spec, status }: InstanceResource): object {
  const { name, namespace, uid, generation, labels, finalizers, creationTimestamp, deletionTimestamp } =
    metadata;
  const annotations = Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      ([key]) => key.startsWith('gwk.dev/') && key !== PAIRING_ANNOTATION,
    ),
  );
  const identity = { name, namespace, uid, generation, creationTimestamp, deletionTimestamp };
  return { metadata: { ...identity, labels, annotations, finalizers }, spec, status };
}

/** Without the environment, whose values can be addresses with passwords. */
function describePod({ metadata, spec, status }: V1Pod): object {
  const { name, namespace, uid, labels, creationTimestamp, deletionTimestamp } = metadata!;
  const containers = spec!.containers.map(({ name: of, image, resources, command, env = [] }) => {
    return { name: of, image, resources, command, environment: env.map((one) => one.name) };
  });
  const { nodeName, serviceAccountName, nodeSelector, tolerations } = spec!;
  return {
    metadata: { name, namespace, uid, labels, creationTimestamp, deletionTimestamp },
    spec: { containers, nodeName, serviceAccountName, nodeSelector, tolerations },
    status,
  };
}

/** Collects redacted files. */
export class Collector {
  readonly missing: string[] = [];
  readonly #files: Record<string, Uint8Array> = {};
  /** Redacted names of folders. Two can be redacted to the same, so the later one gets a number. */
  readonly #folders = new Map<string, string>();
  readonly #redaction: Redaction;

  constructor(redaction: Redaction) {
    this.#redaction = redaction;
  }

  get count(): number {
    return Object.keys(this.#files).length;
  }

  has(path: string): boolean {
    return this.#place(path) in this.#files;
  }

  add(path: string, content: string): void {
    this.#put(path, redactText(content, this.#redaction));
  }

  addJson(path: string, value: object): void {
    // Dates become texts first.
    const plain: unknown = JSON.parse(JSON.stringify(value));
    this.#put(path, `${JSON.stringify(redactValue(plain, this.#redaction), null, 2)}\n`);
  }

  addLog(path: string, log: string): void {
    this.#put(path, redactLog(log, this.#redaction));
  }

  addMetrics(path: string, metrics: string): void {
    this.#put(path, redactMetrics(metrics, this.#redaction));
  }

  /** Null: not known, which the report says. */
  known<T>(what: string, value: Known<T>): T | null {
    if (!isUnknown(value)) return value;
    this.missing.push(redactText(`${what}: ${value.unknown}`, this.#redaction));
    return null;
  }

  zip(now: Date): Uint8Array {
    return zipSync(this.#files, { mtime: now });
  }

  #put(path: string, content: string): void {
    this.#files[this.#place(path)] = strToU8(content);
  }

  #place(path: string): string {
    const folder = dirname(path);
    let shown = this.#folders.get(folder);
    if (shown === undefined) {
      const wanted = redactText(folder, this.#redaction);
      const taken = new Set(this.#folders.values());
      shown = wanted;
      for (let number = 2; taken.has(shown); number++) shown = `${wanted}-${number}`;
      this.#folders.set(folder, shown);
    }
    return join(shown, basename(path));
  }
}
