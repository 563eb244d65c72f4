import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { MediaOut } from '@gwk/core/resources/media';
import type { AcceptedMessageOut, MessageOut } from '@gwk/core/resources/message';
import type { HealthOut } from '@gwk/api/resources/health';
import { newNumber, openNumber, type NumberStage } from './number-stage.js';
import { uploadFile } from '../support/gateway/customer.js';
import { ROOT } from '../support/program.js';
import { until } from '../support/wait.js';

/**
 * Messages of a paired instance through real processes, with logs at level debug. All message texts contain a
 * marker that must not appear in any log.
 */
const MARKER = `marker${randomBytes(6).toString('hex')}`;
let stage: NumberStage;

beforeAll(async () => {
  stage = await openNumber('messages');
  await stage.pair();
});

const client = () => stage.customer.client;
const send = (to: string, content: Record<string, unknown>) =>
  client().call<MessageOut>('POST', '/v1/messages', { body: { instance_id: stage.id, to, ...content } });
const text = (body: string) => ({ type: 'text', text: { body: `${body} ${MARKER}` } });

async function accepted(to: string, content: Record<string, unknown>): Promise<MessageOut> {
  const answer = await send(to, content);
  expect(answer.status).toBe(202);
  return answer.body;
}

function becomes(id: string, ...statuses: MessageOut['status'][]): Promise<MessageOut> {
  return until(
    async () => {
      const message = await client().message(id);
      return statuses.includes(message.status) && message;
    },
    { what: `${id} is ${statuses.join(' or ')}` },
  );
}

async function uploaded(name: string): Promise<string> {
  return (await uploadFile(stage.gateway, stage.customer, join(ROOT, 'examples/media', name))).id;
}

/** Data of the events of one message, oldest first. */
async function eventsAbout(type: string, id: string) {
  const events = await stage.eventsOf(type);
  return events
    .map(({ data }) => data)
    .filter((data) => data['message_id'] === id)
    .reverse();
}

const one = (type: string, fits: (data: Record<string, unknown>) => boolean) =>
  until(async () => (await stage.eventsOf(type)).find(({ data }) => fits(data))?.data, { what: type });

