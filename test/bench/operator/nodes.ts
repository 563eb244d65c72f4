import { E2eStage, ENGINE_NODE, MAIN_NODE } from '../../e2e/stage.js';
import {
  firstMessages,
  install,
  moveTo,
  NAME,
  nextLogin,
  pairPhone,
  people,
  seconds,
  timesToReady,
  type Context,
} from '../../e2e/steps.js';
import { whyNoNodes } from '../../support/kubernetes/nodes/programs.js';

/**
 * Measures the operator with real pods: the chart on a whole Kubernetes on one machine (as in `make e2e`), with its
 * images in a registry of this machine. It measures how long an instance is offline, without traffic, in seconds. `make e2e`
 * measures with traffic and checks every message.
 */
const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const RECONNECT_MS = 60_000;
const NODE_LOSS_MS = 240_000;

export async function onNodes(say: (line: string) => void): Promise<void> {
  const why = whyNoNodes();
  if (why !== null && process.env['CI'] === 'true') throw new Error(why);
  if (why !== null) return say(`on nodes: skipped: ${why}`);
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (interrupted = true));
  const stage = await E2eStage.start(say);
  try {
    const context = { stage, ...(await people(stage)) } as Context;
    for (const [what, measure] of FIGURES) {
      // Stop in an orderly way, so that nodes, mounts and the bridge are removed.
      if (interrupted) return say('interrupted');
      say(`${what}: ${await measure(context)}`);
    }
  } catch (error) {
    say(await stage.describeState());
    throw error;
  } finally {
    await stage.stop();
  }
}

/** Each prepares the next ones. */
const FIGURES: [string, (context: Context) => Promise<string>][] = [
  ['installed', install],
  ['a sandbox, created to Ready', async ({ stage }) => formatTimes(await timesToReady(stage, ROUNDS))],
  ['an instance, paired from a terminal', pairPhone],
  ['its first messages', firstMessages],
  ['pod of the engine deleted, until connected (goal: 10 s)', deleteEngine],
  ['node lost, until connected', loseNode],
];

async function deleteEngine(context: Context): Promise<string> {
  const times: number[] = [];
  while (times.length < ROUNDS)
    times.push((await nextLogin(context, () => deletePod(context.stage), RECONNECT_MS)).ms);
  return formatTimes(times);
}

const deletePod = (stage: E2eStage): Promise<string> =>
  stage.kubectl('delete', 'pod', `gwk-${NAME}`, '--wait=false');

/** Once only, because the node stays without power. */
async function loseNode(context: Context): Promise<string> {
  const { stage, instanceId } = context;
  await moveTo(context, ENGINE_NODE);
  let leaseEnd = 0;
  const lose = async (): Promise<void> => {
    await stage.cluster.node(ENGINE_NODE).losePower();
    // Nobody renews the lease from now on.
    leaseEnd = await stage.leaseEnd(instanceId);
  };
  const { at, ms } = await nextLogin(context, lose, NODE_LOSS_MS);
  const pod = await stage.pod(`gwk-${NAME}`);
  if (pod?.spec.nodeName !== MAIN_NODE) throw new Error(`the engine is on ${pod?.spec.nodeName}`);
  return `${seconds(at - leaseEnd)} after the end of its lease (goal: 60 s), ${seconds(ms)} after it lost its power`;
}

function formatTimes(times: number[]): string {
  const sorted = [...times].sort((a, b) => a - b);
  return `${seconds(sorted[Math.floor(sorted.length / 2)]!)} (median of ${times.map(seconds).join(', ')})`;
}
