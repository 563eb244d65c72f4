import { BUNDLED, CLIENT_VERSION_MEANING, findPinFault } from '@gwk/core/client-version';
import { Problem } from '@gwk/core/problems/problems';
import { audit } from '../accounts/audit-log.js';
import type { Database, Queryable } from '../database/database.js';
import type { Prisma } from '../generated/prisma/client.js';
import type { ClientVersionFacts, Question } from './decide.js';

const SERVED_KEPT_DAYS = 30;
/** Shortest time between two writes of the same result, so that many engines do not write one row at once. */
const SAME_RESULT_S = 60;
/** A read that is overdue by more does not happen: no worker runs, or none follows the network. */
const READ_WITHIN_MS = 60_000;
/** Longest time of a read, with its redirects, and some more to store the result. */
const READ_TAKES_MS = 20_000;
/** Shortest time between two reads of the served version, for all workers together. */
export const MIN_READ_PAUSE_S = 600;

type StateRow = Prisma.ClientVersionStateGetPayload<object>;

export interface StoredClientVersions {
  state: StateRow;
  versions: Prisma.ClientVersionGetPayload<object>[];
}

export async function readClientVersions(
  db: Pick<Database, 'clientVersion' | 'clientVersionState'>,
): Promise<StoredClientVersions> {
  const [state, versions] = await Promise.all([
    db.clientVersionState.findUniqueOrThrow({ where: { only: true } }),
    db.clientVersion.findMany(),
  ]);
  return { state, versions };
}

/** The state for metrics. Without an instance of the kind `web`, no worker reads. */
export async function readVersionState(db: Database): Promise<StateRow & { isRead: boolean }> {
  const [state, number] = await Promise.all([
    db.clientVersionState.findUniqueOrThrow({ where: { only: true } }),
    db.instance.findFirst({ where: { kind: 'web', deletedAt: null }, select: { id: true } }),
  ]);
  return { ...state, isRead: number !== null };
}

export function toFacts({ state, versions }: StoredClientVersions): ClientVersionFacts {
  const { servedVersion: served, trialVersion: version, trialInstance: instanceId, trialAt } = state;
  const pinned = versions.find((row) => row.version === state.pinnedVersion);
  return {
    pinned: pinned ? toKnown(pinned) : null,
    served,
    bundled: BUNDLED.version,
    // After an unpin, engines follow the network again, whatever the pinned version did.
    known: versions.filter((row) => row.servedAt !== null || row.version === BUNDLED.version).map(toKnown),
    isReadDue: isReadDue(state, Date.now()),
    trial: version && instanceId && trialAt ? { version, instanceId, at: trialAt.getTime() } : null,
  };
}

const toKnown = ({ version, acceptedAt, refusedAt }: StoredClientVersions['versions'][number]) => ({
  version,
  acceptedAt: acceptedAt?.getTime() ?? null,
  refusedAt: refusedAt?.getTime() ?? null,
});

/** A worker reads the served version now, or within seconds. */
function isReadDue({ dueAt, triedAt, readAt, fault }: StateRow, now: number): boolean {
  const overdueMs = now - dueAt.getTime();
  if (overdueMs >= 0 && overdueMs < READ_WITHIN_MS) return true;
  const isRunning = triedAt !== null && fault === null && (readAt === null || readAt < triedAt);
  return isRunning && now - triedAt.getTime() < READ_TAKES_MS;
}

/** Takes the trial, unless another instance has taken it since `facts` was read. */
export async function takeTrial(
  db: Database,
  version: string,
  { instanceId }: Pick<Question, 'instanceId'>,
  former: ClientVersionFacts['trial'],
): Promise<boolean> {
  const taken = await db.clientVersionState.updateMany({
    where: {
      trialVersion: former?.version ?? null,
      trialInstance: former?.instanceId ?? null,
      trialAt: former ? new Date(former.at) : null,
    },
    data: { trialVersion: version, trialInstance: instanceId, trialAt: new Date() },
  });
  return taken.count > 0;
}

/**
 * Records how the network took a version. Only versions that are known, or bundled with this release, are recorded: an
 * engine must not be able to make others announce a version that it invented.
 */
