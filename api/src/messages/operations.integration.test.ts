import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { Page } from '@gwk/core/resources/common';
import type { EventOut } from '../resources/event.js';
import type { InstanceOut } from '../resources/instance.js';
import type { MessageOut } from '@gwk/core/resources/message';
import { parseEncryptionKeys, Sealer } from '@gwk/core/crypto/encryption';
import { sharedApi } from '@gwk/test/support/api/open-api';
import { emit, instanceEvent } from '../events/emit.js';
import type { TestApi, TestAccount } from '@gwk/test/support/api/test-api';
import type { ApiClient } from '@gwk/test/support/api/client';

let api: TestApi;
let account: TestAccount;
let client: ApiClient;
/** Two instances that are not connected. */
let one: string;
let two: string;

beforeAll(async () => {
  api = await sharedApi();
});
beforeEach(async () => {
  account = await api.account();
  client = await api.clientOf(account);
  [one, two] = (await Promise.all(['um', 'dois'].map(newInstance))) as [string, string];
});

const uuidOf = (id: string) => fromPublicId('instance', id)!;
const codeOf = ({ body }: { body: unknown }) => (body as { type?: string }).type?.split('/').at(-1);
async function newInstance(name: string): Promise<string> {
  const { body } = await client.call<InstanceOut>('POST', '/v1/instances', {
    body: { name, kind: 'sandbox' },
  });
  return body.id;
}
const send = (instance: string, to: string, headers: Record<string, string> = {}) =>
  client.call<MessageOut>('POST', '/v1/messages', {
    body: { instance_id: instance, to, type: 'text', text: { body: 'oi' } },
    headers,
  });
const list = async (query: Record<string, string> = {}, who = client) =>
  (await who.call<Page<MessageOut>>('GET', '/v1/messages', { query })).body;
/** Claims a message as an engine does. */
const claim = (id: string) => {
  const uuid = fromPublicId('message', id)!;
  return api.db.$transaction([
    api.db.$executeRaw`UPDATE messages SET status = 'sending' WHERE id = ${uuid}::uuid`,
    api.db
      .$executeRaw`UPDATE outbox SET state = 'claimed', claim_id = ${newUuid()}::uuid WHERE message_id = ${uuid}::uuid`,
  ]);
};
const ids = ({ data }: Page<{ id: string }>) => data.map(({ id }) => id);

