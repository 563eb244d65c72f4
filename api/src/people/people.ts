import { Problem } from '@gwk/core/problems/problems';
import { exactDigits, parseRecipient, toNetworkId } from '@gwk/core/ids/recipients';
import {
  ConsolePersonList,
  ConsolePersonQuery,
  MAX_ASKED_PEOPLE,
  type ConsolePersonOut,
} from '../resources/console/person.js';
import { listRestriction, type Caller } from '../accounts/caller.js';
import type { Database } from '../database/database.js';
import { Prisma } from '../generated/prisma/client.js';
import { operation } from '../http/operation.js';

const MAX_FOUND = 20;

type PersonRow = Pick<ConsolePersonOut, 'name' | 'username' | 'asked'> & {
  lid: string | null;
  /** The phone number if one is known, else the LID. */
  shown: string;
};

const findPeople = operation({
  name: 'findPeople',
  method: 'GET',
  path: '/console/api/people',
  summary: 'Find contacts by what people know of them',
  description: `A search returns up to ${MAX_FOUND} contacts. With \`names\`, unknown ones are missing.`,
  scope: null,
  person: 'messages:read',
  status: 200,
  query: ConsolePersonQuery,
  result: ConsolePersonList,
  async handle({ caller, query: { search, names = '' }, services: { db } }) {
    const rows =
      search === undefined ? await readPeople(db, caller, names) : await searchPeople(db, caller, search);
    return { status: 200, body: { data: rows.map(personOut) }, headers: ['Cache-Control', 'no-store'] };
  },
});

/**
 * Joins the ids of contacts `c`: those of the account, or for a restricted member those that its instances know themselves
 * (gwk_contact_ids), without contacts of other instances. A username that a sandbox gave counts for contacts of sandboxes only.
 */
function joinIds(instances: string[] | null): Prisma.Sql {
  if (instances === null) {
    return Prisma.sql`CROSS JOIN LATERAL (
      SELECT max(n.name) FILTER (WHERE position('@' IN n.name) > 0) AS lid, gwk_contact_name(c.id) AS shown,
        COALESCE(max(n.username), (
          SELECT max(v.username) FROM conversations v JOIN instances i ON i.id = v.instance_id
          WHERE v.contact_id = c.id HAVING bool_and(i.kind = 'sandbox'))) AS username
      FROM contact_names n WHERE n.contact_id = c.id) AS ids`;
  }
  return Prisma.sql`CROSS JOIN LATERAL (
    SELECT max(k.ids->>'lid') AS lid, COALESCE(max(k.ids->>'phone'), max(k.ids->>'lid')) AS shown,
      max(v.username) FILTER (WHERE i.kind <> 'sandbox' OR k.only_sandboxes) AS username
    FROM conversations v
    JOIN instances i ON i.id = v.instance_id
    CROSS JOIN LATERAL (
      SELECT gwk_contact_ids(c.id, i.id) AS ids, NOT EXISTS (
        SELECT FROM conversations o JOIN instances r ON r.id = o.instance_id
        WHERE o.contact_id = c.id AND r.kind <> 'sandbox') AS only_sandboxes) AS k
    WHERE v.contact_id = c.id AND v.instance_id = ANY (${instances}::uuid[])
    HAVING count(*) > 0) AS ids`;
}

/** @throws Problem `validation-error` for too many names */
function readPeople(db: Database, caller: Caller, given: string): Promise<PersonRow[]> {
  const names = [...new Set(given.split(','))];
  if (names.length > MAX_ASKED_PEOPLE) {
    const message = `at most ${MAX_ASKED_PEOPLE} names`;
    throw new Problem('validation-error', { errors: [{ path: 'names', code: 'too_big', message }] });
  }
  const asked = names.flatMap((name) => {
    const recipient = parseRecipient(name);
    return recipient?.kind === 'contact' ? [{ name, recipient }] : [];
  });
  const { accountId } = caller;
  const instances = listRestriction(caller);
  return db.$queryRaw`
    SELECT a.asked, c.name, ids.*
    FROM unnest(${asked.map(({ name }) => name)}::text[], ${asked.map(({ recipient }) => recipient.name)}::text[],
      ${asked.map(({ recipient }) => exactDigits(recipient))}::text[]) AS a(asked, canonical, exact)
    JOIN contact_names n
      ON n.account_id = ${accountId}::uuid AND n.name = gwk_find_name(${accountId}::uuid, a.canonical, a.exact)
    JOIN contacts c ON c.id = n.contact_id
    ${joinIds(instances)}
    WHERE ${instances === null} OR n.name = ids.lid
      OR n.name = ANY (string_to_array(gwk_phone_forms(ids.shown), ' '))`;
}

