import { Problem } from '@gwk/core/problems';
import { canonicalPhone, pairNames } from '@gwk/core/recipients';
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
/** `lid`: that the network names with the id. */
const Answer = z.object({ jid: z.string().nullable(), lid: z.string().nullish() });

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
  const answer = Answer.parse(await askEngine(services, row, 'check-contact', { phone }));
  const { jid } = answer;
  const values = { jid, checkedAt: new Date() };
  await db.contactCheck.upsert({
    where: key,
    create: { instanceId: row.id, phone, ...values },
    update: values,
  });
  await rememberNames(services, row, phone, answer);
  return shown(phone, jid);
}

/** Links the LID with the given phone number and with the registered one, which is shown; never two phone numbers. */
async function rememberNames(
  { db, sealer }: Services,
  { id, accountId }: Instance,
  phone: string,
  { jid, lid }: z.output<typeof Answer>,
): Promise<void> {
  const registered = jid && lid ? pairNames(jid, lid) : null;
  if (!registered) return;
  const isAlias = canonicalPhone(phone) !== canonicalPhone(registered.phone);
  for (const names of [...(isAlias ? [{ ...registered, phone }] : []), registered]) {
    await linkNames({ database: db, sealer }, { accountId, instanceId: id, ...names });
  }
}

const shown = (phone: string, jid: string | null): ContactCheckOut => ({ phone, exists: jid !== null, jid });
