import { toPublicId } from '@gwk/core/ids/ids';
import type { Queryable } from '../database/database.js';

/** The path that all messages take (messages/send/acceptor.ts). */
export interface MessageSender {
  accept(
    input: { body: unknown; idempotencyKey: string | undefined },
    sender: { accountId: string; instances: null; suspended: boolean },
  ): Promise<unknown>;
}

interface AlertMessage {
  accountId: string;
  instanceId: string;
  to: string;
  body: string;
  /** A repeat with the same key sends nothing. */
  key: string;
}

/** @throws Problem the refusal of the message */
export async function sendByWhatsApp(acceptor: MessageSender, message: AlertMessage): Promise<void> {
  const { accountId, instanceId, to, body, key } = message;
  const instance_id = toPublicId('instance', instanceId);
  await acceptor.accept(
    { body: { instance_id, to, type: 'text', text: { body } }, idempotencyKey: key },
    { accountId, instances: null, suspended: false },
  );
}

/**
 * Finds a number of the account that can send: connected, not a sandbox and not restricted.
 * @param except an instance that must not send, because the alert is about it
 * @returns its UUID; null: there is none
 */
export async function findSender(
  db: Queryable,
  accountId: string,
  except: string | null = null,
): Promise<string | null> {
  const [found] = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM instances
    WHERE account_id = ${accountId}::uuid AND kind = 'web' AND state = 'connected' AND deleted_at IS NULL
      AND NOT suspended AND id IS DISTINCT FROM ${except}::uuid
      AND (restricted_until IS NULL OR restricted_until <= now())
    ORDER BY id LIMIT 1`;
  return found?.id ?? null;
}
