import { createHash, randomInt, timingSafeEqual } from 'node:crypto';
import { lowestUuidAt } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import type { Language } from '../../resources/console/session.js';
import { findSender, sendByWhatsApp } from '../../alerts/whatsapp.js';
import { renderCode, toMessageText } from '../../alerts/texts.js';
import type { Database } from '../../database/database.js';
import type { AlertContact, Prisma } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { MailError } from '../../mail/mailer.js';

const VALID_MS = 15 * 60_000;
const MAX_ATTEMPTS = 5;
/** Codes of an account in an hour, so that nobody floods an address by its help. */
const MAX_CODES = 20;
const HOUR_MS = 3_600_000;

/** Audit entries of operations that send a code. */
const SENDING = ['contact.create', 'contact.code'];

export interface NewCode {
  code: string;
  fields: { codeHash: Uint8Array<ArrayBuffer>; codeExpiresAt: Date; codeAttempts: number };
}

export function newCode(contactId: string): NewCode {
  const code = String(randomInt(1_000_000)).padStart(6, '0');
  const codeExpiresAt = new Date(Date.now() + VALID_MS);
  return { code, fields: { codeHash: hashCode(contactId, code), codeExpiresAt, codeAttempts: 0 } };
}

const hashCode = (contactId: string, code: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHash('sha256').update(`${contactId}:${code}`).digest());

/** Call it under the lock of the account. @throws Problem `rate-limited` */
export async function checkCodeRate(tx: Prisma.TransactionClient, accountId: string): Promise<void> {
  const id = { gte: lowestUuidAt(Date.now() - HOUR_MS) };
  const sent = await tx.auditEntry.count({ where: { accountId, id, action: { in: SENDING } } });
  if (sent >= MAX_CODES) throw new Problem('rate-limited', { retryAfter: 900 });
}

/**
 * Checks a code. Each try counts before it is compared, so parallel tries have no more than five in all.
 * @throws Problem `invalid-code`
 */
export async function checkCode(db: Database, contactId: string, given: string): Promise<void> {
  const [row] = await db.$queryRaw<{ code_hash: Uint8Array }[]>`
    UPDATE alert_contacts SET code_attempts = code_attempts + 1
    WHERE id = ${contactId}::uuid AND code_hash IS NOT NULL AND code_attempts < ${MAX_ATTEMPTS}::integer
      AND code_expires_at > now()
    RETURNING code_hash`;
  const hash = hashCode(contactId, given.replaceAll(/[\s-]/g, ''));
  if (!row || !timingSafeEqual(row.code_hash, hash)) throw new Problem('invalid-code');
}

/** @throws Problem `invalid-contact` if it cannot be sent */
export async function sendCode(
  { mailer, acceptor, db, log }: Services,
  contact: AlertContact,
  { code, accountName }: { code: string; accountName: string },
): Promise<void> {
  const { id, accountId, address } = contact;
  const language = contact.language as Language;
  const text = renderCode(language, code, accountName);
  const sending = `alert-code-${id}-${Date.now()}`;
  try {
    if (contact.channel === 'email') {
      if (mailer === null) throw new Problem('invalid-contact');
      await mailer.send({ to: address, id: sending, language, ...text });
    } else {
      const instanceId = await findSender(db, accountId);
      if (instanceId === null) throw new Problem('invalid-contact');
      const body = toMessageText(text);
      await sendByWhatsApp(acceptor, { accountId, instanceId, to: address, body, key: sending });
    }
  } catch (error) {
    if (!(error instanceof MailError || error instanceof Problem)) throw error;
    log.warn({ err: error, contact: id, channel: contact.channel }, 'code for an alert contact not sent');
    throw new Problem('invalid-contact');
  }
}