export async function recordResult(
  db: Queryable,
  version: string,
  result: 'accepted' | 'refused',
): Promise<void> {
  if (version === BUNDLED.version) {
    await db.$executeRaw`INSERT INTO client_versions (version) VALUES (${version}) ON CONFLICT DO NOTHING`;
  }
  if (result === 'accepted') {
    await db.$executeRaw`
      UPDATE client_versions SET accepted_at = clock_timestamp()
      WHERE version = ${version} AND (accepted_at IS NULL OR refused_at >= accepted_at
        OR accepted_at < now() - ${SAME_RESULT_S} * interval '1 second')`;
    return;
  }
  await db.$executeRaw`
    UPDATE client_versions SET refused_at = clock_timestamp()
    WHERE version = ${version} AND (refused_at IS NULL OR accepted_at >= refused_at
      OR refused_at < now() - ${SAME_RESULT_S} * interval '1 second')`;
  await requestRead(db);
}

/** Makes the next read due now, or as soon as the pause after the last one permits. */
const requestRead = (db: Queryable): Promise<number> => db.$executeRaw`
  UPDATE client_version_state
  SET due_at = GREATEST(now(), tried_at + ${MIN_READ_PAUSE_S} * interval '1 second')
  WHERE due_at > GREATEST(now(), tried_at + ${MIN_READ_PAUSE_S} * interval '1 second')`;

/**
 * Claims the read that is due, for one worker. The next one is due after `pauseMs` if this one ends without a result.
 * Without an instance of the kind `web`, no worker reads.
 */
export async function claimRead(db: Queryable, pauseMs: number): Promise<boolean> {
  const claimed = await db.$executeRaw`
    UPDATE client_version_state
    SET tried_at = now(), due_at = now() + ${pauseMs} * interval '1 millisecond', fault = NULL
    WHERE due_at <= now() AND (tried_at IS NULL OR tried_at <= now() - ${MIN_READ_PAUSE_S} * interval '1 second')
      AND EXISTS (SELECT FROM instances WHERE kind = 'web' AND deleted_at IS NULL)`;
  return claimed > 0;
}

/** Stores a version that the network has served. Versions that no engine has announced meanwhile are forgotten. */
export async function storeServed(
  db: Database,
  { version, from, pauseMs }: { version: string; from: string; pauseMs: number },
): Promise<void> {
  await db.$transaction(async (tx) => {
    await tx.$executeRaw`
      INSERT INTO client_versions (version, served_at) VALUES (${version}, now())
      ON CONFLICT (version) DO UPDATE SET served_at = COALESCE(client_versions.served_at, excluded.served_at)`;
    await tx.$executeRaw`
      UPDATE client_version_state SET served_version = ${version}, served_from = ${from}, read_at = now(),
        due_at = now() + ${pauseMs} * interval '1 millisecond', fault = NULL`;
    await tx.$executeRaw`
      DELETE FROM client_versions v USING client_version_state s
      WHERE v.version <> ${version} AND v.version IS DISTINCT FROM s.pinned_version
        AND (v.served_at < now() - ${SERVED_KEPT_DAYS} * interval '1 day'
          OR v.accepted_at IS NULL AND v.refused_at IS NULL)`;
  });
}

/** Stores why a read failed. The last good version stays in use. */
export const storeFault = async (db: Database, fault: string): Promise<void> =>
  void (await db.clientVersionState.updateMany({ data: { fault } }));

/**
 * Pins a version for all engines that do not set their own, or takes the pin back. Engines that the network refuses try
 * it with the next renewal of their lease; open connections stay open.
 *
 * @param version null: unpins
 * @throws Problem `validation-error`
 */
export async function pinClientVersion(
  tx: Prisma.TransactionClient,
  actor: string,
  version: string | null,
  now = new Date(),
): Promise<void> {
  if (version !== null) {
    requirePinnable(version, now);
    await tx.$executeRaw`INSERT INTO client_versions (version) VALUES (${version}) ON CONFLICT DO NOTHING`;
  }
  const { pinnedVersion: former } = await tx.clientVersionState.findUniqueOrThrow({ where: { only: true } });
  const isPinned = version !== null;
  await tx.clientVersionState.updateMany({
    data: {
      pinnedVersion: version,
      pinnedAt: isPinned ? now : null,
      pinnedBy: isPinned ? actor : null,
    },
  });
  await audit(tx, {
    actor,
    accountId: null,
    action: isPinned ? 'network_version.pin' : 'network_version.unpin',
    subject: version ?? former ?? '',
    detail: { former },
  });
}

const PIN_FAULTS = {
  malformed: `must be ${CLIENT_VERSION_MEANING}`,
  implausibly_old: 'is so old that the network cannot accept it',
  implausibly_new: 'is newer than any version that the network can have by now',
};

function requirePinnable(version: string, now: Date): void {
  const fault = findPinFault(version, now.getTime());
  if (fault === null) return;
  const error = { path: 'version', code: fault, message: PIN_FAULTS[fault] };
  throw new Problem('validation-error', { errors: [error] });
}
