import type { proto } from '@whiskeysockets/baileys';
import type { Account, Companion } from '../people/account.js';
import type { Refusal } from '../faults/faults.js';
import type { Connection } from '../transport/connection.js';
import { NETWORK } from '../wire/jids.js';
import { node, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import { streamError } from './stream-errors.js';

const TOO_OLD = '405';
const UNKNOWN_DEVICE = '401';
const TEMPORARY_BAN = 402;
const MINUTE_MS = 60_000;

/**
 * Logs a linked device in.
 * @returns the device; undefined if the login was refused
 */
export function logIn(
  world: World,
  connection: Connection,
  payload: proto.ClientPayload,
): Companion | undefined {
  const refuse = (attributes: Record<string, string | undefined>) => {
    connection.dismiss(node('failure', attributes));
    return undefined;
  };
  if (isTooOld(world, payload)) return refuse({ reason: TOO_OLD, location: 'atn' });
  const number = String(payload.username);
  const companion = world.people.get(number)?.companions.get(payload.device ?? 0);
  if (!companion?.clientKey.equals(connection.clientKey)) {
    return refuse({ reason: UNKNOWN_DEVICE, location: 'atn' });
  }
  const refusal = world.faults.refusal(number) ?? earnedBan(world, companion.account);
  if (refusal) return refuse(refusalAttributes(refusal));
  // One connection per device. The newer one replaces the older.
  if (companion.connection) {
    if (companion.connection.open) world.logins.replaced();
    streamError(companion.connection, { conflict: 'replaced' });
  }
  companion.connection = connection;
  companion.active = false;
  companion.available = false;
  welcome(companion, connection);
  return companion;
}

function welcome({ account, id }: Companion, connection: Connection): void {
  const success = {
    t: seconds(),
    lid: account.jid('lid', id),
    display_name: account.name,
    companion_enc_static: 'AAAA',
    location: 'atn',
    group_ab: 'control',
  };
  connection.send(node('success', success));
  const routing = node('edge_routing', {}, [node('routing_info', {}, Buffer.from(`edge-${account.number}`))]);
  connection.send(node('ib', { from: NETWORK }, [routing]));
}

export function refusalAttributes(refusal: Refusal, now = Date.now()): Record<string, string | undefined> {
  const left = refusal.until === undefined ? undefined : Math.ceil((refusal.until - now) / 1000);
  return {
    reason: String(refusal.reason),
    code: refusal.code === undefined ? undefined : String(refusal.code),
    expire: left === undefined ? undefined : String(left),
    location: refusal.location ?? 'atn',
  };
}

export function temporaryBan(minutes: number, code = 101): Refusal {
  return { reason: TEMPORARY_BAN, code, until: Date.now() + minutes * MINUTE_MS };
}

/** Refuses the phone number from now on and disconnects it. */
export function ban(world: World, { number, companions }: Account, refusal: Refusal): void {
  world.faults.refuse(number, refusal);
  for (const { connection } of companions.values())
    connection?.dismiss(node('failure', refusalAttributes(refusal)));
}

/**
 * Counts a login.
 * @returns the ban, if the login exceeds the limit
 */
function earnedBan(world: World, account: Account): Refusal | undefined {
  const minutes = world.logins.add(account.number);
  if (minutes === undefined) return undefined;
  const refusal = temporaryBan(minutes);
  ban(world, account, refusal);
  return refusal;
}

function isTooOld(world: World, payload: proto.ClientPayload): boolean {
  const oldest = world.faults.oldestVersion;
  if (!oldest) return false;
  const { primary, secondary, tertiary } = payload.userAgent?.appVersion ?? {};
  const own = [primary ?? 0, secondary ?? 0, tertiary ?? 0];
  const differing = own.findIndex((part, position) => part !== oldest[position]);
  return differing >= 0 && (own[differing] ?? 0) < (oldest[differing] ?? 0);
}
