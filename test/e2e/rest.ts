import { pause, until } from '../support/wait.js';
import { NAMESPACE, type E2eStage, type PodSeen } from './stage.js';
import { apply, NAME, type Context } from './steps.js';

/** A number that nobody pairs. Its engine ends after the time that the values of the stage allow. */
const UNPAIRED = 'unpaired';
const WINDOW_MS = 20_000;

/**
 * Percent of a core that a pod may use while nothing happens. Measured on a busy machine: operator 1.7, API 1.5, worker with
 * its decoder 6.9, engine 1.0. An operator that never rested used 13 for one number.
 */
const MOST: Readonly<Record<string, number>> = { operator: 5, api: 8, worker: 15, engine: 4 };

/** Starts the number that is unpaired when the cluster is measured. */
export const createUnpaired = (stage: E2eStage): Promise<void> => apply(stage, UNPAIRED, 'web');

/** Processor time of each program, with a connected number, an unpaired one whose engine ended, and no traffic. */
export async function rest({ stage }: Context): Promise<string> {
  await until(async () => (await stage.pod(`gwk-${UNPAIRED}`)) === undefined, {
    what: 'the engine of the unpaired number has ended',
    timeoutMs: 120_000,
  });
  await stage.untilReady(NAME);
  const pods = await listPods(stage);
  const before = readTimes(stage);
  const began = performance.now();
  await pause(WINDOW_MS);
  const after = readTimes(stage);
  const elapsed = performance.now() - began;
  const percents = pods.map(({ metadata: { uid, labels } }) => {
    const used = (after.get(uid) ?? NaN) - (before.get(uid) ?? NaN);
    return [labels['app.kubernetes.io/component']!, (100 * used) / elapsed] as const;
  });
  await stage.kubectl('delete', 'gwi', UNPAIRED, '--timeout=60s');
  const figures = Object.keys(MOST).map((component) => {
    const own = percents.filter(([name]) => name === component).map(([, percent]) => percent);
    return `${component} ${own.map((percent) => `${percent.toFixed(1)} %`).join(' and ')}`;
  });
  const summary = `processor time at rest: ${figures.join(', ')} of a core`;
  // NaN is above no bound, and must not pass.
  const above = percents.filter(([component, percent]) => !(percent <= MOST[component]!));
  if (above.length > 0) throw new Error(`${summary}; at most ${JSON.stringify(MOST)}`);
  return summary;
}

type Labelled = PodSeen & { metadata: { labels: Record<string, string> } };

async function listPods(stage: E2eStage): Promise<Labelled[]> {
  const all = (await stage.pods()) as Labelled[];
  const measured = all.filter(({ metadata }) => metadata.labels['app.kubernetes.io/component']! in MOST);
  const seen = new Set(measured.map(({ metadata }) => metadata.labels['app.kubernetes.io/component']));
  if (seen.size < Object.keys(MOST).length)
    throw new Error(`namespace ${NAMESPACE} has only pods of ${[...seen].join(', ')}`);
  return measured;
}

const readTimes = ({ cluster }: E2eStage): Map<string, number> =>
  new Map(cluster.nodes.flatMap((node) => [...node.readPodTimes()]));
