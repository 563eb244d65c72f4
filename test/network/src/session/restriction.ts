import { deliver } from '../post/mail.js';
import { child, node, seconds, type Node } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Account, Companion } from '../people/account.js';
import { mexNotification } from './mex.js';

const QUERY_ID = '23983697327930364';
const MINUTE_MS = 60_000;

/**
 * The phone number may not write to people who have not written to it. Its clients are notified and may query the
 * restriction.
 */
export function restrict(world: World, account: Account, minutes: number): void {
  world.faults.restrict(account.number, Date.now() + minutes * MINUTE_MS);
  notify(world, account);
}

export function liftRestriction(world: World, account: Account): void {
  if (world.faults.restrictedUntil(account.number) === undefined) return;
  world.faults.restrict(account.number, undefined);
  notify(world, account);
}

function lock(world: World, account: Account) {
  const until = world.faults.restrictedUntil(account.number);
  return until === undefined
    ? { is_active: false, time_enforcement_ends: '0', enforcement_type: 'DEFAULT' }
    : { is_active: true, time_enforcement_ends: seconds(until), enforcement_type: 'DEFAULT' };
}

function notify(world: World, account: Account): void {
  const data = { xwa2_notify_account_reachout_timelock: lock(world, account) };
  for (const companion of account.companions.values())
    deliver(companion, mexNotification(world, 'NotificationUserReachoutTimelockUpdate', data));
}

/** @returns the answer to a query of the restriction; undefined for other queries */
export function answerRestriction(world: World, companion: Companion, query: Node): Node[] | undefined {
  if (child(query, 'query')?.attrs.query_id !== QUERY_ID) return undefined;
  const data = { data: { xwa2_fetch_account_reachout_timelock: lock(world, companion.account) } };
  return [node('result', {}, Buffer.from(JSON.stringify(data)))];
}
