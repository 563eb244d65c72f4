import type { Metric } from '@gwk/core/metrics/metric';
import { METRICS } from '@gwk/core/metrics/metrics';
import { Exposition } from '../support/exposition.js';
import { openSharedStage, type SharedStage } from './shared-stage.js';

/** Headings of docs/metrics.md for the metrics of each program. */
const PROGRAMS = {
  api: [
    '`gwk api`',
    '`gwk api` and `gwk worker`: messages',
    '`gwk api` and `gwk worker`: Postgres, Redis and files',
  ],
  worker: [
    '`gwk worker`',
    '`gwk api` and `gwk worker`: messages',
    '`gwk api` and `gwk worker`: Postgres, Redis and files',
  ],
  operator: ['`gwk operator`'],
  engine: ['`gwk engine`'],
} as const;
type ProgramName = keyof typeof PROGRAMS;

let stage: SharedStage;
beforeAll(async () => {
  stage = await openSharedStage('metrics');
});

function portOf(name: ProgramName): number {
  const { settings, urls } = stage.gateway;
  if (name === 'operator') return settings.operatorPort;
  if (name === 'api') return Number(new URL(urls[0]!).port);
  if (name === 'worker') return portIn('"program":"worker"', '"working"');
  return portIn(`"pid":${stage.gateway.engine(stage.instance.id)!.pid},`, '"waiting for the lease"');
}

/** Port from the log line that the program writes at its start. */
function portIn(...words: string[]): number {
  const found = stage.gateway.logs().find(({ line }) => words.every((word) => line.includes(word)));
  return (JSON.parse(found!.line) as { port: number }).port;
}

test.each(Object.keys(PROGRAMS) as ProgramName[])(
  'gwk %s exports the metrics of the catalogue and no others',
  async (name) => {
    const described: Metric[] = PROGRAMS[name].flatMap((title) => [...METRICS[title]!]);
    const seen = await Exposition.of(portOf(name));
    const exported = [...seen.types].filter(([metric]) => metric.startsWith('gwk_'));
    expect(new Map(exported)).toEqual(new Map(described.map((metric) => [metric.name, metric.type])));
    for (const { name: metric, labelNames } of described) {
      const known: readonly string[] = labelNames;
      expect([...seen.labelsOf(metric)].filter((label) => !known.includes(label))).toEqual([]);
    }
  },
);
