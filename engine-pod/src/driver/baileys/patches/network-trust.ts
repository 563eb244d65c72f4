import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { WA_CERT_DETAILS } from '@whiskeysockets/baileys';

/** Another network than the real one; all undefined otherwise. */
export interface NetworkSettings {
  /** Where clients connect to. */
  url: string | undefined;
  /** The key that the network's certificates come from, in hex, in place of the real one's. */
  root: string | undefined;
  /** PEM of the authority of its media hosts, beside those that are trusted anyway. */
  ca: string | undefined;
}

export function trustNetwork({ root, ca }: NetworkSettings): void {
  if (root !== undefined) WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(root, 'hex');
  if (ca !== undefined) setDefaultCACertificates([...getCACertificates(), ca]);
}
