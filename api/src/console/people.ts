import { Problem } from '@gwk/core/problems';
import { exactDigits, parseRecipient, toNetworkId } from '@gwk/core/recipients';
import {
  ConsolePersonList,
  ConsolePersonQuery,
  MAX_ASKED_PEOPLE,
  type ConsolePersonOut,
} from '@gwk/core/resources/console-person';
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

/** A username that a sandbox gave counts for contacts of sandboxes only. */
const SHOWN = Prisma.sql`c.name, gwk_contact_name(c.id) AS shown, ids.lid, COALESCE(ids.username, (
    SELECT max(v.username) FROM conversations v JOIN instances i ON i.id = v.instance_id
    WHERE v.contact_id = c.id HAVING bool_and(i.kind = 'sandbox'))) AS username`;
const IDS = Prisma.sql`CROSS JOIN LATERAL (
  SELECT max(l.name) FILTER (WHERE position('@' IN l.name) > 0) AS lid, max(l.username) AS username
  FROM contact_names l WHERE l.contact_id = c.id) AS ids`;

/** A restricted member sees the contacts of its instances. */
function inScope(caller: Caller): Prisma.Sql {
  const instances = listRestriction(caller);
  return Prisma.sql`(${instances}::uuid[] IS NULL OR EXISTS (
    SELECT FROM conversations v WHERE v.contact_id = c.id AND v.instance_id = ANY (${instances}::uuid[])))`;
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
  return db.$queryRaw`
    SELECT a.asked, ${SHOWN}
    FROM unnest(${asked.map(({ name }) => name)}::text[], ${asked.map(({ recipient }) => recipient.name)}::text[],
      ${asked.map(({ recipient }) => exactDigits(recipient))}::text[]) AS a(asked, canonical, exact)
    JOIN contact_names n
      ON n.account_id = ${accountId}::uuid AND n.name = gwk_find_name(${accountId}::uuid, a.canonical, a.exact)
    JOIN contacts c ON c.id = n.contact_id
    ${IDS}
    WHERE ${inScope(caller)}`;
}

function searchPeople(db: Database, caller: Caller, search: string): Promise<PersonRow[]> {
  const wanted = search.trim().replace(/^@/, '');
  const pattern = `%${wanted.replaceAll(/[%_\\]/g, String.raw`\$&`)}%`;
  const digits = wanted.replaceAll(/[\s().+-]/g, '');
  const part = /^\d{3,20}$/.test(digits) ? digits : null;
  const whole = parseRecipient(part ?? wanted)?.name ?? null;
  const { accountId } = caller;
  // A union, because Postgres may search the result of each part once for each contact otherwise.
  return db.$queryRaw`
    SELECT NULL AS asked, ${SHOWN} FROM (
      SELECT c.* FROM (
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
            WHERE o.contact_id = v.contact_id AND r.kind <> 'sandbox')
      ) AS found
      JOIN contacts c ON c.id = found.id
      WHERE ${inScope(caller)}
      ORDER BY c.name, c.id LIMIT ${MAX_FOUND}::integer
    ) AS c
    ${IDS}
    ORDER BY c.name, c.id`;
}

const personOut = ({ lid, shown, ...person }: PersonRow): ConsolePersonOut => ({
  ...person,
  id: lid ?? toNetworkId(shown),
  phone: shown.includes('@') ? null : shown,
});

export const peopleOperations = [findPeople];
