import type { FailureCode, MessageStatus } from '@gwk/core/states';
import { decideCheck, type Verdict } from './judge.js';

const MINUTE = 60_000;

const message = (
  status: MessageStatus,
  errorCode: FailureCode | null = null,
  renderedAs = 'legacy_list',
) => ({
  status,
  errorCode,
  renderedAs,
});

test.each<[name: string, given: ReturnType<typeof message> | null, ageMs: number, verdict: Verdict]>([
  ['delivered as the format asked for is ok', message('delivered'), MINUTE, 'ok'],
  ['read is ok', message('read'), MINUTE, 'ok'],
  ['delivered as another format failed', message('delivered', null, 'text_menu'), MINUTE, 'failed'],
  ['sent waits for its delivery', message('sent'), 14 * MINUTE, 'pending'],
  ['sent and not delivered in 15 minutes failed', message('sent'), 16 * MINUTE, 'failed'],
  ['refused by the network failed', message('failed', 'wa_error'), MINUTE, 'failed'],
  ['never answered failed', message('failed', 'timeout'), MINUTE, 'failed'],
  ['an instance that was out says nothing', message('failed', 'expired'), MINUTE, 'void'],
  ['an instance that is not paired says nothing', message('failed', 'not_paired'), MINUTE, 'void'],
  ['a canceled one says nothing', message('failed', 'canceled'), MINUTE, 'void'],
  ['queued waits', message('queued'), 59 * MINUTE, 'pending'],
  ['sending waits', message('sending'), 59 * MINUTE, 'pending'],
  ['queued for more than an hour says nothing', message('queued'), 61 * MINUTE, 'void'],
  ['a message that is gone says nothing', null, MINUTE, 'void'],
])('%s', (_, given, ageMs, verdict) => {
  expect(decideCheck({ format: 'legacy_list', ageMs, message: given })).toBe(verdict);
});