describe('an outbound message', () => {
  test('becomes sent, delivered, read and played, each with an event', async () => {
    const { ana } = stage;
    await ana.behaves({ confirms: false });
    const { id } = await accepted(ana.number, text('step by step'));
    const sent = await becomes(id, 'sent');
    const received = await ana.receives({ id: sent.wa_message_id! });
    expect(await eventsAbout('message.sent', id)).toMatchObject([
      { wa_message_id: sent.wa_message_id, rendered_as: null, chat: { phone: ana.number } },
    ]);
    await ana.confirms(received);
    await becomes(id, 'delivered');
    await ana.reads(received);
    expect(await becomes(id, 'read')).toMatchObject({ read_at: expect.any(String) as string });
    await ana.plays(received);
    const played = async () =>
      (await eventsAbout('message.status_updated', id)).some((data) => data['played']);
    await until(played, { what: 'the message is played' });
    expect((await eventsAbout('message.status_updated', id)).map((data) => data['status'])).toEqual([
      'delivered',
      'read',
      'read',
    ]);
    await ana.behaves({ confirms: true });
  });

  test('of an album, of a round video and of a picture in HD arrive in order, each with its status', async () => {
    const { ana, network } = stage;
    const image = { media: { media_id: await uploaded('photo.jpg') } };
    const media = { media_id: await uploaded('clip.mp4') };
    const group = await network.group('Friends', [stage.phone, ana]);
    for (const to of [ana.number, group, stage.phone.number]) {
      const album = [{ image }, { video: { media } }];
      const sent: AcceptedMessageOut[] = [
        await accepted(to, { type: 'album', album }),
        await accepted(to, { type: 'image', image: { ...image, hd: true } }),
        await accepted(to, { type: 'video', video: { media, round: true } }),
      ];
      const all = sent.flatMap(({ items = [], ...whole }) => [whole, ...items]);
      const ids = await Promise.all(
        all.map(async ({ id }) => (await becomes(id, 'sent', 'delivered')).wa_message_id!),
      );
      const reader = to === stage.phone.number ? stage.phone : ana;
      const shown = await Promise.all(ids.map((id) => reader.receives({ id, copies: reader !== ana })));
      const [frame, standard] = [ids[0], ids[3]];
      const parentOf = (id: string | undefined) => ({ messageAssociation: { parentMessageKey: { id } } });
      expect(shown.map(({ message }) => message)).toMatchObject([
        { albumMessage: { expectedImageCount: 1, expectedVideoCount: 1 } },
        { imageMessage: {}, messageContextInfo: parentOf(frame) },
        { videoMessage: {}, messageContextInfo: parentOf(frame) },
        { imageMessage: {} },
        { associatedChildMessage: {}, messageContextInfo: parentOf(standard) },
        { ptvMessage: {} },
      ]);
      const arrivals = shown.map(({ seq }) => seq);
      expect(arrivals).toEqual([...arrivals].sort((a, b) => a - b));
    }
  });

  test('stays delivered when the contact sends no read receipts', async () => {
    const { ana } = stage;
    await ana.behaves({ readReceipts: false });
    const { id } = await accepted(ana.number, text('unread for ever'));
    const { wa_message_id } = await becomes(id, 'delivered');
    await ana.reads(await ana.receives({ id: wa_message_id! }));
    await ana.behaves({ readReceipts: true });
    const { id: next } = await accepted(ana.number, text('read'));
    const { wa_message_id: nextId } = await becomes(next, 'delivered');
    await ana.reads(await ana.receives({ id: nextId! }));
    await becomes(next, 'read');
    expect((await client().message(id)).status).toBe('delivered');
  });

  test('with buttons reports how it was rendered, and a tap on a button is an interactive reply', async () => {
    const { ana } = stage;
    const buttons = [
      { type: 'reply', label: 'Yes', id: 'y' },
      { type: 'reply', label: 'No', id: 'n' },
    ];
    const { id } = await accepted(ana.number, {
      type: 'interactive',
      interactive: { body: MARKER, buttons },
    });
    const { wa_message_id, rendered_as } = await becomes(id, 'delivered');
    expect(rendered_as).toBe('native_flow_buttons');
    await ana.taps(await ana.receives({ id: wa_message_id! }), 'n');
    const reply = await one('message.interactive_reply', () => true);
    expect(reply).toMatchObject({
      chat: { phone: ana.number },
      reply: {
        option_id: 'n',
        label: 'No',
        source: 'native_flow',
        in_reply_to: id,
        in_reply_to_wa_message_id: wa_message_id,
      },
    });
  });

  test('as a poll reports a vote and its removal', async () => {
    const { ana } = stage;
    const options = [
      { id: 'a', label: `A ${MARKER}` },
      { id: 'b', label: 'B' },
    ];
    const { id } = await accepted(ana.number, {
      type: 'poll',
      poll: { name: 'Which?', options, selectable: 1 },
    });
    const { wa_message_id } = await becomes(id, 'delivered');
    const poll = await ana.receives({ id: wa_message_id! });
    await ana.votes(poll, ['B']);
    const ofPoll = (removed: boolean) => (data: Record<string, unknown>) => {
      const reply = data['reply'] as Record<string, unknown>;
      return reply['in_reply_to'] === id && Boolean(reply['vote_removed']) === removed;
    };
    expect(await one('message.interactive_reply', ofPoll(false))).toMatchObject({
      reply: { option_id: 'b', label: 'B', source: 'poll' },
    });
    await ana.votes(poll, []);
    expect(await one('message.interactive_reply', ofPoll(true))).toMatchObject({
      reply: { option_id: 'b', source: 'poll', vote_removed: true },
    });
  });

  test('can be edited, reacted to and deleted on the phone of the contact', async () => {
    const { ana } = stage;
    const { id } = await accepted(ana.number, text('first'));
    const { wa_message_id: first } = await becomes(id, 'delivered');
    await client().expect(200, 'PATCH', `/v1/messages/${id}`, { body: { text: `second ${MARKER}` } });
    expect((await ana.receives(`second ${MARKER}`)).message).toMatchObject({
      protocolMessage: { key: { id: first }, type: 'MESSAGE_EDIT' },
    });
    await client().expect(204, 'POST', `/v1/messages/${id}/reactions`, { body: { emoji: '👍' } });
    expect((await ana.receives('👍')).message).toMatchObject({ reactionMessage: { key: { id: first } } });
    await client().expect(204, 'DELETE', `/v1/messages/${id}`);
    const revoked = async () =>
      (await ana.inbox()).some(({ message }) => JSON.stringify(message).includes('"REVOKE"'));
    await until(revoked, { what: 'the message is deleted on the phone' });
  });
});

