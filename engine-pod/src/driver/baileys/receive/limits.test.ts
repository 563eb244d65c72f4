import { EventEmitter } from 'node:events';
import type { BinaryNode, WASocket } from '@whiskeysockets/baileys';
import type { Receipt } from '../../driver.js';
import { ManualClock } from '@gwk/test/support/clock';
import { Rows } from '@gwk/test/support/engine/simulated-instance';
import { SessionStore } from '../session/store.js';
import { RateLimiter } from '../rate-limiter.js';
import { parseReceipts, storeReceipts } from './screen/receipts.js';
import { FairQueue } from './queue/fair-queue.js';
import { Journal } from './journal.js';
import { MissingMessages, PhoneRequests, type PhoneConnection } from './missing/missing-messages.js';
import { MAX_REQUESTS, UndecryptableMessages } from './decrypt/undecryptable.js';

const MAX_TURNS = 10_000;

/** Waits for turns of the event loop, not for time; nothing here needs more. */
async function turnsUntil(what: string, isSo: () => boolean): Promise<void> {
  for (let queue = 0; !isSo(); queue++) {
    if (queue > MAX_TURNS) throw new Error(`still not: ${what}`);
    await new Promise(setImmediate);
  }
}

/** Limits on what strangers can make an engine do and keep through undecryptable messages. */
const now = (): string => String(Math.floor(Date.now() / 1_000));
const encrypted = [{ tag: 'enc', attrs: {}, content: new Uint8Array(1) }];
const messageOf = (from: string, id: string, content: BinaryNode[] = encrypted): BinaryNode => ({
  tag: 'message',
  attrs: { from: `${from}@lid`, id, t: now() },
  content,
});

