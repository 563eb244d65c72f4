/** Addresses of the network: users by phone number or by LID, groups, each optionally with a device. */
export type Server = 's.whatsapp.net' | 'lid' | 'g.us' | 'broadcast' | 'other';

export interface Jid {
  user: string;
  server: Server;
  device: number;
}

/** The network itself: an address without a user, which is encoded as an address and not as a string. */
export const NETWORK = '@s.whatsapp.net';

const SERVERS = new Map<string, Server>([
  ['s.whatsapp.net', 's.whatsapp.net'],
  ['c.us', 's.whatsapp.net'],
  ['lid', 'lid'],
  ['hosted', 's.whatsapp.net'],
  ['hosted.lid', 'lid'],
  ['g.us', 'g.us'],
  ['broadcast', 'broadcast'],
]);

export function parseJid(text: string | undefined): Jid | undefined {
  const match = /^(?:([^@:]*)(?::(\d+))?@)?([a-z.]+)$/.exec(text ?? '');
  if (!match) return undefined;
  // Some clients append the agent to the user (123_1:2@...). It names the domain, which the server part contains too.
  const user = (match[1] ?? '').split('_')[0] ?? '';
  return { user, server: SERVERS.get(match[3] ?? '') ?? 'other', device: Number(match[2] ?? 0) };
}

export function userJid(user: string, server: Server, device = 0): string {
  return device === 0 ? `${user}@${server}` : `${user}:${device}@${server}`;
}

export const phoneJid = (number: string, device = 0): string => userJid(number, 's.whatsapp.net', device);
export const lidJid = (lid: string, device = 0): string => userJid(lid, 'lid', device);
