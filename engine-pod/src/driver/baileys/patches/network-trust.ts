import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { WA_CERT_DETAILS } from '@whiskeysockets/baileys';

/** A network other than the real one. All undefined: the real network. */
export interface NetworkSettings {
  /** URL that clients connect to. */
  url: string | undefined;
  /** Root key of the network's certificates in hex, in place of the real one. */
  root: string | undefined;
  /** Certificate authority (PEM) of its media hosts, in addition to the default ones. */
  ca: string | undefined;
}

export function trustNetwork({ root, ca }: NetworkSettings): void {
  if (root !== undefined) WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root, 'hex');
  if (ca !== undefined) setDefaultCACertificates([...getCACertificates(), ca]);
}
