import { createRequire, registerHooks } from 'node:module';

/**
 * Loads fresh copies of modules. An engine patches Baileys and libsignal in place, and a test worker loads a module
 * once for all its test files. Tests of the stock libraries, or of the order in which modules load, need copies of
 * their own.
 */
const require = createRequire(import.meta.url);
const isLibsignal = (file: string): boolean => file.includes('/node_modules/libsignal/');
/** Part of the URL of each copy. */
const MARK = '?fresh=';
let last = 0;

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const [, mark] = context.parentURL?.split(MARK) ?? [];
    const isCopied = mark !== undefined && resolved.url.startsWith('file:') && !resolved.url.includes('?');
    return isCopied ? { ...resolved, url: `${resolved.url}${MARK}${mark}` } : resolved;
  },
});

export class FreshModules {
  readonly #mark = `${MARK}${++last}`;
  /** libsignal is CommonJS. Node caches its modules by file, whatever the URL. */
  readonly #libsignal: Record<string, NodeJS.Module> = {};

  /**
   * Loads a module together with the modules that this instance loaded before, and with none of other instances.
   * Call it once at a time.
   *
   * @param url absolute, or a package specifier
   */
  async load<T>(url: string): Promise<T> {
    const others = exchange(this.#libsignal);
    try {
      return (await import(`${import.meta.resolve(url)}${this.#mark}`)) as T;
    } finally {
      Object.assign(this.#libsignal, exchange(others));
    }
  }
}

/** Loads a fresh copy of one module of libsignal. */
export function requireFresh<T>(name: string): T {
  const others = exchange({});
  try {
    return require(name) as T;
  } finally {
    exchange(others);
  }
}

/** @returns the modules of libsignal that were loaded */
function exchange(loaded: Record<string, NodeJS.Module>): Record<string, NodeJS.Module> {
  const names = Object.keys(require.cache).filter(isLibsignal);
  const former = Object.fromEntries(names.map((name) => [name, require.cache[name]!]));
  for (const name of names) delete require.cache[name];
  Object.assign(require.cache, loaded);
  return former;
}
