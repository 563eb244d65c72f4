import type { Condition, InstanceResourceStatus } from '@gwk/core/resources/manifest';
import {
  accepted,
  at,
  endedPod,
  free,
  ID,
  known,
  livePod,
  minutes,
  NOW,
  observed,
  POD,
  resource,
} from '@gwk/test/support/operator/build';
import { decide } from './decide.js';
import { NO_HISTORY } from './history.js';
import type { Observed } from './observed.js';
import { buildStatus, listStatusEvents } from './status.js';

function statusFor(special: Partial<Observed> = {}): InstanceResourceStatus {
  const all = observed(special);
  return buildStatus(all, decide(all));
}

const condition = (status: InstanceResourceStatus, type: Condition['type']): Condition =>
  status.conditions.find((item) => item.type === type)!;

const outline = (status: InstanceResourceStatus): Record<string, string> =>
  Object.fromEntries(status.conditions.map(({ type, status: is, reason }) => [type, `${is} ${reason}`]));

const unpaired = { state: 'pending_pair', jid: null, first_paired_at: null } as const;

test('a connected number is ready, and its status names it', () => {
  const status = statusFor();
  expect(outline(status)).toEqual({
    Ready: 'True Ready',
    Accepted: 'True Accepted',
    EngineRunning: 'True EngineRunning',
    Paired: 'True Paired',
    Connected: 'True Connected',
  });
  expect(status).toMatchObject({
    id: `ins_${ID.replaceAll('-', '')}`,
    state: 'connected',
    jid: '5511999990000@s.whatsapp.net',
    since: at(NOW - minutes(30)),
    observedGeneration: 1,
    engine: { pod: POD, version: '0.1.0', startedAt: at(NOW - minutes(20)) },
    lastError: null,
  });
});

type Case = [sentence: string, special: Partial<Observed>, conditions: Record<string, string>];

const CASES: Case[] = [
  [
    'at first sight everything is unknown',
    { projection: { kind: 'unknown', error: null }, pod: { phase: 'absent' } },
    {
      Ready: 'Unknown Pending',
      Accepted: 'Unknown Pending',
      EngineRunning: 'Unknown NotProjected',
      Paired: 'Unknown Pending',
      Connected: 'Unknown Pending',
    },
  ],
  [
    'a refusal says why',
    {
      pod: { phase: 'absent' },
      projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null },
    },
    { Ready: 'False NameTaken', Accepted: 'False NameTaken', EngineRunning: 'False NotAccepted' },
  ],
  [
    'a refused change shows as such while the number goes on',
    {
      projection: { kind: 'rejected', generation: 2, reason: 'InvalidSpec', message: 'bad', known: known() },
    },
    {
      Ready: 'False InvalidSpec',
      Accepted: 'False InvalidSpec',
      EngineRunning: 'True EngineRunning',
      Connected: 'True Connected',
    },
  ],
  [
    'a new number waits for its phone',
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW) }) },
    { Ready: 'False NeverPaired', Paired: 'False NeverPaired', Connected: 'False PendingPair' },
  ],
  [
    'an open pairing session shows',
    { projection: accepted({ ...unpaired, pairing: true }) },
    { Paired: 'False PairingOpen' },
  ],
  [
    'an unlinked number has to pair again',
    { projection: accepted({ state: 'logged_out', state_changed_at: at(NOW) }) },
    { Paired: 'False LoggedOut', Connected: 'False LoggedOut' },
  ],
  [
    'a blocked number counts as paired',
    { projection: accepted({ state: 'banned' }) },
    { Paired: 'True Paired', Connected: 'False Banned' },
  ],
  [
    'a sandbox needs no phone',
    { resource: resource({ kind: 'sandbox' }) },
    { Paired: 'True Sandbox', Ready: 'True Ready' },
  ],
  [
    'connected on paper without an engine that holds the number is not known to be connected',
    { pod: endedPod() },
    { EngineRunning: 'False EngineEnded', Connected: 'Unknown EngineNotRunning', Ready: 'False EngineEnded' },
  ],
  [
    'an engine that does not hold its lease yet is starting',
    { pod: livePod('running'), projection: accepted({ state: 'disconnected', lease: free }) },
    { EngineRunning: 'False EngineStarting', Connected: 'False Disconnected' },
  ],
  [
    'a suspended instance says so',
    { pod: { phase: 'absent' }, resource: resource({ suspended: true }) },
    { EngineRunning: 'False Suspended', Ready: 'False Suspended' },
  ],
  [
    'a node that does not answer leaves the engine unknown',
    { pod: livePod('unknown'), projection: accepted({ lease: free }) },
    { EngineRunning: 'Unknown NodeUnreachable' },
  ],
  [
    'an instance that is being deleted is not ready, whatever still runs',
    { resource: resource({}, { deletionTimestamp: at(NOW) }) },
    { Ready: 'False Deleting', EngineRunning: 'True EngineRunning' },
  ],
];

