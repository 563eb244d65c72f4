import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../kubernetes/test-cluster.js';
import { ROOT } from '../program.js';
import { findHelm, type HelmMajor } from './helm-binary.js';

export const CHART = join(ROOT, 'charts/gwk');

export interface Rendering {
  release?: string;
  namespace?: string;
}

/** Required values of the chart. */
export const MINIMAL_VALUES = {
  postgres: { existingSecret: 'databases' },
  redis: { existingSecret: 'databases' },
};

/** Lets Prometheus in its usual namespace read metrics through the NetworkPolicy. */
export const READ_BY_PROMETHEUS = {
  metrics: [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
};

export interface HelmResult {
  status: number | null;
  output: string;
  text: string;
}

export const helm = (...args: string[]): HelmResult => runHelm(4, args);

export function runHelm(major: HelmMajor, args: string[]): HelmResult {
  const found = findHelm(major);
  if ('missing' in found) throw new Error(found.missing);
  const home = mkdtempSync(join(tmpdir(), 'gwk-helm-'));
  try {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home };
    const done = spawnSync(found.helm, args, { encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024 });
    return { status: done.status, output: done.stdout, text: done.stdout + done.stderr };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Writes values to a temporary file for the duration of `use`. */
export function withValues<T>(values: object, use: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'gwk-values-'));
  const file = join(folder, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  try {
    return use(file);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function templateText(
  values: object,
  { release = 'gwk', namespace = 'messages' }: Rendering = {},
): string {
  const done = withValues(values, (file) =>
    helm('template', release, CHART, '--namespace', namespace, '--values', file),
  );
  if (done.status !== 0) throw new Error(done.text);
  return done.output;
}

const rendered = new Map<string, string>();

/** Caches renderings by values, because helm takes 0.5 s for each. */
export function render(values: object, rendering: Rendering = {}): KubeObject[] {
  const key = JSON.stringify([values, rendering]);
  const text = rendered.get(key) ?? templateText(values, rendering);
  rendered.set(key, text);
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

export function find(objects: KubeObject[], kind: string, name: string): KubeObject {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found) {
    const there = objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
    throw new Error(`there is no ${kind} ${name}; there are ${there.join(', ')}`);
  }
  return found;
}

export interface PodSpec {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  securityContext: Record<string, unknown>;
  initContainers?: Container[];
  containers: Container[];
  volumes?: { name: string; [source: string]: unknown }[];
  affinity?: Record<string, unknown>;
  [key: string]: unknown;
}

export interface Container {
  name: string;
  image: string;
  args?: string[];
  env?: { name: string; value?: string }[];
  ports?: { name: string; containerPort: number }[];
  securityContext: Record<string, unknown>;
  resources: { limits: Record<string, string>; requests: Record<string, string> };
  volumeMounts: { name: string; mountPath: string; readOnly?: boolean }[];
  [key: string]: unknown;
}

export interface PodTemplate {
  metadata: { labels: Record<string, string>; annotations?: Record<string, string> };
  spec: PodSpec;
}

/** Pod templates of the objects, by kind and name of their owner. */
export function listPodTemplates(objects: KubeObject[]): Map<string, PodTemplate> {
  const found = new Map<string, PodTemplate>();
  for (const object of objects) {
    const spec = object['spec'] as { template?: PodTemplate } | undefined;
    if (object.kind === 'Pod') found.set(`Pod/${object.metadata.name}`, object as unknown as PodTemplate);
    else if (spec?.template?.spec) found.set(`${object.kind}/${object.metadata.name}`, spec.template);
  }
  return found;
}

export function readEnvironment(container: Container): Record<string, string> {
  return Object.fromEntries((container.env ?? []).map(({ name, value = '' }) => [name, value]));
}
