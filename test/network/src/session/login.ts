import type { proto } from '@whiskeysockets/baileys';
import type { Companion } from '../people/account.js';
import type { Refusal } from '../faults/faults.js';
import type { Connection } from '../transport/connection.js';
import { NETWORK } from '../wire/jids.js';
import { node, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import { streamError } from './stream-errors.js';

const TOO_OLD = '405';
const UNKNOWN_DEVICE = '401';

/** A linked device logs in. @returns it, or nothing where it was refused */
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
  const refusal = world.faults.refusal(number);
  if (refusal) return refuse(refusalAttributes(refusal));
  // One connection for each device: the newer one stays.
  if (companion.connection) streamError(companion.connection, { conflict: 'replaced' });
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

/** A number that is refused from now on is cut off at once as well. */
export function cutOff(companion: Companion, refusal: Refusal): void {
  companion.connection?.dismiss(node('failure', refusalAttributes(refusal)));
}

function isTooOld(world: World, payload: proto.ClientPayload): boolean {
  const oldest = world.faults.oldestVersion;
  if (!oldest) return false;
  const { primary, secondary, tertiary } = payload.userAgent?.appVersion ?? {};
  const own = [primary ?? 0, secondary ?? 0, tertiary ?? 0];
  const differing = own.findIndex((part, position) => part !== oldest[position]);
  return differing >= 0 && (own[differing] ?? 0) < (oldest[differing] ?? 0);
}
