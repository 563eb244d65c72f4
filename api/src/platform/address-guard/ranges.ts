import { BlockList, isIP } from 'node:net';

/**
 * Public addresses. IPv4: all except the listed ranges (IANA's special-purpose registry, multicast, and public addresses that
 * clouds use internally). IPv6: global unicast (2000::/3) except ranges that embed IPv4 or are not for the internet. All
 * other IPv6 ranges are forbidden: loopback, IPv4-mapped, NAT64, ULA, link-local, multicast and unassigned ones.
 */
export const FORBIDDEN_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32', // Azure's host agent, reachable from every machine in Azure
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];

const GLOBAL_UNICAST_IPV6 = '2000::/3';

export const FORBIDDEN_IPV6 = [
  '2001::/23', // Teredo, benchmarking, ORCHID and the rest of IETF's own
  '2001:db8::/32',
  '2002::/16', // 6to4, embeds an IPv4 address, which may be private
  '2620:4f:8000::/48',
  '3fff::/20',
];

export class PublicAddresses {
  readonly #forbidden = new BlockList();
  readonly #globalUnicast = new BlockList();

  /** @param more additional forbidden ranges (CIDR) @throws if one is invalid */
  constructor(more: readonly string[] = []) {
    for (const range of [...FORBIDDEN_IPV4, ...FORBIDDEN_IPV6, ...more]) addRange(this.#forbidden, range);
    addRange(this.#globalUnicast, GLOBAL_UNICAST_IPV6);
  }

  /** Returns whether an address literal is public; false for anything else. */
  has(address: string): boolean {
    const family = isIP(address);
    if (family === 4) return !this.#forbidden.check(address, 'ipv4');
    // A zone id (fe80::1%eth0) selects an interface of this machine.
    if (family !== 6 || address.includes('%')) return false;
    return this.#globalUnicast.check(address, 'ipv6') && !this.#forbidden.check(address, 'ipv6');
  }
}

function addRange(list: BlockList, range: string): void {
  const [network = '', prefix = ''] = range.split('/');
  const family = isIP(network);
  if (family === 0 || !/^\d{1,3}$/.test(prefix)) throw new Error(`${range} is not an address range`);
  list.addSubnet(network, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
}
