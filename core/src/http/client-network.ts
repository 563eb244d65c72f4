import { isIPv6 } from 'node:net';

/** Groups of 64:ff9b::/96, where translators put the whole IPv4 internet for a cluster without IPv4. */
const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0].join();

/**
 * Limits per address count an IPv6 address by its /64, because a client can use all addresses of its network.
 * @returns the network, or the address itself if it is not of IPv6
 */
export function getNetwork(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address);
  if (mapped) return mapped[1]!;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('%')[0]!.split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0');
  const groups = [...left, ...zeros, ...right].map((group) => Number.parseInt(group, 16));
  if (groups.length === 8 && groups.slice(0, 6).join() === NAT64) return readIPv4(groups[6]!, groups[7]!);
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

function readIPv4(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}
