import { Problem } from '@gwk/core/problems/problems';
import { canonicalPhone, pairNames, parseRecipient, type Recipient } from '@gwk/core/ids/recipients';
import type { ContactCheckOut } from '@gwk/core/resources/live';
import { z } from 'zod';
import { linkNames } from '../contacts/contacts.js';
import type { Instance } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { askEngine, unavailable } from '../engine-commands/ask-engine.js';

/** Answers are cached for 24 h, and uncached checks are limited, because many checks can lead to a ban. */
const KEPT_MS = 24 * 3_600_000;
const UNCACHED_A_MINUTE = 20;
/**
 * `lid`: that the network names with the id, or the one that was asked for. Undefined for a LID: the engine is of the former
 * release, which checks phone numbers only.
 */
const Answer = z.object({ jid: z.string().nullable(), lid: z.string().nullish() });

/** @throws Problem `invalid-phone` */
export function parsePerson(segment: string): Recipient {
  const person = parseRecipient(segment);
  if (person?.kind !== 'contact') throw new Problem('invalid-phone');
  return person;
}

/** @throws Problem `rate-limited`, `engine-unavailable` */
export async function checkContact(
  services: Services,
  row: Instance,
  person: Recipient,
): Promise<ContactCheckOut> {
  const { db, limiter } = services;
  const { phone } = person;
  const asked = { instanceId: row.id, name: phone ?? person.name };
  const key = { instanceId_name: asked };
  const known = await db.contactCheck.findUnique({ where: key });
  if (known && known.checkedAt.getTime() > Date.now() - KEPT_MS) return show(services, row, person, known);
  const verdict = await limiter.count(`contacts:${row.id}`, UNCACHED_A_MINUTE);
  if (!verdict.allowed) {
    const detail = {
      pt: `Até ${UNCACHED_A_MINUTE} consultas de contatos por minuto por instância.`,
      en: `At most ${UNCACHED_A_MINUTE} contact checks a minute and instance.`,
    };
    throw new Problem('rate-limited', { retryAfter: verdict.reset, detail });
  }
  const answer = Answer.parse(
    await askEngine(services, row, 'check-contact', phone === null ? { lid: person.name } : { phone }),
  );
  if (phone === null && answer.lid === undefined) throw unavailable();
  const { jid } = answer;
  const lid = (jid && answer.lid) ?? null;
  const values = { jid, lid, checkedAt: new Date() };
  await db.contactCheck.upsert({
    where: key,
    create: { ...asked, ...values },
    update: values,
  });
  await rememberNames(services, row, phone, answer);
  return show(services, row, person, { jid, lid });
}

/** Links the LID with the given phone number and with the registered one, which is shown; never two phone numbers. */
async function rememberNames(
  { db, sealer }: Services,
  { id, accountId }: Instance,
  phone: string | null,
  { jid, lid }: z.output<typeof Answer>,
): Promise<void> {
  const registered = jid && lid ? pairNames(jid, lid) : null;
  if (!registered) return;
  const isAlias = phone !== null && canonicalPhone(phone) !== canonicalPhone(registered.phone);
  for (const names of [...(isAlias ? [{ ...registered, phone }] : []), registered]) {
    await linkNames({ database: db, sealer }, { accountId, instanceId: id, ...names });
  }
}

async function show(
  { db }: Services,
  { accountId }: Instance,
  { phone }: Recipient,
  { jid, lid }: { jid: string | null; lid: string | null },
): Promise<ContactCheckOut> {
  const named =
    lid === null
      ? null
      : await db.contactName.findUnique({ where: { accountId_name: { accountId, name: lid } } });
  return {
    phone: phone ?? (jid === null ? null : (parseRecipient(jid)?.phone ?? null)),
    exists: jid !== null,
    jid,
    id: jid && (lid ?? jid),
    username: named?.username ?? null,
  };
}
