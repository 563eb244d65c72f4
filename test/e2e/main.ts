import { E2eStage } from './stage.js';
import { REFUSALS, SCENARIOS, UPGRADE } from './scenarios.js';
import { people, type Context } from './steps.js';
import { listNamespacesOfPods } from '../support/kubernetes/nodes/machine.js';
import { whyNoNodes } from '../support/kubernetes/nodes/programs.js';
import { until } from '../support/wait.js';

/**
 * `make e2e`: a Kubernetes cluster of two nodes with the chart installed. Each scenario breaks something
 * while messages go both ways, and prints its figures. The last line counts the results. ONLY=pattern runs
 * the first four scenarios, which prepare the others, and those that match. KEEP=on keeps the cluster for
 * inspection. SIGNED=on (`make release-dry-run`) upgrades to the signed release, and expects that changed parts of it are
 * refused. That builds cosign and each image for two architectures, which takes minutes.
 */
const say = (line: string): void => console.log(line);
const only = process.env['ONLY'] === undefined ? null : new RegExp(process.env['ONLY'], 'i');
const isSigned = process.env['SIGNED'] === 'on';
const ALWAYS = 4;

let interrupted = false;

async function main(): Promise<number> {
  const why = whyNoNodes();
  if (why !== null) {
    say(`end to end on Kubernetes: ${SCENARIOS.length} skipped: ${why}`);
    return 0;
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (interrupted = true));
  const before = listNamespacesOfPods();
  const status = await performOnCluster();
  const left = listNamespacesOfPods().filter((name) => !before.includes(name));
  if (left.length > 0) say(`FAILED network namespaces are left on this machine: ${left.join(', ')}`);
  return left.length > 0 ? 1 : status;
}

/** @returns the exit code */
async function performOnCluster(): Promise<number> {
  const began = performance.now();
  const upgrades = only === null || only.test(UPGRADE);
  const stage = await E2eStage.start(say, { first: upgrades ? 'former' : 'unsigned', isSigned });
  // Meanwhile the first scenarios wait for pods.
  if (upgrades) void stage.publishRelease();
  say(`cluster, images and network after ${((performance.now() - began) / 1000).toFixed(1)} s`);
  try {
    const failed = await performAll(stage);
    if (process.env['KEEP'] === 'on') await keep(stage);
    return failed === 0 ? 0 : 1;
  } finally {
    await stage.stop();
  }
}

/** @returns the number of failed scenarios */
async function performAll(stage: E2eStage): Promise<number> {
  const counts = { passed: 0, failed: 0 };
  const context = { stage, ...(await people(stage)) } as Context;
  for (const [at, [name, run]] of SCENARIOS.entries()) {
    if (interrupted) break;
    if (at >= ALWAYS && only && !only.test(name)) continue;
    if (name === REFUSALS && !isSigned) continue;
    const done = await perform(name, () => run(context), stage);
    counts[done ? 'passed' : 'failed']++;
    if (!done && at < ALWAYS) break;
  }
  say(`${counts.passed} passed, ${counts.failed} failed`);
  return counts.failed;
}

async function keep({ cluster }: E2eStage): Promise<void> {
  if (interrupted) return;
  say(`KUBECONFIG=${cluster.plane.kubeconfig}; Ctrl-C removes the cluster`);
  await until(() => interrupted, { what: 'Ctrl-C', timeoutMs: 86_400_000, everyMs: 500 });
}

async function perform(name: string, run: () => Promise<string>, stage: E2eStage): Promise<boolean> {
  const began = performance.now();
  const took = () => `${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s`;
  try {
    const summary = await run();
    say(`ok     ${name.padEnd(56)} ${took()}\n         ${summary}`);
    return true;
  } catch (error) {
    const { message, cause } = error as Error;
    const last = message.trim().split('\n').at(-1)!;
    say(`FAILED ${name.padEnd(56)} ${took()}: ${last.slice(0, 300)}\n${message}`);
    if (cause instanceof Error) say(cause.message);
    say(await stage.describeState());
    return false;
  }
}

process.exitCode = await main();
