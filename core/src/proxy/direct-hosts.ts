import { BlockList, isIP } from 'node:net';

/** Returns whether connections to a host must not use the proxy. */
export type IsDirect = (host: string, port: number) => boolean;

/** Never behind a proxy: this machine, and Services of the cluster. */
const ALWAYS = ['localhost', '127.0.0.0/8', '::1', 'svc', 'cluster.local'];
const ENTRY = /^\*?\.?(\[[^\]]+\]|[^:]+|[^:]*:[^:]*:.*?)(?::(\d{1,5}))?$/;

/**
 * Parses a list of hosts like NO_PROXY. A name covers its subdomains, as in Go and curl. Names without a dot are names of
 * this cluster.
 */
export function parseDirectHosts(text = ''): IsDirect {
  const entries = text.split(',').map((entry) => entry.trim());
  const isListed = [...ALWAYS, ...entries].filter((entry) => entry !== '').map(parseEntry);
  return (host, port) => {
    const name = host.toLowerCase().replace(/\.$/, '');
    return (isIP(name) === 0 && !name.includes('.')) || isListed.some((matches) => matches(name, port));
  };
}

function parseEntry(entry: string): IsDirect {
  if (entry === '*') return () => true;
  const [, host = '', port] = ENTRY.exec(entry) ?? [];
  const matches = matchHost(host.toLowerCase().replace(/^\[|\]$/g, ''));
  return (name, at) => (port === undefined || Number(port) === at) && matches(name);
}

function matchHost(host: string): (name: string) => boolean {
  const [network = '', prefix] = host.split('/');
  const family = isIP(network);
  if (family === 0) return (name) => name === host || name.endsWith(`.${host}`);
  const range = new BlockList();
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const bits = family === 4 ? 32 : 128;
  // A wrong length of the prefix covers nothing.
  if (prefix === undefined) range.addAddress(network, type);
  else if (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits) range.addSubnet(network, Number(prefix), type);
  return (name) => isIP(name) !== 0 && range.check(name, isIP(name) === 4 ? 'ipv4' : 'ipv6');
}