describe('messages', () => {
  test.each([
    ['pt', 'A mensagem foi cancelada antes do envio, ou a instância foi excluída.'],
    ['en', 'The message was canceled before it was sent, or its instance was deleted.'],
  ])('shows a failure in words of the language %s, unless more is known', async (language, words) => {
    const { body } = await send(one, '5511987654321');
    const fail = (errorMessage: string | null) =>
      api.db.message.updateMany({
        where: { id: fromPublicId('message', body.id)! },
        data: { status: 'failed', failedAt: new Date(), errorCode: 'canceled', errorMessage },
      });
    const get = async (path: string) =>
      client.call<MessageOut & Page<MessageOut>>('GET', path, { headers: { 'accept-language': language } });
    await fail(null);
    const answer = await get(`/v1/messages/${body.id}`);
    expect(answer.body.error).toEqual({ code: 'canceled', message: words });
    expect(answer.headers['content-language']).toBe(language);
    expect((await get('/v1/messages')).body.data[0]!.error!.message).toBe(words);
    await fail('the reason');
    expect((await get(`/v1/messages/${body.id}`)).body.error!.message).toBe('the reason');
  });

  test('shows an accepted message like its response, without text, with an ETag', async () => {
    const { status, body } = await send(one, '5511987654321');
    expect(status).toBe(202);
    const answer = await client.call<MessageOut>('GET', `/v1/messages/${body.id}`);
    const conversation_id = expect.stringMatching(/^cnv_/) as string;
    expect(answer.body).toEqual({ ...body, conversation_id });
    expect(answer.headers.etag).toBe('"1"');
    expect(JSON.stringify(await list())).not.toContain('"oi"');
  });

  test('replays the same response, with a header', async () => {
    const key = { 'idempotency-key': 'k' };
    const first = await send(one, '5511987654321', key);
    const repeat = await send(one, '5511987654321', key);
    expect([repeat.status, repeat.body, repeat.headers['idempotent-replayed']]).toEqual([
      202,
      first.body,
      'true',
    ]);
  });

  test('filters by instance, status, since and any form of the same contact', async () => {
    const a = (await send(one, '5511987654321')).body;
    const b = (await send(two, '551187654321@s.whatsapp.net')).body;
    const c = (await send(one, '5521999990000')).body;
    expect(ids(await list())).toEqual([c.id, b.id, a.id]);
    expect(ids(await list({ instance_id: one }))).toEqual([c.id, a.id]);
    for (const to of ['5511987654321', '551187654321', '5511987654321@s.whatsapp.net']) {
      expect(ids(await list({ to }))).toEqual([b.id, a.id]);
    }
    expect(ids(await list({ to: '5531988887777' }))).toEqual([]);
    expect(ids(await list({ status: 'queued' }))).toEqual([c.id, b.id, a.id]);
    expect(ids(await list({ status: 'failed' }))).toEqual([]);
    expect(ids(await list({ since: c.created_at }))).toContain(c.id);
    expect(ids(await list({ since: new Date(Date.now() + 1000).toISOString() }))).toEqual([]);
    expect(ids(await list({ to: '5511987654321', instance_id: two, status: 'queued' }))).toEqual([b.id]);
  });

  test('filters by type, together with every other filter', async () => {
    const text = (await send(one, '5511987654321')).body;
    const { body: place } = await client.call<MessageOut>('POST', '/v1/messages', {
      body: {
        ...{ instance_id: one, to: '5511987654321', type: 'location' },
        location: { latitude: 1, longitude: 2 },
      },
    });
    const filters: Record<string, string>[] = [
      {},
      { instance_id: one },
      { to: '5511987654321' },
      { status: 'queued' },
    ];
    for (const filter of filters) {
      const [places, texts] = [
        await list({ ...filter, type: 'location' }),
        await list({ ...filter, type: 'text' }),
      ];
      expect([filter, ids(places), ids(texts)]).toEqual([filter, [place.id], [text.id]]);
    }
    const failed = { status: 'failed', failedAt: new Date() };
    await api.db.message.updateMany({ where: { id: fromPublicId('message', place.id)! }, data: failed });
    expect(ids(await list({ status: 'failed', type: 'location' }))).toEqual([place.id]);
    expect(ids(await list({ status: 'failed', type: 'poll' }))).toEqual([]);
  });

  test('lists unsent messages in pages, by instance, contact and time, only to their account', async () => {
    const sent: MessageOut[] = [];
    for (const to of ['5511987654321', '5521999990000', '5511987654321', '5521999990001']) {
      sent.push((await send(one, to)).body);
    }
    const [a, b, c, d] = sent.map(({ id }) => id);
    await claim(c!);
    const first = await list({ status: 'queued', limit: '2' });
    expect(ids(first)).toEqual([d, b]);
    expect(ids(await list({ status: 'queued', limit: '2', cursor: first.next_cursor! }))).toEqual([a]);
    expect(ids(await list({ status: 'sending' }))).toEqual([c]);
    expect(ids(await list({ status: 'sending', to: '5521999990000' }))).toEqual([]);
    expect(ids(await list({ status: 'queued', instance_id: two }))).toEqual([]);
    expect(ids(await list({ status: 'queued', since: sent[3]!.created_at }))).toContain(d);
    const restricted = await api.clientOf(account, { instances: [uuidOf(two)] });
    expect(ids(await list({ status: 'queued' }, restricted))).toEqual([]);
    const otherAccount = await api.clientOf(await api.account());
    expect(ids(await list({ status: 'queued' }, otherAccount))).toEqual([]);
  });

  test('lists a message that may have been sent as sending while it waits for its next claim', async () => {
    const { id } = (await send(one, '5511987654321')).body;
    await claim(id);
    await api.db.$executeRaw`
      UPDATE outbox SET state = 'waiting', claim_id = NULL, attempted_at = now()
      WHERE message_id = ${fromPublicId('message', id)}::uuid`;
    expect(ids(await list({ status: 'sending' }))).toEqual([id]);
    expect(ids(await list({ status: 'queued' }))).toEqual([]);
  });

  test('fills a page of queued messages although some were just sent', async () => {
    const sent: string[] = [];
    for (let i = 0; i < 5; i++) sent.unshift((await send(one, `551198765000${i}`)).body.id);
    // As if it were sent between the query of the queue and that of the messages.
    await api.db
      .$executeRaw`UPDATE messages SET status = 'sent' WHERE id = ${fromPublicId('message', sent[1]!)}::uuid`;
    const first = await list({ status: 'queued', limit: '2' });
    expect(ids(first)).toEqual([sent[0], sent[2]]);
    const second = await list({ status: 'queued', limit: '2', cursor: first.next_cursor! });
    expect(ids(second)).toEqual([sent[3], sent[4]]);
  });

  test('updates a status in place, without index writes', async () => {
    const id = fromPublicId('message', (await send(one, '5511987654321')).body.id)!;
    const inPlace = await api.db.$transaction(async (tx) => {
      // The session may still hold counts of earlier transactions.
      const counts = async () => {
        const [row] = await tx.$queryRaw<{ all: bigint; in_place: bigint }[]>`
          SELECT sum(pg_stat_get_xact_tuples_updated(c.oid))::bigint AS all,
            sum(pg_stat_get_xact_tuples_hot_updated(c.oid))::bigint AS in_place
          FROM pg_class c WHERE c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'messages'::regclass)`;
        return row!;
      };
      const before = await counts();
      await tx.$executeRaw`UPDATE messages SET status = 'sending', version = 2 WHERE id = ${id}::uuid`;
      await tx.$executeRaw`UPDATE messages SET status = 'sent', sent_at = now(), version = 3 WHERE id = ${id}::uuid`;
      await tx.$executeRaw`UPDATE messages SET status = 'delivered', delivered_at = now() WHERE id = ${id}::uuid`;
      const after = await counts();
      return { all: after.all - before.all, in_place: after.in_place - before.in_place };
    });
    expect(inPlace).toEqual({ all: 3n, in_place: 3n });
  });

  test.each([
    ['a malformed phone', { to: 'abc' }, 'invalid-phone'],
    ['an unknown status', { status: 'lost' }, 'validation-error'],
    ['a malformed time', { since: '2026' }, 'validation-error'],
    ['an unknown instance', { instance_id: `ins_${'0'.repeat(32)}` }, 'not-found'],
    ['a malformed id', { instance_id: 'x' }, 'not-found'],
  ])('refuses %s', async (_, query, code) => {
    expect(codeOf(await client.call('GET', '/v1/messages', { query }))).toBe(code);
  });

  test('keeps pages stable while new messages arrive', async () => {
    const sent: string[] = [];
    for (let i = 0; i < 5; i++) sent.unshift((await send(one, `551198765000${i}`)).body.id);
    const first = await list({ limit: '2' });
    await send(one, '5511987654321');
    const second = await list({ limit: '2', cursor: first.next_cursor! });
    await send(one, '5511987654321');
    const third = await list({ limit: '2', cursor: second.next_cursor! });
    expect([...ids(first), ...ids(second), ...ids(third)]).toEqual(sent);
    expect(third.next_cursor).toBeNull();
  });

  test('shows a restricted key only the messages of its instances, and another account none', async () => {
    const mine = (await send(one, '5511987654321')).body;
    const other = (await send(two, '5511987654321')).body;
    const restricted = await api.clientOf(account, { instances: [uuidOf(one)] });
    expect(ids(await list({}, restricted))).toEqual([mine.id]);
    expect(ids(await list({ to: '5511987654321' }, restricted))).toEqual([mine.id]);
    const path = '/v1/messages';
    expect((await restricted.call('GET', path, { query: { instance_id: two } })).status).toBe(404);
    expect((await restricted.call('GET', `${path}/${other.id}`)).status).toBe(404);
    const otherAccount = await api.clientOf(await api.account());
    expect(ids(await list({}, otherAccount))).toEqual([]);
    expect((await otherAccount.call('GET', `${path}/${mine.id}`)).status).toBe(404);
  });

  test('keeps messages of a deleted instance readable', async () => {
    const { body } = await send(one, '5511987654321');
    await client.call('DELETE', `/v1/instances/${one}`);
    expect(ids(await list({ instance_id: one }))).toEqual([body.id]);
  });
});

