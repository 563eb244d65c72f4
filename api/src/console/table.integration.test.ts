import { PROBLEMS, type ProblemBody, type ProblemCode } from '@gwk/core/problems/problems';
import type { Answer } from '@gwk/test/support/api/client';
import { Browser, browserOf, createUser, openBrowser } from '@gwk/test/support/api/console';
import { makeConsoleWorld, sampleOf, type ConsoleWorld } from '@gwk/test/support/api/console-world';
import { openApi, PLATFORM_TOKEN, sharedApi } from '@gwk/test/support/api/open-api';
import type { SampleRequest } from '@gwk/test/support/api/contract/requests';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { Operation } from '../http/operation.js';
import { hasCursor } from '../openapi/describe.js';
import { formatAllow } from '../public-api/app.js';
import { CONSOLE_OPERATIONS, OPERATIONS } from '../public-api/operations.js';

/** Checks common to all operations of the console, by walking the table. */
let api: TestApi;
let world: ConsoleWorld;

beforeAll(async () => {
  api = await sharedApi();
  world = await makeConsoleWorld(api);
});

const rows = CONSOLE_OPERATIONS.map((operation) => ({
  operation,
  title: `${operation.method} ${operation.path}`,
}));
const only = (which: (operation: Operation) => boolean) => rows.filter(({ operation }) => which(operation));
const isChange = ({ method }: Operation) => method !== 'GET';
const isOfPortal = ({ person }: Operation) => person === 'portal';
const needsSession = (operation: Operation) => operation.person !== 'anyone' && !isOfPortal(operation);
const isOfPlatform = ({ person }: Operation) => person === 'platform-admin';
const isOfAccount = (operation: Operation) =>
  needsSession(operation) && operation.person !== 'signed-in' && !isOfPlatform(operation);

/** The browser of a person who may call the operation, or a portal. */
function allowedBrowser(operation: Operation): Browser {
  if (!isOfPortal(operation)) return isOfPlatform(operation) ? world.admin : world.browser;
  const portal = new Browser(api);
  portal.headers['authorization'] = `Bearer ${PLATFORM_TOKEN}`;
  return portal;
}

const send = (browser: Browser, request: SampleRequest, headers: Record<string, string> = {}) =>
  browser.call<ProblemBody>(request.method, request.path, { body: request.body, headers });

const codeOf = ({ body }: Answer<ProblemBody>) => body?.type?.split('/').at(-1);

function expectProblem(answer: Answer<ProblemBody>, code: ProblemCode): void {
  expect([answer.status, codeOf(answer)]).toEqual([PROBLEMS[code].status, code]);
}

describe('a session', () => {
  test.each(only(isOfAccount))('$title for an account of others: no-account', async ({ operation }) => {
    const browser = await browserOf(api, world.browser.user);
    expectProblem(await send(browser, sampleOf(operation)), 'no-account');
    browser.use(await api.account());
    expectProblem(await send(browser, sampleOf(operation)), 'no-account');
  });

  test.each(only(isOfAccount))('$title without a required second factor: mfa-not-verified', async (row) => {
    const account = await api.account();
    await api.db.account.update({ where: { id: account.id }, data: { requiresMfa: true } });
    expectProblem(await send(await openBrowser(api, account), sampleOf(row.operation)), 'mfa-not-verified');
  });
});

/** Changes whose handlers limit a restricted member to what lies within the own instances. */
const WITHIN_OWN_INSTANCES = [
  'createKey',
  'createKeyApproval',
  'revokeKey',
  'updateMember',
  'removeMember',
  'createInvitation',
  'revokeInvitation',
];
const changesAccount = (operation: Operation) => isOfAccount(operation) && isChange(operation);

describe('a member who is restricted to some instances', () => {
  test('changes nothing of the whole account', () => {
    const open = only((operation) => changesAccount(operation) && !operation.unrestricted);
    expect(open.map(({ operation }) => operation.name).sort()).toEqual(WITHIN_OWN_INSTANCES.toSorted());
  });
});

describe('administrators of the platform', () => {
  test.each(only(isOfPlatform))('$title refuses a former administrator: forbidden', async ({ operation }) => {
    const { user, headers } = await browserOf(api, await createUser(api, { isPlatformAdmin: true }));
    await api.db.user.update({ where: { id: user.id }, data: { isPlatformAdmin: false } });
    const browser = Object.assign(new Browser(api), { headers });
    expectProblem(await send(browser, sampleOf(operation, world.ids)), 'forbidden');
  });
});

/** Operations that change something: those of the console, and those of the HTTP interface by session. */
const changes = [
  ...only((operation) => isChange(operation) && !isOfPortal(operation)),
  ...OPERATIONS.filter(isChange).map((operation) => ({
    operation: { ...operation, person: undefined },
    title: `${operation.method} ${operation.path}`,
  })),
];
const sampleChange = ({ path, method, ...operation }: Operation): SampleRequest =>
  path.startsWith('/console/')
    ? sampleOf({ path, method, ...operation })
    : { method, path: path.replaceAll(/\{\w+\}/g, 'x') };

