import { randomBytes } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import { createLogger } from '@gwk/core/process/log';
import { deliver } from '@gwk/network/post/mail';
import { node, seconds, type Node } from '@gwk/network/wire/nodes';
import { proto } from '@whiskeysockets/baileys';
import { numberStage, Rows, until, type NumberStage } from '@gwk/test/support/engine/simulated-instance';

/**
 * Input with which strangers and others may try to bring an engine down. It stays up, decrypts other messages and
 * logs no content.
 */
const SECRET = 'do not log me';
let stage: NumberStage;
let eve: NumberStage['ana'];
let logged = '';
beforeAll(async () => {
  const log = createLogger('engine', 'debug', { write: (line) => void (logged += line) });
  const { value: context } = Object.getOwnPropertyDescriptor(Rows.prototype, 'context') as {
    value: (this: Rows) => ReturnType<Rows['context']>;
  };
  jest.spyOn(Rows.prototype, 'context').mockImplementation(function (this: Rows) {
    return { ...context.call(this), log };
  });
  stage = await numberStage();
  eve = await stage.network.contact('5511900000066', { name: 'Eve' });
  for (const person of [stage.ana, eve]) {
    await person.writes(`first of ${person.number}`, { to: stage.phone.number });
    await stage.number.text(`first of ${person.number}`);
  }
});
afterAll(async () => {
  await stage.close();
  jest.restoreAllMocks();
});
/** The instance still serves others on the same connection. */
let turn = 0;
afterEach(async () => {
  const { ana, number, phone } = stage;
  turn += 1;
  await ana.writes(`still there ${turn}`, { to: phone.number });
  await number.text(`still there ${turn}`);
  const { id } = await number.sendText(ana.jid, `to Ana ${turn}`);
  await ana.receives({ id });
  expect(number.events.filter(({ kind }) => kind === 'closed').length).toBeLessThanOrEqual(1);
  expect(logged).not.toContain(SECRET);
});

const world = () => stage.running.network.world;
const companion = () => [...world().people.need(stage.phone.number).companions.values()][0]!;
const bring = (stanza: Node): void => deliver(companion(), stanza);

let ids = 0;
const newId = (): string => `3EB0HOSTILE${++ids}`;

/** A message from Eve, or from the own phone to its devices, with these bytes as content. */
async function brings(bytes: Buffer, { padded = true, isPeer = false } = {}): Promise<string> {
  const sender = isPeer ? stage.phone : eve;
  const { phone } = world().people.need(sender.number);
  const address = { user: companion().account.lid, device: companion().id };
  const id = newId();
  await phone.do(async () => {
    const plain = padded ? Buffer.concat([bytes, Buffer.from([1])]) : bytes;
    const encrypted = await phone.signal.encryptBytes(address, plain);
    const attributes = { id, from: sender.lidJid, sender_pn: sender.jid, ...(isPeer && { category: 'peer' }), addressing_mode: 'lid', notify: 'Eve', t: seconds(), type: 'text' }; // prettier-ignore
    bring(node('message', attributes, [node('enc', { v: '2', type: encrypted.type }, encrypted.bytes)]));
  });
  return id;
}

const message = (content: proto.IMessage): Buffer => Buffer.from(proto.Message.encode(content).finish());
/** The network got an acknowledgement or a retry request. */
const dealtWith = (id: string): Promise<unknown> =>
  until(`${id} is dealt with`, async () => {
    const said = await stage.network.stanzas({ id, way: 'in' });
    return said.some(({ stanza }) => stanza.tag === 'ack' || stanza.tag === 'receipt') || undefined;
  });

function lengthOf(bytes: number): Buffer {
  const length = [];
  for (let left = bytes; ; left >>>= 7) {
    if (left < 0x80) return Buffer.from([...length, left]);
    length.push((left & 0x7f) | 0x80);
  }
}

/** Nested levels; each wraps the next in these fields. */
function nested(levels: number, fields: number[][]): Buffer {
  const innermost = Buffer.from(message({ conversation: SECRET }));
  const chunks = [innermost];
  let size = innermost.length;
  for (let level = 0; level < levels; level++) {
    for (const tag of fields) {
      const head = Buffer.concat([Buffer.from(tag), lengthOf(size)]);
      chunks.push(head);
      size += head.length;
    }
  }
  return Buffer.concat(chunks.reverse());
}

/** Protobuf tags: a quoted text, a disappearing message, an edit. */
const QUOTED = [[0x1a], [0x8a, 0x01], [0x32]];
const EPHEMERAL = [[0x0a], [0xc2, 0x02]];

