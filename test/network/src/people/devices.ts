import { generateParticipantHashV2 } from '@whiskeysockets/baileys';
import { deliver } from '../post/mail.js';
import { signedDeviceList } from '../session/device-list.js';
import { node, seconds } from '../wire/nodes.js';
import type { World } from '../world.js';
import type { Account } from './account.js';
import { Handset } from './handset.js';

/** A person links one more simulated device. The clients of all others are notified. */
export function linkDevice(world: World, account: Account): number {
  const id = account.nextDevice++;
  account.handsets.set(id, new Handset(account, id));
  const hashOf = (server: 'lid' | 'pn') =>
    generateParticipantHashV2(account.devices().map((device) => addressOf(account, server, device)));
  const device = node('device', { jid: account.jid('pn', id), lid: account.jid('lid', id) });
  const keys = node('key-index-list', { ts: seconds() }, signedDeviceList(account));
  const hashes = { device_hash: hashOf('pn'), device_lid_hash: hashOf('lid') };
  for (const companion of world.people.all().flatMap(({ companions }) => [...companions.values()])) {
    if (companion.account === account) continue;
    const names = { from: account.jid('pn'), lid: account.jid('lid') };
    const attributes = { ...names, type: 'devices', id: world.nextId('devices-'), t: seconds() };
    deliver(companion, node('notification', attributes, [node('add', hashes, [device, keys])]));
  }
  world.changed();
  return id;
}

/** The form of an address that the hash of a list of devices contains. */
const addressOf = (account: Account, server: 'lid' | 'pn', device: number): string =>
  account.jid(server).replace('@', `.0:${device}@`);
