import type { Condition, InstanceResource } from '@gwk/core/resources/manifest';

/** A column per header, as wide as its widest cell. */
export function table(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

export interface Columns {
  namespace: boolean;
  wide: boolean;
}

export function buildHeader({ namespace, wide }: Columns): string[] {
  const first = namespace ? ['NAMESPACE', 'NAME'] : ['NAME'];
  const more = wide ? ['ACCOUNT', 'ID', 'JID', 'ENGINE'] : [];
  return [...first, 'READY', 'REASON', 'STATE', 'KIND', 'AGE', ...more];
}

export function buildRow(resource: InstanceResource, { namespace, wide }: Columns, now: number): string[] {
  const { metadata, spec, status } = resource;
  const first = namespace ? [metadata.namespace, metadata.name] : [metadata.name];
  const age = formatAge(metadata.creationTimestamp, now);
  const { status: is, reason } = conditionOf(resource, 'Ready') ?? { status: 'Unknown', reason: 'Pending' };
  return [...first, is, reason, status?.state ?? NONE, spec.kind, age, ...(wide ? moreOf(resource) : [])];
}

function moreOf({ spec, status }: InstanceResource): string[] {
  return [spec.account, status?.id ?? NONE, status?.jid ?? NONE, status?.engine?.pod ?? NONE];
}

const NONE = '-';

export function conditionOf({ status }: InstanceResource, type: Condition['type']): Condition | undefined {
  return status?.conditions.find((condition) => condition.type === type);
}

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];

/** As kubectl says it: 45s, 3m, 5h, 2d. */
export function formatAge(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  // Small numbers of a unit are told in the unit below: 90s says more than 1m.
  const unit = UNITS.find(([, size]) => seconds >= 2 * size);
  return unit ? `${Math.floor(seconds / unit[1])}${unit[0]}` : `${seconds}s`;
}
