declare module 'libsignal/src/curve.js' {
  type Verify = (key: Buffer, message: Buffer, signature: Buffer) => boolean;
  export const verifySignature: Verify;
  const curve: { verifySignature: Verify };
  export default curve;
}

declare module 'libsignal/src/protobufs.js' {
  interface Sealed {
    ephemeralKey?: Buffer;
    counter: number;
    previousCounter: number;
  }
  const protobufs: { WhisperMessage: { decode(bytes: Uint8Array): Sealed } };
  export default protobufs;
}
