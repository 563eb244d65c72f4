/**
 * Version that a client announces when it connects to the network, for example `2.3000.1044142122`. The third number is
 * the revision of the web client, which grows by about 95,000 a day. The network refuses old versions (405, 409).
 */
export interface BundledClientVersion {
  version: string;
  /** Day on which the network served this revision. */
  day: string;
}

/** Version that Baileys announces by itself. A test compares both. */
export const BUNDLED: BundledClientVersion = { version: '2.3000.1043857760', day: '2026-07-25' };

const [MAJOR, MINOR] = BUNDLED.version.split('.');
/** A version that the network may know. Revisions have begun with 10 since 2024, and reach 13 after 2030. */
export const CLIENT_VERSION = new RegExp(`^${MAJOR}\\.${MINOR}\\.1[0-2]\\d{8}$`);
export const CLIENT_VERSION_MEANING = `a version such as ${MAJOR}.${MINOR}.1044142122`;

/** `auto`: the version that the network serves. `bundled`: the version of Baileys. Otherwise this version. */
export type ClientVersionSetting = 'auto' | 'bundled' | (string & {});
export const CLIENT_VERSION_SETTING = new RegExp(`^(?:auto|bundled)$|${CLIENT_VERSION.source}`);

const DAY_MS = 86_400_000;
/** More than twice the growth measured from April to July 2026. */
const MAX_REVISIONS_PER_DAY = 250_000;
/** Days that the growth may run ahead. */
const SLACK_DAYS = 30;

export const parseRevision = (version: string): number => Number(version.split('.')[2]);

/** Orders versions of one line, for sorting. */
export const compareClientVersions = (one: string, other: string): number =>
  parseRevision(one) - parseRevision(other);

/** Why a version cannot be one of the network's. */
export type ClientVersionFault = 'malformed' | 'older_than_bundled' | 'implausibly_new';

/**
 * Judges a version that somebody else states.
 *
 * @param bundled the version that it must not fall below
 */
export function findClientVersionFault(
  version: string,
  now: number,
  bundled: BundledClientVersion = BUNDLED,
): ClientVersionFault | null {
  if (!CLIENT_VERSION.test(version)) return 'malformed';
  if (compareClientVersions(version, bundled.version) < 0) return 'older_than_bundled';
  return isImplausiblyNew(version, now, bundled) ? 'implausibly_new' : null;
}

/** Whether the revision exceeds the bundled one by more than the network publishes until then. */
export function isImplausiblyNew(version: string, now: number, bundled = BUNDLED): boolean {
  const days = Math.max(0, (now - Date.parse(bundled.day)) / DAY_MS) + SLACK_DAYS;
  return parseRevision(version) - parseRevision(bundled.version) > days * MAX_REVISIONS_PER_DAY;
}

/** Growth measured from April to July 2026. */
const REVISIONS_PER_DAY = 95_000;
/** The network refuses versions of three months. */
const OLDEST_PIN_DAYS = 180;

/** How many days of growth the version lies behind the other one; 0 if it is not older. */
export const computeDaysBehind = (version: string, newer: string): number =>
  Math.max(0, parseRevision(newer) - parseRevision(version)) / REVISIONS_PER_DAY;

/**
 * Why an administrator may not pin a version. One that is older than the bundled version is allowed: the network may refuse
 * the newest for some numbers.
 */
export function findPinFault(
  version: string,
  now: number,
): 'malformed' | 'implausibly_new' | 'implausibly_old' | null {
  if (!CLIENT_VERSION.test(version)) return 'malformed';
  if (computeDaysBehind(version, BUNDLED.version) > OLDEST_PIN_DAYS) return 'implausibly_old';
  return isImplausiblyNew(version, now) ? 'implausibly_new' : null;
}
