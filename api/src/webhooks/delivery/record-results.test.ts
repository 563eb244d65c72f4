import { judgeTogether } from './record-results.js';
import type { Conclusion } from './types.js';

const base: Conclusion = {
  deliveryId: 'd',
  lock: 'l',
  endpointId: 'a',
  verdict: 'retry',
  delayMs: 1,
  statusCode: 500,
  error: null,
  latencyMs: 1,
  response: null,
  health: null,
};
const says = (health: Conclusion['health'], endpointId = 'a'): Conclusion => ({
  ...base,
  endpointId,
  health,
});
const failure = { healthy: false, disable: null, failingSince: null };
const success = { healthy: true, disable: null, failingSince: null };
const last = { healthy: false, disable: 'failing' as const, failingSince: new Date(0) };
const gone = { healthy: false, disable: 'gone' as const, failingSince: null };

test.each<[string, Conclusion[], object[]]>([
  ['a call that says nothing', [says(null)], []],
  ['one failure', [says(failure)], [{ id: 'a', healthy: false, disable: null, failing_since: null }]],
  [
    'a success among failures',
    [says(failure), says(success), says(failure)],
    [{ id: 'a', healthy: true, disable: null, failing_since: null }],
  ],
  [
    'the last failure and a success',
    [says(last), says(success)],
    [{ id: 'a', healthy: true, disable: null, failing_since: null }],
  ],
  [
    'a success and the last failure',
    [says(success), says(last)],
    [{ id: 'a', healthy: true, disable: null, failing_since: new Date(0) }],
  ],
  [
    'the last failure',
    [says(last)],
    [{ id: 'a', healthy: false, disable: 'failing', failing_since: new Date(0) }],
  ],
  [
    'it is gone, whatever else it said',
    [says(gone), says(success)],
    [{ id: 'a', healthy: true, disable: 'gone', failing_since: null }],
  ],
  [
    'two destinations',
    [says(failure), says(success, 'b')],
    [
      { id: 'a', healthy: false, disable: null, failing_since: null },
      { id: 'b', healthy: true, disable: null, failing_since: null },
    ],
  ],
])('%s', (_sentence, conclusions, expected) => {
  expect(judgeTogether(conclusions)).toEqual(expected);
});
