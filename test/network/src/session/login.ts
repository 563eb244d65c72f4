import type { proto } from '@whiskeysockets/baileys';
import type { Account, Companion } from '../people/account.js';
import type { Refusal } from '../faults/faults.js';
import type { Connection } from '../transport/connection.js';
import { NETWORK } from '../wire/jids.js';
import { node, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import { readVersion, type ClientVersion } from '../faults/versions.js';
import { streamError } from './stream-errors.js';

const UNKNOWN_DEVICE = 401;
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
  const number = String(payload.username);
  const version = readVersion(payload);
  const companion = world.people.get(number)?.companions.get(payload.device ?? 0);
  const refusal = findRefusal(world, companion, { connection, number, version });
  world.logins.tried({ kind: 'login', number, version, refused: refusal?.reason ?? null });
  if (refusal || !companion) {
    connection.dismiss(node('failure', refusalAttributes(refusal ?? { reason: UNKNOWN_DEVICE })));
    return undefined;
  }
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

interface Login {
  connection: Connection;
  number: string;
  version: ClientVersion;
}

function findRefusal(
  world: World,
  companion: Companion | undefined,
  { connection, number, version }: Login,
): Refusal | undefined {
  const reason = world.faults.versions.refusal('login', version, number);
  if (reason !== undefined) return { reason };
  if (!companion?.clientKey.equals(connection.clientKey)) return { reason: UNKNOWN_DEVICE };
  return world.faults.refusal(number) ?? earnedBan(world, companion.account);
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