function searchPeople(db: Database, caller: Caller, search: string): Promise<PersonRow[]> {
  const wanted = search.trim().replace(/^@/, '');
  const digits = wanted.replaceAll(/[\s().+-]/g, '');
  const part = /^\d{3,20}$/.test(digits) ? digits : null;
  const searched = {
    pattern: `%${wanted.replaceAll(/[%_\\]/g, String.raw`\$&`)}%`,
    part,
    whole: parseRecipient(part ?? wanted)?.name ?? null,
  };
  const instances = listRestriction(caller);
  const found =
    instances === null ? findInAccount(caller.accountId, searched) : findInInstances(instances, searched);
  return db.$queryRaw`
    SELECT NULL AS asked, c.name, ids.* FROM (
      SELECT c.* FROM (${found}) AS found
      JOIN contacts c ON c.id = found.id
      ORDER BY c.name, c.id LIMIT ${MAX_FOUND}::integer
    ) AS c
    ${joinIds(instances)}
    ORDER BY c.name, c.id`;
}

interface Searched {
  pattern: string;
  /** Part of a phone number or of a LID. */
  part: string | null;
  whole: string | null;
}

/** A union, because Postgres may search the result of each part once for each contact otherwise. */
const findInAccount = (accountId: string, { pattern, part, whole }: Searched): Prisma.Sql => Prisma.sql`
  SELECT c.id FROM contacts c WHERE c.account_id = ${accountId}::uuid AND c.name ILIKE ${pattern}
  UNION
  SELECT n.contact_id FROM contact_names n
  WHERE n.account_id = ${accountId}::uuid AND (n.name = ${whole} OR n.username ILIKE ${pattern}
    OR position(${part} IN n.name) > 0 OR position(${part} IN n.phone) > 0)
  UNION
  SELECT v.contact_id FROM conversations v JOIN instances i ON i.id = v.instance_id
  WHERE i.account_id = ${accountId}::uuid AND i.kind = 'sandbox' AND v.username ILIKE ${pattern}
    AND NOT EXISTS (
      SELECT FROM conversations o JOIN instances r ON r.id = o.instance_id
      WHERE o.contact_id = v.contact_id AND r.kind <> 'sandbox')`;

/** By the ids that these instances know themselves. One without a LID knows the contact by phone number. */
const findInInstances = (instances: string[], { pattern, part, whole }: Searched): Prisma.Sql => Prisma.sql`
  SELECT DISTINCT c.id FROM conversations v JOIN contacts c ON c.id = v.contact_id
  WHERE v.instance_id = ANY (${instances}::uuid[]) AND (c.name ILIKE ${pattern} OR v.username ILIKE ${pattern}
    OR v.lid = ${whole} OR position(${part} IN v.lid) > 0 OR position(${part} IN gwk_phone_forms(v.phone)) > 0
    OR ${whole} = ANY (string_to_array(gwk_phone_forms(v.phone), ' '))
    OR (v.lid IS NULL AND EXISTS (
      SELECT FROM contact_names n
      WHERE n.contact_id = c.id AND position('@' IN n.name) = 0
        AND (n.name = ${whole} OR position(${part} IN n.name) > 0 OR position(${part} IN n.phone) > 0))))`;

const personOut = ({ lid, shown, ...person }: PersonRow): ConsolePersonOut => ({
  ...person,
  id: lid ?? toNetworkId(shown),
  phone: shown.includes('@') ? null : shown,
});

export const peopleOperations = [findPeople];
