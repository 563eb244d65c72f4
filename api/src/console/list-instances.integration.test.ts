import type { z } from 'zod';
import type { ConsoleInstanceList } from '../resources/console/instances.js';
import type { InstanceOut } from '../resources/instance.js';
import { fromPublicId } from '@gwk/core/ids/ids';
import { openBrowser, type Browser } from '@gwk/test/support/api/console';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestAccount, TestApi } from '@gwk/test/support/api/test-api';

type List = z.output<typeof ConsoleInstanceList>;

let api: TestApi;
let account: TestAccount;
/** Ids by name. */
let ids: Record<string, string>;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  const client = await api.clientOf(account);
  ids = {};
  for (const name of ['North', 'South', 'Southern']) {
    const { body } = await client.call<InstanceOut>('POST', '/v1/instances', {
      body: { name, kind: 'sandbox' },
    });
    ids[name] = body.id;
  }
});

const uuid = (name: string) => fromPublicId('instance', ids[name]!)!;
const list = async (browser: Browser, query = '') =>
  (await browser.call<List>('GET', `/console/api/instances${query}`)).body;
const names = ({ data }: List) => data.map(({ name }) => name);

test('shows queue, last message and health of each number, and counts all states', async () => {
  const client = await api.clientOf(account);
  for (const text of ['one', 'two']) {
    await client.call('POST', '/v1/messages', {
      body: { instance_id: ids['South'], to: '5511987654321', type: 'text', text: { body: text } },
    });
  }
  const { data, states } = await list(await openBrowser(api, account, 'viewer'));
  const [southern, south, north] = data;
  expect([southern!.queue, south!.queue, north!.queue]).toEqual([0, 2, 0]);
  expect([southern!.last_message_at, north!.last_message_at]).toEqual([null, null]);
  expect(Math.abs(Date.parse(south!.last_message_at!) - Date.now())).toBeLessThan(60_000);
  expect(south!.health).toEqual({ score: expect.any(Number), risk: expect.any(String) });
  expect(Object.values(states).reduce((sum, count) => sum + count, 0)).toBe(3);
});

test('finds numbers by a part of the name, the phone, the id and the state', async () => {
  await api.db.instance.update({
    where: { id: uuid('North') },
    data: { jid: '5511912345678:3@s.whatsapp.net', state: 'banned' },
  });
  const browser = await openBrowser(api, account);
  const search = async (text: string) => names(await list(browser, `?search=${encodeURIComponent(text)}`));
  expect(await search('south')).toEqual(['Southern', 'South']);
  expect(await search('+55 11 91234')).toEqual(['North']);
  expect(await search(ids['South']!)).toEqual(['South']);
  expect(await search('%')).toEqual([]);
  const { states, ...banned } = await list(browser, '?state=banned');
  expect([names({ ...banned, states }), states.banned]).toEqual([['North'], 1]);
});

test('pages by cursor, within the numbers of a restricted member', async () => {
  const browser = await openBrowser(api, account, 'agent', [uuid('North'), uuid('South')]);
  const first = await list(browser, '?limit=1');
  const second = await list(browser, `?limit=1&cursor=${first.next_cursor}`);
  expect([names(first), names(second), second.next_cursor]).toEqual([['South'], ['North'], null]);
});

test('the attention list names a number whose messages wait, and nothing twice', async () => {
  const client = await api.clientOf(account);
  await client.call('POST', '/v1/messages', {
    body: { instance_id: ids['South'], to: '5511987654321', type: 'text', text: { body: 'one' } },
  });
  const browser = await openBrowser(api, account);
  const attention = async () =>
    (
      await browser.call<{ attention: { reason: string; name: string }[] }>('GET', '/console/api/overview')
    ).body.attention.map(({ reason, name }) => `${reason} ${name}`);
  expect(await attention()).toEqual([]);
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);
  const where = { instanceId: uuid('South') };
  await api.db.outboxEntry.updateMany({ where, data: { headSince: minutesAgo(11) } });
  expect(await attention()).toEqual(['queue_growing South']);
  await api.db.instance.update({
    where: { id: uuid('South') },
    data: { restrictedUntil: minutesAgo(-60) },
  });
  expect(await attention()).toEqual(['restricted South']);
});