test.each([
  ['quotes, 20,000 deep', () => nested(20_000, QUOTED)],
  ['quotes, 500 deep', () => nested(500, QUOTED)],
  ['wrappers, 20,000 deep', () => nested(20_000, EPHEMERAL)],
  ['wrappers, 500 deep', () => nested(500, EPHEMERAL)],
  ['no message at all', () => randomBytes(5_000)],
  ['nothing', () => Buffer.alloc(0)],
  ['a length beyond the end', () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x41])],
  ['a poll of 50,000 options', () => message({ pollCreationMessage: { name: SECRET, options: Array.from({ length: 50_000 }, () => ({ optionName: SECRET })) } })], // prettier-ignore
  ['20,000 mentions', () => message({ extendedTextMessage: { text: SECRET, contextInfo: { mentionedJid: Array.from({ length: 20_000 }, () => SECRET) } } })], // prettier-ignore
  ['an answer with hostile parameters', () => message({ interactiveResponseMessage: { nativeFlowResponseMessage: { name: SECRET, paramsJson: '['.repeat(200_000) } } })], // prettier-ignore
  ['an edit of nothing', () => message({ protocolMessage: { type: 14, key: { id: SECRET }, editedMessage: {} } })], // prettier-ignore
  ['an answer to an event of nobody', () => message({ encEventResponseMessage: { eventCreationMessageKey: { id: SECRET, remoteJid: eve.jid }, encPayload: randomBytes(9), encIv: randomBytes(9) } })], // prettier-ignore
  ['a key of a group with an endless name', () => message({ senderKeyDistributionMessage: { groupId: `${'1'.repeat(5_000)}@g.us`, axolotlSenderKeyDistributionMessage: randomBytes(90) } })], // prettier-ignore
  ['keys of groups that do not fit', () => message({ senderKeyDistributionMessage: { groupId: SECRET, axolotlSenderKeyDistributionMessage: randomBytes(90) } })], // prettier-ignore
])('%s', async (_, bytes) => {
  const id = await brings(bytes());
  await dealtWith(id);
  await until('the journal is empty', () => stage.number.rows.of('journal').length === 0 || undefined);
});

test.each([
  ['quotes, 20,000 deep', () => nested(20_000, QUOTED)],
  ['no message at all', () => randomBytes(5_000)],
  ['a length beyond the end', () => Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x41])],
])('%s: a message that cannot be decoded is reported with its id, place and sender', async (_, bytes) => {
  const reported = await stage.number.gets(await brings(bytes()));
  expect(reported).toMatchObject({
    ...{ chat: eve.lidJid, from: eve.lidJid, alt: eve.jid, from_name: 'Eve' },
    ...{ type: 'other', kind: 'unknown', text: null },
  });
});

test('a message between own devices that cannot be decoded is counted', async () => {
  await brings(randomBytes(5_000), { isPeer: true });
  await until('it is counted', () => stage.number.rows.ignored.includes('undecodable') || undefined);
});

test.each<[string, NonNullable<Parameters<NumberStage['ana']['writes']>[1]>['options']]>([
  ['an id of 5,000 characters, unreadable', { id: 'A'.repeat(5_000) }],
  ['a name of 50,000 characters, unreadable', { name: 'N'.repeat(50_000) }],
])('%s', async (_, more) => {
  const id = await eve.writes('garbage', { to: stage.phone.number, options: { garbled: 9, ...more } });
  await dealtWith(id);
  for (const { value } of stage.number.rows.of('unavailable')) expect(value!.length).toBeLessThan(5_000);
});

test('refuses a message of 10 MB unread, and truncates one of 1.5 MB', async () => {
  const huge = await brings(message({ conversation: 'x'.repeat(10_000_000) }));
  await dealtWith(huge);
  const large = await brings(message({ conversation: 'y'.repeat(1_500_000) }));
  expect((await stage.number.gets(large)).text).toHaveLength(65_536);
  expect(stage.number.rows.inbound.some(({ wa_message_id }) => wa_message_id === huge)).toBe(false);
  expect(logged).toContain('message refused: too large');
});

test('does not store secrets of a wrong length', async () => {
  const id = await brings(message({ conversation: SECRET, messageContextInfo: { messageSecret: randomBytes(100_000) } })); // prettier-ignore
  await stage.number.gets(id);
  expect(stage.number.rows.of('message-secret').filter(({ key }) => key.includes(id))).toEqual([]);
});

