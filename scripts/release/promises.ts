import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { openApiDocument } from '@gwk/api/openapi/document';
import { OPERATIONS } from '@gwk/api/public-api/operations';
import { METRICS } from '@gwk/core/metrics/metrics';
import { instanceCrd } from '../crd/instance-crd.ts';
import { findNarrowings, splitByDirection } from './narrowing.ts';
import { ROOT } from './tools.ts';

/** The interfaces that a version promises (docs/releasing.md). Each release keeps those of its version in this folder. */
const FOLDER = join(ROOT, 'compatibility');

type Promises = Record<string, Parameters<typeof findNarrowings>[0]>;

/** By name of the file. */
export function collectPromises(): Promises {
  const address = 'https://api.example.org';
  const openapi = openApiDocument({ operations: OPERATIONS, baseUrl: address, docsUrl: address });
  const metrics = Object.values(METRICS).flatMap((group) => group.map(describeMetric));
  const values = readFileSync(join(ROOT, 'charts/gwk/values.schema.json'), 'utf8');
  const all: Record<string, unknown> = {
    'openapi.json': openapi,
    'instances.gwk.dev.json': instanceCrd(),
    'metrics.json': { metrics: Object.fromEntries(metrics) },
    'values.schema.json': JSON.parse(values) as unknown,
  };
  return JSON.parse(JSON.stringify(all)) as Promises;
}

const describeMetric = ({
  name,
  type,
  labelNames,
  help,
}: (typeof METRICS)[keyof typeof METRICS][number]): [string, object] => [
  name,
  {
    type,
    labels: Object.fromEntries(labelNames.map((label) => [label, {}])),
    // The help of a metric that a later version removes says so.
    ...(help.startsWith('Deprecated') && { deprecated: true }),
  },
];

/** Lists the losses since the last release. Before the first release there are none. */
export function findBroken(promises: Promises, folder = FOLDER): string[] {
  return Object.entries(promises).flatMap(([name, now]) => {
    const file = join(folder, name);
    // A release keeps all of them, so one that is missing was lost or renamed.
    if (!existsSync(file)) return existsSync(folder) ? [`${name}: missing in ${basename(folder)}`] : [];
    const former = JSON.parse(readFileSync(file, 'utf8')) as Promises[string];
    return findNarrowings(splitByDirection(former), splitByDirection(now), name);
  });
}

export function writePromises(promises: Promises, folder = FOLDER): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, one] of Object.entries(promises)) writeFileSync(join(folder, name), JSON.stringify(one));
}
