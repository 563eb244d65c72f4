import { createClient } from 'redis';
import type { Program } from '../support/program.js';
import { pause, until } from '../support/wait.js';
import type { ChaosFault, PlannedFault } from '../support/instance/chaos-plan.js';
import type { InstanceStage } from '../support/instance/stage.js';

/** A fault that was injected, with its times. */
export interface InjectedFault {
  what: ChaosFault;
  from: number;
  to: number;
}

const OUTAGE_MS = 1_000;
const STALL_MS = 2_000;

/**
 * Injects the planned faults one after the other. Each starts at its time, or when the previous one is over.
 */
export async function injectFaults(
  stage: InstanceStage,
  planned: readonly PlannedFault[],
  over: AbortSignal,
): Promise<InjectedFault[]> {
  const begun = Date.now();
  const injected: InjectedFault[] = [];
  for (const fault of planned) {
    await pause(Math.max(0, begun + fault.atMs - Date.now()));
    if (over.aborted) break;
    const from = Date.now();
    await ACTIONS[fault.what](stage, fault.forMs);
    injected.push({ what: fault.what, from, to: Date.now() });
  }
  return injected;
}

type Action = (stage: InstanceStage, forMs: number) => Promise<void>;

const ACTIONS: Record<ChaosFault, Action> = {
  'the engine is killed': (stage) => endEngine(stage, 'SIGKILL'),
  'the engine is asked to stop': (stage) => endEngine(stage, 'SIGTERM'),
  'the operator is killed together with the engine': (stage) => end(stage.gateway.operator),
  'the connection is cut': async ({ network, phone }) => void (await network.cut(phone.number)),
  'the network ends the stream (503)': async ({ network, phone }) =>
    void (await network.streamError(phone.number, 503)),
  'the network is unavailable': async ({ network }, forMs) => {
    await network.outage(true, { cut: true });
    await pause(forMs);
    await network.outage(false);
  },
  'the line freezes, then is cut': async ({ network, phone }, forMs) => {
    await network.line(phone.number, { frozen: true });
    await pause(forMs);
    await network.cut(phone.number);
    await network.line(phone.number);
  },
  'the line stalls': async ({ network, phone }, forMs) => {
    await network.line(phone.number, { latencyMs: STALL_MS });
    await pause(forMs);
    await network.line(phone.number);
  },
  'the API that engines use is killed': ({ gateway }) => end(gateway.apis[0]!),
  'the other API is killed': ({ gateway }) => end(gateway.apis[1]!),
  'the API that engines use stalls': async ({ gateway }, forMs) => {
    const [api] = gateway.apis;
    await api!.ready();
    await api!.kill('SIGSTOP');
    await pause(forMs);
    await api!.kill('SIGCONT');
  },
  'Redis is killed and loses its data': async ({ gateway }) => {
    const redis = createClient({ url: gateway.redis.url });
    redis.on('error', () => undefined);
    await redis.connect();
    await redis.flushAll();
    redis.destroy();
    await gateway.redis.kill('SIGKILL');
    await pause(OUTAGE_MS);
    await gateway.redis.start();
  },
  'Postgres is killed': async ({ gateway }) => {
    await gateway.postgres.kill('SIGKILL');
    await pause(OUTAGE_MS);
    await gateway.postgres.start();
  },
  'Postgres is restarted': async ({ gateway }) => {
    await gateway.postgres.kill('SIGINT');
    await gateway.postgres.start();
  },
  'the worker is killed': ({ gateway }) => end(gateway.workers[0]!),
};

async function end(program: Program): Promise<void> {
  await until(() => program.pid !== undefined, { what: `${program.name} runs` });
  await program.kill('SIGKILL');
}

async function endEngine({ gateway }: InstanceStage, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const { pid } = await gateway.engine();
  process.kill(pid, signal);
}
