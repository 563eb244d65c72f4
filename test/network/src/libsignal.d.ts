declare module 'libsignal/src/protobufs.js' {
  const protobufs: {
    PreKeyWhisperMessage: {
      decode(bytes: Uint8Array): { identityKey: Uint8Array; preKeyId?: number; signedPreKeyId: number };
    };
  };
  export default protobufs;
}
