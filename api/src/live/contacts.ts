import { Problem } from '@gwk/core/problems/problems';
import {
  canonicalPhone,
  pairNames,
  parseRecipient,
  toNetworkId,
  type Recipient,
} from '@gwk/core/ids/recipients';
import type { ContactCheckOut } from '@gwk/core/resources/live';
import { z } from 'zod';
import { findName, linkNames } from '../contacts/contacts.js';
import type { ConversationNames } from '../events/emit.js';
import type { ContactCheck, Instance } from '../generated/prisma/client.js';
import type { Services } from '../http/services.js';
import { askEngine, unavailable } from '../engine-commands/ask-engine.js';

/** Answers are cached, and uncached checks are limited, because many checks can lead to a ban. */
const KEPT_MS = { yes: 24 * 3_600_000, no: 3_600_000 };
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
  const known = await findKnown(services, row, person, await db.contactCheck.findUnique({ where: key }));
  if (known) return show(services, row, person, known);
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

type Ids = Pick<ContactCheck, 'jid' | 'lid'>;

/**
 * Returns what is known without the network: a check, unless a message was received or sent after a negative one; else both
 * ids of a person with whom the instance has exchanged messages within a day.
 */
async function findKnown(
  services: Services,
  row: Instance,
  person: Recipient,
  check: ContactCheck | null,
): Promise<Ids | null> {
  const kept = check && isFresh(check) ? check : null;
  if (kept?.jid) return kept;
  const since = kept?.checkedAt ?? new Date(Date.now() - KEPT_MS.yes);
  const chat = await findChatSince(services, row, person, since);
  if (chat === null) return kept;
  const { lid, phone } = nameChat(chat, person);
  // Without a check, the network may still know the other id.
  const isWhole = lid !== null && phone !== null;
  return kept || isWhole ? { jid: phone === null ? lid : toNetworkId(phone), lid } : null;
}

const nameChat = ({ lid, phone }: ConversationNames, person: Recipient): ConversationNames => ({
  lid,
  phone: phone ?? person.phone,
});

function isFresh({ jid, checkedAt }: ContactCheck): boolean {
  return Date.now() - checkedAt.getTime() < (jid === null ? KEPT_MS.no : KEPT_MS.yes);
}

/** The chat with a person, if a message was received or sent in it since then. */
async function findChatSince(
  { db }: Services,
  { id, accountId }: Instance,
  person: Recipient,
  since: Date,
): Promise<ConversationNames | null> {
  const [chat] = await db.$queryRaw<ConversationNames[]>`
    SELECT v.lid, v.phone
    FROM contact_names n JOIN conversations v ON v.instance_id = ${id}::uuid AND v.contact_id = n.contact_id
    WHERE n.account_id = ${accountId}::uuid AND n.name = ${findName(accountId, person)} AND EXISTS (
      SELECT FROM gwk_messages_of_conversation(v.id, NULL, NULL, gwk_lowest_id(${since}::timestamptz - interval '1 hour'),
        gwk_lowest_id(now() + interval '1 day'), ${MESSAGES}::integer) AS m
      WHERE m.sent_at IS NOT NULL AND GREATEST(m.sent_at, m.delivered_at) > ${since}::timestamptz)`;
  return chat ?? null;
}

/** Messages of a conversation that are searched for one that was sent or received. */
const MESSAGES = 100;

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
    lid,
    id: jid && (lid ?? jid),
    username: named?.username ?? null,
  };
}
