import type { Job } from '../platform/job.js';
import type { JobDependencies } from './dependencies.js';

/** Longer than all codes of a session together; no engine still serves the session. */
const SILENT_MINUTES = 3;
const GROUP = 500;

/**
 * Removes expired pairing codes from all places that store them, and closes sessions without updates from an engine, so that
 * the operator does not start engines for them forever.
 */
export function pairingJob({ db }: JobDependencies): Job {
  return {
    name: 'pairing',
    everyMs: 1_000,
    async pass() {
      const [row] = await db.$queryRaw<{ amount: number }[]>`
        WITH due AS (
          DELETE FROM expiring_codes WHERE id IN (
            SELECT id FROM expiring_codes WHERE expires_at <= now() LIMIT ${GROUP}::integer FOR UPDATE SKIP LOCKED)
          RETURNING event_id, record_id, replacement_sealed
        ), answers AS (
          UPDATE idempotency_records r SET response_sealed = d.replacement_sealed
          FROM due d WHERE r.id = d.record_id AND r.status IS NOT NULL
        ), events AS (
          UPDATE events e SET data_sealed = d.replacement_sealed FROM due d WHERE e.id = d.event_id
        )
        SELECT count(*)::integer AS amount FROM due`;
      const exchanged = row!.amount;
      const shown = await db.$executeRaw`
        UPDATE pairing_sessions SET code_sealed = NULL WHERE code_sealed IS NOT NULL AND expires_at <= now()`;
      const asked = await db.$executeRaw`
        UPDATE pairing_sessions SET passkey_sealed = NULL
        WHERE passkey_sealed IS NOT NULL AND passkey_expires_at <= now()`;
      const closed = await db.$executeRaw`
        UPDATE pairing_sessions
        SET state = 'closed', error = 'engine_silent', code_sealed = NULL, phone_sealed = NULL, passkey_sealed = NULL,
          updated_at = now()
        WHERE state = 'pairing'
          AND greatest(updated_at, passkey_expires_at) <= now() - make_interval(mins => ${SILENT_MINUTES}::integer)`;
      return { amount: exchanged + shown + asked + closed, more: exchanged === GROUP };
    },
  };
}
