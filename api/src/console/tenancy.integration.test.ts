import type { ProblemBody } from '@gwk/core/problems/problems';
import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import {
  ABSENT_CONSOLE_IDS,
  makeConsoleWorld,
  sampleOf,
  type ConsoleWorld,
} from '@gwk/test/support/api/console-world';
import { ABSENT_IDS } from '@gwk/test/support/api/contract/requests';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { makeWorld } from '@gwk/test/support/api/world';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { Operation } from '../http/operation.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from '../public-api/operations.js';

/** An owner of one account walks every id of another account: each answer is that for an id which never existed. */
let api: TestApi;
let own: ConsoleWorld;
let foreign: ConsoleWorld;
/** Resources of the HTTP interface in the other account. */
let resources: Readonly<Record<string, string>>;

beforeAll(async () => {
  api = await sharedApi();
  own = await makeConsoleWorld(api);
  foreign = await makeConsoleWorld(api);
  ({ ids: resources } = await makeWorld(api, foreign.account));
});

async function fetchComparable(
  browser: Browser,
  operation: Operation,
  ids: Readonly<Record<string, string>>,
) {
  const { method, path, body } = sampleOf(operation, ids);
  const answer = await browser.call<ProblemBody>(method, path, { body });
  return { status: answer.status, problem: { ...answer.body, request_id: '', instance: '' } };
}

/** Everything that the other account and its person can read. */
const readState = async () => {
  const tables = [
    api.db.apiKey.findMany({ where: { accountId: foreign.account.id } }),
    api.db.member.findMany({ where: { accountId: foreign.account.id } }),
    api.db.invitation.findMany({ where: { accountId: foreign.account.id } }),
    api.db.userSession.findMany({ where: { userId: foreign.browser.user.id }, select: { id: true } }),
    api.db.passkey.findMany({ where: { userId: foreign.browser.user.id }, select: { id: true } }),
  ];
  return JSON.stringify(await Promise.all(tables), (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
};

/** Operations of the platform refuse owners before they look at an id (table.integration.test.ts). */
const isOfAccounts = ({ person }: Operation) => person !== 'platform-admin';
const withIds = CONSOLE_OPERATIONS.filter(({ path }) => /\{\w+_id\}/.test(path));
const named = withIds.filter(isOfAccounts);

test.each(named)('$method $path answers like an id that never existed', async (operation) => {
  const before = await readState();
  const hidden = await fetchComparable(own.browser, operation, foreign.ids);
  expect(hidden).toEqual(await fetchComparable(own.browser, operation, ABSENT_CONSOLE_IDS));
  expect(hidden.status).toBe(404);
  expect(await readState()).toBe(before);
});

test('every parameter of a path is an id of the world', () => {
  const parameters = withIds.flatMap(({ path }) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!));
  expect([...new Set(parameters)].sort()).toEqual(Object.keys(foreign.ids).sort());
});

const withInstances = CONSOLE_OPERATIONS.filter(
  ({ body }) => body && 'instance_ids' in (body as unknown as { shape: object }).shape,
);

test.each(withInstances)('$method $path refuses instances of others like unknown ones', async (operation) => {
  const send = async (id: string) => {
    const { method, path, body } = sampleOf(operation, own.ids);
    const given = { ...(body as object), instance_ids: [id] };
    const answer = await own.browser.call<ProblemBody>(method, path, { body: given });
    return [answer.status, answer.body.errors];
  };
  const hidden = await send(resources['instance_id']!);
  expect(hidden).toEqual(await send(ABSENT_IDS['instance_id']!));
  expect(hidden[0]).toBe(422);
});

const interfaceNamed = OPERATIONS.filter(({ path, receive }) => /\{\w+_id\}/.test(path) && !receive);

describe('the HTTP interface by session', () => {
  test.each(interfaceNamed)('$method $path hides the ids of another account', async (operation) => {
    const { method, path } = operation;
    const browser = await openBrowser(api, own.account, 'owner');
    const send = async (of: Readonly<Record<string, string>>) => {
      const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => of[name]!);
      const answer = await browser.call<ProblemBody>(method, filled, { body: operation.body && {} });
      return [answer.status, answer.body?.type, answer.body?.errors];
    };
    expect(await send(resources)).toEqual(await send(ABSENT_IDS));
  });
});
