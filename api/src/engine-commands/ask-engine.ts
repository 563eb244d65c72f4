import type { CommandName, CommandReply } from '@gwk/core/protocol/commands';
import { Problem } from '@gwk/core/problems/problems';
import { LiveStatus } from '../resources/instance.js';
import type { Database } from '../database/database.js';
import type { Instance, InstanceLease } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';

/** Deadline of each command in milliseconds. */
export const DEADLINES = {
  restart: 5_000,
  logout: 10_000,
  'check-contact': 10_000,
  read: 10_000,
  presence: 5_000,
  groups: 10_000,
  group: 10_000,
  passkey: 12_000,
} as const satisfies Partial<Record<CommandName, number>>;

/** Time of an operation for reads and writes in addition to the deadline. */
export const ANSWER_MARGIN_MS = 4_000;
const LATER_S = 5;

export const unavailable = (): Problem => new Problem('engine-unavailable', { retryAfter: LATER_S });

/** Whether an engine holds the lease and can answer. */
export async function hasEngine({ db }: Services, instanceId: string): Promise<boolean> {
  return isHeld(await db.instanceLease.findUnique({ where: { instanceId } }));
}

type Lease = Pick<InstanceLease, 'holder' | 'expiresAt'>;

export function isHeld(lease: Lease | null): lease is Lease & { expiresAt: Date } {
  if (!lease?.holder || !lease.expiresAt) return false;
  return lease.expiresAt >= new Date();
}

/**
 * Sends a command to the engine and returns its answer.
 * @throws Problem `engine-unavailable`: no engine, no answer in time, or no connection
 */
export async function askEngine(
  services: Services,
  row: Instance,
  name: keyof typeof DEADLINES,
  args: Record<string, unknown>,
): Promise<unknown> {
  const reply = await readReply(services, row, { name, args, timeoutMs: DEADLINES[name] });
  if (!reply?.ok) throw unavailable();
  return reply.result;
}

const RECEIVE_MS = 2_000;

/**
 * Lets engines renew the terms of their leases, because a policy has changed. One that misses the command gets them with
 * its next renewal.
 */
export async function renewTerms(
  { db, live }: { db: Database; live: Pick<Services['live'], 'ask'> },
  instances: { id: string } | { accountId: string },
): Promise<void> {
  const lease = { holder: { not: null }, expiresAt: { gte: new Date() } };
  const rows = await db.instance.findMany({
    where: { ...instances, deletedAt: null, lease },
    select: { id: true, commandKeySealed: true },
  });
  await Promise.all(rows.map((row) => live.ask(row, 'renew', {}, RECEIVE_MS)));
}

interface Question {
  name: CommandName;
  args: Record<string, unknown>;
  timeoutMs: number;
}

/**
 * Sends a command to the engine and returns its reply, which may be a refusal; null if none came in time.
 * @throws Problem `engine-unavailable`: no engine
 */
export async function readReply(
  services: Services,
  row: Instance,
  { name, args, timeoutMs }: Question,
): Promise<CommandReply | null> {
  if (!services.live.up || !(await hasEngine(services, row.id))) throw unavailable();
  return services.live.ask(row, name, args, timeoutMs);
}

const STATUS_MS = 300;

/** Reads the live status from the engine; null without one, or if it does not answer in time. */
export async function liveStatus(services: Services, row: Instance): Promise<LiveStatus | null> {
  if (!(await hasEngine(services, row.id))) return null;
  const reply = await services.live.ask(row, 'live', {}, STATUS_MS);
  return LiveStatus.nullable()
    .catch(null)
    .parse(reply?.ok ? reply.result : null);
}
