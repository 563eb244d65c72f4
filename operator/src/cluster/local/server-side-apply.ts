import { canonicalJson } from '@gwk/core/canonical-json';
import { ApiStatus } from './api-status.js';
import type { Desired } from './desired.js';

/**
 * Server-side apply of the user's fields: each writer (field manager) states only the fields it wants.
 *
 * A field is a leaf: any value except a non-empty object; lists are leaves. Each leaf has owners, the managers whose
 * last apply set it. An apply sets its leaves. It removes leaves that this manager set before, no longer sets, and
 * nobody else owns. Changing a leaf of another owner is a conflict, unless it is forced.
 */
export type Owners = Record<string, string[]>;

export interface Applied {
  desired: Desired;
  owners: Owners;
}

type Leaves = Map<string, unknown>;

export interface Writer {
  manager: string;
  force: boolean;
}

/** @throws ApiStatus (Conflict) */
export function applyFields(now: Applied, wanted: Desired, { manager, force }: Writer): Applied {
  const held = listLeaves(now.desired);
  const asked = listLeaves(wanted);
  const conflicts = [...asked].filter(
    ([path, value]) => isForeign(now.owners[path], manager) && differs(held, path, value),
  );
  if (conflicts.length > 0 && !force)
    throw conflict(
      conflicts.map(([path]) => path),
      now.owners,
    );
  const otherOwners = (path: string) => (now.owners[path] ?? []).filter((name) => name !== manager);
  const kept = [...held.keys()].filter((path) => {
    const abandoned = isOwner(now.owners[path], manager) && otherOwners(path).length === 0;
    return !abandoned && !asked.has(path) && !hides(asked, path);
  });
  const owners: Owners = {};
  for (const path of kept) owners[path] = otherOwners(path);
  for (const [path, value] of asked) {
    owners[path] = differs(held, path, value) ? [manager] : [...otherOwners(path), manager];
  }
  const leaves = new Map([...kept.map((path) => [path, held.get(path)] as const), ...asked]);
  return { desired: fromLeaves(leaves), owners };
}

/** Replaces all fields by those of a manually edited file. The file owns the leaves it changed. */
export function replaceFields(now: Applied, wanted: Desired, manager: string): Applied {
  const held = listLeaves(now.desired);
  const owners: Owners = {};
  for (const [path, value] of listLeaves(wanted)) {
    owners[path] = differs(held, path, value) ? [manager] : (now.owners[path] ?? [manager]);
  }
  return { desired: wanted, owners };
}

const isOwner = (owners: string[] | undefined, manager: string): boolean =>
  owners?.includes(manager) ?? false;

const isForeign = (owners: string[] | undefined, manager: string): boolean =>
  owners?.some((name) => name !== manager) ?? false;

const differs = (held: Leaves, path: string, value: unknown): boolean =>
  !held.has(path) || canonicalJson(held.get(path)) !== canonicalJson(value);

/** An object and a leaf at the same path exclude each other. */
function hides(asked: Leaves, path: string): boolean {
  for (const other of asked.keys())
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) return true;
  return false;
}

function conflict(paths: string[], owners: Owners): ApiStatus {
  const causes = paths.map((path) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${owners[path]!.join(', ')}`,
    field: formatPath(path),
  }));
  const list = causes.map(({ field, message }) => `${field} (${message})`).join(', ');
  return new ApiStatus('Conflict', `Apply failed with ${causes.length} conflicts: ${list}`, { causes });
}

const formatPath = (path: string): string => `.${path.split('/').map(unescape).join('.')}`;
const escape = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
const unescape = (key: string): string => key.replaceAll('~1', '/').replaceAll('~0', '~');

function listLeaves({ labels, annotations, spec }: Desired): Leaves {
  const leaves: Leaves = new Map();
  const walk = (value: unknown, path: string): void => {
    if (!isBranch(value)) return void leaves.set(path, value);
    for (const [key, item] of Object.entries(value)) walk(item, `${path}/${escape(key)}`);
  };
  for (const [key, value] of Object.entries(labels)) leaves.set(`metadata/labels/${escape(key)}`, value);
  for (const [key, value] of Object.entries(annotations))
    leaves.set(`metadata/annotations/${escape(key)}`, value);
  for (const [key, value] of Object.entries(spec)) walk(value, `spec/${escape(key)}`);
  return leaves;
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
  );
}

/** Keys come from users, so `__proto__` must be an ordinary key. */
function bare(members: Record<string, unknown> = {}): Record<string, unknown> {
  return Object.assign(Object.create(null) as Record<string, unknown>, members);
}

function fromLeaves(leaves: Leaves): Desired {
  const root = bare({ metadata: bare({ labels: bare(), annotations: bare() }), spec: bare() });
  for (const [path, value] of leaves) {
    const keys = path.split('/').map(unescape);
    let place = root;
    for (const key of keys.slice(0, -1)) place = (place[key] ??= bare()) as Record<string, unknown>;
    place[keys.at(-1)!] = value;
  }
  const { metadata, spec } = root as {
    metadata: Pick<Desired, 'labels' | 'annotations'>;
    spec: Desired['spec'];
  };
  return { ...metadata, spec };
}
