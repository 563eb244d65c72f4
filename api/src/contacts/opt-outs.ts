import { fromPublicId, newUuid, toPublicId } from '@gwk/core/ids/ids';
import { Problem } from '@gwk/core/problems/problems';
import {
  exactDigits,
  parseRecipient,
  toAddress,
  toNetworkId,
  type Recipient,
} from '@gwk/core/ids/recipients';
import type { Sealer } from '@gwk/core/crypto/encryption';
import type { OptOutCreate, OptOutListQuery, OptOutOut, OptOutSource } from '../resources/opt-out.js';
import type { z } from 'zod';
import { audit, byCaller } from '../accounts/audit-log.js';
import { listRestriction, maySee, type Caller } from '../accounts/caller.js';
import type { Queryable } from '../database/database.js';
import type { ContactNames } from '../events/emit.js';
import { Prisma } from '../generated/prisma/client.js';
import type { PageRange } from '../database/keyset-pages.js';
import type { Services } from '../http/services.js';
import {
  changeContact,
  failWaitingFor,
  linkSeenPhones,
  lockContactNamed,
  type OptOutScope,
  type Transaction,
} from './contacts.js';

/** Opt-outs apply to a contact under all its names, for the whole account or for one sandbox. */
interface OptOutRow {
  id: string;
  sandbox_id: string | null;
  phone: string | null;
  by_phone: boolean;
  source: OptOutSource;
  keyword: string | null;
  instance_id: string | null;
  created_at: Date;
  /** Name of the contact on the network: the LID if it is known. */
  network_name: string;
  username: string | null;
}

const SHOWN = Prisma.sql`
  SELECT o.id, o.sandbox_id, o.phone, o.by_phone, o.source, o.keyword, o.instance_id, o.created_at::timestamptz, (
    SELECT n.name FROM contact_names n WHERE n.contact_id = o.contact_id
    ORDER BY position('@' IN n.name) = 0, n.name LIMIT 1) AS network_name,
    CASE WHEN o.sandbox_id IS NULL
      THEN (SELECT max(n.username) FROM contact_names n WHERE n.contact_id = o.contact_id)
      ELSE (SELECT v.username FROM conversations v WHERE v.instance_id = o.sandbox_id AND v.contact_id = o.contact_id)
    END AS username
  FROM opt_outs o`;

interface NewOptOut extends OptOutScope {
  /** Phone number that the opt-out is of and follows; null: it is of the person. */
  phone: string | null;
  source: OptOutSource;
  keyword: string | null;
  instanceId: string | null;
}

/**
 * Opts a contact out and fails its waiting messages. The caller has locked the scope. The latest word counts: a new opt-out ends
 * earlier resumptions in sandboxes.
 * @returns false if it was opted out before; that opt-out is unchanged, but one of a phone number becomes one of the person
 */
export async function optOut(tx: Transaction, sealer: Sealer, given: NewOptOut): Promise<boolean> {
  const { contactId, sandboxId, phone, source, keyword, instanceId } = given;
  await tx.optOut.deleteMany({
    where: { contactId, ...(sandboxId !== null && { sandboxId }), resumed: true },
  });
  const made = await tx.$executeRaw`
    INSERT INTO opt_outs (id, contact_id, account_id, sandbox_id, phone, by_phone, source, keyword, instance_id)
    SELECT ${newUuid()}::uuid, c.id, c.account_id, ${sandboxId}::uuid,
      COALESCE(${phone}, CASE WHEN gwk_contact_name(c.id) !~ '@' THEN gwk_contact_name(c.id) END),
      ${phone !== null}, ${source}, ${keyword}, ${instanceId}::uuid
    FROM contacts c WHERE c.id = ${contactId}::uuid
    ON CONFLICT DO NOTHING`;
  if (made === 0 && phone === null)
    await tx.optOut.updateMany({ where: { contactId, sandboxId, byPhone: true }, data: { byPhone: false } });
  await failWaitingFor(tx, sealer, given);
  return made > 0;
}

/**
 * Ends the opt-out of an account after a word, or all opt-outs of a contact; the caller has locked the contact. First fails all
 * messages accepted before, because they must not be sent afterwards. @returns whether the contact was opted out
 */
export async function release(
  tx: Transaction,
  sealer: Sealer,
  contactId: string,
  ended: 'account' | 'all',
): Promise<boolean> {
  const where = { contactId, ...(ended === 'account' && { sandboxId: null }) };
  while ((await tx.optOut.count({ where: { ...where, unfinished: true } })) > 0) {
    await failWaitingFor(tx, sealer, { contactId, sandboxId: null });
  }
  if (ended === 'account') await tx.optOut.deleteMany({ where: { contactId, resumed: true } });
  return (await tx.optOut.deleteMany({ where })).count > 0;
}

/**
 * Ends the opt-out of a contact in a sandbox, as `release` does. An opt-out of the account stays and holds everywhere else.
 * The caller has locked the conversation.
 */
export async function resumeInSandbox(
  tx: Transaction,
  sealer: Sealer,
  { contactId, sandboxId }: OptOutScope & { sandboxId: string },
  { keyword }: { keyword: string },
): Promise<boolean> {
  const [found] = await tx.$queryRaw<{ is: boolean }[]>`
    SELECT gwk_opted_out(${contactId}::uuid, ${sandboxId}::uuid) AS is`;
  if (!found!.is) return false;
  while ((await failWaitingFor(tx, sealer, { contactId, sandboxId })).more);
  await tx.optOut.deleteMany({ where: { contactId, sandboxId } });
  await tx.$executeRaw`
    INSERT INTO opt_outs (id, contact_id, account_id, sandbox_id, resumed, source, keyword, instance_id)
    SELECT ${newUuid()}::uuid, o.contact_id, o.account_id, ${sandboxId}::uuid, true, 'keyword', ${keyword}, ${sandboxId}::uuid
    FROM opt_outs o WHERE o.contact_id = ${contactId}::uuid AND o.sandbox_id IS NULL`;
  return true;
}

