import { fromPublicId } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { GroupDetailsOut, GroupMemberOut, GroupOut } from '@gwk/core/resources/group';
import type { InstanceOut } from '../resources/instance.js';
import type { ApiClient } from '@gwk/test/support/api/client';
import { CommandRefusal, type FakeEngine } from '@gwk/test/support/api/fake-engine';
import { openApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';
import { ManualClock } from '@gwk/test/support/clock';
import { until } from '@gwk/test/support/wait';
import { DEADLINES } from '../engine-commands/ask-engine.js';

/** Requests wait for engines on this clock. */
const clock = new ManualClock();
let api: TestApi;
let account: TestAccount;
let client: ApiClient;
let id: string;

beforeAll(async () => {
  api = await openApi({ clock });
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  const made = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } });
  expect(made).toMatchObject({ status: 201 });
  id = made.body.id;
});
afterAll(() => api.stop());

const GROUP = '120363000000000001@g.us';
const problemCode = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
const list = (query: Record<string, string> = {}, by = client) =>
  by.call<Page<GroupOut>>('GET', `/v1/instances/${id}/groups`, { query });
const read = (group = GROUP, by = client) =>
  by.call<GroupDetailsOut>('GET', `/v1/instances/${id}/groups/${encodeURIComponent(group)}`);

const group = (number: number): GroupOut => ({
  jid: `1203630000000000${String(number).padStart(2, '0')}@g.us`,
  subject: `Group ${number}`,
  announcement: false,
  is_community: false,
  parent: null,
  size: 2,
  role: 'member',
});
const member = (number: number): GroupMemberOut => ({
  lid: `${1_000 + number}@lid`,
  phone: null,
  username: null,
  role: 'member',
});

async function startEngine(): Promise<FakeEngine> {
  const engine = await api.engine(id);
  await engine.connect();
  return engine;
}

describe('the list', () => {
  test.each([
    ['full pages', 9],
    ['pages that the engine ends early', 2],
  ])('continues by cursor after %s', async (_name, fitting) => {
    const all = [1, 2, 3, 4, 5].map(group);
    const engine = await startEngine();
    engine.handlers.groups = (args) => {
      const { after, limit } = args as { after: string | null; limit: number };
      const rest = all.filter(({ jid }) => after === null || jid > after);
      const items = rest.slice(0, Math.min(limit, fitting));
      return { items, next: items.length < rest.length ? items.at(-1)!.jid : null };
    };
    const seen: GroupOut[] = [];
    let cursor: string | null = null;
    do {
      const { status, body }: { status: number; body: Page<GroupOut> } = await list({
        limit: '2',
        ...(cursor && { cursor }),
      });
      expect(status).toBe(200);
      seen.push(...body.data);
      cursor = body.next_cursor;
    } while (cursor !== null);
    expect(seen).toEqual(all);
  });

  test('refuses a cursor of another instance', async () => {
    const engine = await startEngine();
    engine.handlers.groups = () => ({ items: [group(1), group(2)], next: null });
    const cursor = (await list({ limit: '1' })).body.next_cursor!;
    const other = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'outra' } });
    id = other.body.id;
    expect(problemCode(await list({ cursor }))).toBe('invalid-cursor');
  });
});

