import {
  Browsers,
  buildPairingQRData,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  type AuthenticationCreds,
  type BinaryNode,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Cancel, Clock } from '@gwk/core/clock';
import { interceptEvent } from './socket-internals.js';

export const QR_MS = 20_000;
/** The browser that the device is linked as. */
export const BROWSER = Browsers.ubuntu('Chrome');

interface QrCodeOptions {
  creds: Pick<AuthenticationCreds, 'noiseKey' | 'signedIdentityKey' | 'advSecretKey'>;
  clock: Clock;
  show: (code: string) => void;
  /** Nobody has scanned the last one. */
  ended: () => void;
}

/**
 * Shows the codes of a pairing one after the other. Stock Baileys ends the connection after the last one, also while the
 * phone waits for a passkey.
 */
export class QrCodes {
  readonly #options: QrCodeOptions;
  #cancel: Cancel = () => undefined;

  constructor(socket: Pick<WASocket, 'ws' | 'sendNode'>, options: QrCodeOptions) {
    this.#options = options;
    interceptEvent<BinaryNode>(socket, 'CB:iq,type:set,pair-device', ({ attrs, content }) => {
      const answer = { to: attrs['from']!, type: 'result', id: attrs['id']! };
      socket.sendNode({ tag: 'iq', attrs: answer }).catch(() => undefined);
      const refs = getBinaryNodeChildren(
        getBinaryNodeChild({ tag: 'iq', attrs, content }, 'pair-device'),
        'ref',
      );
      this.#showNext(refs.map((ref) => Buffer.from(ref.content as Uint8Array).toString('utf8')));
    });
  }

  /** Shows no further code. */
  stop(): void {
    this.#cancel();
  }

  #showNext([ref, ...others]: string[]): void {
    const { creds, clock, show, ended } = this.#options;
    if (ref === undefined) return ended();
    const noise = Buffer.from(creds.noiseKey.public).toString('base64');
    const identity = Buffer.from(creds.signedIdentityKey.public).toString('base64');
    this.#cancel = clock.after(QR_MS, () => this.#showNext(others));
    show(buildPairingQRData(ref, noise, identity, creds.advSecretKey, BROWSER));
  }
}
