import { registerHooks } from 'node:module';

/**
 * Patches, replacements and trims of Baileys and libsignal, in the order in which they take effect:
 *
 *     1  install.ts           before Baileys is loaded: module hooks ─▶ replacements/
 *     2  silence-console.ts   before libsignal is loaded
 *     3  native-crypto.ts     before Baileys captures the functions of libsignal
 *     4  repairs.ts           after Baileys is loaded: faults of Curve, SenderKeyState and SessionCipher
 *        └─ decryption-limits.ts   around the repairs ─▶ decryption-budget.ts, trim-sessions.ts
 *     5  network-trust.ts     when a driver is created
 *     6  on each new socket   ignored-stanzas.ts, then write-guard.ts, then untyped-presence.ts, then
 *                             conversation-transactions.ts (it shares write-context.ts with the guard)
 *
 * Replacements save memory or garbage in every engine: Baileys loads modules that an engine never uses, and large ones
 * that Node can do. A test compares each replacement with the original. README.md lists every change, its reason and what
 * it saves.
 */
const REPLACEMENTS: { specifier: RegExp; by: string }[] = [
  // A WebAssembly module, twice, in base64. Baileys uses its hashes and key derivation.
  { specifier: /^whatsapp-rust-bridge$/, by: './replacements/rust-bridge.js' },
  // 4.4 MB of source, of which an engine uses a twentieth. Each type is compiled on first use.
  { specifier: /\/WAProto\/index\.js$/, by: './replacements/proto.js' },
  // Telemetry, which an engine does not send.
  { specifier: /\/WAM\/index\.js$/, by: './replacements/empty.js' },
  { specifier: /^@cacheable\/node-cache$/, by: './replacements/node-cache.js' },
  // Passes keys as key objects.
  { specifier: /^crypto$/, by: './replacements/crypto.js' },
  // Bounds the size of decompressed data.
  { specifier: /^zlib$/, by: './replacements/zlib.js' },
];
/** Resolves to the release that the engine has loaded already. */
const SHARED_MODULE = 'pino';
const BAILEYS = '/@whiskeysockets/baileys/';

registerHooks({
  resolve(specifier, context, next) {
    if (!context.parentURL?.includes(BAILEYS)) return next(specifier, context);
    const replaced = REPLACEMENTS.find((one) => one.specifier.test(specifier));
    if (replaced) return { url: new URL(replaced.by, import.meta.url).href, shortCircuit: true };
    if (specifier === SHARED_MODULE) return next(specifier, { ...context, parentURL: import.meta.url });
    return next(specifier, context);
  },
});
