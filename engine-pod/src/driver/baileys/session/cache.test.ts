import { SessionCache } from './cache.js';

describe('the session cache', () => {
  test('evicts the least recently used value and never exceeds its size', () => {
    const set = new SessionCache(10_000);
    for (let n = 0; n < 100; n++) {
      set.put(String(n), Buffer.alloc(100));
      set.get('0');
    }
    expect(set.bytes).toBeLessThanOrEqual(10_000);
    expect([set.get('0')?.length, set.get('1'), set.get('99')?.length]).toEqual([100, undefined, 100]);
  });

  test('copies a small buffer instead of keeping its parent', () => {
    const set = new SessionCache(10_000);
    const piece = Buffer.from('a small value');
    expect(piece.buffer.byteLength).toBeGreaterThan(1_000);
    set.put('ana', piece);
    const kept = set.get('ana')!;
    expect(kept).toEqual(piece);
    expect(kept.buffer.byteLength).toBe(piece.length);
  });
});
