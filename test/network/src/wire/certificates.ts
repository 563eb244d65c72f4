import { Curve, proto } from '@whiskeysockets/baileys';

export interface KeyPair {
  public: Uint8Array;
  private: Uint8Array;
}

/** The certificate chain of the handshake, and the root that clients must trust. */
export interface Certificates {
  root: KeyPair;
  serverKey: KeyPair;
  chain: Uint8Array;
}

/** Serial number that clients expect of the root. */
const ROOT_SERIAL = 0;
const INTERMEDIATE_SERIAL = 1;
const LEAF_SERIAL = 2;
const YEAR_S = 365 * 24 * 3600;

function signed(details: proto.CertChain.NoiseCertificate.IDetails, signer: KeyPair) {
  const bytes = proto.CertChain.NoiseCertificate.Details.encode(details).finish();
  return { details: bytes, signature: Curve.sign(signer.private, bytes) };
}

/** Creates the chain root -> intermediate -> leaf. The leaf certifies the key of the handshake. */
export function makeCertificates(root: KeyPair = Curve.generateKeyPair()): Certificates {
  const intermediate = Curve.generateKeyPair();
  const serverKey = Curve.generateKeyPair();
  const now = Math.floor(Date.now() / 1000);
  const validity = { notBefore: now - YEAR_S, notAfter: now + YEAR_S };
  const chain = proto.CertChain.encode({
    intermediate: signed(
      { serial: INTERMEDIATE_SERIAL, issuerSerial: ROOT_SERIAL, key: intermediate.public, ...validity },
      root,
    ),
    leaf: signed(
      { serial: LEAF_SERIAL, issuerSerial: INTERMEDIATE_SERIAL, key: serverKey.public, ...validity },
      intermediate,
    ),
  }).finish();
  return { root, serverKey, chain };
}
