import { MEGABYTE } from '@gwk/core/resources/media';
import { ManualClock } from '@gwk/test/support/clock';
import { decideBounds } from './media-transfers.js';
import { Transfers, type Bounds, type Subjects, type TransferLimited } from './transfers.js';

const BOUNDS: Bounds = {
  file: { transfers: 2 },
  account: { transfers: 3, bytes: 100 },
  process: { transfers: 5, bytes: 150 },
};

function open(bounds = BOUNDS) {
  const clock = new ManualClock();
  const limits: string[] = [];
  return { clock, limits, transfers: new Transfers(bounds, clock, (limit) => void limits.push(limit)) };
}

const ignore = (): void => undefined;
const refusal = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    const { code, subject, extras } = error as TransferLimited;
    return `${code} ${subject} ${extras.retryAfter}`;
  }
};

test.each<[others: Subjects[], next: Subjects, refused: string]>([
  [[], { file: 'f', account: 'a' }, 'none'],
  [Array(2).fill({ file: 'f', account: 'a' }), { file: 'f', account: 'a' }, 'too-many-transfers file 5'],
  [Array(2).fill({ file: 'f', account: 'a' }), { file: 'g', account: 'a' }, 'none'],
  [
    [
      { account: 'a', file: '1' },
      { account: 'a', file: '2' },
      { account: 'a', file: '3' },
    ],
    { account: 'a', file: '4' },
    'too-many-transfers account 5',
  ],
  [
    ['a', 'b', 'c', 'd', 'e'].map((account) => ({ account, file: account })),
    { account: 'f', file: 'f' },
    'server-busy process 5',
  ],
])('beside %j, %j is refused: %s', (others, next, refused) => {
  const { transfers } = open();
  for (const other of others) transfers.open(other, ignore);
  expect(refusal(() => transfers.open(next, ignore))).toBe(refused);
});

test('a refused transfer occupies nothing, and a closed one no longer', () => {
  const { transfers, limits } = open();
  const two = [1, 2].map(() => transfers.open({ file: 'f', account: 'a' }, ignore));
  for (let i = 0; i < 10; i++) refusal(() => transfers.open({ file: 'f', account: 'a' }, ignore));
  expect([transfers.size, limits]).toEqual([2, Array(10).fill('file')]);
  // Closing twice counts once.
  two.forEach((transfer) => [transfer.close(), transfer.close()]);
  expect(transfers.size).toBe(0);
  expect(refusal(() => transfers.open({ file: 'f', account: 'a' }, ignore))).toBe('none');
});

test('bounds the bytes of unfinished transfers', () => {
  const { transfers } = open();
  const [first, second, third] = ['a', 'a', 'b'].map((account) =>
    transfers.open({ account, file: crypto.randomUUID() }, ignore),
  );
  first!.progress(90);
  expect(refusal(() => second!.progress(11))).toBe('too-many-transfers account 5');
  expect(refusal(() => third!.progress(61))).toBe('server-busy process 5');
  first!.close();
  // Bytes after the close, for example of a chunk on its way, count for nobody.
  first!.progress(50);
  expect(refusal(() => second!.progress(100))).toBe('none');
  expect(refusal(() => third!.progress(50))).toBe('none');
});

test('ends a transfer below the minimum rate once, and no other', () => {
  const { clock, transfers, limits } = open({ process: { transfers: 5 } });
  const ended: string[] = [];
  transfers.open({}, () => ended.push('standing'));
  const phone = transfers.open({}, () => ended.push('phone'));
  transfers.open({}, () => ended.push('delayed by the store')).waitsForClient = false;
  for (let second = 0; second < 300; second++) {
    phone.progress(20_000);
    clock.advance(1_000);
  }
  expect([ended, limits]).toEqual([['standing'], ['rate']]);
  // It is counted until its owner closes it.
  expect(transfers.size).toBe(3);
});

test('no timer runs without transfers', () => {
  const { clock, transfers } = open();
  const transfer = transfers.open({ account: 'a' }, ignore);
  expect(clock.count(1_000)).toBe(1);
  transfer.close();
  expect(clock.count(1_000)).toBe(0);
});

test.each([
  [100, 100],
  [1_000, 2_000],
])('with %i transfers of %i MB, one file, address or account leaves most to others', (max, mediaMaxMb) => {
  const { download, upload } = decideBounds({ maxDownloads: max, maxUploads: max, mediaMaxMb });
  for (const bounds of [download, upload]) {
    for (const [subject, { transfers }] of Object.entries(bounds)) {
      // A video player requests several ranges at once.
      expect(transfers).toBeGreaterThanOrEqual(5);
      if (subject !== 'process') expect(transfers).toBeLessThanOrEqual(max / 4);
    }
  }
  expect(upload.account!.bytes).toBeLessThanOrEqual(upload.process!.bytes! / 4);
  expect(upload.account!.bytes).toBeGreaterThanOrEqual(2 * mediaMaxMb * MEGABYTE);
});