describe('events', () => {
  const sealer = () => new Sealer(parseEncryptionKeys(api.encryptionKeys));
  async function emitEvents(instance: string, count: number): Promise<string[]> {
    const subject = { accountId: account.id, instanceId: uuidOf(instance) };
    const drafts = Array.from({ length: count }, () =>
      instanceEvent('instance.connected', subject, new Date(), { jid: '5511987654321@s.whatsapp.net' }),
    );
    return emit(api.db, sealer(), drafts);
  }
  const events = async (query: Record<string, string> = {}, who = client) =>
    (await who.call<Page<EventOut>>('GET', '/v1/events', { query })).body;

  test('are listed with their data, newest first, by pages and filters', async () => {
    await emitEvents(one, 3);
    await emitEvents(two, 1);
    const all = await events();
    expect(all.data[0]).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-f]{32}$/) as string,
      type: 'instance.connected',
      instance_id: two,
      timestamp: expect.any(String) as string,
      data: {
        instance_id: two,
        timestamp: expect.any(String) as string,
        jid: '5511987654321@s.whatsapp.net',
      },
    });
    const first = await events({ instance_id: one, limit: '2' });
    const rest = await events({ instance_id: one, limit: '2', cursor: first.next_cursor! });
    expect([...ids(first), ...ids(rest)]).toEqual(ids(all).slice(1));
    expect(ids(await events({ type: 'instance.disconnected' }))).toEqual([]);
    expect(ids(await events({ since: new Date(Date.now() + 1000).toISOString() }))).toEqual([]);
    expect((await client.call('GET', `/v1/events/${all.data[0]!.id}`)).body).toEqual(all.data[0]);
  });

  test('cannot be filtered by contact event types', async () => {
    const query = { type: 'contact.opted_out' };
    expect(codeOf(await client.call('GET', '/v1/events', { query }))).toBe('validation-error');
  });

  test('are shown to a restricted key only for its instances', async () => {
    await emitEvents(one, 1);
    await emitEvents(two, 1);
    const id = newUuid();
    const data = { endpoint_id: `whe_${'0'.repeat(32)}`, timestamp: new Date().toISOString() };
    await emit(api.db, sealer(), [{ accountId: account.id, instanceId: null, type: 'webhook.test', data }]);
    const restricted = await api.clientOf(account, { instances: [uuidOf(one)] });
    expect((await events({}, restricted)).data.map((event) => event.instance_id)).toEqual([one]);
    const [ofAccount, ofTwo] = (await events()).data;
    for (const event of [ofAccount!, ofTwo!]) {
      expect((await restricted.call('GET', `/v1/events/${event.id}`)).status).toBe(404);
    }
    expect((await client.call('GET', `/v1/events/evt_${id.replaceAll('-', '')}`)).status).toBe(404);
    const otherAccount = await api.clientOf(await api.account());
    expect((await otherAccount.call('GET', `/v1/events/${ofTwo!.id}`)).status).toBe(404);
  });
});
