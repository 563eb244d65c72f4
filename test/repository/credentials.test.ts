import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROLE_RIGHTS, ROLES } from '@gwk/api/roles';
import type { Operation } from '@gwk/api/http/operation';
import { CONSOLE_OPERATIONS, OPERATIONS } from '@gwk/api/public-api/operations';
import { z } from 'zod';
import { ROOT } from '../support/program.js';

/** The table of docs/security.md that lists who may read each credential. */
const [, page = ''] = readFileSync(join(ROOT, 'docs/security.md'), 'utf8').split(
  '\n## Credentials that are read\n',
);
const section = page.split('\n## ')[0]!;

const readNames = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);

const rows = section
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (Credential |---)/.test(line))
  .map((line) => {
    const [credential = '', , rights = '', roles = '', operations = ''] = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    return { credential, rights: readNames(rights), roles, operations: readNames(operations) };
  });

const ALL: readonly Operation[] = [...OPERATIONS, ...CONSOLE_OPERATIONS];
const find = (name: string): Operation => ALL.find((operation) => operation.name === name)!;
const rightsOf = ({ person, scope, orScope }: Operation): string[] =>
  [person ?? scope, orScope].filter((right) => right !== undefined && right !== null);

/** These answer callers without the right, too, and leave out the code. code-readers.integration.test.ts walks them. */
const WITHOUT_CODE = [
  'getPairing',
  'streamPairing',
  'listEvents',
  'streamEvents',
  'getEvent',
  'getConsoleDelivery',
];

test('the table has rows, and its tests exist', () => {
  expect(rows.length).toBeGreaterThan(8);
  const files = readNames(section).filter((name) => name.endsWith('.test.ts'));
  expect(files.length).toBeGreaterThan(2);
  expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
});

test.each(rows)('$credential: the operations need the rights of the row', ({ rights, operations }) => {
  const strict = operations.filter((name) => !WITHOUT_CODE.includes(name)).map(find);
  expect(new Set(strict.flatMap(rightsOf))).toEqual(new Set(rights));
});

test.each(rows)('$credential: the roles are those with one of the rights', ({ rights, roles }) => {
  const having = ROLES.filter((role) => {
    const own: readonly string[] = [...ROLE_RIGHTS[role].scopes, ...ROLE_RIGHTS[role].permissions];
    return rights.some((right) => own.includes(right));
  });
  const isOwn = rights.includes('signed-in');
  expect(roles).toBe(isOwn ? 'every person, the own one' : having.join(', ') || 'none');
});

/** Fields of answers that can hold a credential. */
const FIELDS =
  /^(secret|api_key|csrf_token|backup_codes|token|uri|url|link|password|qr|pairing_code|code|signature)$/;

/** Fields of these names that are none. */
const HARMLESS: Readonly<Record<string, string>> = {
  listWebhookEndpoints: 'the URL; `secret` is in the answer to the creation only',
  getWebhookEndpoint: 'the URL; `secret` is in the answer to the creation only',
  updateWebhookEndpoint: 'the URL; `secret` is in the answer to the creation only',
  listConsoleEndpoints: 'the URL; `secret` is in the answer to the creation only',
  sendMessage: 'the code of an error',
  listMessages: 'the code of an error',
  getMessage: 'the code of an error',
  editMessage: 'the code of an error',
  startProviderSignIn: 'belongs to a cookie of the browser',
  getSignInMethods: 'whether passwords are on',
};

/** Names of all fields in a JSON schema. */
function listFields(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(listFields);
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {}, ...rest } = schema as { properties?: object };
  return [
    ...Object.keys(properties),
    ...Object.values(properties).flatMap(listFields),
    ...Object.values(rest).flatMap(listFields),
  ];
}

test('no other operation answers with a credential', () => {
  const answering = ALL.filter(({ result }) => {
    const schema = result && z.toJSONSchema(result, { io: 'output', unrepresentable: 'any' });
    return listFields(schema).some((field) => FIELDS.test(field));
  }).map(({ name }) => name);
  // The body of a shown delivery is text, and a cookie is no field.
  const hidden = ['getConsoleDelivery'];
  const listed = rows.flatMap(({ operations }) => operations);
  expect([...answering, ...hidden].toSorted()).toEqual([...listed, ...Object.keys(HARMLESS)].toSorted());
});