describe('a group', () => {
  test('has all its members, also from several replies of the engine', async () => {
    const engine = await startEngine();
    const details = { ...group(1), description: 'Ours' };
    engine.handlers.group = ({ after }) =>
      after === null
        ? { group: details, members: [member(1), member(2)], next: '1002@lid' }
        : { group: details, members: [member(3)], next: null };
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toEqual({ ...details, members: [1, 2, 3].map(member) });
    expect(engine.received.map(({ args }) => args)).toEqual([
      { jid: GROUP, after: null },
      { jid: GROUP, after: '1002@lid' },
    ]);
  });

  test('of an engine of the former release has no usernames', async () => {
    const engine = await startEngine();
    const former = { ...member(1), username: undefined };
    const details = { ...group(1), description: null };
    engine.handlers.group = () => ({ group: details, members: [former], next: null });
    expect((await read()).body.members).toEqual([member(1)]);
  });

  test('names members as this instance knows them from their messages', async () => {
    const engine = await startEngine();
    const lid = '20000000001@lid';
    const ana = { ...member(1), lid };
    const seen = { wa_message_id: 'U1', chat: lid, from: lid, from_name: null, from_me: false, text: 'oi' };
    const more = { at: new Date().toISOString(), type: 'text' as const, quoted_wa_message_id: null };
    await engine.call('inbound', { messages: [{ ...seen, ...more, username: 'ana.s' }] });
    const details = { ...group(1), description: null };
    const stated = { ...member(3), username: 'eva' };
    engine.handlers.group = () => ({ group: details, members: [ana, member(2), stated], next: null });
    expect((await read()).body.members).toEqual([{ ...ana, username: 'ana.s' }, member(2), stated]);
  });

  test('shows the phone numbers of members that gwk knows from elsewhere', async () => {
    const engine = await startEngine();
    const ana = { ...member(1), lid: '20000000002@lid' };
    await engine.call('names', { lid: ana.lid, phone: '5511987650001' });
    const details = { ...group(1), parent: '120363000000000009@g.us', description: null };
    engine.handlers.group = () => ({ group: details, members: [ana, member(2)], next: null });
    const { body } = await read();
    expect(body.members).toEqual([{ ...ana, phone: '5511987650001' }, member(2)]);
    expect(body).toMatchObject({ is_community: false, parent: '120363000000000009@g.us' });
  });

  test('of an engine of the former release says nothing of communities', async () => {
    const engine = await startEngine();
    const former = { ...group(1), is_community: undefined, parent: undefined };
    engine.handlers.group = () => ({ group: { ...former, description: null }, members: [], next: null });
    expect((await read()).body).toMatchObject({ is_community: false, parent: null });
    engine.handlers.groups = () => ({ items: [former], next: null });
    expect((await list()).body.data).toEqual([group(1)]);
  });

  test('that the network does not show is not-found with words', async () => {
    const engine = await startEngine();
    engine.handlers.group = () => new CommandRefusal('wa_error');
    const answer = await read();
    expect([answer.status, problemCode(answer)]).toEqual([404, 'not-found']);
    expect(answer.body).toMatchObject({ detail: expect.stringContaining('grupo') as string });
  });

  test.each(['x', '5511987654321', '123456789@lid', 'status@broadcast'])('%s is not-found', async (jid) => {
    const engine = await startEngine();
    expect(problemCode(await read(jid))).toBe('not-found');
    expect(engine.received).toEqual([]);
  });

  test('answers within one deadline for all replies', async () => {
    const engine = await startEngine();
    let answers = 0;
    engine.handlers.group = () => {
      answers += 1;
      if (answers > 1) return undefined;
      clock.advance(DEADLINES.group - 1_000);
      return { group: { ...group(1), description: null }, members: [member(1)], next: '1001@lid' };
    };
    const answering = read();
    await until(() => answers === 2 && clock.count(1_000) > 0, { what: 'the second command is sent' });
    clock.advance(1_000);
    expect(problemCode(await answering)).toBe('engine-unavailable');
  });

  test('with members without end is unavailable', async () => {
    const engine = await startEngine();
    const members = Array.from({ length: 700 }, (_, number) => member(number));
    engine.handlers.group = () => ({ group: { ...group(1), description: null }, members, next: 'again' });
    expect(problemCode(await read())).toBe('engine-unavailable');
    expect(engine.received.length).toBeLessThan(40);
  });
});

describe.each([
  ['list', () => list()],
  ['group', () => read()],
])('%s', (_name, ask) => {
  test('without an engine: engine-unavailable at once', async () => {
    const answer = await ask();
    expect([answer.status, problemCode(answer)]).toEqual([503, 'engine-unavailable']);
    expect(answer.headers['retry-after']).toBeDefined();
  });

  test('with an engine that is not connected: engine-unavailable', async () => {
    const engine = await startEngine();
    engine.handlers.groups = engine.handlers.group = () => new CommandRefusal('not_connected');
    expect(problemCode(await ask())).toBe('engine-unavailable');
  });

  test('is limited to 60 requests a minute for an instance', async () => {
    const engine = await startEngine();
    engine.handlers.groups = () => ({ items: [], next: null });
    engine.handlers.group = () => ({ group: { ...group(1), description: null }, members: [], next: null });
    let last = await ask();
    for (let count = 1; count < 121 && last.status === 200; count++) last = await ask();
    expect(problemCode(last)).toBe('rate-limited');
    expect(Number(last.headers['retry-after'])).toBeGreaterThan(0);
  });
});

test('a key sees the groups of its instances only, with the scope instances:read', async () => {
  const engine = await startEngine();
  engine.handlers.groups = () => ({ items: [group(1)], next: null });
  const own = await api.clientOf(account, { instances: [fromPublicId('instance', id)!] });
  expect((await list({}, own)).status).toBe(200);
  const other = await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'outra' } });
  const restricted = await api.clientOf(account, { instances: [fromPublicId('instance', other.body.id)!] });
  for (const answer of [await list({}, restricted), await read(GROUP, restricted)])
    expect(problemCode(answer)).toBe('not-found');
  const lacking = await api.clientOf(account, { scopes: ['messages:send'] });
  for (const answer of [await list({}, lacking), await read(GROUP, lacking)])
    expect(answer).toMatchObject({ status: 403, body: { required_scope: 'instances:read' } });
});
