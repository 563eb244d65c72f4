import { SendNotifier } from '@gwk/api/messages/send-notifier';
import { openEventData } from '@gwk/api/events/emit';
import type { JobDependencies } from '@gwk/api/jobs/dependencies';
import { fromPublicId } from '@gwk/core/ids/ids';
import { createLogger } from '@gwk/core/process/log';
import { createWorld, type Send, type World } from './acceptance.js';

/** World for the worker's jobs. Tests run one pass at a time and move time by changing rows. */
export interface JobWorld {
  world: World;
  deps: JobDependencies;
  /**
   * Accepts a text message.
   * @returns the UUID of the message
   */
  accept(instance: string, send?: Send): Promise<string>;
  /** Type and data of the events of an instance, oldest first. */
  events(instanceId: string): Promise<{ type: string; data: Record<string, unknown> }[]>;
  /** Queue entries of an instance, in queue order. */
  queue(instanceId: string): Promise<QueueEntry[]>;
  /** UUIDs of the messages that the engine was notified of. */
  notifications(instanceId: string): Promise<string[]>;
}

export interface QueueEntry {
  messageId: string;
  seq: bigint | null;
  state: string;
  head: boolean;
}

export async function createJobWorld(): Promise<JobWorld> {
  const world = await createWorld(0);
  const { database: db, sealer, redis, keys } = world;
  const policy = { new_contacts_per_day: 100_000, mass_block: { max_contacts: 10_000 } };
  const acceptor = world.acceptor({ policy });
  return {
    world,
    deps: { db, sealer, sendNotifier: new SendNotifier(redis, keys), log: createLogger('job', 'fatal') },
    async accept(instance, send = {}) {
      const { message } = await world.send(acceptor, { instance, ...send });
      return fromPublicId('message', message.id)!;
    },
    async events(instanceId) {
      const rows = await db.event.findMany({ where: { instanceId }, orderBy: { id: 'asc' } });
      return rows.map(({ type, accountId, dataSealed }) => ({
        type,
        data: openEventData(sealer, accountId, dataSealed),
      }));
    },
    async queue(instanceId) {
      return db.outboxEntry.findMany({
        where: { instanceId },
        orderBy: [{ conversationId: 'asc' }, { seq: 'asc' }],
        select: { messageId: true, seq: true, state: true, head: true },
      });
    },
    async notifications(instanceId) {
      const entries = await redis.xRange(keys.sends(instanceId), '-', '+');
      return (entries ?? []).map((entry) => entry.message['m']!);
    },
  };
}
