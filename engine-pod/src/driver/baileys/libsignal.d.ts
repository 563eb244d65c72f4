declare module 'libsignal/src/curve.js' {
  const curve: { verifySignature(key: Buffer, message: Buffer, signature: Buffer): boolean };
  export default curve;
}
