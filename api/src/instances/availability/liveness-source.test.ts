import { decideClosing, type Closing, type Liveness, type UnrenewedLease } from './liveness-source.js';

const RENEWED = Date.parse('2026-05-04T12:00:00Z');
const at = (seconds: number): Date => new Date(RENEWED + seconds * 1000);
const lease: UnrenewedLease = { state: 'connected', holder: 'h', renewedAt: at(0), expiresAt: at(45) };
const silent = (seconds: number): Closing => ({ at: at(seconds), reason: 'engine_silent' });
const cutOff = (seconds: number): Closing => ({ at: at(seconds), reason: 'lease_unconfirmed' });
const sign = (alive: number, connected: number | null): Liveness => ({
  alive: at(alive),
  connected: connected === null ? null : at(connected),
});

test.each<[string, Partial<UnrenewedLease>, Liveness | undefined, Closing]>([
  ['nobody saw it: at its last renewal', {}, undefined, silent(0)],
  ['it was seen connected after its last renewal: then', {}, sign(8, 8), silent(8)],
  ['it was last seen before its last renewal: at the renewal', {}, sign(-3, -3), silent(0)],
  ['it was seen, never connected: at its last renewal', {}, sign(8, null), silent(0)],
  ['it was connecting: for as long as it was seen', { state: 'connecting' }, sign(8, null), silent(8)],
  ['it lives and cannot renew: when it was last connected', {}, sign(50, 40), cutOff(40)],
  ['it was seen for longer than the dead are: when it was last connected', {}, sign(18, 18), cutOff(18)],
  ['it was seen for as long as the dead may be', {}, sign(14, 14), silent(14)],
  [
    'it lives, and a fast clock saw it connected after its lease: at the end of it',
    {},
    sign(60, 60),
    cutOff(45),
  ],
  ['its end was seen: signs add nothing', { holder: null }, sign(8, 8), silent(0)],
])('%s', (_label, values, seen, expected) => {
  expect(decideClosing({ ...lease, ...values }, at(0), seen)).toEqual(expected);
});
