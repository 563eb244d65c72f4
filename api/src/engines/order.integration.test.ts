import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ClaimedMessage } from '@gwk/core/protocol/engine';
import {
  sharedInternalApi,
  readRefusal,
  TestEngine,
  type InternalApiWorld,
} from '@gwk/test/support/api/internal-api';
import { failMessages } from '../message-status/apply-status.js';

/**
 * Random engines claim, send, fail, return, crash and are replaced, while messages are accepted and canceled.
 * The messages of each conversation must first reach the network in the order of acceptance, and each must end
 * once. Like a real engine, they send the claimed messages of a conversation one after the other, and a sent one does not
 * wait until its outcome is recorded.
 */
const SEEDS = [1, 2, 3, 4];
const CONVERSATIONS = 5;
const MESSAGES = 24;
/** Every run crashes at this attempt, so that each has at least one crash. */
const CERTAIN_CRASH = 20;

let internalApi: InternalApiWorld;
beforeAll(async () => {
  internalApi = await sharedInternalApi();
});
afterAll(() => internalApi.close());

/** Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class Crash extends Error {}

class Run {
  readonly random: () => number;
  /** Message ids by conversation, in the order of acceptance. */
  readonly accepted = new Map<string, string[]>();
  /** Message ids by conversation, in the order of arrival at the network. */
  readonly arrived = new Map<string, string[]>();
  accepting = true;
  crashes = 0;
  private attempts = 0;

  constructor(
    seed: number,
    readonly instanceId: string,
  ) {
    this.random = createRandom(seed);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** Lets other tasks run for a few turns of the event loop. */
  async pause(): Promise<void> {
    for (let turns = Math.floor(this.random() * 8); turns > 0; turns--) await nextTurn();
  }

  async accept(to: string): Promise<void> {
    const ids: string[] = [];
    this.accepted.set(`${to}@s.whatsapp.net`, ids);
    for (let i = 0; i < MESSAGES; i++) {
      ids.push(await internalApi.accept({ instance: this.instanceId, to }));
      if (this.chance(0.5)) await this.pause();
      if (this.chance(0.3)) await this.cancelOne();
    }
  }

  private async cancelOne(): Promise<void> {
    const all = [...this.accepted.values()].flat();
    const one = all[Math.floor(this.random() * all.length)]!;
    await failMessages(internalApi.world, [one], { code: 'canceled', message: null });
  }

  /** Replaces crashed engines until no message is left to send. */
  async serve(first: TestEngine): Promise<void> {
    for (let engine = first; ;) {
      const crashed = await this.runEngine(engine);
      if (!crashed) return;
      this.crashes++;
      await internalApi.operator.call('engine-ended', { instance_id: engine.instanceId, pod: engine.pod });
      const next = new TestEngine(engine.client, engine.instanceId, engine.pod, engine.token);
      await next.acquire();
      expect(await readRefusal(engine.claim())).toBe('fenced');
      engine = next;
    }
  }

  /** Runs an engine and returns whether it crashed. */
  private async runEngine(engine: TestEngine): Promise<boolean> {
    const socket = { open: true };
    while (this.accepting || (await this.waiting()) > 0) {
      const claimed = await engine.claim(1 + Math.floor(this.random() * 6));
      if (claimed.length === 0) await this.pause();
      const queues = [...Map.groupBy(claimed, ({ chat }) => chat).values()];
      const sends = await Promise.allSettled(
        queues.map((queue) => this.deliverInOrder(engine, queue, socket)),
      );
      const failures = sends.flatMap((send) => (send.status === 'rejected' ? [send.reason as Error] : []));
      for (const failure of failures) if (!(failure instanceof Crash)) throw failure;
      if (failures.length > 0) return true;
    }
    return false;
  }

  private async deliverInOrder(
    engine: TestEngine,
    queue: readonly ClaimedMessage[],
    socket: { open: boolean },
  ): Promise<void> {
    const outcomes: Promise<unknown>[] = [];
    try {
      for (const [place, message] of queue.entries()) {
        const outcome = await this.deliver(engine, message, socket);
        if (outcome !== 'returned') outcomes.push(outcome.recorded);
        else {
          const rest = queue
            .slice(place)
            .map(({ message_id }) => ({ kind: 'returned' as const, message_id }));
          outcomes.push(engine.report(...rest));
          return;
        }
      }
    } finally {
      await Promise.all(outcomes);
    }
  }

  private async deliver(
    engine: TestEngine,
    message: ClaimedMessage,
    socket: { open: boolean },
  ): Promise<'returned' | { recorded: Promise<unknown> }> {
    const nothing = { recorded: Promise.resolve() };
    const id = message.message_id;
    const isCertain = ++this.attempts === CERTAIN_CRASH;
    const crashAt = (place: number): void => {
      if (isCertain || this.chance(0.01)) socket.open = false;
      if (!socket.open) throw new Crash(`at ${place}`);
    };
    crashAt(1);
    if (this.chance(0.08)) return 'returned';
    if (message.attempted_at === null && this.chance(0.05)) {
      const error = { code: 'wa_error' as const, message: null };
      await engine.report({ kind: 'failed', message_id: id, at: new Date().toISOString(), error });
      return nothing;
    }
    const stored = await engine.build(id);
    if (!stored.includes(id)) return nothing;
    crashAt(2);
    await this.pause();
    crashAt(3);
    const log = this.arrived.get(message.chat) ?? [];
    this.arrived.set(message.chat, [...log, id]);
    crashAt(4);
    await this.pause();
    const receipt = {
      kind: 'receipt' as const,
      wa_message_id: message.wa_message_id,
      at: new Date().toISOString(),
    };
    const report = async (): Promise<void> => {
      if (this.chance(0.2)) await engine.report({ ...receipt, status: 'delivered' });
      else await Promise.all([engine.sent(id), this.chance(0.3) && engine.sent(id)]);
      if (this.chance(0.2)) await engine.report({ ...receipt, status: 'read' });
    };
    return { recorded: report() };
  }

  private waiting(): Promise<number> {
    return internalApi.world.database.outboxEntry.count({ where: { instanceId: this.instanceId } });
  }
}