test.each(CASES)('%s', (_, special, expected) => {
  expect(outline(statusFor(special))).toMatchObject(expected);
});

test('a crash loop says how the engine ended and when it is tried again', () => {
  const history = {
    ...NO_HISTORY,
    failures: 4,
    lastError: 'exit code 78: wrong settings',
    nextStartAt: NOW + 4000,
  };
  const status = statusFor({ pod: { phase: 'absent' }, history, projection: accepted({ lease: free }) });
  expect(condition(status, 'EngineRunning')).toMatchObject({
    status: 'False',
    reason: 'CrashLoop',
    message: `The engine ended 4 times in a row (exit code 78: wrong settings); next start at ${at(NOW + 4000)}`,
  });
  expect(status.lastError).toBe('exit code 78: wrong settings');
});

test('an API that does not answer is the last error of an instance that it has never heard of', () => {
  expect(statusFor({ projection: { kind: 'unknown', error: 'The API does not answer' } }).lastError).toBe(
    'The API does not answer',
  );
});

describe('from one status to the next', () => {
  const first = statusFor({ projection: accepted({ ...unpaired, pairing: true }) });
  const later = { now: NOW + minutes(5) };

  test('the same world gives the same status, at any time: nothing is written at rest', () => {
    const again = statusFor({
      ...later,
      resource: { ...resource(), status: first },
      projection: accepted({ ...unpaired, pairing: true }),
    });
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
  });

  test('a condition that changes takes the time of the change, the others keep theirs', () => {
    const next = statusFor({ ...later, resource: { ...resource(), status: first } });
    expect(condition(next, 'Paired').lastTransitionTime).toBe(at(NOW + minutes(5)));
    expect(condition(next, 'Accepted').lastTransitionTime).toBe(at(NOW));
  });

  test('another reason alone moves no time', () => {
    const next = statusFor({
      ...later,
      resource: { ...resource(), status: first },
      projection: accepted({ ...unpaired, state_changed_at: at(NOW) }),
    });
    expect(condition(next, 'Paired')).toMatchObject({ reason: 'NeverPaired', lastTransitionTime: at(NOW) });
  });

  test('what was judged is the generation that the API took in', () => {
    const next = statusFor({ resource: { ...resource({}, { generation: 7 }), status: first } });
    expect(next.observedGeneration).toBe(1);
    expect(new Set(next.conditions.map((item) => item.observedGeneration))).toEqual(new Set([1]));
  });

  test('an API that falls silent leaves id, state and number as they were last seen', () => {
    const status = statusFor();
    const next = statusFor({
      resource: { ...resource(), status },
      projection: { kind: 'unknown', error: 'down' },
    });
    expect(next).toMatchObject({ id: status.id, state: 'connected', jid: status.jid, since: status.since });
  });

  test('the story tells what changed, and waiting as a warning', () => {
    const running = statusFor();
    const crashed = statusFor({ pod: endedPod(), resource: { ...resource(), status: running } });
    expect(listStatusEvents(running, crashed)).toEqual([
      { type: 'Warning', reason: 'EngineExited', message: 'The engine ended: exit code 1' },
    ]);
    expect(listStatusEvents(running, running)).toEqual([]);
  });

  const told = (before: InstanceResourceStatus | undefined, after: InstanceResourceStatus) =>
    listStatusEvents(before, after).map(({ reason }) => reason);

  test('an engine that runs and is connected at one look is one line; one that connects later two', () => {
    const crashed = statusFor({ pod: endedPod() });
    const connecting = statusFor({ projection: accepted({ state: 'connecting' }) });
    expect(told(crashed, statusFor())).toEqual(['Connected']);
    expect(told(crashed, connecting)).toEqual(['EngineRunning', 'Connecting']);
    expect(told(connecting, statusFor())).toEqual(['Connected']);
  });

  test('that a resource is taken is told only where it was refused before', () => {
    const refused = statusFor({
      projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null },
    });
    expect(told(undefined, statusFor())).not.toContain('Accepted');
    expect(told(undefined, refused)).toContain('NameTaken');
    expect(told(refused, statusFor())).toContain('Accepted');
  });
});
