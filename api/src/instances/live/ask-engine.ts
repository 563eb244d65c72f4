import type { CommandName } from '@gwk/core/protocol/commands';
import { Problem } from '@gwk/core/problems';
import type { Instance } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';

/** Deadline of each command in milliseconds. */
export const DEADLINES = {
  restart: 5_000,
  logout: 10_000,
  'check-contact': 10_000,
  read: 10_000,
  presence: 5_000,
} as const satisfies Partial<Record<CommandName, number>>;

/** Time of an operation for reads and writes in addition to the deadline. */
export const ANSWER_MARGIN_MS = 4_000;
const LATER_S = 5;

export const unavailable = (): Problem => new Problem('engine-unavailable', { retryAfter: LATER_S });

/** Whether an engine holds the lease and can answer. */
export async function hasEngine({ db }: Services, instanceId: string): Promise<boolean> {
  const lease = await db.instanceLease.findUnique({ where: { instanceId } });
  return isHeld(lease);
}

export function isHeld(lease: { holder: string | null; expiresAt: Date | null } | null): boolean {
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
  if (!services.live.up || !(await hasEngine(services, row.id))) throw unavailable();
  const reply = await services.live.ask(row, name, args, DEADLINES[name]);
  if (!reply?.ok) throw unavailable();
  return reply.result;
}
