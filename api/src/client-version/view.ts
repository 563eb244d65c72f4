import { BUNDLED, compareClientVersions } from '@gwk/core/client-version';
import type { NetworkVersionOut } from '../resources/console/platform.js';
import type { z } from 'zod';
import { computeSecondsBehind } from './metrics.js';
import type { StoredClientVersions } from './store.js';

const DAY_S = 86_400;

/** @param nameAuthor shows an actor of the audit log */
export function viewClientVersions(
  { state, versions }: StoredClientVersions,
  nameAuthor: (actor: string | null) => string | null = (actor) => actor,
  now = Date.now(),
): z.output<typeof NetworkVersionOut> {
  const { pinnedVersion, pinnedAt, pinnedBy, servedVersion, readAt, servedFrom, triedAt, fault } = state;
  return {
    pinned:
      pinnedVersion !== null && pinnedAt !== null
        ? { version: pinnedVersion, at: pinnedAt.toISOString(), by: nameAuthor(pinnedBy) }
        : null,
    served:
      servedVersion !== null && readAt !== null
        ? { version: servedVersion, read_at: readAt.toISOString(), source: servedFrom ?? '' }
        : null,
    bundled: BUNDLED,
    bundled_days_behind: Math.floor(computeSecondsBehind(servedVersion, now) / DAY_S),
    last_read: triedAt && { at: triedAt.toISOString(), fault },
    versions: versions
      .toSorted((one, other) => compareClientVersions(other.version, one.version))
      .map(({ version, acceptedAt, refusedAt }) => ({
        version,
        accepted_at: acceptedAt?.toISOString() ?? null,
        refused_at: refusedAt?.toISOString() ?? null,
      })),
  };
}
