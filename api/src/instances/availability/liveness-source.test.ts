import { decideClosing, type Closing, type Liveness, type UnrenewedLease } from './liveness-source.js';

const RENEWED = Date.parse('2026-05-04T12:00:00Z');
const at = (seconds: number): Date => new Date(RENEWED + seconds * 1000);
const lease: UnrenewedLease = { state: 'connected', holder: 'h', renewedAt: at(0), expiresAt: at(45) };
const unresponsive = (seconds: number): Closing => ({ at: at(seconds), reason: 'engine_silent' });
const cutOff = (seconds: number): Closing => ({ at: at(seconds), reason: 'lease_unconfirmed' });
const seenAt = (alive: number, connected: number | null): Liveness => ({
  alive: at(alive),
  connected: connected === null ? null : at(connected),
});

test.each<[string, Partial<UnrenewedLease>, Liveness | undefined, Closing]>([
  ['not seen: at its last renewal', {}, undefined, unresponsive(0)],
  ['seen connected after its last renewal: when last seen', {}, seenAt(8, 8), unresponsive(8)],
  ['last seen before its last renewal: at the renewal', {}, seenAt(-3, -3), unresponsive(0)],
  ['seen, never connected: at its last renewal', {}, seenAt(8, null), unresponsive(0)],
  ['seen connecting: when last seen', { state: 'connecting' }, seenAt(8, null), unresponsive(8)],
  ['alive and unable to renew: when last connected', {}, seenAt(50, 40), cutOff(40)],
  ['seen for longer than a dead engine can be: when last connected', {}, seenAt(18, 18), cutOff(18)],
  ['seen as long as a dead engine can be: when last seen', {}, seenAt(14, 14), unresponsive(14)],
  [
    'alive, and seen connected after its lease by a fast clock: at the end of the lease',
    {},
    seenAt(60, 60),
    cutOff(45),
  ],
  ['its exit was observed: liveness is ignored', { holder: null }, seenAt(8, 8), unresponsive(0)],
])('%s', (_label, values, seen, expected) => {
  expect(decideClosing({ ...lease, ...values }, at(0), seen)).toEqual(expected);
});
