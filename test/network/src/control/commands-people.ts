import type { Network } from '../network.js';
import type { Account, Companion, Manners } from '../people/account.js';
import type { AssertionFaults } from '../people/authenticator.js';
import { linkDevice } from '../people/devices.js';
import { reinstall } from '../people/reinstall.js';
import { rename } from '../people/usernames.js';
import { unlink } from '../session/queries.js';

export interface AccountView {
  number: string;
  lid: string;
  jid: string;
  lidJid: string;
  name: string;
  business?: string;
  username?: string;
  phoneHidden: boolean;
  companions: { id: number; connected: boolean; active: boolean; preKeys: number; mail: number }[];
}

export interface AccountOptions {
  name?: string;
  lid?: string;
  business?: string;
  username?: string;
  /** The network shows the phone number to no client. Everyone knows the person by LID. */
  phoneHidden?: boolean;
  /** Number of simulated devices, including the phone. */
  devices?: number;
}

export interface PasskeyRequest {
  challenge: string;
  rpId: string;
}

export function viewAccount(account: Account): AccountView {
  return {
    number: account.number,
    lid: account.lid,
    jid: account.jid('pn'),
    lidJid: account.jid('lid'),
    name: account.name,
    ...(account.business !== undefined && { business: account.business }),
    ...(account.username !== undefined && { username: account.username }),
    phoneHidden: account.phoneHidden,
    companions: [...account.companions.values()].map((companion) => ({
      id: companion.id,
      connected: companion.connection !== undefined,
      active: companion.active,
      preKeys: companion.preKeys.length,
      mail: companion.mail.length,
    })),
  };
}

export function listCompanions({ world }: Network, number: string, device?: number): Companion[] {
  const all = [...world.people.need(number).companions.values()];
  return device === undefined ? all : all.filter(({ id }) => id === device);
}

export const peopleCommands = {
  account: ({ world }: Network, { number, ...options }: { number: string } & AccountOptions) => {
    const account = world.people.get(number) ?? world.addAccount(number, options);
    if (options.name !== undefined) account.name = options.name;
    if (options.business !== undefined) account.business = options.business;
    if (options.username !== undefined && options.username !== account.username)
      rename(world, account, options.username);
    if (options.phoneHidden !== undefined) account.phoneHidden = options.phoneHidden;
    return viewAccount(account);
  },

  accounts: ({ world }: Network) => world.people.all().map(viewAccount),

  removeAccount: ({ world }: Network, { number }: { number: string }) => {
    const account = world.people.need(number);
    for (const companion of account.companions.values()) unlink(world, companion);
    world.people.remove(account);
    return {};
  },

  /** A person takes another username, or none. */
  rename: ({ world }: Network, { number, username }: { number: string; username: string | null }) => {
    rename(world, world.people.need(number), username);
    return {};
  },

  manners: ({ world }: Network, { number, ...manners }: { number: string } & Partial<Manners>) => {
    const account = world.people.need(number);
    account.manners = { ...account.manners, ...manners };
    return account.manners;
  },

  scan: async ({ world, pairing }: Network, { number, code }: { number: string; code: string }) => {
    const companion = await pairing.scan(world.people.need(number), code);
    return { device: companion.id };
  },

  typeCode: async (network: Network, { number, code }: { number: string; code: string }) => {
    const { world, codes } = network;
    const account = world.people.need(number);
    await world.until(
      () => (codes.waitsFor(number) ? true : undefined),
      `a client that pairs with ${number}`,
    );
    const companion = await codes.type(account, code.replace(/[^0-9A-Za-z]/g, '').toUpperCase());
    return { device: companion.id };
  },

  /** Returns the steps that the phone shows while a device links with its passkey. */
  passkeyView: ({ world, pairing }: Network, { number }: { number: string }) =>
    pairing.passkeys.view(world.people.need(number)),

  repeatPasskeyRequest: ({ world, pairing }: Network, { number }: { number: string }) => {
    pairing.passkeys.repeat(world.people.need(number));
    return {};
  },

  /** The phone answers a request as in a browser on the network's page. */
  assertPasskey: (
    { world }: Network,
    { number, options, faults }: { number: string; options: PasskeyRequest; faults?: AssertionFaults },
  ) => world.people.need(number).passkey.assert(options, faults),

  exportPasskey: ({ world }: Network, { number }: { number: string }) =>
    world.people.need(number).passkey.export(),

  /** The person links one more simulated device. */
  linkDevice: ({ world }: Network, { number, by = 'pn' }: { number: string; by?: 'lid' | 'pn' }) => ({
    device: linkDevice(world, world.people.need(number), by),
  }),

  /** Replaces the phone: new identity, no sessions. */
  reinstall: ({ world }: Network, { number }: { number: string }) => {
    reinstall(world, world.people.need(number));
    return {};
  },

  unlink: (network: Network, { number, device }: { number: string; device?: number }) => {
    const leaving = listCompanions(network, number, device);
    for (const companion of leaving) unlink(network.world, companion);
    return { unlinked: leaving.length };
  },
};
