import { at, NOW, resource } from '@gwk/test/support/operator/build';
import { parseMetrics } from './metrics.js';
import type { Picture } from './picture.js';
import { compareVersions, describeAge, renderStatus } from './view.js';

const picture = (more: Partial<Picture>): Picture => ({
  now: NOW,
  instance: resource(),
  pod: null,
  metrics: { unknown: 'no right' },
  events: [],
  gateway: { namespace: 'messages', api: 'gwk-api', version: '0.1.0' },
  ...more,
});

test('shows lease and queue from the metrics of the engine', () => {
  const text = [
    '# TYPE gwk_engine_lease_seconds gauge',
    'gwk_engine_lease_seconds 38.2',
    'gwk_engine_held_messages 3',
    'gwk_engine_active_conversations 2',
  ].join('\n');
  const screen = renderStatus(picture({ metrics: parseMetrics(text) }), '0.1.0');
  expect(screen).toMatch(/^Lease +held, 38 s left$/m);
  expect(screen).toMatch(/^Queue +3 claimed by the engine, in 2 conversations;/m);
});

test('says what is unknown, and why', () => {
  const screen = renderStatus(picture({ pod: { unknown: 'no right: pods' } }), '0.1.0');
  expect(screen).toMatch(/^Engine +unknown: no right: pods$/m);
  expect(screen).toMatch(/^Queue +unknown: no right$/m);
});

test('a message from the cluster stays in its line and cannot change the terminal', () => {
  const event = { at: at(NOW), type: 'Warning', reason: 'X', message: 'a\u001b[2J\nOK b', count: 1 };
  expect(renderStatus(picture({ events: [event] }), '0.1.0')).toMatch(/^Last error .*X: a \[2J OK b$/m);
});

test('an exit with 0 is no last error', () => {
  const event = { at: at(NOW - 5_000), type: 'Warning', count: 1 };
  const events = [
    { ...event, reason: 'EngineExited', message: 'The engine exited: exit code 0' },
    { ...event, reason: 'CrashLoop', message: 'It crashed', count: 3 },
  ];
  expect(renderStatus(picture({ events }), '0.1.0')).toMatch(
    /^Last error +5 s ago, 3 times, CrashLoop: It crashed$/m,
  );
});

test.each([
  [0, '0 s'],
  [119, '119 s'],
  [120, '2 min'],
  [7_199, '119 min'],
  [7_200, '2 h'],
  [172_800, '2 d'],
])('an age of %i s is %s', (seconds, shown) => {
  expect(describeAge(at(NOW - seconds * 1000), NOW)).toBe(shown);
});

test.each([
  ['0.1.0', null],
  [null, null],
  ['0.2.0', 'this program has version 0.1.0, and the gateway 0.2.0; causes and commands may differ'],
])('compares the version with %s', (version, warning) => {
  expect(compareVersions({ version }, '0.1.0')).toBe(warning);
});
