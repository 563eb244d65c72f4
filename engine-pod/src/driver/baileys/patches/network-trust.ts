import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { ProxyAgents } from '@gwk/core/proxy/agents';
import { WA_CERT_DETAILS } from '@whiskeysockets/baileys';

/** A network other than the real one, and the way to it. Without `url`, `root` and `ca`: the real network. */
export interface NetworkSettings {
  /** URL that clients connect to. */
  url: string | undefined;
  /** Root key of the network's certificates in hex, in place of the real one. */
  root: string | undefined;
  /** Certificate authority (PEM) of its media hosts, in addition to the default ones. */
  ca: string | undefined;
  /** Agents of a proxy. Null: engines connect directly. */
  agents: ProxyAgents | null;
}

export function trustNetwork({ root, ca }: Pick<NetworkSettings, 'root' | 'ca'>): void {
  if (root !== undefined) WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root, 'hex');
  if (ca !== undefined) setDefaultCACertificates([...getCACertificates(), ca]);
}
