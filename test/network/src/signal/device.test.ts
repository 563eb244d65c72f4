import * as libsignal from 'libsignal';
import { SignalDevice, type Address } from './device.js';

const [ANA, BEN]: Address[] = [
  { user: '1', device: 0 },
  { user: '2', device: 0 },
];
const TEXT = { conversation: 'hello' };

/** Two devices that started a session with each other at the same time, so that each has two. */
async function crossed(): Promise<[SignalDevice, SignalDevice]> {
  const [ana, ben] = [new SignalDevice(), new SignalDevice()];
  await ana.startSession(BEN!, ben.bundle());
  await ben.startSession(ANA!, ana.bundle());
  const [toBen, toAna] = [await ana.encrypt(BEN!, TEXT), await ben.encrypt(ANA!, TEXT)];
  await ben.decrypt(ANA!, toBen);
  await ana.decrypt(BEN!, toAna);
  return [ana, ben];
}

interface OpenCipher {
  doDecryptWhisperMessage: (this: OpenCipher, bytes: Buffer, session: unknown) => Promise<Buffer>;
}

/** Number of sessions that the device tries for one message. */
async function countTries(device: SignalDevice, from: Address, sealed: { type: string; bytes: Uint8Array }) {
  const cipher = libsignal.SessionCipher.prototype as unknown as OpenCipher;
  const stock = cipher.doDecryptWhisperMessage;
  let tries = 0;
  cipher.doDecryptWhisperMessage = function (...given) {
    tries++;
    return stock.apply(this, given);
  };
  try {
    expect((await device.decrypt(from, sealed)).conversation).toBe(TEXT.conversation);
    return tries;
  } finally {
    cipher.doDecryptWhisperMessage = stock;
  }
}

// Each reading is later than the one before: sessions that were used in the same millisecond have no order.
const stockNow = Date.now;
beforeEach(() => {
  let now = stockNow();
  Date.now = () => ++now;
});
afterEach(() => {
  Date.now = stockNow;
});

describe('a device with several sessions of one sender', () => {
  test('tries the one first that it used last', async () => {
    const [ana, ben] = await crossed();
    await ana.decrypt(BEN!, await ben.encrypt(ANA!, TEXT));
    // An ordinary message, for which the device must find the session.
    const first = await ana.encrypt(BEN!, TEXT);
    expect(first.type).toBe('msg');
    await ben.decrypt(ANA!, first);
    expect(await countTries(ben, ANA!, await ana.encrypt(BEN!, TEXT))).toBe(1);
    expect(await countTries(ben, ANA!, await ana.encrypt(BEN!, TEXT))).toBe(1);
  });

  test('reads them from its snapshot', async () => {
    const [ana, ben] = await crossed();
    const again = new SignalDevice(ben.snapshot());
    expect((await again.decrypt(ANA!, await ana.encrypt(BEN!, TEXT))).conversation).toBe(TEXT.conversation);
  });
});
