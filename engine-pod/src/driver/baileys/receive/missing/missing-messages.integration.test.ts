import { randomBytes } from 'node:crypto';
import {
  numberStage,
  seenMeanwhile,
  until,
  type NumberStage,
} from '@gwk/test/support/engine/simulated-instance';

/**
 * Content that comes in two parts: an edit encrypted with the secret of another message, and a message whose
 * content only the phone has.
 */
let stage: NumberStage;
let group: string;
beforeAll(async () => {
  stage = await numberStage();
  group = await stage.network.group('Friends', [stage.phone, stage.ana]);
});
afterAll(() => stage.close());

const arrivals = (id: string) =>
  stage.number.rows.inbound.filter(({ wa_message_id }) => wa_message_id === id);
const withSecret = (body: string) => ({
  conversation: body,
  messageContextInfo: { messageSecret: randomBytes(32).toString('base64') },
});

describe('an encrypted edit', () => {
  const changes = (id: string) =>
    stage.number.rows.inbound.flatMap(({ change }) => (change?.wa_message_id === id ? [change] : []));
  const edited = (id: string) => until('the edit', () => (changes(id).length > 0 ? changes(id) : undefined));

  test.each([
    ['of a contact known by phone number', () => stage.phone.number, 'pn' as const],
    ['of a contact known by LID', () => stage.phone.number, 'lid' as const],
    ['in a group', () => group, 'lid' as const],
  ])('%s is an edit', async (_, to, addressing) => {
    const { number, ana } = stage;
    const writing = { to: to(), options: { addressing } };
    const id = await ana.writes(withSecret('first'), writing);
    await number.gets(id);
    await ana.editsSealed(id, 'second', writing);
    expect(await edited(id)).toMatchObject([{ kind: 'edit', wa_message_id: id, text: 'second' }]);
  });

  test('of a message that an earlier engine received is decrypted', async () => {
    const { number, ana, phone } = stage;
    const id = await ana.writes(withSecret('first'), { to: phone.number });
    await number.gets(id);
    await until('the journal is empty', () => number.rows.of('journal').length === 0 || undefined);
    await number.replace();
    await ana.editsSealed(id, 'second', { to: phone.number });
    expect(await edited(id)).toMatchObject([{ kind: 'edit', wa_message_id: id, text: 'second' }]);
  });

  test('by somebody else does not change the message', async () => {
    const { number, network, ana, phone } = stage;
    const id = await ana.writes(withSecret('mine'), { to: phone.number });
    await number.gets(id);
    const eve = await network.contact('5511900000066', { name: 'Eve' });
    await eve.writes(withSecret('hers'), { to: phone.number, options: { id } });
    await eve.editsSealed(id, 'changed', { to: phone.number });
    expect(await until('her edit', () => changes(id)[0])).toMatchObject({ text: 'changed' });
    const edit = number.rows.inbound.find(({ change }) => change?.wa_message_id === id)!;
    expect(edit.chat).toBe(eve.lidJid);
    await ana.editsSealed(id, 'still mine', { to: phone.number });
    await until(
      'the edit',
      () => changes(id).some((one) => 'text' in one && one.text === 'still mine') || undefined,
    );
  });

  test('of an unknown message is ignored and delays nothing', async () => {
    const { number, ana, phone } = stage;
    const id = await ana.writes(withSecret('first'), { to: phone.number });
    await number.gets(id);
    await until('the journal is empty', () => number.rows.of('journal').length === 0 || undefined);
    for (const { type, key } of number.rows.of('message-secret'))
      number.rows.session.delete(`${type} ${key}`);
    await number.replace();
    await ana.editsSealed(id, 'second', { to: phone.number });
    await ana.writes('after it', { to: phone.number });
    await number.text('after it');
    expect(changes(id)).toEqual([]);
  });
});

