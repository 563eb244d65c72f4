import { Problem } from '@gwk/core/problems';
import { canonicalPhone, parseRecipient } from '@gwk/core/recipients';
import type { ContactCheckOut } from '@gwk/core/resources/live';
import { z } from 'zod';
import { linkNames } from '../../contacts/contacts.js';
import type { Instance } from '../../generated/prisma/client.js';
import type { Services } from '../../http/services.js';
import { askEngine } from './ask-engine.js';

/** Answers are cached for 24 h, and uncached checks are limited, because many checks can lead to a ban. */
const KEPT_MS = 24 * 3_600_000;
const UNCACHED_A_MINUTE = 20;
const PHONE = /^[0-9]{8,15}$/;
const Answer = z.object({ jid: z.string().nullable() });

/** @throws Problem `invalid-phone` */
export function checkPhone(phone: string): void {
  if (!PHONE.test(phone)) throw new Problem('invalid-phone');
}

/** @throws Problem `rate-limited`, `engine-unavailable` */
export async function checkContact(
  services: Services,
  row: Instance,
  phone: string,
): Promise<ContactCheckOut> {
  const { db, limiter } = services;
  const key = { instanceId_phone: { instanceId: row.id, phone } };
  const known = await db.contactCheck.findUnique({ where: key });
  if (known && known.checkedAt.getTime() > Date.now() - KEPT_MS) return shown(phone, known.jid);
  const verdict = await limiter.count(`contacts:${row.id}`, UNCACHED_A_MINUTE);
  if (!verdict.allowed) {
    const detail = `Até ${UNCACHED_A_MINUTE} consultas de contatos por minuto por instância.`;
    throw new Problem('rate-limited', { retryAfter: verdict.reset, detail });
  }
  const { jid } = Answer.parse(await askEngine(services, row, 'check-contact', { phone }));
  const values = { jid, checkedAt: new Date() };
  await db.contactCheck.upsert({
    where: key,
    create: { instanceId: row.id, phone, ...values },
    update: values,
  });
  await rememberName(services, row.accountId, { phone, jid });
  return shown(phone, jid);
}

/** Links the network's name of the phone number, which may be another number or a LID, to the contact. */
async function rememberName(
  { db, sealer }: Services,
  accountId: string,
  { phone, jid }: { phone: string; jid: string | null },
): Promise<void> {
  const asGiven = canonicalPhone(phone);
  const answered = jid === null ? null : parseRecipient(jid);
  if (answered?.kind !== 'contact' || answered.name === asGiven) return;
  await linkNames({ database: db, sealer }, accountId, [asGiven, answered.name]);
}

const shown = (phone: string, jid: string | null): ContactCheckOut => ({ phone, exists: jid !== null, jid });