describe('a request of a foreign page', () => {
  test.each(changes)('$title from another origin or none: origin-not-allowed', async ({ operation }) => {
    const request = sampleChange(operation);
    const { browser } = world;
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:8080.evil.example', '']) {
      expectProblem(await send(browser, request, { origin }), 'origin-not-allowed');
    }
    const withoutOrigin = await browserOf(api, browser.user);
    delete withoutOrigin.headers['origin'];
    expectProblem(await send(withoutOrigin, request), 'origin-not-allowed');
    const referer = 'https://evil.example/console';
    expectProblem(await send(withoutOrigin, request, { referer }), 'origin-not-allowed');
  });

  test.each(changes.filter(({ operation }) => needsSession(operation)))(
    '$title without the CSRF token of its session: csrf-failed',
    async ({ operation }) => {
      const request = sampleChange(operation);
      const { 'x-csrf-token': other = '' } = (await browserOf(api, world.browser.user)).headers;
      for (const token of ['', 'x', other]) {
        expectProblem(await send(world.browser, request, { 'x-csrf-token': token }), 'csrf-failed');
      }
    },
  );

  test('a Referer of the console replaces a missing Origin', async () => {
    const browser = await browserOf(api, await createUser(api));
    delete browser.headers['origin'];
    browser.headers['referer'] = 'http://127.0.0.1:8080/console/profile';
    expect((await browser.call('DELETE', '/console/api/session')).status).toBe(204);
  });
});

describe('the form of a request', () => {
  const withBody = only(({ body }) => body !== undefined);

  test.each(withBody)('$title with a malformed body: validation-error', async ({ operation }) => {
    const browser = allowedBrowser(operation);
    for (const body of ['{"a":', '[]', '{"nonsense":1}', '{"a":"\\u0000"}']) {
      expectProblem(await send(browser, { ...sampleOf(operation), body }), 'validation-error');
    }
  });

  test.each(withBody)('$title with a body over 1 MB: file-too-large', async ({ operation }) => {
    const body = JSON.stringify({ nonsense: 'x'.repeat(1_000_000) });
    const request = { ...sampleOf(operation), body };
    expectProblem(await send(allowedBrowser(operation), request), 'file-too-large');
  });

  test.each(only(hasCursor))('$title validates limit and cursor', async ({ operation }) => {
    const { method, path } = sampleOf(operation);
    for (const query of ['limit=0', 'limit=ten', 'limit=1&limit=2', 'cursor=1%00']) {
      const answer = await send(allowedBrowser(operation), { method, path: `${path}?${query}` });
      expectProblem(answer, 'validation-error');
    }
    for (const cursor of ['', 'x', 'A'.repeat(51)]) {
      const request = { method, path: `${path}?cursor=${cursor}` };
      expectProblem(await send(allowedBrowser(operation), request), 'invalid-cursor');
    }
  });

  test.each(only(({ path }) => path.includes('{')))('$title with an absent id: not-found', async (row) => {
    const browser = allowedBrowser(row.operation);
    expectProblem(await send(browser, sampleOf(row.operation)), 'not-found');
    const malformed = { ...sampleOf(row.operation), path: row.operation.path.replaceAll(/\{\w+\}/g, 'x') };
    expectProblem(await send(browser, malformed), 'not-found');
  });

  test.each([...Map.groupBy(CONSOLE_OPERATIONS, ({ path }) => path)])(
    '%s lists its methods in Allow',
    async (_, group) => {
      const answer = await send(world.browser, { method: 'PUT', path: sampleOf(group[0]!).path });
      expectProblem(answer, 'method-not-allowed');
      expect(answer.headers.allow).toBe(formatAllow(group));
    },
  );
});

describe('limits', () => {
  let limited: TestApi;
  beforeAll(async () => {
    limited = await openApi({
      settings: { GWK_API_ANONYMOUS_REQUESTS_PER_MINUTE: '1', GWK_API_REQUESTS_PER_MINUTE: '1' },
    });
  });
  afterAll(() => limited.stop());

  test.each(rows)('$title above the requests per minute: rate-limited', async ({ operation }) => {
    const browser = needsSession(operation)
      ? await openBrowser(limited, await limited.account({ requestsPerMinute: 1 }))
      : new Browser(limited);
    let answer = await send(browser, sampleOf(operation));
    // A new minute may begin in between.
    for (let i = 0; i < 3 && answer.status !== 429; i++) answer = await send(browser, sampleOf(operation));
    expectProblem(answer, 'rate-limited');
  });
});

test('with GWK_API_CONSOLE=off there is no console, and a cookie is no caller', async () => {
  const off = await openApi({ settings: { GWK_API_CONSOLE: 'off' } });
  try {
    const browser = await openBrowser(off, await off.account());
    for (const { operation } of rows) {
      const { method, path, body } = sampleOf(operation);
      const headers = { ...browser.headers, 'content-type': 'application/json' };
      const answer = await fetch(`http://127.0.0.1:${off.port}${path}`, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      expect([path, answer.status]).toEqual([path, 404]);
    }
    const answer = await fetch(`http://127.0.0.1:${off.port}/console/api/openapi.json`);
    expect(answer.status).toBe(404);
    expect((await browser.call('GET', '/v1/instances')).status).toBe(401);
  } finally {
    await off.stop();
  }
});
