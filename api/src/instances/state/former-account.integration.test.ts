import { fromPublicId, newUuid } from '@gwk/core/ids/ids';
import type { MessageOut } from '@gwk/core/resources/message';
import type { ApiClient } from '@gwk/test/support/api/client';
import type { FakeEngine } from '@gwk/test/support/api/fake-engine';
import { InboundStage, jid } from '@gwk/test/support/api/inbound';
import type { TestEngine } from '@gwk/test/support/api/internal-api';
import { sharedApi } from '@gwk/test/support/api/open-api';
import type { TestApi } from '@gwk/test/support/api/test-api';
import type { JobDependencies } from '../../jobs/dependencies.js';
import { refuseMessagesJob } from '../../jobs/waiting-messages.js';
import type { InstanceOut } from '../../resources/instance.js';

const FIRST = jid('5511900000001');
const OTHER = jid('5511900000002');

describe('after another account was linked', () => {
  let stage: InboundStage;
  let engine: TestEngine;
  let ana: string;
  beforeAll(async () => {
    stage = await InboundStage.open();
  });
  beforeEach(async () => {
    const firstPairedAt = new Date(Date.now() - 30 * 86_400_000);
    engine = await stage.engine({ lastJid: FIRST, firstPairedAt, state: 'connected' });
    ana = stage.someone();
  });
  afterAll(() => stage.close());

  const pair = async (account = OTHER) => {
    const at = () => new Date().toISOString();
    const paired = { jid: account, lid: null, business_name: null, platform: null };
    await engine.call('state', { changes: [{ state: 'logged_out', at: at(), reason: 'device_removed' }] });
    await engine.call('state', { changes: [{ state: 'connecting', at: at(), reason: null, paired }] });
    await engine.call('state', { changes: [{ state: 'connected', at: at(), reason: null, jid: account }] });
  };
  const accept = (to = ana): Promise<string> => stage.internalApi.accept({ instance: engine.instanceId, to });
  const statusOf = async (id: string) => {
    const { status, errorCode } = await stage.message(id);
    return errorCode === null ? status : `${status} ${errorCode}`;
  };
  const refuse = () => {
    const { database: db, sealer } = stage.internalApi.world;
    return refuseMessagesJob({ db, sealer } as JobDependencies).pass();
  };
  const instance = () => stage.database.instance.findUniqueOrThrow({ where: { id: engine.instanceId } });

  test('a text answers no menu of the former one', async () => {
    await stage.menu(engine, ana);
    await pair();
    await stage.receive(engine, stage.text(ana, 'Sim'));
    expect((await stage.lastEvent(engine)).type).toBe('message.received');
  });

  test('contacts are new, and limits, timers and contact checks start again', async () => {
    await stage.receive(engine, stage.text(ana, 'oi'));
    await stage.sent(engine, stage.someone());
    const { instanceId } = engine;
    const where = { instanceId };
    await stage.database.contactCheck.create({ data: { instanceId, name: ana, checkedAt: new Date() } });
    await stage.database.conversation.updateMany({ where, data: { timerS: 86_400, timerSetAt: new Date() } });
    await engine.call('restricted', { until: new Date(Date.now() + 3_600_000).toISOString() });
    await pair();
    const fresh = { firstSentAt: null, firstSentNo: null, lastWroteAt: null, timerS: null, timerSetAt: null };
    const rows = await stage.database.conversation.findMany({ where });
    expect(rows).toMatchObject([fresh, fresh]);
    expect(await stage.database.contactCheck.count({ where })).toBe(0);
    const row = await instance();
    expect(row).toMatchObject({ jid: OTHER, lastJid: OTHER, restrictedUntil: null });
    expect(row.firstPairedAt!.getTime()).toBeGreaterThan(Date.now() - 60_000);
    expect((await stage.lastEvent(engine, 'instance.paired')).data).toMatchObject({
      jid: OTHER,
      previous_jid: FIRST,
    });
  });

  test('no queued message of the former one leaves, and each fails with not_paired', async () => {
    const { instanceId } = engine;
    const [held, behind] = [await accept(), await accept()];
    await engine.claim();
    const [waiting, scheduled] = [await accept(stage.someone()), await accept(stage.someone())];
    await stage.database.outboxEntry.update({
      where: { messageId: scheduled },
      data: { state: 'scheduled', head: false, seq: null, releaseAt: new Date(Date.now() + 86_400_000) },
    });
    await pair();
    const fresh = await accept(stage.someone());
    expect(await engine.build(held)).toEqual([]);
    const claim = { claim_id: newUuid() };
    const notified = { message_id: waiting, built: 'AA==', rendered_as: null, claim };
    expect((await engine.call('built', { messages: [notified] })).stored).toEqual([]);
    expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([fresh]);
    await refuse();
    const former = [held, behind, waiting, scheduled];
    expect(await Promise.all(former.map(statusOf))).toEqual(former.map(() => 'failed not_paired'));
    expect(await statusOf(fresh)).toBe('sending');
    expect(await stage.database.outboxEntry.count({ where: { instanceId } })).toBe(1);
  });

  test('a message that the former one may have sent is not sent again', async () => {
    const attempted = await accept();
    await engine.claim();
    await engine.build(attempted);
    await pair();
    const next = await (await stage.internalApi.addPod(engine.instanceId, 'pod-2').then(release)).acquire();
    expect(await next.claim()).toEqual([]);
    expect(await statusOf(attempted)).toBe('sending');
  });
  const release = async (next: TestEngine) => {
    await engine.call('release', {});
    return next;
  };

  test('a message behind one of the new account is not claimed with it', async () => {
    await pair();
    const [head, follower] = [await accept(), await accept()];
    const { otherAccountAt } = await instance();
    const createdAt = new Date(otherAccountAt!.getTime() - 1);
    await stage.database.outboxEntry.update({ where: { messageId: follower }, data: { createdAt } });
    expect((await engine.claim()).map(({ message_id }) => message_id)).toEqual([head]);
  });

  test('nothing changes if the same account is linked again', async () => {
    const { messageId } = await stage.menu(engine, ana);
    const before = await instance();
    await pair(FIRST);
    expect(await stage.database.menu.count({ where: { messageId } })).toBe(1);
    const { firstPairedAt, otherAccountAt } = await instance();
    expect({ firstPairedAt, otherAccountAt }).toEqual({
      firstPairedAt: before.firstPairedAt,
      otherAccountAt: null,
    });
    expect((await stage.lastEvent(engine, 'instance.paired')).data).not.toHaveProperty('previous_jid');
  });
});