describe('ignores from strangers what only the own phone may send:', () => {
  const { HISTORY_SYNC_NOTIFICATION, APP_STATE_SYNC_KEY_SHARE, LID_MIGRATION_MAPPING_SYNC } =
    proto.Message.ProtocolMessage.Type;
  const kept = () => ['lid-mapping', 'app-state-sync-key', 'tctoken', 'creds'].map((type) => stage.number.rows.of(type)); // prettier-ignore
  const victim = { pn: 5511900000002n, assignedLid: 999n };
  const history = { syncType: 0, phoneNumberToLidMappings: [{ pnJid: '5511900000002@s.whatsapp.net', lidJid: '999@lid' }] }; // prettier-ignore

  test.each<[string, proto.Message.IProtocolMessage]>([
    ['history', { type: HISTORY_SYNC_NOTIFICATION, historySyncNotification: { syncType: 0, initialHistBootstrapInlinePayload: deflateSync(proto.HistorySync.encode(history).finish()) } }], // prettier-ignore
    ['history that unpacks to 200 MB', { type: HISTORY_SYNC_NOTIFICATION, historySyncNotification: { syncType: 3, initialHistBootstrapInlinePayload: deflateSync(Buffer.alloc(200_000_000)) } }], // prettier-ignore
    ['keys of settings', { type: APP_STATE_SYNC_KEY_SHARE, appStateSyncKeyShare: { keys: [{ keyId: { keyId: randomBytes(6) }, keyData: { keyData: randomBytes(32) } }] } }], // prettier-ignore
    ['who is who', { type: LID_MIGRATION_MAPPING_SYNC, lidMigrationMappingSyncMessage: { encodedMappingPayload: proto.LIDMigrationMappingSyncPayload.encode({ pnToLidMappings: [{ pn: Number(victim.pn), assignedLid: Number(victim.assignedLid) }] }).finish() } }], // prettier-ignore
  ])('%s', async (_, protocolMessage) => {
    const before = kept();
    for (const content of [
      { protocolMessage },
      { deviceSentMessage: { destinationJid: eve.jid, message: { protocolMessage } } },
    ])
      // prettier-ignore
      await dealtWith(await brings(message(content)));
    expect(kept()).toEqual(before);
  });
});

describe('storms:', () => {
  const acknowledged = (id: string) => stage.network.waitStanza({ tag: 'ack', id, way: 'in' } as never); // prettier-ignore
  const MANY = 2_000;

  test('calls', async () => {
    for (let n = 0; n < MANY; n++) {
      const offer = node('offer', { 'call-id': n % 2 ? `call ${n}` : undefined, 'call-creator': eve.lidJid, type: 'group' }); // prettier-ignore
      companion().connection?.send(
        node('call', { from: eve.lidJid, id: `call-${n}`, t: seconds() }, [offer]),
      );
    }
    await acknowledged(`call-${MANY - 1}`);
  });

  test('presences', async () => {
    for (let n = 0; n < MANY; n++) {
      companion().connection?.send(node('chatstate', { from: eve.lidJid }, [node('composing')]));
      companion().connection?.send(node('presence', { from: `${n}@lid`, type: 'unavailable', last: 'deny' }));
    }
  });

  test('receipts for messages that were never sent', async () => {
    const items = Array.from({ length: 200 }, (_, n) => node('item', { id: `3EB0NEVER${n}` }));
    for (let n = 0; n < 50; n++)
      bring(node('receipt', { from: eve.lidJid, id: `3EB0READ${n}`, t: seconds(), type: 'read' }, [node('list', {}, items)])); // prettier-ignore
    await acknowledged('3EB0READ49');
  });

  test('malformed notifications', async () => {
    const types = ['w:gp2', 'mediaretry', 'encrypt', 'devices', 'picture', 'account_sync', 'privacy_token', 'link_code_companion_reg', 'newsletter', 'mex']; // prettier-ignore
    for (const [n, type] of types.entries())
      bring(node('notification', { from: '1234-5678@g.us', participant: eve.lidJid, id: `noted-${n}`, type, t: seconds() })); // prettier-ignore
    for (const n of types.keys()) await acknowledged(`noted-${n}`);
  });
});

test.each([
  ['no stanza', [0, 0xf8, 0xff, 0xff]],
  ['packed, and is not', [2, 1, 2, 3, 4]],
  ['empty', [0]],
])('a frame that is %s is ignored', (_, bytes) => {
  companion().connection!.sendBytes(Buffer.from(bytes));
});
