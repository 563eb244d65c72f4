import { BufferJSON } from '@whiskeysockets/baileys';
import type { Group } from '../groups/group.js';
import type { Remembered } from '../history/history.js';
import { GOOD_MANNERS, Account, type Companion, type Manners } from '../people/account.js';
import { Handset } from '../people/handset.js';
import type { DeviceSnapshot } from '../signal/device.js';
import type { KeyPair } from '../wire/certificates.js';
import type { World } from '../world.js';

type CompanionSnapshot = Omit<Companion, 'account' | 'connection' | 'active' | 'available'>;

interface AccountSnapshot {
  number: string;
  lid: string;
  name: string;
  business?: string;
  username?: string;
  phoneHidden?: boolean;
  manners: Manners;
  nextDevice: number;
  receivedFrom: string[];
  remembers: Remembered[];
  handsets: { id: number; signal: DeviceSnapshot; keysGiven: string[] }[];
  companions: CompanionSnapshot[];
}

/** All accounts and their keys: the state that must survive a restart, so that clients stay paired. */
export interface Snapshot {
  root: KeyPair;
  accounts: AccountSnapshot[];
  groups: Group[];
}

export function takeSnapshot(world: World): Snapshot {
  return {
    root: world.certificates.root,
    accounts: world.people.all().map(snapshotOf),
    groups: [...world.groups.values()],
  };
}

function snapshotOf(account: Account): AccountSnapshot {
  const { number, lid, name, business, username, phoneHidden, manners, nextDevice } = account;
  return {
    number,
    lid,
    name,
    ...(business !== undefined && { business }),
    ...(username !== undefined && { username }),
    phoneHidden,
    manners,
    nextDevice,
    receivedFrom: [...account.receivedFrom],
    remembers: account.remembers,
    handsets: [...account.handsets.values()].map((handset) => ({
      id: handset.id,
      signal: handset.signal.snapshot(),
      keysGiven: handset.keysGiven(),
    })),
    companions: [...account.companions.values()].map(companionSnapshot),
  };
}

function companionSnapshot(companion: Companion): CompanionSnapshot {
  const { id, clientKey, identity, registrationId, signedIdentity } = companion;
  const { signedPreKey, preKeys, mail, greeted } = companion;
  return { id, clientKey, identity, registrationId, signedIdentity, signedPreKey, preKeys, mail, greeted };
}

export function restore(world: World, snapshot: Snapshot): void {
  for (const one of snapshot.accounts) world.people.add(accountOf(one));
  for (const group of snapshot.groups) world.groups.set(group.id, group);
}

function accountOf(from: AccountSnapshot): Account {
  const account = new Account(from.number, from.lid, from.name);
  if (from.business !== undefined) account.business = from.business;
  if (from.username !== undefined) account.username = from.username;
  account.phoneHidden = from.phoneHidden ?? false;
  account.manners = { ...GOOD_MANNERS, ...from.manners };
  account.nextDevice = from.nextDevice;
  for (const number of from.receivedFrom) account.receivedFrom.add(number);
  account.remembers.push(...from.remembers);
  for (const { id, signal, keysGiven } of from.handsets) {
    account.handsets.set(id, new Handset(account, id, { signal, keysGiven }));
  }
  for (const companion of from.companions) {
    account.companions.set(companion.id, { ...companion, account, active: false, available: false });
  }
  return account;
}

export const toText = (snapshot: Snapshot): string => JSON.stringify(snapshot, BufferJSON.replacer);

export const fromText = (text: string): Snapshot => JSON.parse(text, BufferJSON.reviver) as Snapshot;
