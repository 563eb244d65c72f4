import type { FailureCode, MessageStatus } from '@gwk/core/states';
import { decideCheck, type CheckResult } from './decide.js';

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

test.each<[name: string, given: ReturnType<typeof message> | null, ageMs: number, result: CheckResult]>([
  ['passes a message delivered in the requested format', message('delivered'), MINUTE, 'ok'],
  ['passes a read message', message('read'), MINUTE, 'ok'],
  ['fails a message delivered in another format', message('delivered', null, 'text_menu'), MINUTE, 'failed'],
  ['waits for the delivery of a sent message', message('sent'), 14 * MINUTE, 'pending'],
  ['fails a sent message without delivery after 15 minutes', message('sent'), 16 * MINUTE, 'failed'],
  ['fails a message that the network refused', message('failed', 'wa_error'), MINUTE, 'failed'],
  ['fails a message that timed out', message('failed', 'timeout'), MINUTE, 'failed'],
  ['voids the check of an expired message', message('failed', 'expired'), MINUTE, 'void'],
  ['voids the check of an unpaired instance', message('failed', 'not_paired'), MINUTE, 'void'],
  ['voids the check of a canceled message', message('failed', 'canceled'), MINUTE, 'void'],
  ['waits for a queued message', message('queued'), 59 * MINUTE, 'pending'],
  ['waits for a message that is being sent', message('sending'), 59 * MINUTE, 'pending'],
  ['voids a check after an hour in the queue', message('queued'), 61 * MINUTE, 'void'],
  ['voids the check of a deleted message', null, MINUTE, 'void'],
])('%s', (_, given, ageMs, result) => {
  expect(decideCheck({ format: 'legacy_list', ageMs, message: given })).toBe(result);
});
