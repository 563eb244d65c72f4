import { generateParticipantHashV2 } from '@whiskeysockets/baileys';
import { deliver } from '../post/mail.js';
import { signedDeviceList } from '../session/device-list.js';
import { node, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Account } from './account.js';
import { Handset } from './handset.js';

/**
 * A person links one more simulated device. The clients of all others are notified.
 * @param by whether the notice names the phone number with the LID beside it, or the LID alone
 */
export function linkDevice(world: World, account: Account, by: 'lid' | 'pn'): number {
  const id = account.nextDevice++;
  account.handsets.set(id, new Handset(account, id));
  const hashOf = (server: 'lid' | 'pn') =>
    generateParticipantHashV2(account.devices().map((device) => addressOf(account, server, device)));
  const lidOf = (device?: number) => (by === 'pn' ? account.jid('lid', device) : undefined);
  const device = node('device', { jid: account.jid(by, id), lid: lidOf(id) });
  const keys = node('key-index-list', { ts: seconds() }, signedDeviceList(account));
  const hashes = { device_hash: hashOf(by), device_lid_hash: by === 'pn' ? hashOf('lid') : undefined };
  for (const companion of world.people.all().flatMap(({ companions }) => [...companions.values()])) {
    if (companion.account === account) continue;
    const names = { from: account.jid(by), lid: lidOf() };
    const attributes = { ...names, type: 'devices', id: world.nextId('devices-'), t: seconds() };
    deliver(companion, node('notification', attributes, [node('add', hashes, [device, keys])]));
  }
  world.changed();
  return id;
}

/** The form of an address that the hash of a list of devices contains. */
const addressOf = (account: Account, server: 'lid' | 'pn', device: number): string =>
  account.jid(server).replace('@', `.0:${device}@`);
