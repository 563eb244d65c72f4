import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { randomBytes } from 'node:crypto';
import {
  DEFAULT_CONNECTION_CONFIG,
  downloadMediaMessage,
  generateWAMessageContent,
  type SignalDataSet,
  type SignalKeyStoreWithTransaction,
  type WAMessage,
} from '@whiskeysockets/baileys';
import type { MediaFields } from './media/messages.js';
import type { Person } from './control/client.js';
import { deliver } from './post/mail.js';
import { startNetwork, type RunningNetwork } from './start.js';
import { HeldTimers } from './testing/held-timers.js';
import { memoryAuth, StockClient, until } from './testing/stock-client.js';
import { node, seconds } from './wire/nodes.js';

/**
 * Stock Baileys without the engine: behaviour that the engine works around or relies on. When one of these tests fails
 * after an upgrade, check the workaround in the files that it names: it may be obsolete or broken.
 */
let running: RunningNetwork;
let phone: Person;
let ana: Person;
let client: StockClient;
const others: StockClient[] = [];

beforeAll(async () => {
  running = await startNetwork();
  phone = await running.client.phone('5511900000001', { name: 'Gateway' });
  ana = await running.client.contact('5511900000002', { name: 'Ana' });
  client = await new StockClient(running).pair(phone);
});
afterAll(async () => {
  for (const one of [client, ...others]) await one.stop();
  await running.close();
});
afterEach(() => running.client.clearRules());

let timers: HeldTimers | undefined;
const hold = (ms: number): HeldTimers => (timers = new HeldTimers(ms));
afterEach(() => timers?.restore());

let last = 5511900000200;
/** Creates another linked phone number, whose keys a test can delay or fail. */
async function another(
  keys: (set: (data: SignalDataSet) => Promise<void>, data: SignalDataSet) => Promise<void>,
  settings: ConstructorParameters<typeof StockClient>[2] = {},
) {
  const owner = await running.client.phone(String(++last));
  const auth = memoryAuth();
  const set = auth.keys.set.bind(auth.keys) as (data: SignalDataSet) => Promise<void>;
  auth.keys.set = (data) => keys(set, data);
  const other = await new StockClient(running, auth, settings).pair(owner);
  others.push(other);
  return { other, owner, auth };
}

const straight = (set: (data: SignalDataSet) => Promise<void>, data: SignalDataSet) => set(data);
const never = () => new Promise<never>(() => undefined);
const left = async (id: string) =>
  (await running.client.stanzas({ tag: 'message', way: 'in', id })).length > 0;