/** `created`: false if the contact was opted out before, under any of its names. */
export function createOptOut(
  services: Services,
  caller: Caller,
  { phone = null, contact = null }: OptOutCreate,
): Promise<{ created: boolean; row: OptOutRow }> {
  const { accountId } = caller;
  const named = parseRecipient((phone ?? contact)!)!;
  return changeContact(services.db, async (tx) => {
    const contactId = (await lockContactNamed(tx, accountId, named, true))!;
    const given = {
      contactId,
      sandboxId: null,
      phone,
      source: caller.credential.kind === 'session' ? 'panel' : 'api',
      keyword: null,
      instanceId: null,
    } as const;
    const created = await optOut(tx, services.sealer, given);
    const linkedId = phone === null ? await linkSeenPhones(tx, services.sealer, contactId) : contactId;
    if (created) await audit(tx, byCaller(caller, 'opt_out.create', linkedId));
    const rows = await tx.$queryRaw<OptOutRow[]>`
      ${SHOWN} WHERE o.contact_id = ${linkedId}::uuid AND o.sandbox_id IS NULL`;
    const known = await readKnownNames(tx, caller, linkedId, named);
    return { created, row: { ...rows[0]!, ...known } };
  });
}

type ShownNames = Pick<OptOutRow, 'phone' | 'network_name' | 'username'>;

/** For a restricted caller: the name that it gave, and those that its instances know of the person (gwk_contact_ids). */
async function readKnownNames(
  tx: Transaction,
  caller: Caller,
  contactId: string,
  named: Recipient,
): Promise<ShownNames | null> {
  const instances = listRestriction(caller);
  if (instances === null) return null;
  const [known] = await tx.$queryRaw<ContactNames[]>`
    SELECT max(k.ids->>'lid') AS lid, max(k.ids->>'phone') AS phone, max(k.ids->>'username') AS username
    FROM unnest(${instances}::uuid[]) AS i(id)
    CROSS JOIN LATERAL gwk_contact_ids(${contactId}::uuid, i.id) AS k(ids)
    WHERE ${named.name} = k.ids->>'lid' OR ${named.name} = ANY (string_to_array(gwk_phone_forms(k.ids->>'phone'), ' '))`;
  const { lid, phone, username } = known!;
  return { phone: phone ?? named.phone, network_name: lid ?? toAddress(named), username };
}

/** @throws Problem `not-found` if the contact is not opted out */
export async function deleteOptOut(services: Services, caller: Caller, name: string): Promise<void> {
  const released = await changeContact(services.db, async (tx) => {
    const id = await lockContactNamed(tx, caller.accountId, parseRecipient(name)!, false);
    if (id === null || !(await release(tx, services.sealer, id, 'all'))) return false;
    await audit(tx, byCaller(caller, 'opt_out.delete', id));
    return true;
  });
  if (!released) throw new Problem('not-found');
}

/** Lists opt-outs, newest first. `phone` is a part of the phone number in any of its forms, `contact` a name of the person. */
export function listOptOuts(
  db: Queryable,
  { accountId }: Caller,
  { phone, contact }: Pick<z.output<typeof OptOutListQuery>, 'phone' | 'contact'>,
  { before, limit }: PageRange,
): Promise<OptOutRow[]> {
  const person = contact === undefined ? null : parseRecipient(contact);
  return db.$queryRaw<OptOutRow[]>`${SHOWN}
    WHERE o.account_id = ${accountId}::uuid AND NOT o.resumed AND (${before}::uuid IS NULL OR o.id < ${before}::uuid)
      AND (${phone ?? null}::text IS NULL OR position(${phone ?? null}::text IN gwk_phone_forms(o.phone)) > 0)
      AND (${person?.name ?? null}::text IS NULL OR o.contact_id = (
        SELECT n.contact_id FROM contact_names n
        WHERE n.account_id = ${accountId}::uuid
          AND n.name = gwk_find_name(${accountId}::uuid, ${person?.name ?? null}::text, ${person && exactDigits(person)}::text)))
    ORDER BY o.id DESC LIMIT ${limit}::integer`;
}

/** Hides the instance and the keyword from a key that is restricted to other instances. */
export function optOutOut(row: OptOutRow, caller: Caller): OptOutOut {
  const { phone, source, instance_id: instanceId } = row;
  const isHidden = instanceId !== null && !maySee(caller, instanceId);
  return {
    phone,
    contact_id: row.by_phone ? null : toNetworkId(row.network_name),
    username: row.username,
    source,
    keyword: isHidden ? null : row.keyword,
    instance_id: instanceId === null || isHidden ? null : toPublicId('instance', instanceId),
    scope: row.sandbox_id === null ? 'account' : 'sandbox',
    created_at: row.created_at.toISOString(),
  };
}

/** Whether this key may see an opt-out as it was shown to another key. */
export function isShown({ instance_id: id }: OptOutOut, caller: Caller): boolean {
  return id === null || maySee(caller, fromPublicId('instance', id)!);
}
