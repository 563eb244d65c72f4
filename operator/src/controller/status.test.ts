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
  template,
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

const unpaired = { state: 'pending_pair', first_paired_at: null } as const;

test('reports a connected instance as ready', () => {
  const status = statusFor();
  expect(outline(status)).toEqual({
    Ready: 'True Ready',
    Accepted: 'True Accepted',
    EngineRunning: 'True EngineRunning',
    Paired: 'True Paired',
    Connected: 'True Connected',
    UpToDate: 'True UpToDate',
  });
  expect(status).toMatchObject({
    id: `ins_${ID.replaceAll('-', '')}`,
    state: 'connected',
    since: at(NOW - minutes(30)),
    observedGeneration: 1,
    engine: { pod: POD, version: '0.1.0', startedAt: at(NOW - minutes(20)) },
    lastError: null,
  });
});

const former = livePod('running', { template: template({ revision: 'r0' }) });

type Case = [sentence: string, special: Partial<Observed>, conditions: Record<string, string>];

const outage = { since: NOW - minutes(2) };
const AWAY = 'Unknown APIUnavailable';

const CASES: Case[] = [
  [
    'hides the state of a connected instance in an outage',
    { outage },
    { Ready: AWAY, Accepted: 'True Accepted', EngineRunning: AWAY, Paired: AWAY, Connected: AWAY },
  ],
  [
    'hides in an outage whether a running engine takes its lease',
    { outage, projection: accepted({ lease: free }) },
    { EngineRunning: AWAY, Connected: AWAY },
  ],
  [
    'shows in an outage what the pods tell',
    { outage, pod: livePod('ending'), projection: accepted({ lease: free }) },
    { EngineRunning: 'False EngineStopping', Connected: AWAY },
  ],
  [
    'keeps the state of an instance without an engine in an outage',
    { outage, pod: { phase: 'absent' }, projection: accepted({ state: 'logged_out', lease: free }) },
    { EngineRunning: 'False Idle', Paired: 'False LoggedOut', Connected: 'False LoggedOut' },
  ],
  [
    'knows in an outage that a sandbox needs no phone',
    { outage, resource: resource({ kind: 'sandbox' }) },
    { Paired: 'True Sandbox', Connected: AWAY },
  ],
  [
    'reports a new resource as unknown',
    { projection: { kind: 'unknown', error: null }, pod: { phase: 'absent' } },
    {
      Ready: 'Unknown Pending',
      Accepted: 'Unknown Pending',
      EngineRunning: 'Unknown WaitingForAPI',
      Paired: 'Unknown Pending',
      Connected: 'Unknown Pending',
    },
  ],
  [
    'reports the reason of a rejection',
    {
      pod: { phase: 'absent' },
      projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null },
    },
    { Ready: 'False NameTaken', Accepted: 'False NameTaken', EngineRunning: 'False NotAccepted' },
  ],
  [
    'reports a rejected change while the engine runs on',
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
    'reports an instance that was never paired',
    { projection: accepted({ ...unpaired, state_changed_at: at(NOW) }) },
    { Ready: 'False NeverPaired', Paired: 'False NeverPaired', Connected: 'False PendingPair' },
  ],
  [
    'reports an open pairing session',
    { projection: accepted({ ...unpaired, pairing: true }) },
    { Paired: 'False PairingOpen' },
  ],
  [
    'reports an unlinked instance as unpaired',
    { projection: accepted({ state: 'logged_out', state_changed_at: at(NOW) }) },
    { Paired: 'False LoggedOut', Connected: 'False LoggedOut' },
  ],
  [
    'reports a banned instance as paired',
    { projection: accepted({ state: 'banned' }) },
    { Paired: 'True Paired', Connected: 'False Banned' },
  ],
  [
    'reports a sandbox as paired',
    { resource: resource({ kind: 'sandbox' }) },
    { Paired: 'True Sandbox', Ready: 'True Ready' },
  ],
  [
    'reports Connected as unknown if no engine holds the lease',
    { pod: endedPod() },
    {
      EngineRunning: 'False EngineExited',
      Connected: 'Unknown EngineNotRunning',
      Ready: 'False EngineExited',
    },
  ],
  [
    'reports an engine without a lease as starting',
    { pod: livePod('running'), projection: accepted({ state: 'disconnected', lease: free }) },
    { EngineRunning: 'False EngineStarting', Connected: 'False Disconnected' },
  ],
  [
    'names the remedy for a refused client version',
    { projection: accepted({ state: 'disconnected', state_reason: 'version_rejected_405' }) },
    { Connected: 'False ClientVersionRefused', Ready: 'False ClientVersionRefused' },
  ],
  [
    'reports a client version that is expected as a disconnection',
    { projection: accepted({ state: 'disconnected', state_reason: 'version_expected' }) },
    { Connected: 'False Disconnected' },
  ],
  [
    'reports a suspended instance',
    { pod: { phase: 'absent' }, resource: resource({ suspended: true }) },
    { EngineRunning: 'False Suspended', Ready: 'False Suspended' },
  ],
  [
    'reports the engine on an unreachable node as unknown',
    { pod: livePod('unknown'), projection: accepted({ lease: free }) },
    { EngineRunning: 'Unknown NodeUnreachable' },
  ],
  [
    'reports an instance being deleted as not ready',
    { resource: resource({}, { deletionTimestamp: at(NOW) }) },
    { Ready: 'False Deleting', EngineRunning: 'True EngineRunning' },
  ],
  [
    'reports an outdated engine as ready, and why it is not replaced',
    { pod: former, turn: { granted: false, reason: 'WaitingForTurn', message: 'Waiting' } },
    { Ready: 'True Ready', UpToDate: 'False WaitingForTurn' },
  ],
  [
    'reports an engine that is being replaced',
    { pod: former, turn: { granted: true } },
    { UpToDate: 'False Upgrading' },
  ],
  [
    'reports that the cluster refuses the new pod',
    { pod: former, turn: { granted: false, reason: 'UpgradeRefused', message: 'Pod not created: denied' } },
    { Ready: 'True Ready', UpToDate: 'False UpgradeRefused' },
  ],
  ['reports no version without an engine', { pod: { phase: 'absent' } }, { UpToDate: 'Unknown NoEngine' }],
];