test.each(SEEDS)('keeps the order, and ends each message once (seed %d)', async (seed) => {
  const engine = await (await internalApi.addEngine()).acquire();
  const run = new Run(seed, engine.instanceId);
  const accepts = Array.from({ length: CONVERSATIONS }, (_, i) =>
    run.accept(`55119${70_000_000 + seed * 100 + i}`),
  );
  const served = run.serve(engine);
  await Promise.all(accepts);
  run.accepting = false;
  await served;

  const where = { instanceId: engine.instanceId };
  const rows = await internalApi.world.database.message.findMany({ where });
  const statuses = new Map(rows.map((row) => [row.id, row.status]));
  for (const [chat, accepted] of run.accepted) {
    // Phones drop a repeated id.
    const shown = [...new Set(run.arrived.get(chat))];
    expect(shown).toEqual(accepted.filter((id) => shown.includes(id)));
    expect(shown).toEqual(accepted.filter((id) => statuses.get(id) !== 'failed'));
  }
  const ended = await internalApi.world.database.event.groupBy({
    by: ['type'],
    where: { ...where, type: { in: ['message.sent', 'message.failed'] } },
    _count: true,
  });
  const failed = rows.filter((row) => row.status === 'failed').length;
  const counts = Object.fromEntries(ended.map((group) => [group.type, group._count]));
  expect(counts).toEqual({
    'message.sent': rows.length - failed,
    ...(failed > 0 && { 'message.failed': failed }),
  });
  expect(rows).toHaveLength(CONVERSATIONS * MESSAGES);
  expect(run.crashes).toBeGreaterThan(0);
});