describe('sending (engine: session/signal-transactions.ts, send/)', () => {
  it('sends a stanza before it stores the ratchet step', async () => {
    let isHeld = false;
    const { other } = await another((set, data) => (isHeld && data.session ? never() : set(data)));
    await other.send(ana.jid, { text: 'begins a session' });
    isHeld = true;
    const sending = other.send(ana.jid, { text: 'before it is stored' });
    const received = await ana.receives({ text: 'before it is stored' });
    const settled = await Promise.race([sending.then(() => true), Promise.resolve(false)]);
    expect([received.fate, settled]).toEqual(['shown', false]);
  });

  it('rejects a send whose keys cannot be stored, although the stanza was sent', async () => {
    let fails = false;
    const { other } = await another(
      (set, data) => (fails && data.session ? Promise.reject(new Error('not stored')) : set(data)),
      { transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 0 } },
    );
    await other.send(ana.jid, { text: 'begins a session' });
    fails = true;
    await expect(other.send(ana.jid, { text: 'left all the same' })).rejects.toThrow('not stored');
    expect(await ana.receives({ text: 'left all the same' })).toMatchObject({ fate: 'shown' });
  });

  it('encrypts under the lock of the account and decrypts under the lock of the sender', async () => {
    const locks: string[][] = [];
    const { other, owner } = await another(straight, {
      makeSignalRepository: ({ creds, keys }, logger, lookUp) => {
        const locked = keys as SignalKeyStoreWithTransaction;
        const transaction = locked.transaction.bind(locked);
        locked.transaction = (work, name) => {
          locks.push([name, locked.isInTransaction() ? 'inner' : 'outer']);
          return transaction(work, name);
        };
        return DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, logger, lookUp);
      },
    });
    await ana.writes('hello', { to: owner.number });
    await other.got('hello');
    locks.length = 0;
    await other.send(ana.jid, { text: 'hello back' });
    const whileSending = locks.filter(([, place]) => place === 'outer').map(([name]) => name);
    locks.length = 0;
    await ana.writes('and again', { to: owner.number });
    await other.got('and again');
    const whileReceiving = locks.filter(([, place]) => place === 'outer').map(([name]) => name);
    // The send takes its own lock outside the repository, which sees only inner locks.
    expect(whileSending.filter((name) => name?.startsWith(ana.lid))).toEqual([]);
    expect(whileReceiving.some((name) => name?.startsWith(ana.lid))).toBe(true);
  });

  it('resolves relayMessage without an acknowledgement', async () => {
    await running.client.rule({ on: 'message', number: phone.number, answer: 'silence', times: 1 });
    const { id } = await client.send(ana.jid, { text: 'nobody says a word' });
    await ana.receives({ id });
    expect(client.acks.filter((ack) => ack['id'] === id)).toEqual([]);
  });

  it('sends a stanza to an unknown phone number without an error', async () => {
    const { id } = await client.send('5511888888888@s.whatsapp.net', { text: 'to nobody' });
    expect(await left(id)).toBe(true);
    expect(await running.client.received({ id, copies: true })).toMatchObject([{ to: phone.number }]);
  });

  it('sends a stanza without an error after a device query without a response', async () => {
    const { other } = await another(straight, { defaultQueryTimeoutMs: 1_000 });
    const bia = await running.client.contact(String(++last));
    await running.client.rule({ on: 'usync/get/usync', answer: 'lose', times: 5 });
    const { id } = await other.send(bia.jid, { text: 'to whom?' });
    expect(await left(id)).toBe(true);
    expect(await bia.inbox({ id })).toEqual([]);
  });

  it('does not look up a LID', async () => {
    expect(await client.socket.onWhatsApp(ana.jid)).toMatchObject([{ exists: true }]);
    expect((await client.socket.onWhatsApp(ana.lidJid)) ?? []).toEqual([]);
  });

  it('fetches any URL given for a file', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end('secret');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inside`;
    const upload = async () => ({ mediaUrl: 'https://a.example', directPath: '/a' });
    await generateWAMessageContent({ document: { url }, mimetype: 'text/plain' }, { upload: upload });
    server.closeAllConnections();
    server.close();
    expect(asked).toBe(1);
  });
});

describe('group keys (engine: patches/conversation-transactions.ts)', () => {
  it('records who has the key before the network accepts the message that carries it', async () => {
    const { other, owner, auth } = await another(straight);
    const group = await running.client.group('Keys', [owner, ana]);
    await running.client.rule({ on: 'message', number: owner.number, answer: 'lose', times: 1 });
    await other.send(group, { text: 'lost with its key' });
    expect(await ana.inbox({ text: 'lost with its key' })).toEqual([]);
    expect(auth.rows.get(`sender-key-memory ${group}`)).toMatchObject({ [`${ana.lid}@lid`]: true });
  });
});

describe('frames and stanzas (engine: patches/ignored-stanzas.ts)', () => {
  it('leaves the rejection for a broken frame unhandled, which ends the process', async () => {
    const { other } = await another(straight);
    const [listen] = other.socket.ws.listeners('message') as ((data: Uint8Array) => Promise<void>)[];
    // A later frame would end this process too.
    await other.stop();
    await expect(listen!(Buffer.from([0, 0, 3, 1, 2, 3]))).rejects.toThrow();
  });

  it('makes a message of a call by anybody', async () => {
    const { other, owner } = await another(straight);
    const offer = node('offer', { 'call-id': 'C1', 'call-creator': ana.lidJid });
    const called = new Promise((resolve) => other.socket.ev.on('call', resolve));
    for (const companion of running.network.world.people.need(owner.number).companions.values())
      deliver(companion, node('call', { from: ana.lidJid, id: 'C1', t: seconds() }, [offer]));
    expect(await called).toMatchObject([{ id: 'C1', status: 'offer' }]);
  });
});

describe('presence (engine: patches/untyped-presence.ts)', () => {
  it('is sent without a type for a name and for other credentials', async () => {
    const { other, owner } = await another(straight);
    other.socket.ev.emit('creds.update', { me: { ...other.auth.creds.me!, name: 'Shop' } });
    other.socket.ev.emit('creds.update', { nextPreKeyId: 900 });
    const untyped = () =>
      running.network.world.record
        .find({ way: 'in', tag: 'presence', number: owner.number })
        .filter(({ stanza }) => stanza.attrs['type'] === undefined);
    await until(() => (untyped().length >= 2 ? true : undefined), 'two presences without a type');
  });
});

describe('files (engine: patches/media-hosts.ts, receive/media/download.ts)', () => {
  const arrived = async (how: Parameters<Person['writesFile']>[2] = {}) =>
    client.gotId(await ana.writesFile('image', randomBytes(1_000), { to: phone.number, ...how }));
  const asking = (message: WAMessage) => {
    const asked: unknown[] = [];
    const reuploadRequest = async (again: WAMessage) => {
      asked.push(again.key.id);
      return again;
    };
    const logger = {
      ...console,
      level: 'silent',
      child: () => logger,
      trace: () => undefined,
      info: () => undefined,
    };
    const download = downloadMediaMessage(message, 'buffer', {}, { reuploadRequest, logger: logger });
    return { asked, download };
  };

  it('does not request an expired file again', async () => {
    const { asked, download } = asking(await arrived({ expired: true }));
    await expect(download).rejects.toMatchObject({ output: { statusCode: 410 } });
    expect(asked).toEqual([]);
  });

  it('does not check the hash, and downloads from the host that the message names', async () => {
    const fields = { fileSha256: randomBytes(32) } as MediaFields;
    const bytes = await asking(await arrived({ fields })).download;
    expect(bytes).toHaveLength(1_000);
  });

  it('does not check the signature', async () => {
    const message = await arrived();
    const stored = running.network.world.media!.get(message.message!.imageMessage!.directPath!)!;
    stored.bytes[stored.bytes.length - 1]! ^= 1;
    expect(await asking(message).download).toHaveLength(1_000);
  });

  it('cannot transfer files after a failed query of the media hosts', async () => {
    const { other } = await another(straight);
    await running.client.rule({ on: 'w:m/set/media_conn', answer: 500, times: 1 });
    await expect(other.socket.refreshMediaConn(false)).rejects.toThrow();
    await expect(other.socket.refreshMediaConn(true)).rejects.toThrow();
  });
});

describe('receiving (engine: receive/)', () => {
  it('acknowledges a message before it emits the event', async () => {
    const raw = (client.socket.ws as unknown as { socket: { send: (...given: unknown[]) => unknown } })
      .socket;
    const { send } = raw;
    let sent = 0;
    raw.send = (...given) => {
      sent += 1;
      return send.apply(raw, given);
    };
    const sentBefore = new Promise<number>((resolve) => {
      client.socket.ev.on('messages.upsert', ({ messages }) => {
        if (messages.some((message) => client.text(message) === 'which comes first?')) resolve(sent);
      });
    });
    await ana.writes('which comes first?', { to: phone.number });
    expect(await sentBefore).toBeGreaterThan(0);
    raw.send = send;
  });

  it('merges delivered and read into one event while it buffers events', async () => {
    const key = { remoteJid: ana.jid, fromMe: true, id: '3EB0BOTH' };
    const { ev } = client.socket;
    ev.buffer();
    for (const status of [3, 4]) ev.emit('messages.update', [{ key, update: { status } }]);
    ev.flush();
    const changes = () => client.changes.filter((change) => change.key.id === key.id);
    await until(() => (changes().length > 0 ? true : undefined), 'the update is emitted');
    expect(changes().map(({ update }) => update.status)).toEqual([4]);
  });

  it('emits a vote encrypted', async () => {
    const values = ['A', 'B'];
    const { id } = await client.send(ana.jid, { poll: { name: 'Which?', values, selectableCount: 1 } });
    const vote = await ana.votes(await ana.receives({ id }), ['B']);
    const received = await client.gotId(vote);
    expect(received.message?.pollUpdateMessage?.vote?.encPayload).toBeDefined();
    expect(client.changes.filter(({ update }) => update.pollUpdates)).toEqual([]);
  });

  it('emits an encrypted edit encrypted', async () => {
    const messageSecret = randomBytes(32).toString('base64');
    const content = { conversation: 'first', messageContextInfo: { messageSecret } };
    const id = await ana.writes(content, { to: phone.number });
    const edit = await ana.editsSealed(id, 'second', { to: phone.number });
    expect((await client.gotId(edit)).message?.secretEncryptedMessage).toBeDefined();
    expect(client.changes.filter(({ key }) => key.id === id)).toEqual([]);
  });

  it('stores LID mappings under both ids, without the server part', () => {
    const { rows } = client.auth;
    expect(rows.get(`lid-mapping ${ana.number}`)).toBe(ana.lid);
    expect(rows.get(`lid-mapping ${ana.lid}_reverse`)).toBe(ana.number);
  });

  it('requests a message from the phone once and forgets the request with the connection', async () => {
    const { other, owner } = await another(straight);
    await owner.behaves({ answersDevices: false });
    const pauses = hold(2_000);
    const id = await ana.writes('on the phone', { to: owner.number, options: { unavailable: true } });
    const asked = () =>
      running.network.world.inbox.find(
        ({ to, message }) =>
          to === owner.number &&
          message?.protocolMessage?.peerDataOperationRequestMessage?.placeholderMessageResendRequest?.some(
            ({ messageKey }) => messageKey?.id === id,
          ) === true,
      ).length;
    await until(() => pauses.held || undefined, 'its pause');
    expect(asked()).toBe(0);
    pauses.end();
    await until(() => asked() || undefined, 'the phone is asked');
    await other.stop();
    other.updates.length = 0;
    await other.open().connected();
    await ana.writes('after it', { to: owner.number });
    await other.got('after it');
    pauses.end();
    await ana.writes('and again', { to: owner.number });
    await other.got('and again');
    expect(asked()).toBe(1);
  });

  it('resends a received message to its sender as if this account had written it', async () => {
    const id = await ana.writes('we refund it all', { to: phone.number });
    await client.gotId(id);
    for (const companion of running.network.world.people.need(phone.number).companions.values())
      deliver(
        companion,
        node('receipt', { from: ana.lidJid, id, type: 'retry', t: seconds() }, [
          node('retry', { count: '1', id, t: seconds(), v: '1' }),
        ]),
      );
    expect(await ana.receives({ id })).toMatchObject({ from: phone.number, text: 'we refund it all' });
  });

  it('delays all messages for 2 s after an unreadable one without its message cache', async () => {
    const { other, owner } = await another(straight, { enableRecentMessageCache: false });
    await ana.writes('first', { to: owner.number });
    await other.got('first');
    const pauses = hold(2_000);
    await ana.writes('garbage', { to: owner.number, options: { garbled: 99 } });
    const id = await ana.writes('behind it', { to: owner.number });
    await until(() => pauses.held || undefined, 'its pause');
    await running.client.waitStanza({ way: 'out', tag: 'message', id });
    // The network handles this presence update after the message.
    await other.socket.sendPresenceUpdate('composing', ana.jid);
    expect(other.messages.some((message) => other.text(message) === 'behind it')).toBe(false);
    pauses.end();
    await other.got('behind it');
  });
});

describe('pairing (engine: connection/network-connection.ts, session/credentials.ts)', () => {
  it('stores a partial account when it requests a pairing code', async () => {
    const owner = await running.client.phone(String(++last));
    const other = new StockClient(running).open();
    others.push(other);
    await other.qr();
    await other.socket.requestPairingCode(owner.number);
    expect(other.auth.creds.me?.id).toContain(owner.number);
    expect(other.auth.creds.account).toBeUndefined();
  });

  it('emits no event for a passkey request', async () => {
    const owner = await running.client.phone(String(++last));
    await owner.behaves({ needsPasskey: true });
    const other = new StockClient(running).open();
    others.push(other);
    const asked = new Promise((resolve) => {
      other.socket.ws.on('CB:notification,type:passkey_prologue_request', resolve);
    });
    await expect(owner.scan(await other.qr())).rejects.toThrow('passkey');
    await asked;
    expect(new Set(other.updates.flatMap((update) => Object.keys(update)))).toEqual(
      new Set(['connection', 'receivedPendingNotifications', 'qr']),
    );
    expect(other.closes).toEqual([]);
  });

  it('ends the connection after the last QR code, also while the phone waits for a passkey', async () => {
    const owner = await running.client.phone(String(++last));
    await owner.behaves({ needsPasskey: true });
    const codes = hold(20_000);
    const other = new StockClient(running, undefined, { qrTimeout: 20_000 }).open();
    others.push(other);
    await expect(owner.scan(await other.qr())).rejects.toThrow('passkey');
    for (let shown = 0; shown < 6; shown += 1) codes.end();
    await until(() => other.closes.length > 0 || undefined, 'the end');
  });

  it('shows the first QR code for a minute by default', () => {
    const path = createRequire(import.meta.url).resolve('@whiskeysockets/baileys');
    const source = readFileSync(path.replace(/index\.js$/, 'Socket/socket.js'), 'utf8');
    expect(source).toContain('let qrMs = qrTimeout || 60000;');
  });
});