describe('a message that the network rejects fails', () => {
  const failed = async (to: string, content: Record<string, unknown>) => {
    const { id } = await accepted(to, content);
    const { error, wa_message_id } = await becomes(id, 'failed');
    expect(await eventsAbout('message.failed', id)).toMatchObject([{ error: { code: error!.code } }]);
    return { error, wa_message_id, id };
  };
  const stanzas = async (before: number) =>
    (
      await stage.network.stanzas({ tag: 'message', way: 'in', after: before, number: stage.phone.number })
    ).filter(({ stanza }) => stanza.attrs['category'] !== 'peer');
  const now = async () => (await stage.network.stanzas({ number: stage.phone.number })).at(-1)!.seq;

  test('with recipient_not_on_whatsapp, and no stanza is sent', async () => {
    const before = await now();
    const { error } = await failed('5511777777777', text('nobody'));
    expect(error).toMatchObject({ code: 'recipient_not_on_whatsapp' });
    expect(await stanzas(before)).toEqual([]);
  });

  test.each([
    ['463', text('restricted')],
    ['479', text('malformed')],
    [
      '405',
      {
        type: 'interactive',
        interactive: { body: 'Which?', buttons: [{ type: 'reply', label: 'A', id: 'a' }], format: 'legacy' },
      },
    ],
  ])('with wa_error for error %s, and is not retried', async (code, content) => {
    const { network, phone, ana } = stage;
    const before = await now();
    await network.rule({ on: 'message', number: phone.number, answer: Number(code), times: 1 });
    const { error } = await failed(ana.number, content);
    expect(error).toMatchObject({ code: 'wa_error', message: expect.stringContaining(code) as string });
    // A message that was accepted later has left.
    const { id } = await accepted(ana.number, text(`behind ${code}`));
    await becomes(id, 'delivered');
    expect(await stanzas(before)).toHaveLength(2);
  });

  test('a restriction refuses new contacts and lowers the health until it ends', async () => {
    const { network, phone, ana } = stage;
    const bia = await network.contact(newNumber(), { name: 'Bia' });
    await ana.writes('I know you', { to: phone.number });
    const begun = Date.now();
    await network.restrict(phone.number, { minutes: 30 });
    const refused = await until(
      async () => {
        const answer = await send(bia.number, text('new here'));
        return answer.status === 429 && Number(answer.headers['retry-after']) < 1_801 && answer;
      },
      { what: 'new contacts are refused' },
    );
    expect(refused.body).toMatchObject({
      type: expect.stringMatching(/policy-new-contacts-limit$/) as string,
    });
    const passed = Math.ceil((Date.now() - begun) / 1000);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1_799 - passed);
    const { id } = await accepted(ana.number, text('an old one'));
    await becomes(id, 'delivered');
    const { factors } = await client().expect<HealthOut>(200, 'GET', `/v1/instances/${stage.id}/health`);
    expect(factors.find(({ key }) => key === 'restrictions')).toMatchObject({ status: 'bad' });
    await network.lift(phone.number);
    await until(async () => (await send(bia.number, text('now'))).status === 202, {
      what: 'the restriction is over',
    });
  });
});

