declare module 'libsignal/src/curve.js' {
  const curve: { verifySignature(key: Buffer, message: Buffer, signature: Buffer): boolean };
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
