import { listProcesses, type ProcessInfo } from '../../support/processes.js';

/** A process and all its descendants. */
export function listFamily(
  root: number,
  all: readonly Pick<ProcessInfo, 'pid' | 'parent'>[] = listProcesses(),
): number[] {
  const family = new Set([root]);
  // A set may grow while it is iterated: children come after their parents.
  for (const pid of family) for (const child of all) if (child.parent === pid) family.add(child.pid);
  return [...family];
}
