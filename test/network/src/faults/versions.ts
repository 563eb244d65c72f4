import { createHash } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';

export type ClientVersion = [number, number, number];

/** `linking`: a new device registers. `login`: a linked device connects. */
export type LoginKind = 'linking' | 'login';

/** The oldest version that the network accepts, and the phone numbers that this holds for: all by default. */
export interface OldestVersion {
  version: ClientVersion;
  numbers?: string[];
  /** Share of the phone numbers, 0 to 1. They are always the same ones. */
  share?: number;
  /** Reason of the failure. Default: 405. */
  reason?: number;
}

const TOO_OLD = 405;

export function readVersion({ userAgent }: proto.ClientPayload): ClientVersion {
  const { primary, secondary, tertiary } = userAgent?.appVersion ?? {};
  return [primary ?? 0, secondary ?? 0, tertiary ?? 0];
}

/** Versions that the network refuses. Open connections stay open. */
export class Versions {
  readonly #oldest = new Map<LoginKind, OldestVersion>();

  /** Sets the oldest version for these kinds of login. Without one, all versions are accepted. */
  require(kinds: readonly LoginKind[], oldest: OldestVersion | undefined): void {
    for (const kind of kinds) {
      if (oldest) this.#oldest.set(kind, oldest);
      else this.#oldest.delete(kind);
    }
  }

  /**
   * Returns the reason of the failure; undefined: the version is accepted. The phone number of a new device is unknown
   * until its phone has scanned the code.
   */
  refusal(kind: LoginKind, version: ClientVersion, number: string | undefined): number | undefined {
    const oldest = this.#oldest.get(kind);
    if (!oldest || !isOlder(version, oldest.version) || !concerns(oldest, number)) return undefined;
    return oldest.reason ?? TOO_OLD;
  }
}

function isOlder(version: ClientVersion, oldest: ClientVersion): boolean {
  const differing = version.findIndex((part, position) => part !== oldest[position]);
  return differing >= 0 && version[differing]! < oldest[differing]!;
}

function concerns({ numbers, share }: OldestVersion, number: string | undefined): boolean {
  if (numbers === undefined && share === undefined) return true;
  if (number === undefined) return false;
  return numbers?.includes(number) === true || positionOf(number) < (share ?? 0);
}

/** A position from 0 to 1 that a phone number always has. */
const positionOf = (number: string): number =>
  createHash('sha256').update(number).digest().readUInt32BE(0) / 2 ** 32;