describe('a message that came without content', () => {
  test.each([
    ['of a contact known by phone number', () => stage.phone.number, 'pn' as const],
    ['of a contact known by LID', () => stage.phone.number, 'lid' as const],
    ['in a group', () => group, 'lid' as const],
  ])('%s comes once the phone has sent it, with its names, and once', async (_, to, addressing) => {
    const { number, ana, phone } = stage;
    const id = await ana.writes('seen on the phone', {
      to: to(),
      options: { addressing, unavailable: true },
    });
    const message = await number.gets(id);
    const from = addressing === 'pn' ? ana.jid : ana.lidJid;
    expect(message).toMatchObject({
      type: 'text',
      text: 'seen on the phone',
      chat: to() === phone.number ? from : group,
      from,
      alt: addressing === 'pn' ? ana.lidJid : ana.jid,
      from_name: 'Ana',
      from_me: false,
    });
    expect(arrivals(id)).toHaveLength(1);
    await until('nothing is missing', () => number.rows.of('unavailable').length === 0 || undefined);
  });

  test('is requested again by the next engine when the phone did not answer', async () => {
    const { number, ana, phone, network } = stage;
    await phone.behaves({ answersDevices: false });
    const id = await ana.writes('later', { to: phone.number, options: { unavailable: true } });
    await until('it is recorded', () => number.rows.of('unavailable').length > 0 || undefined);
    await network.waitStanza({ tag: 'ack', id, way: 'in' } as never);
    await phone.behaves({ answersDevices: true });
    await number.replace();
    expect(await number.gets(id)).toMatchObject({ text: 'later', from_name: 'Ana' });
    expect(arrivals(id)).toHaveLength(1);
  });

  test('is not acknowledged before it is recorded', async () => {
    const { number, ana, phone, network } = stage;
    let release!: () => void;
    const stored = new Promise<void>((resolve) => (release = resolve));
    number.rows.before = (what) => (what === 'session' ? stored : undefined);
    const id = await ana.writes('noted first', { to: phone.number, options: { unavailable: true } });
    await network.waitStanza({ tag: 'message', id, way: 'out' } as never);
    const acks = async () =>
      (await network.stanzas({})).filter(
        ({ way, stanza }) => way === 'in' && stanza.tag === 'ack' && stanza.attrs['id'] === id,
      );
    expect((await seenMeanwhile(stage, acks)).flat()).toEqual([]);
    number.rows.before = () => undefined;
    release();
    await number.gets(id);
    expect(await acks()).toHaveLength(1);
  });

  test.each([
    ['view_once_unavailable_fanout', true],
    ['hosted_unavailable_fanout', undefined],
  ])(
    'that linked devices never get (%s) is reported once, and not requested',
    async (unavailable, is_view_once) => {
      const { number, ana, phone } = stage;
      const id = await ana.writes('for the phone alone', { to: phone.number, options: { unavailable } });
      const message = await number.gets(id);
      expect(message).toMatchObject({ type: 'other', kind: 'placeholder', text: null, from_name: 'Ana' });
      expect(message.is_view_once).toBe(is_view_once);
      await number.replace();
      await ana.writes('and then', { to: phone.number });
      await number.text('and then');
      expect(arrivals(id)).toHaveLength(1);
      expect(number.rows.of('unavailable')).toEqual([]);
    },
  );

  test('cannot be supplied by anybody else', async () => {
    const { number, ana, phone } = stage;
    const info = {
      key: { remoteJid: ana.jid, fromMe: false, id: '3EB0FORGED' },
      message: { conversation: 'forged' },
    };
    const { proto } = await import('@whiskeysockets/baileys');
    const webMessageInfoBytes = Buffer.from(proto.WebMessageInfo.encode(info).finish()).toString('base64');
    const content = {
      protocolMessage: {
        type: 'PEER_DATA_OPERATION_REQUEST_RESPONSE_MESSAGE',
        peerDataOperationRequestResponseMessage: {
          peerDataOperationResult: [{ placeholderMessageResendResponse: { webMessageInfoBytes } }],
        },
      },
    };
    await ana.writes(content, { to: phone.number, options: { attributes: { category: 'peer' } } });
    await ana.writes('behind it', { to: phone.number });
    await number.text('behind it');
    expect(arrivals('3EB0FORGED')).toEqual([]);
  });
});

test('the network reports no protocol errors', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
