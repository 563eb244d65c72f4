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

type PersonRow = Pick<ConsolePersonOut, 'name' | 'asked'> & {
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

const SHOWN = Prisma.sql`c.name, gwk_contact_name(c.id) AS shown, (
  SELECT l.name FROM contact_names l WHERE l.contact_id = c.id AND position('@' IN l.name) > 0) AS lid`;

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
    WHERE ${inScope(caller)}`;
}

function searchPeople(db: Database, caller: Caller, search: string): Promise<PersonRow[]> {
  const wanted = search.trim().replace(/^@/, '');
  const pattern = `%${wanted.replaceAll(/[%_\\]/g, String.raw`\$&`)}%`;
  const digits = wanted.replaceAll(/[\s().+-]/g, '');
  const known = /^\d{3,20}$/.test(digits) ? digits : null;
  const id = parseRecipient(wanted)?.name ?? null;
  const { accountId } = caller;
  return db.$queryRaw`
    SELECT NULL AS asked, ${SHOWN} FROM contacts c
    WHERE c.account_id = ${accountId}::uuid AND ${inScope(caller)} AND (c.name ILIKE ${pattern} OR c.id IN (
      SELECT n.contact_id FROM contact_names n
      WHERE n.account_id = ${accountId}::uuid AND (n.name = ${id} OR position(${known} IN gwk_phone_forms(n.name)) > 0)))
    ORDER BY c.name, c.id LIMIT ${MAX_FOUND}::integer`;
}

const personOut = ({ lid, shown, ...person }: PersonRow): ConsolePersonOut => ({
  ...person,
  id: lid ?? toNetworkId(shown),
  phone: shown.includes('@') ? null : shown,
});

export const peopleOperations = [findPeople];
