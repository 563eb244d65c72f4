import { mergeEndpointResults } from './record-results.js';
import type { AttemptResult } from './types.js';

type Health = NonNullable<AttemptResult['health']> & { failingSince: Date | null };
const attemptWith = (
  health: Health | null,
  endpointId = 'a',
  error: string | null = null,
): AttemptResult => ({
  claimed: { endpointId, failingSince: health?.failingSince ?? null } as AttemptResult['claimed'],
  result: 'retry',
  delayMs: 1,
  statusCode: 500,
  error,
  latencyMs: 1,
  response: null,
  health,
});
const failure = { healthy: false, disable: null, failingSince: null };
const success = { healthy: true, disable: null, failingSince: null };
const last = { healthy: false, disable: 'failing' as const, failingSince: new Date(0) };
const gone = { healthy: false, disable: 'gone' as const, failingSince: null };

test.each<[string, AttemptResult[], object[]]>([
  ['a result without effect on health', [attemptWith(null)], []],
  [
    'one failure',
    [attemptWith(failure)],
    [{ id: 'a', healthy: false, disable: null, failing_since: null, error: null }],
  ],
  [
    'a success among failures',
    [attemptWith(failure), attemptWith(success), attemptWith(failure)],
    [{ id: 'a', healthy: true, disable: null, failing_since: null, error: null }],
  ],
  [
    'the last failure and a success',
    [attemptWith(last), attemptWith(success)],
    [{ id: 'a', healthy: true, disable: null, failing_since: null, error: null }],
  ],
  [
    'a success and the last failure',
    [attemptWith(success), attemptWith(last)],
    [{ id: 'a', healthy: true, disable: null, failing_since: new Date(0), error: null }],
  ],
  [
    'the last failure',
    [attemptWith(last)],
    [{ id: 'a', healthy: false, disable: 'failing', failing_since: new Date(0), error: null }],
  ],
  [
    '410 and a success',
    [attemptWith(gone), attemptWith(success)],
    [{ id: 'a', healthy: true, disable: 'gone', failing_since: null, error: null }],
  ],
  [
    'two endpoints',
    [attemptWith(failure), attemptWith(success, 'b')],
    [
      { id: 'a', healthy: false, disable: null, failing_since: null, error: null },
      { id: 'b', healthy: true, disable: null, failing_since: null, error: null },
    ],
  ],
  [
    'the last error of calls, and of attempts without a call, but not of deliveries given up',
    [
      attemptWith(failure, 'a', 'answered 500'),
      attemptWith(failure, 'a', 'answered 503'),
      attemptWith(success),
      attemptWith(null, 'b', 'the address is forbidden'),
      { ...attemptWith(null, 'b', 'the event was deleted'), result: 'failed' },
    ],
    [
      { id: 'a', healthy: true, disable: null, failing_since: null, error: 'answered 503' },
      { id: 'b', healthy: null, disable: null, failing_since: null, error: 'the address is forbidden' },
    ],
  ],
])('merges %s', (_sentence, attempts, expected) => {
  expect(mergeEndpointResults(attempts)).toEqual(expected);
});
