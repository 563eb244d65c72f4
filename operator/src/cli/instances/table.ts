import type { InstanceResource } from '@gwk/core/resources/manifest';

/** Aligns rows into columns as wide as their widest cell. */
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
  const more = wide ? ['ACCOUNT', 'ID', 'ENGINE'] : [];
  return [...first, 'READY', 'REASON', 'STATE', 'KIND', 'AGE', ...more];
}

export function buildRow(resource: InstanceResource, { namespace, wide }: Columns, now: number): string[] {
  const { metadata, spec, status } = resource;
  const first = namespace ? [metadata.namespace, metadata.name] : [metadata.name];
  const age = formatAge(metadata.creationTimestamp, now);
  const { status: is, reason } = status?.conditions.find(({ type }) => type === 'Ready') ?? {
    status: 'Unknown',
    reason: 'Pending',
  };
  return [
    ...first,
    is,
    reason,
    status?.state ?? NONE,
    spec.kind,
    age,
    ...(wide ? buildWideCells(resource) : []),
  ];
}

function buildWideCells({ spec, status }: InstanceResource): string[] {
  return [spec.account, status?.id ?? NONE, status?.engine?.pod ?? NONE];
}

const NONE = '-';

const UNITS: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];

/** Formats an age like kubectl: 45s, 3m, 5h, 2d. */
export function formatAge(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  // Values below 2 of a unit use the smaller unit: 90s is more precise than 1m.
  const unit = UNITS.find(([, size]) => seconds >= 2 * size);
  return unit ? `${Math.floor(seconds / unit[1])}${unit[0]}` : `${seconds}s`;
}
