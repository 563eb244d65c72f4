import { setTimeout as sleep } from 'node:timers/promises';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { Database } from '../database/database.js';
import { emit, instanceEvent } from '../events/emit.js';
import type { Instance } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { hasEngine } from '../engine-commands/ask-engine.js';

/**
 * Frees the linked-device slot of a deleted instance on its phone. The engine unlinks the device when it receives the deletion.
 * If that takes too long, or no engine runs, an event reports it, and a person has to unlink the device on the phone.
 */
const UNLINK_MS = 3_000;
const LOOK_MS = 100;
const STILL_LINKED = 'device_still_linked';

/** Commands the engine of a deleted instance to unlink, and waits for it briefly. */
export async function leavePhone(services: Services, row: Instance): Promise<void> {
  const { db, sealer, live } = services;
  if (await hasEngine(services, row.id)) {
    const asked = live.ask(row, 'logout', {}, UNLINK_MS);
    const ended = new AbortController();
    const done = await Promise.race([
      asked.then((reply) => isUnlinked(reply)),
      untilUnlinked(db, row.id, ended),
    ]);
    ended.abort();
    if (done) return;
  }
  await tellStillLinked(db, sealer, row.id);
}

function isUnlinked(reply: Awaited<ReturnType<Services['live']['ask']>>): boolean {
  return reply?.ok === true && (reply.result as { unlinked?: boolean } | null)?.unlinked === true;
}

async function untilUnlinked(db: Database, id: string, { signal }: AbortController): Promise<boolean> {
  const end = performance.now() + UNLINK_MS;
  while (performance.now() < end && !signal.aborted) {
    await sleep(LOOK_MS);
    const row = await db.instance.findUnique({ where: { id }, select: { unlinkId: true } });
    if (row && row.unlinkId === null) return true;
  }
  return false;
}

/** A sandbox has no slot. */
export async function tellStillLinked(db: Database, sealer: Sealer, id: string): Promise<void> {
  const row = await db.instance.findUnique({ where: { id } });
  if (!row || row.kind !== 'web' || row.unlinkId === null) return;
  const subject = { accountId: row.accountId, instanceId: id };
  const event = instanceEvent('instance.logged_out', subject, new Date(), { reason: STILL_LINKED });
  await db.$transaction((tx) => emit(tx, sealer, [event]));
}
