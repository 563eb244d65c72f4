import { renderTable, writeCell } from '../command.js';
import { explain, findCondition, LEVELS, type Explanation, type Level } from './explain.js';
import { isUnknown, type ClusterEvent, type Known, type Picture } from './picture.js';

const LABEL_WIDTH = 11;
const line = (label: string, value: string): string => `${label.padEnd(LABEL_WIDTH)} ${writeCell(value)}`;

const WORDS: Readonly<Record<Level, string>> = {
  broken: 'TROUBLE',
  waiting: 'WAITING',
  stopped: 'STOPPED',
  ok: 'OK',
};

/** One Instance in one screen: the cause in the first line, the next command in the second. Pure. */
export function renderStatus(picture: Picture, version: string): string {
  const found = explain(picture);
  const { metadata } = picture.instance;
  const place = `${metadata.namespace}/${metadata.name}`;
  const head = [line(WORDS[found.level], `${place}: ${found.cause} (${found.reason})`)];
  if (found.next !== null) head.push(line('Next', found.next));
  if (found.hint !== null) head.push(line('', found.hint));
  if (found.page !== null) head.push(line('Help', found.page));
  const details = listDetails(picture).map(([label, value]) => line(label, value));
  return [...head, '', ...details, ...listWarnings(picture, version)].join('\n');
}

function listDetails(picture: Picture): [label: string, value: string][] {
  const { instance, now } = picture;
  const { spec, status, metadata } = instance;
  const since = status?.since === undefined ? '' : ` for ${describeAge(status.since, now)}`;
  const upgrade = findCondition(instance, 'UpToDate');
  return [
    [
      'Resource',
      `${metadata.namespace}/${metadata.name}, ${status?.id ?? 'no id yet'}, account ${spec.account}, ${spec.kind}, ${describeAge(metadata.creationTimestamp, now)} old`,
    ],
    ['State', `${status?.state ?? 'unknown: no status yet'}${since}`],
    ['Lease', describeLease(picture)],
    ['Engine', describeEngine(picture)],
    ['Queue', describeQueue(picture)],
    ...(upgrade?.status === 'False'
      ? [['Upgrade', `${upgrade.reason}: ${upgrade.message}`] as [string, string]]
      : []),
    ['Last error', describeLastError(picture)],
    [
      'Conditions',
      (status?.conditions ?? []).map(({ type, status: is }) => `${type}=${is}`).join(' ') || 'none',
    ],
  ];
}

function describeLease({ instance, metrics }: Picture): string {
  const running = findCondition(instance, 'EngineRunning');
  if (!isUnknown(metrics)) {
    const { leaseSeconds } = metrics;
    return leaseSeconds > 0 ? `held, ${Math.round(leaseSeconds)} s left` : 'lapsed: the engine has none';
  }
  if (running?.status === 'True') return `held, says the operator; time left unknown (${metrics.unknown})`;
  if (running?.status === 'False') return 'not held';
  return `unknown: ${running?.message ?? 'no status yet'}`;
}

function describeEngine({ instance, pod, now }: Picture): string {
  if (isUnknown(pod)) return `unknown: ${pod.unknown}`;
  if (pod === null) return 'no pod';
  const version = instance.status?.engine?.version;
  const parts = [
    `${pod.name} ${pod.deleting ? 'is stopping' : pod.phase.toLowerCase()}`,
    ...(pod.startedAt === null ? [] : [`for ${describeAge(pod.startedAt, now)}`]),
    `on ${pod.node ?? 'no node'}`,
    ...(version === undefined ? [] : [`version ${version}`]),
    `image ${pod.image}`,
    ...(pod.waiting === null ? [] : [pod.waiting]),
  ];
  return parts.join(', ');
}

/** Messages that no engine has claimed are rows in Postgres, which the cluster does not show. */
function describeQueue({ metrics, gateway }: Picture): string {
  const api = isUnknown(gateway) ? null : gateway.api;
  const rest = `messages that no engine has claimed yet are unknown here${api === null ? '' : ': see the console'}`;
  if (isUnknown(metrics)) return `unknown: ${metrics.unknown}`;
  const { claimed, conversations } = metrics;
  return `${claimed} claimed by the engine, in ${conversations} conversations; ${rest}`;
}

function describeLastError({ instance, events, now }: Picture): string {
  const last = instance.status?.lastError;
  if (typeof last === 'string') return last;
  if (isUnknown(events)) return `unknown: ${events.unknown}`;
  // An engine that was asked to stop ends with 0.
  const warning = events.find(({ type, message }) => type === 'Warning' && !message.endsWith('exit code 0'));
  return warning ? describeEvent(warning, now) : 'none';
}

function describeEvent({ at, reason, message, count }: ClusterEvent, now: number): string {
  const often = count > 1 ? `, ${count} times` : '';
  return `${describeAge(at, now)} ago${often}, ${reason}: ${message}`;
}

const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** `3 h`; the largest unit of which there are two, so that the error is at most a third. */
export function describeAge(at: string, now: number): string {
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  const [unit, size] = UNITS.find(([, length]) => seconds >= 2 * length) ?? ['s', 1];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** Warns when this program and the release differ. */
export function listWarnings({ gateway }: Pick<Picture, 'gateway'>, version: string): string[] {
  const warning = compareVersions(gateway, version);
  return warning === null ? [] : ['', `Warning: ${warning}`];
}

export function compareVersions(gateway: Known<{ version: string | null }>, version: string): string | null {
  if (isUnknown(gateway)) return `the version of the gateway is unknown: ${gateway.unknown}`;
  if (gateway.version === null || gateway.version === version) return null;
  return `this program has version ${version}, and the gateway ${gateway.version}; causes and commands may differ`;
}

/** Trouble first. Pure. */
export function sortPictures(pictures: readonly Picture[]): { picture: Picture; found: Explanation }[] {
  const rank = ({ level }: Explanation) => LEVELS.indexOf(level);
  const place = ({ instance: { metadata } }: Picture) => `${metadata.namespace}/${metadata.name}`;
  return pictures
    .map((picture) => ({ picture, found: explain(picture) }))
    .sort((a, b) => rank(a.found) - rank(b.found) || place(a.picture).localeCompare(place(b.picture)));
}

const HEADINGS = ['status', 'namespace', 'name', 'state', 'for', 'reason', 'cause'];
const CAUSE_WIDTH = 70;

export function renderPictures(pictures: readonly Picture[]): string {
  const rows = sortPictures(pictures).map(({ picture: { instance, now }, found }) => {
    const { metadata, status } = instance;
    const age = status?.since === undefined ? '-' : describeAge(status.since, now);
    const cause = found.level === 'ok' ? '' : shorten(found.cause);
    const names = [metadata.namespace, metadata.name, status?.state ?? '-'];
    return [WORDS[found.level], ...names, age, found.reason, cause].map(writeCell);
  });
  return renderTable(HEADINGS, rows);
}

const shorten = (text: string): string =>
  text.length <= CAUSE_WIDTH ? text : `${text.slice(0, CAUSE_WIDTH - 3)}...`;

/** For `-o json`: one object for each Instance. */
export function toJson(picture: Picture): object {
  const { instance, pod, metrics, events, gateway } = picture;
  const { namespace, name } = instance.metadata;
  return {
    namespace,
    name,
    ...explain(picture),
    id: instance.status?.id ?? null,
    state: instance.status?.state ?? null,
    since: instance.status?.since ?? null,
    conditions: instance.status?.conditions ?? [],
    last_error: instance.status?.lastError ?? null,
    engine: pod,
    lease_and_queue: metrics,
    events,
    gateway,
  };
}
