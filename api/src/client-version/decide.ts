import { compareClientVersions } from '@gwk/core/client-version';
import type { EngineRequest } from '@gwk/core/protocol/engine';

/** A version that was served or bundled, with its last login and its last refusal in milliseconds. Null: never. */
export interface KnownVersion {
  version: string;
  acceptedAt: number | null;
  refusedAt: number | null;
}

/** The version that one instance tries before the others follow. */
interface Trial {
  version: string;
  instanceId: string;
  at: number;
}

export interface ClientVersionFacts {
  pinned: KnownVersion | null;
  served: string | null;
  /** The bundled version of this API. Engines state their own, on which no other engine relies. */
  bundled: string;
  known: readonly KnownVersion[];
  trial: Trial | null;
  /** A worker reads the served version within seconds. */
  isReadDue: boolean;
}

export type Question = Pick<
  EngineRequest<'client-version'>,
  'event' | 'version' | 'bundled' | 'setting' | 'pairing' | 'refused' | 'target'
> & { instanceId: string };

export interface Choice {
  version: string | null;
  /** The instance must be recorded as the one that tries this version. */
  isTrial: boolean;
  /** A trial by another instance, or a due read, may give a version soon. */
  isExpected: boolean;
}

/** A login takes seconds. After this time, instances without another version no longer wait for the trial. */
const TRIAL_MS = 20_000;
/** After this time, an instance that has another version may try again. */
const RETRIAL_MS = 10 * 60_000;

export const buildTarget = ({ pinned, served }: ClientVersionFacts): string =>
  `${pinned?.version ?? ''}/${served ?? ''}`;

/**
 * Chooses the version that an instance announces. Without a pin, that is the newest version whose last result is a login. One
 * instance tries an untested version first. An instance gets no version that was refused to it, until the pinned or the served
 * version changes, so it never alternates between versions. When all are refused, it retries the newest with its backoff.
 */
export function chooseClientVersion(facts: ClientVersionFacts, asked: Question, now: number): Choice {
  const isCurrent = asked.target === buildTarget(facts);
  const isRefused = (version: string): boolean =>
    (asked.event === 'refused' && version === asked.version) ||
    (isCurrent && asked.refused.includes(version));
  const candidates = facts.pinned ? [facts.pinned] : listCandidates(facts, asked);
  const untried = candidates.filter(({ version }) => !isRefused(version));
  const hopeful = untried.filter((each) => mayLogIn(each, facts.known));
  if (facts.pinned === null && asked.setting === 'auto') {
    if (hopeful.length > 0) return chooseHopeful(hopeful, facts, asked, now);
    if (facts.isReadDue && asked.event !== 'connecting') return { ...NO_CHOICE, isExpected: true };
  }
  if (asked.event === 'connecting') return use(untried[0] ?? candidates[0]);
  // A new engine does not know what was refused to its instance, and must not shorten its delay for that.
  const isNewEngine = asked.event === 'waiting' && asked.target === null;
  // The network may refuse a version to some numbers only.
  return use((isNewEngine ? hopeful : untried)[0]);
}

const NEW = { acceptedAt: null, refusedAt: null };

export const NO_CHOICE: Choice = { version: null, isTrial: false, isExpected: false };

const use = (known: KnownVersion | undefined): Choice => ({ ...NO_CHOICE, version: known?.version ?? null });

const isRefusedElsewhere = ({ acceptedAt, refusedAt }: KnownVersion): boolean =>
  refusedAt !== null && refusedAt > (acceptedAt ?? 0);

/**
 * Returns false in two cases: the last result of this version is a refusal, or the network now refuses a newer version that once
 * logged in, and this one has not logged in since. The network raises its minimum, so all older versions fail too.
 */
const mayLogIn = (one: KnownVersion, known: readonly KnownVersion[]): boolean =>
  !isRefusedElsewhere(one) &&
  !known.some(
    (newer) =>
      compareClientVersions(newer.version, one.version) > 0 &&
      newer.acceptedAt !== null &&
      isRefusedElsewhere(newer) &&
      newer.refusedAt! > (one.acceptedAt ?? 0),
  );

const isProven = (known: KnownVersion): boolean => known.acceptedAt !== null && !isRefusedElsewhere(known);

/**
 * At most two, newest first: the served version, and the newest other one that may succeed. Each candidate can cost an
 * instance a refused login.
 */
function listCandidates(
  { served, known }: ClientVersionFacts,
  { bundled, setting }: Question,
): KnownVersion[] {
  const find = (version: string): KnownVersion =>
    known.find((each) => each.version === version) ?? { ...NEW, version };
  if (setting === 'bundled' || served === null) return [find(bundled)];
  const others = known.filter((each) => each.version !== bundled && isProven(each) && mayLogIn(each, known));
  if (mayLogIn(find(bundled), known)) others.push(find(bundled));
  const [other = find(bundled)] = others.filter(({ version }) => version !== served).toSorted(newestFirst);
  return (other.version === served ? [other] : [find(served), other]).toSorted(newestFirst);
}

const newestFirst = (one: KnownVersion, other: KnownVersion): number =>
  compareClientVersions(other.version, one.version);

/** Whether others follow a version. An engine could state any version as its bundled one. */
const isTrusted = ({ version }: KnownVersion, { served, bundled }: ClientVersionFacts): boolean =>
  version === served || version === bundled;

/** @param hopeful versions that may log in, newest first */
function chooseHopeful(
  hopeful: readonly KnownVersion[],
  facts: ClientVersionFacts,
  { instanceId, pairing }: Question,
  now: number,
): Choice {
  const [newest, ...others] = hopeful as [KnownVersion, ...KnownVersion[]];
  if (isProven(newest) || !isTrusted(newest, facts)) return use(newest);
  const { trial } = facts;
  const trialAge = trial?.version === newest.version ? now - trial.at : Infinity;
  if (trialAge > RETRIAL_MS) return { ...use(newest), isTrial: true };
  // Asking again does not prolong the trial.
  if (trial?.instanceId === instanceId) return use(newest);
  const other = others.find(isProven) ?? others[0];
  if (other) return use(other);
  // A person waits for the code, and there is nothing to lose.
  if (pairing || trialAge > TRIAL_MS) return use(newest);
  return { ...use(undefined), isExpected: true };
}