describe('over HTTP', () => {
  let api: TestApi;
  let client: ApiClient;
  let id: string;
  let engine: FakeEngine;
  beforeAll(async () => {
    api = await sharedApi();
  });
  beforeEach(async () => {
    client = await api.clientOf(await api.account());
    id = (await client.call<InstanceOut>('POST', '/v1/instances', { body: { name: 'loja' } })).body.id;
    engine = await api.engine(id);
    await engine.connect(FIRST);
  });
  afterEach(() => engine.stop());

  const codeOf = ({ body }: { body: unknown }) =>
    (body as { type?: string } | undefined)?.type?.split('/problems/')[1];
  const send = (more: object = {}) => {
    const body = { instance_id: id, to: '5511987654321', type: 'text', text: { body: 'oi' }, ...more };
    return client.call<MessageOut>('POST', '/v1/messages', { body });
  };
  const sent = async (): Promise<MessageOut> => {
    const { body } = await send();
    const messageId = fromPublicId('message', body.id)!;
    await engine.claim(1);
    await engine.call('built', { messages: [{ message_id: messageId, built: 'AA==', rendered_as: null }] });
    const outcome = { kind: 'sent' as const, message_id: messageId, rendered_as: null };
    await engine.call('outcomes', { outcomes: [{ ...outcome, at: new Date().toISOString() }] });
    return body;
  };
  const received = async (): Promise<string> => {
    const wa_message_id = newUuid();
    const [from, at] = [jid('5511987654321'), new Date().toISOString()];
    const about = { chat: from, from, from_name: null, from_me: false, at, quoted_wa_message_id: null };
    await engine.call('inbound', { messages: [{ wa_message_id, ...about, type: 'text', text: 'oi' }] });
    return wa_message_id;
  };
  const relink = async (account: string) => {
    await engine.reportState('logged_out', { reason: 'device_removed' });
    await engine.connect(account);
  };
  const read = (wa: string) =>
    client.call('POST', `/v1/instances/${id}/chats/5511987654321/read`, { body: { wa_message_ids: [wa] } });
  const uses = (message: MessageOut, wa: string) => ({
    edit: () => client.call('PATCH', `/v1/messages/${message.id}`, { body: { text: 'novo' } }),
    react: () => client.call('POST', `/v1/messages/${message.id}/reactions`, { body: { emoji: '👍' } }),
    reply_to: () => send({ reply_to: message.id }),
    read: () => read(wa),
    delete: () => client.call('DELETE', `/v1/messages/${message.id}`),
  });

  test.each([
    [FIRST, [200, 204, 202, 204, 204], [undefined, undefined, undefined, undefined, undefined]],
    [OTHER, [422, 422, 422, 422, 422], Array<string>(5).fill('message-of-former-account')],
  ])('messages from before %s was linked again', async (account, statuses, codes) => {
    for (const name of ['edit', 'react', 'read', 'delete'] as const) engine.handlers[name] = () => null;
    const given = uses(await sent(), await received());
    await relink(account);
    const answers = [];
    for (const use of Object.values(given)) answers.push(await use());
    expect(answers.map(({ status }) => status)).toEqual(statuses);
    expect(answers.map(codeOf)).toEqual(codes);
  });

  test('a pairing session names the last account, unless others are accepted', async () => {
    await engine.reportState('logged_out', { reason: 'device_removed' });
    const patch = (on_other_account: string) =>
      client.call<InstanceOut>('PATCH', `/v1/instances/${id}`, { body: { on_other_account } });
    const account = async () => {
      const asked: unknown[] = [];
      engine.handlers.pair = async (args) => {
        asked.push(args['account']);
        await engine.showQr(args['session'] as string, 'code');
        return null;
      };
      expect((await client.call('POST', `/v1/instances/${id}/pairing`)).status).toBe(200);
      const renewed = await engine.call('renew', { connected: false });
      return [asked[0], renewed.pairing!.account];
    };
    const only = { jid: FIRST, lid: null };
    expect(await account()).toEqual([only, only]);
    expect((await patch('accept')).body.on_other_account).toBe('accept');
    expect((await engine.call('renew', { connected: false })).pairing!.account).toBeNull();
    expect((await patch('refuse')).body.on_other_account).toBe('refuse');
    expect((await engine.call('renew', { connected: false })).pairing!.account).toEqual(only);
  });

  test('an instance refuses other accounts by default, and its resource says so', async () => {
    const { body } = await client.call<InstanceOut>('GET', `/v1/instances/${id}`);
    expect(body.on_other_account).toBe('refuse');
    const create = { name: 'outra', on_other_account: 'accept' };
    const other = await client.call<InstanceOut>('POST', '/v1/instances', { body: create });
    expect(other.body.on_other_account).toBe('accept');
    const name = other.body.id.replace('_', '-');
    expect(api.cluster.resources.get(`default/${name}`)!.spec.onOtherAccount).toBe('accept');
  });
});