test.each(CASES)('%s', (_, special, expected) => {
  expect(outline(statusFor(special))).toMatchObject(expected);
});

test('reports a crash loop with the last exit and the next start', () => {
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
    message: `The engine exited 4 times in a row (exit code 78: wrong settings); next start at ${at(NOW + 4000)}`,
  });
  expect(status.lastError).toBe('exit code 78: wrong settings');
});

test('reports an unavailable API as the last error of an unknown instance', () => {
  expect(statusFor({ projection: { kind: 'unknown', error: 'The API does not answer' } }).lastError).toBe(
    'The API does not answer',
  );
});

describe('a status update', () => {
  const first = statusFor({ projection: accepted({ ...unpaired, pairing: true }) });
  const later = { now: NOW + minutes(5) };

  test('equals the previous status if nothing changed', () => {
    const again = statusFor({
      ...later,
      resource: { ...resource(), status: first },
      projection: accepted({ ...unpaired, pairing: true }),
    });
    expect(JSON.stringify(again)).toBe(JSON.stringify(first));
  });

  test('updates lastTransitionTime of changed conditions only', () => {
    const next = statusFor({ ...later, resource: { ...resource(), status: first } });
    expect(condition(next, 'Paired').lastTransitionTime).toBe(at(NOW + minutes(5)));
    expect(condition(next, 'Accepted').lastTransitionTime).toBe(at(NOW));
  });

  test('keeps lastTransitionTime if only the reason changes', () => {
    const next = statusFor({
      ...later,
      resource: { ...resource(), status: first },
      projection: accepted({ ...unpaired, state_changed_at: at(NOW) }),
    });
    expect(condition(next, 'Paired')).toMatchObject({ reason: 'NeverPaired', lastTransitionTime: at(NOW) });
  });

  test('reports the generation that the API accepted', () => {
    const next = statusFor({ resource: { ...resource({}, { generation: 7 }), status: first } });
    expect(next.observedGeneration).toBe(1);
    expect(new Set(next.conditions.map((item) => item.observedGeneration))).toEqual(new Set([1]));
  });

  test('keeps id and state while the API does not answer', () => {
    const status = statusFor();
    const next = statusFor({
      resource: { ...resource(), status },
      projection: { kind: 'unknown', error: 'down' },
    });
    expect(next).toMatchObject({ id: status.id, state: 'connected', since: status.since });
  });

  test('records changes as events, problems as warnings', () => {
    const running = statusFor();
    const crashed = statusFor({ pod: endedPod(), resource: { ...resource(), status: running } });
    expect(listStatusEvents(running, crashed)).toEqual([
      { type: 'Warning', reason: 'EngineExited', message: 'The engine exited: exit code 1' },
    ]);
    expect(listStatusEvents(running, running)).toEqual([]);
  });

  const eventReasons = (before: InstanceResourceStatus | undefined, after: InstanceResourceStatus) =>
    listStatusEvents(before, after).map(({ reason }) => reason);

  test('records one event if an engine runs and connects at once, else two', () => {
    const crashed = statusFor({ pod: endedPod() });
    const connecting = statusFor({ projection: accepted({ state: 'connecting' }) });
    expect(eventReasons(crashed, statusFor())).toEqual(['Connected']);
    expect(eventReasons(crashed, connecting)).toEqual(['EngineRunning', 'Connecting']);
    expect(eventReasons(connecting, statusFor())).toEqual(['Connected']);
  });

  test('records acceptance only after a rejection', () => {
    const refused = statusFor({
      projection: { kind: 'rejected', generation: 1, reason: 'NameTaken', message: 'taken', known: null },
    });
    expect(eventReasons(undefined, statusFor())).not.toContain('Accepted');
    expect(eventReasons(undefined, refused)).toContain('NameTaken');
    expect(eventReasons(refused, statusFor())).toContain('Accepted');
  });
});