describe('a rate limiter', () => {
  test('limits each key and all together', () => {
    let time = 0;
    const allowance = new RateLimiter({ perKey: 2, total: 3, windowMs: 100 }, () => time);
    expect(['a', 'a', 'a', 'b', 'b'].map((whom) => allowance.take(whom))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect([allowance.has('a'), allowance.has('c')]).toEqual([false, false]);
    time = 100;
    expect(['a', 'b'].map((whom) => allowance.take(whom))).toEqual([true, true]);
  });

  test('tracks a limited number of keys', () => {
    const allowance = new RateLimiter({ perKey: 1, windowMs: 1_000 }, () => 0);
    for (let n = 0; n < 10_000; n++) allowance.take(String(n));
    expect(allowance.size).toBeLessThanOrEqual(2_000);
  });
});

describe('resend requests', () => {
  let missing: string[];
  let reports: number;
  let unreadable: UndecryptableMessages;
  beforeEach(() => {
    missing = [];
    reports = 0;
    unreadable = new UndecryptableMessages({
      missing: ({ attrs }) => missing.push(attrs['id']!),
      tooMany: () => (reports += 1),
    });
  });

  /**
   * Follows Baileys' steps for an undecryptable message.
   * @returns the number of its request, 0 for none
   */
  async function comes(message: BinaryNode): Promise<number> {
    const { id, participant } = message.attrs;
    const key = `${id}:${participant}`;
    const { retries, resends } = unreadable;
    let count = 0;
    await unreadable.process(message, async () => {
      const before = (await retries.get<number>(key)) ?? 0;
      if (before >= MAX_REQUESTS) return void retries.del(key);
      await retries.set(key, before + 1);
      count = (await retries.get<number>(key)) ?? 1;
      if (count <= 2) expect(await resends.get(id!)).toBe(true);
    });
    return count;
  }
  const counts = async (messages: BinaryNode[]): Promise<number[]> => {
    const made: number[] = [];
    for (const message of messages) made.push(await comes(message));
    return made;
  };

  test('are five for one message', async () => {
    const again = Array.from({ length: 8 }, () => messageOf('eve', 'A'));
    expect(await counts(again)).toEqual([1, 2, 3, 4, 5, 0, 0, 0]);
    expect(missing).toEqual(['A', 'A']);
    expect(await counts([messageOf('ana', 'A')])).toEqual([1]);
  });

  test('are limited per sender, without affecting other senders', async () => {
    const flood = Array.from({ length: 3_000 }, (_, n) => messageOf(`eve:${n % 3}`, `E${n}`));
    expect((await counts(flood)).filter((count) => count > 0)).toHaveLength(500);
    expect(reports).toBe(1);
    expect(await counts([messageOf('ana', 'A'), messageOf('ana', 'A')])).toEqual([1, 2]);
  });

  test('that carry a new pre-key are limited too', async () => {
    const flood = Array.from({ length: 150 }, (_, n) => messageOf('eve', `E${n}`));
    const first = await counts(flood);
    const further = [await counts(flood), await counts(flood)].flat();
    expect(first.filter((count) => count > 0)).toHaveLength(150);
    expect(further.filter((count) => count > 0)).toHaveLength(200);
    expect(await counts([messageOf('eve', 'another')])).toEqual([1]);
  });

  test('of others are answered up to a limit for each of them', async () => {
    const { retries } = unreadable;
    expect(await retries.get('3EB0:ana:1@lid')).toBeUndefined();
    await retries.set('3EB0:ana:1@lid', 1);
    expect(await retries.get('3EB0:ana:1@lid')).toBe(1);
    for (let n = 0; n < 500; n++) await retries.set(`${n}:eve:${n}@lid`, 1);
    expect(await retries.get('new:eve@lid')).toBe(MAX_REQUESTS);
    expect(await retries.get('new:ana@lid')).toBeUndefined();
  });

  test('to the phone are not made for a message that requests another, or is not encrypted', async () => {
    await unreadable.process(messageOf('phone', 'answer'), async () => void unreadable.resends.get('A'));
    await unreadable.process(messageOf('ana', 'A', []), async () => void unreadable.resends.get('A'));
    unreadable.resends.get('A');
    expect(missing).toEqual([]);
  });
});

test('to the phone are limited per sender, without affecting other senders', async () => {
  const asked: string[] = [];
  const clock = new ManualClock();
  const asking = new PhoneRequests(clock);
  const sendPeerDataOperationMessage: PhoneConnection['socket']['sendPeerDataOperationMessage'] = async (
    request,
  ) => {
    for (const { messageKey } of request.placeholderMessageResendRequest ?? []) asked.push(messageKey!.id!);
    return '';
  };
  asking.useConnection({ socket: { sendPeerDataOperationMessage }, isOwn: () => false });
  for (let n = 0; n < 100; n++) asking.schedule(`E${n}`, messageOf('eve', `E${n}`).attrs);
  asking.schedule('came', messageOf('ana', 'came').attrs);
  asking.schedule('A', messageOf('ana', 'A').attrs);
  asking.forget('came');
  clock.advance(1_999);
  expect(asked).toEqual([]);
  clock.advance(1);
  await turnsUntil('the last one', () => asked.includes('A'));
  expect(asked).toHaveLength(61);
});

describe('missing messages', () => {
  const noted = (rows: Rows): string[] => rows.of('unavailable').map(({ key }) => key);
  const missing = (rows: Rows): MissingMessages => {
    const store = new SessionStore(rows.context().session, () => undefined);
    return new MissingMessages(store, new Journal(store, () => undefined));
  };

  test('are recorded up to a limit per sender', async () => {
    const rows = new Rows();
    const unavailable = missing(rows);
    for (let n = 0; n < 150; n++) await unavailable.recordUndecryptable(messageOf('eve', `E${n}`));
    await unavailable.recordUndecryptable(messageOf('ana', 'A'));
    expect(noted(rows)).toHaveLength(101);
    expect(noted(rows)).toContain('A');
    await unavailable.forget('E0', ['eve@lid']);
    await unavailable.recordUndecryptable(messageOf('eve', 'after'));
    expect(noted(rows)).toContain('after');
  });

  test('are recorded up to a total limit, oldest removed first', async () => {
    const rows = new Rows();
    const unavailable = missing(rows);
    for (let n = 0; n < 1_010; n++) await unavailable.recordUndecryptable(messageOf(`m${n % 50}`, `E${n}`));
    expect(noted(rows)).toHaveLength(1_000);
    expect([noted(rows).includes('E9'), noted(rows).includes('E10')]).toEqual([false, true]);
  });

  test('belong to their first sender: another message with the same id does not replace it', async () => {
    const unavailable = missing(new Rows());
    await unavailable.record(messageOf('ana', 'A', []));
    await unavailable.recordUndecryptable(messageOf('eve', 'A'));
    expect(await unavailable.findAttrs('A')).toMatchObject({ from: 'ana@lid' });
  });

  test('stay missing when somebody else writes a message with the same id', async () => {
    const unavailable = missing(new Rows());
    await unavailable.recordUndecryptable(messageOf('ana', 'A'));
    await unavailable.forget('A', ['eve@lid', '5511900000066@s.whatsapp.net']);
    expect(await unavailable.findAttrs('A')).not.toBeNull();
    await unavailable.forget('A', ['5511900000002@s.whatsapp.net', 'ana@lid']);
    expect(await unavailable.findAttrs('A')).toBeNull();
  });

  test('are not requested when they are too old for the phone to answer', () => {
    const old = messageOf('ana', 'A');
    old.attrs['t'] = String(Math.floor(Date.now() / 1_000) - 15 * 24 * 3_600);
    expect(missing(new Rows()).recordUndecryptable(old)).toBeNull();
  });
});

describe('receipts', () => {
  const receipt = (id: string, listed = 0): BinaryNode => ({
    tag: 'receipt',
    attrs: { from: 'eve@lid', id, t: now() },
    content: [{ tag: 'list', attrs: {}, content: Array.from({ length: listed }, (_, n) => ({ tag: 'item', attrs: { id: `${id} ${n}` } })) }], // prettier-ignore
  });

  test('list a limited number of messages each', () => {
    expect(parseReceipts(receipt('A', 20_000), () => false)).toHaveLength(5_000);
  });

  test('wait to be stored up to a limit; those beyond it are not acknowledged', async () => {
    const ws = new EventEmitter();
    const acknowledged: string[] = [];
    ws.on('CB:receipt', ({ attrs }: BinaryNode) => acknowledged.push(attrs['id']!));
    const waiting: (() => void)[] = [];
    const store = (_: Receipt) => new Promise<void>((resolve) => waiting.push(resolve));
    storeReceipts({ ws } as unknown as Pick<WASocket, 'ws'>, () => false, store);
    for (const id of ['A', 'B', 'C']) ws.emit('CB:receipt', receipt(id, 4_000));
    expect(waiting.length).toBeLessThanOrEqual(10_000);
    for (const stored of waiting.splice(0)) stored();
    await turnsUntil('the first are acknowledged', () => acknowledged.length === 2);
    ws.emit('CB:receipt', receipt('D'));
    for (const stored of waiting) stored();
    await turnsUntil('the next is too', () => acknowledged.length === 3);
    expect(acknowledged).toEqual(['A', 'B', 'D']);
  });
});

describe('waiting messages', () => {
  let turns: FairQueue;
  let read: string[];
  let processed: string[];
  beforeEach(() => {
    turns = new FairQueue();
    read = [];
    processed = [];
  });
  const unreadable = async () => false;
  const readable = async () => true;
  const add = (
    chat: string,
    name: string,
    { how = readable, bytes = 100, until: held = Promise.resolve() } = {},
  ) =>
    // prettier-ignore
    turns.add(chat, {
      bytes,
      decrypt: () => {
        read.push(name);
        return how();
      },
      process: async () => {
        await held;
        await new Promise(setImmediate);
        processed.push(name);
      },
    });
  const hold = () => {
    let release!: () => void;
    const held = new Promise<void>((resolve) => (release = resolve));
    return { until: held, release };
  };
  const passes = async (turnsOfLoop = 300) => {
    for (let n = 0; n < turnsOfLoop; n++) await new Promise(setImmediate);
  };
  const takenAre = (count: number) => turnsUntil(`${count} are taken`, () => processed.length === count);
  const many = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}`);

  test.each([
    ['readable', readable],
    ['unreadable', unreadable],
  ])('are taken in the order of each chat, and chats take turns: %s', async (_, how) => {
    for (const name of many('E', 1_000)) add('eve', name, { how });
    for (const name of many('A', 3)) add('ana', name, { how });
    add('bia', 'B0', { how });
    await takenAre(1_004);
    expect(processed.slice(0, 8)).toEqual(['E0', 'E1', 'A0', 'B0', 'E2', 'A1', 'E3', 'A2']);
    expect(processed).toEqual(read);
    expect(processed.filter((name) => name.startsWith('E'))).toEqual(many('E', 1_000));
    add('ana', 'A3', { how });
    await turnsUntil('it is taken', () => processed.at(-1) === 'A3');
  });

  test('are decrypted ahead up to a limit per chat and a limit for all', async () => {
    const held = hold();
    for (const name of many('E', 100)) add('eve', name, held);
    await passes();
    expect(read).toEqual(many('E', 20));
    for (const name of many('A', 3)) add('ana', name, held);
    held.release();
    await takenAre(103);
    // Messages that were not ahead before them let them pass.
    expect(processed.indexOf('A2')).toBeLessThanOrEqual(30);
    const again = hold();
    for (let n = 0; n < 100; n++) add(`chat ${n}`, `C${n}`, again);
    await passes();
    expect(read.slice(103)).toEqual(many('C', 50));
    again.release();
    await takenAre(203);
    expect(processed).toEqual(read);
  });

  test('are decrypted ahead up to a size limit', async () => {
    const held = hold();
    for (const name of many('E', 10)) add('eve', name, { ...held, bytes: 1_500_000 });
    await passes();
    expect(read).toHaveLength(3);
    held.release();
    await takenAre(10);
  });

  test('are not decrypted before a message that failed to decrypt ahead is processed', async () => {
    const held = hold();
    add('ana', 'A0', held);
    add('eve', 'E0', { ...held, how: unreadable });
    add('bia', 'B0', { ...held, how: () => Promise.reject(new Error('of no shape')) });
    add('ana', 'A1', held);
    await passes();
    expect(read).toEqual(['A0', 'E0']);
    held.release();
    await takenAre(4);
    expect(processed).toEqual(['A0', 'E0', 'B0', 'A1']);
  });
});
