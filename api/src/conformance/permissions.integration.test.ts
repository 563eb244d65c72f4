import { fromPublicId } from '@gwk/core/ids/ids';
import type { ProblemBody } from '@gwk/core/problems/problems';
import { ROLES } from '../roles.js';
import { SCOPES } from '@gwk/core/scopes';
import { Browser, browserOf, createUser, openBrowser } from '@gwk/test/support/api/console';
import { ABSENT_CONSOLE_IDS } from '@gwk/test/support/api/console-world';
import { ABSENT_IDS } from '@gwk/test/support/api/contract/requests';
import { PLATFORM_TOKEN, sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { makeWorld } from '@gwk/test/support/api/world';
import type { Operation } from '../http/operation.js';
import { isKey, isOpen, mayCall, type CallerKind } from '../openapi/permissions.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from '../public-api/operations.js';

/** Compares the answers to all operations from callers of each kind with docs/permissions.md. */
const ALL: readonly Operation[] = [...OPERATIONS, ...CONSOLE_OPERATIONS];

let api: TestApi;
let account: TestAccount;
/** UUID of an instance that restricted callers may use. */
let instance: string;
beforeAll(async () => {
  api = await sharedApi();
  account = await api.account();
  instance = fromPublicId('instance', (await makeWorld(api, account)).ids['instance_id']!)!;
});

const SESSIONS: CallerKind[] = [
  ...ROLES.map((role) => ({ role })),
  ...ROLES.filter((role) => role !== 'owner').map((role) => ({ role, restricted: true })),
  'platform administrator',
  'stranger',
];
const KEYS: CallerKind[] = [
  { scopes: SCOPES },
  { scopes: SCOPES, restricted: true },
  { scopes: [] },
  ...SCOPES.map((scope) => ({ scopes: [scope] })),
  ...SCOPES.map((scope) => ({ scopes: SCOPES.filter((other) => other !== scope) })),
];

async function open(caller: CallerKind): Promise<Browser> {
  if (caller === 'platform administrator')
    return (await browserOf(api, await createUser(api, { isPlatformAdmin: true }))).use(account);
  if (caller === 'stranger') return (await openBrowser(api, await api.account())).use(account);
  if (typeof caller === 'object' && 'role' in caller)
    return openBrowser(api, account, caller.role, caller.restricted ? [instance] : undefined);
  const browser = new Browser(api);
  if (caller === 'portal') browser.headers['authorization'] = `Bearer ${PLATFORM_TOKEN}`;
  if (typeof caller === 'object') {
    const { scopes, restricted } = caller;
    const { key } = await api.key(account, { scopes, ...(restricted && { instances: [instance] }) });
    browser.headers['authorization'] = `Bearer ${key}`;
  }
  return browser;
}

const REFUSALS = ['unauthorized', 'insufficient-scope', 'forbidden', 'no-account', 'mfa-not-verified'];

/** Sends a request that the operation refuses after the check of rights: absent ids and a body that is no JSON. */
async function ask(browser: Browser, { method, path, body, receive }: Operation): Promise<string> {
  const ids = { ...ABSENT_IDS, ...ABSENT_CONSOLE_IDS };
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!);
  const headers = receive && { 'content-type': 'multipart/form-data; boundary=x' };
  const sending = { ...(body && { body: '{' }), ...(headers && { headers }) };
  const answer = await browser.call<(ProblemBody & { required_scope?: string }) | undefined>(
    method,
    filled,
    sending,
  );
  const { type, instance, required_scope } = answer.body ?? {};
  const code = type?.split('/').at(-1);
  if (code === undefined || !REFUSALS.includes(code)) return 'allowed';
  expect(instance).toBe(filled);
  return [code, required_scope].filter((part) => part !== undefined).join(' ');
}

function expectedAnswer(operation: Operation, caller: CallerKind): string {
  if (mayCall(operation, caller)) return 'allowed';
  const { person, scope, unrestricted } = operation;
  if (isKey(caller) && person === undefined) {
    const hasScope = mayCall({ ...operation, unrestricted: false }, caller);
    return unrestricted && hasScope ? 'forbidden' : `insufficient-scope ${scope}`;
  }
  if (isKey(caller) || caller === 'portal' || caller === 'nobody' || person === 'portal')
    return 'unauthorized';
  return caller === 'stranger' && person !== 'platform-admin' ? 'no-account' : 'forbidden';
}

/** The one operation whose success ends the session of its caller. */
const isSignOut = ({ method, path }: Operation) => method === 'DELETE' && path === '/console/api/session';

test.each([...SESSIONS, ...KEYS, 'portal' as const, 'nobody' as const].map((caller) => [caller]))(
  '%j calls the documented operations and no other one',
  async (caller) => {
    // One key stands for all at the console, which does not read scopes.
    const operations = isKey(caller) && caller !== KEYS[0] ? OPERATIONS : ALL;
    const browser = await open(caller);
    const signOut = operations.filter(isSignOut);
    const others = operations.filter((operation) => !isSignOut(operation));
    const answers = await Promise.all(others.map((operation) => ask(browser, operation)));
    for (const operation of signOut) answers.push(await ask(browser, operation));
    const asked = [...others, ...signOut];
    expect(asked.map(({ name }, at) => `${name}: ${answers[at]}`)).toEqual(
      asked.map((operation) => `${operation.name}: ${expectedAnswer(operation, caller)}`),
    );
  },
);

test('each operation has callers that it lets in and, unless it is for anyone, callers that it refuses', () => {
  for (const operation of ALL) {
    const callers = [...SESSIONS, ...KEYS, 'portal' as const, 'nobody' as const];
    const allowed = callers.filter((caller) => mayCall(operation, caller)).length;
    expect([operation.name, allowed > 0, allowed < callers.length]).toEqual([
      operation.name,
      true,
      !isOpen(operation),
    ]);
  }
});