describe('an inbound message', () => {
  const from = (id: string) => (data: Record<string, unknown>) => data['wa_message_id'] === id;

  test('with a file contains the file', async () => {
    const { ana, phone } = stage;
    const bytes = randomBytes(20_000);
    const fields = { caption: `look ${MARKER}`, fileName: `${MARKER}.bin` };
    const id = await ana.writesFile('document', bytes, { to: phone.number, fields });
    const data = await one('message.received', from(id));
    expect(data).toMatchObject({ type: 'document', text: `look ${MARKER}`, media: { size: 20_000 } });
    const { media_id } = data['media'] as { media_id: string };
    const { url } = await client().expect<MediaOut>(200, 'GET', `/v1/media/${media_id}`);
    const answer = await fetch(url!);
    expect(Buffer.from(await answer.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test('with a corrupt file reports hash_mismatch', async () => {
    const { ana, phone } = stage;
    const fields = { fileSha256: randomBytes(32) } as never;
    const id = await ana.writesFile('image', randomBytes(100), { to: phone.number, fields });
    const { media } = await one('message.received', from(id));
    expect(media).toEqual({ error: 'hash_mismatch', mimetype: 'image/png', size: 100 });
  });

  test('reports an encrypted edit and a deletion of it', async () => {
    const { ana, phone } = stage;
    const secret = randomBytes(32).toString('base64');
    const content = { conversation: `first ${MARKER}`, messageContextInfo: { messageSecret: secret } };
    const id = await ana.writes(content, { to: phone.number });
    const { message_id } = await one('message.received', from(id));
    await ana.editsSealed(id, `second ${MARKER}`, { to: phone.number });
    expect(await one('message.edited', from(id))).toMatchObject({ text: `second ${MARKER}`, message_id });
    await ana.revokes(id, { to: phone.number });
    expect(await one('message.deleted', from(id))).toMatchObject({ message_id });
  });

  test('whose content only the phone has is received once', async () => {
    const { ana, phone } = stage;
    const options = { unavailable: true };
    const id = await ana.writes(`on the phone ${MARKER}`, { to: phone.number, options });
    expect(await one('message.received', from(id))).toMatchObject({
      text: `on the phone ${MARKER}`,
      from: { phone: ana.number, name: 'Ana' },
    });
  });

  test('in a group names the group and the member, and can be answered there', async () => {
    const { network, ana, phone } = stage;
    const group = await network.group('Friends', [phone, ana]);
    const id = await ana.writes(`hello all ${MARKER}`, { to: group });
    const event = await one('message.received', from(id));
    const { message_id } = event;
    expect(event).toMatchObject({
      chat: { id: group, is_group: true },
      from: { id: ana.lidJid, phone: ana.number, name: 'Ana' },
    });
    const answer = await accepted(group, {
      ...text('hello you'),
      reply_to: message_id,
      mentions: [ana.lidJid],
    });
    const { wa_message_id } = await becomes(answer.id, 'delivered');
    expect((await ana.receives({ id: wa_message_id! })).message).toMatchObject({
      extendedTextMessage: {
        contextInfo: { stanzaId: id, participant: ana.lidJid, mentionedJid: [ana.lidJid] },
      },
    });
  });

  test('from the paired phone itself is reported as sent from the device', async () => {
    const { ana, phone } = stage;
    const id = await phone.writesOnPhone(ana.number, `from my phone ${MARKER}`);
    expect(await one('message.sent_from_device', from(id))).toMatchObject({
      text: `from my phone ${MARKER}`,
      from_me: true,
      chat: { phone: ana.number },
    });
  });

  test('can be marked as read, and its contact sees a typing presence', async () => {
    const { network, ana, phone } = stage;
    const wrote = await ana.writes(`read this ${MARKER}`, { to: phone.number });
    const { chat } = await one('message.received', from(wrote));
    const at = `/v1/instances/${stage.id}/chats/${encodeURIComponent((chat as { id: string }).id)}`;
    await client().expect(204, 'POST', `${at}/read`, { body: { wa_message_ids: [wrote] } });
    await network.waitReceipt({ id: wrote, type: 'read' });
    await client().expect(204, 'POST', `${at}/presence`, { body: { state: 'typing' } });
    await network.waitStanza({ tag: 'chatstate', way: 'in', number: phone.number });
  });
});

describe('calls and groups', () => {
  test('a call is an event, and a rejected call also a text to its caller', async () => {
    const { ana, phone, network } = stage;
    const first = await ana.callsNumber(phone.number, { video: true });
    expect(await one('call.received', (data) => data['call_id'] === first)).toMatchObject({
      from: { id: ana.lidJid, phone: ana.number, name: 'Ana' },
      video: true,
      group: false,
      missed: false,
      rejected: false,
    });
    const policy = { reject_calls: { enabled: true, text: `please write ${MARKER}` } };
    await client().expect(200, 'PATCH', `/v1/instances/${stage.id}`, { body: { policy } });
    const probe = await network.contact(newNumber());
    const isRejected = async () => {
      const id = await probe.callsNumber(phone.number);
      await phone.hasTakenAll();
      return (await network.calls()).some((call) => call.id === id && call.state === 'rejected');
    };
    await until(isRejected, { what: 'the policy in force', everyMs: 500 });
    const second = await ana.callsNumber(phone.number);
    expect(await one('call.received', (data) => data['call_id'] === second)).toMatchObject({
      rejected: true,
    });
    await ana.receives({ text: policy.reject_calls.text });
    await client().expect(200, 'PATCH', `/v1/instances/${stage.id}`, { body: { policy: {} } });
  });

  test('a change of a group is an event', async () => {
    const { ana, phone, network } = stage;
    const group = await network.group('Team', [ana, phone]);
    await network.changeGroup(group, { subject: `Renamed ${MARKER}` });
    expect(await one('group.updated', ({ chat }) => (chat as { id: string }).id === group)).toMatchObject({
      subject: `Renamed ${MARKER}`,
      from: { id: ana.lidJid, phone: ana.number, name: 'Ana' },
      from_me: false,
    });
  });
});

test('looks up a contact', async () => {
  const look = (phone: string) => client().expect(200, 'GET', `/v1/instances/${stage.id}/contacts/${phone}`);
  const { number: phone, jid, lidJid: id } = stage.ana;
  expect(await look(phone)).toEqual({ id, lid: id, phone, username: null, exists: true, jid });
  const unknown = { id: null, lid: null, phone: '5511777777778', username: null, exists: false, jid: null };
  expect(await look(unknown.phone)).toEqual(unknown);
});

describe('logs at level debug', () => {
  const lines = () => stage.gateway.logs().map(({ program, line }) => `${program}: ${line}`);

  test('contain no message text', () => {
    expect(lines().length).toBeGreaterThan(50);
    expect(lines().filter((line) => line.includes(MARKER))).toEqual([]);
  });

  test('contain no key or session', () => {
    const words =
      /Closing session|Opening session|privKey|private|rootKey|chainKey|baseKey|preKey|signedIdentity|advSecret|noiseKey|mediaKey|"creds"|<Buffer/i;
    expect(lines().filter((line) => words.test(line))).toEqual([]);
  });

  test('contain lines of the engine and of Baileys', () => {
    const engineLines = lines().filter((line) => line.includes('"program":"engine"'));
    expect(engineLines.filter((line) => line.includes('"level":"debug"')).length).toBeGreaterThan(0);
    expect(engineLines.filter((line) => line.includes('"library":"baileys"')).length).toBeGreaterThan(0);
  });
});

test('the network saw no protocol violation', async () => {
  expect((await stage.network.status()).violations).toEqual([]);
});
