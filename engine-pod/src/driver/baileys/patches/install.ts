import { registerHooks } from 'node:module';

/**
 * Much of what Baileys loads is never used by an engine, or does in megabytes what Node does by itself; every number
 * would pay for it. Whatever is loaded from here on gets these in its place. Each is held against what it replaces by
 * a test; test/bench/NOTES.md says what each gives.
 */
const REPLACEMENTS: { specifier: RegExp; by: string; from?: RegExp }[] = [
  // A module of WebAssembly, twice, in base64: of all of it hashes and key derivation are used.
  { specifier: /^whatsapp-rust-bridge$/, by: './replacements/rust-bridge.js' },
  // 4.4 MB of source, of which an engine uses a twentieth: each type is compiled when it is first asked for.
  { specifier: /\/WAProto\/index\.js$/, by: './replacements/proto.js' },
  // Telemetry, which nothing here sends.
  { specifier: /\/WAM\/index\.js$/, by: './replacements/empty.js' },
  { specifier: /^@cacheable\/node-cache$/, by: './replacements/node-cache.js' },
  // For its bounds alone.
  { specifier: /^zlib$/, by: './replacements/zlib.js' },
];
/** Another release of what the engine has loaded already. */
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
