import type { InstanceResource } from '@gwk/core/resources/manifest';
import type { RecordedEvent } from '@gwk/core/desired-state/desired-state';
import { formatAge, table } from './table.js';

type Line = [string, string | null | undefined];

/** Renders one instance: its fields, conditions and events. */
export function describe(resource: InstanceResource, events: RecordedEvent[], now: number): string {
  return [
    facts(resource, now),
    engine(resource, now),
    conditions(resource, now),
    renderEvents(events, now),
  ].join('\n');
}

function facts({ metadata, spec, status }: InstanceResource, now: number): string {
  const map = (of: Record<string, string> | undefined) =>
    Object.entries(of ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(', ') || '<none>';
  return lines([
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['Labels', map(metadata.labels)],
    ['Created', `${metadata.creationTimestamp} (${formatAge(metadata.creationTimestamp, now)} ago)`],
    ['Deleting since', metadata.deletionTimestamp],
    ['Generation', `${metadata.generation}, observed ${status?.observedGeneration ?? 'never'}`],
    ['Id', status?.id],
    ['Account', spec.account],
    ['Display name', spec.displayName],
    ['Kind', spec.kind],
    ['Interactive mode', spec.interactiveMode],
    ['Suspended', spec.suspended ? 'yes' : null],
    ['Policy', spec.policy && Object.keys(spec.policy).length > 0 ? JSON.stringify(spec.policy) : null],
    ['State', status?.state === undefined ? null : `${status.state} since ${status.since}`],
    ['Last error', status?.lastError],
  ]);
}

function engine({ status }: InstanceResource, now: number): string {
  if (!status?.engine) return lines([['Engine', '<none>']]);
  const { pod, version, startedAt } = status.engine;
  return lines([
    ['Engine', pod],
    ['  Version', version],
    ['  Started', `${startedAt} (${formatAge(startedAt, now)} ago)`],
  ]);
}

function lines(all: Line[]): string {
  const shown = all.filter((line): line is [string, string] => line[1] !== null && line[1] !== undefined);
  return shown.map(([name, value]) => `${`${name}:`.padEnd(19)}${value}`).join('\n');
}

function conditions({ status }: InstanceResource, now: number): string {
  const rows = (status?.conditions ?? []).map(({ type, status: is, reason, lastTransitionTime, message }) => [
    `  ${type}`,
    is,
    reason,
    formatAge(lastTransitionTime, now),
    message,
  ]);
  if (rows.length === 0) return 'Conditions:        <none>';
  return `Conditions:\n${table([['  TYPE', 'STATUS', 'REASON', 'FOR', 'MESSAGE'], ...rows])}`;
}

function renderEvents(events: RecordedEvent[], now: number): string {
  if (events.length === 0) return 'Events:            <none>';
  const rows = events.map(({ type, reason, message, count, first, last }) => {
    const age = formatAge(last, now);
    const when = count === 1 ? age : `${age} (x${count} over ${formatAge(first, now)})`;
    return [`  ${when}`, type, reason, message];
  });
  return `Events:\n${table([['  AGE', 'TYPE', 'REASON', 'MESSAGE'], ...rows])}`;
}
